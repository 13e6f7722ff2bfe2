//! The private server against real `PostgreSQL` programs: made once, shared, adopted, stopped by the last one out.
//!
//! Runs as root (the server is then another account's) and as an ordinary user. Missing programs are a failure.

#[path = "private/support.rs"]
mod support;

#[path = "private/keeping.rs"]
mod keeping;
#[path = "private/refusals.rs"]
mod refusals;

use std::fs::{self, File, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use support::{Folder, Helper, ask, eventually, runs};
use taskdeck::db::private::{
    Destroyed, Left, Options, Origin, PrivateError, PrivateServer, RunAs, Search, Status, Stopped, Usage,
    command, destroy, find_programs, run_as, status, stop,
};

fn pid(raw: u32) -> Pid {
    Pid::from_raw(raw.cast_signed()).expect("a process id")
}

#[test]
fn helper_process() {
    support::be_helper();
}

#[test]
fn the_first_creates_the_second_adopts_and_the_last_out_stops() {
    let folder = Folder::new();
    let (first, created) = Helper::started(&folder);
    assert_eq!(created.origin, "created");
    let second = folder.start();
    assert_eq!((second.origin(), second.pid()), (Origin::Adopted, created.server));
    assert!(second.announcement().ends_with("(adopted)"), "{}", second.announcement());
    assert_eq!(ask(&second.url(), "SELECT current_database()"), "taskdeck");

    assert_eq!(first.leave(), "used", "the one who started it is not the last one");
    assert!(runs(created.server));
    assert_eq!(ask(&second.url(), "SELECT 1"), "1");
    let socket_dir = second.socket_dir().to_owned();
    assert_eq!(second.leave().expect("leaves"), Left::Stopped);
    assert!(!runs(created.server));
    assert!(!socket_dir.exists(), "the socket's folder is tidied away");
}

#[test]
fn two_handles_of_one_process_count_as_two_and_dropping_leaves() {
    let folder = Folder::new();
    let first = folder.start();
    let server = first.pid();
    let second = folder.start();
    drop(first);
    assert!(runs(server));
    drop(second);
    assert!(!runs(server));
}

#[test]
fn data_and_durable_settings_survive_restarts() {
    let folder = Folder::new();
    let server = folder.start();
    ask(&server.url(), "CREATE TABLE kept AS SELECT 'Élan' AS word");
    ask(&server.url(), "ALTER SYSTEM SET fsync = off");
    ask(&server.url(), "ALTER SYSTEM SET synchronous_commit = off");
    server.leave().expect("leaves");

    let server = folder.start();
    assert_eq!(server.origin(), Origin::Started);
    assert_eq!(ask(&server.url(), "SELECT word FROM kept"), "Élan");
    for name in ["fsync", "synchronous_commit", "full_page_writes"] {
        assert_eq!(ask(&server.url(), &format!("SHOW {name}")), "on", "{name}");
    }
    assert_eq!(ask(&server.url(), "SHOW listen_addresses"), "");
    assert_eq!(ask(&server.url(), "SHOW server_encoding"), "UTF8");
    let sockets = fs::metadata(server.socket_dir()).expect("the socket's folder");
    assert_eq!(sockets.mode() & 0o777, 0o700);
    assert_eq!(sockets.uid(), run_as().expect("an account").uid());
}

#[test]
fn a_killed_user_leaves_a_server_that_the_next_one_adopts() {
    let folder = Folder::new();
    let (helper, joined) = Helper::started(&folder);
    helper.kill();
    assert!(runs(joined.server));
    match status(&folder.options()).expect("a status") {
        Status::Running { pid, usage, .. } => assert_eq!((pid, usage), (joined.server, Usage::Unused)),
        other => panic!("{other:?}"),
    }
    let next = folder.start();
    assert_eq!((next.origin(), next.pid()), (Origin::Adopted, joined.server));
    assert_eq!(next.leave().expect("leaves"), Left::Stopped);
    assert!(!runs(joined.server));
}

#[test]
fn a_user_that_is_killed_at_any_moment_of_its_start_blocks_nobody() {
    let folder = Folder::new();
    folder.start().leave().expect("leaves");
    // What must hold, holds at every moment; the delays only spread the samples over the 60 ms that a start takes.
    for delay in (0..80).step_by(5).map(Duration::from_millis) {
        let mut helper = Helper::new(&folder);
        helper.go();
        std::thread::sleep(delay);
        helper.kill();
        let next = folder.start();
        assert_eq!(ask(&next.url(), "SELECT 1"), "1", "after {delay:?}");
        let server = next.pid();
        assert_eq!(next.leave().expect("leaves"), Left::Stopped, "after {delay:?}");
        assert!(!runs(server), "after {delay:?}");
    }
}

#[test]
fn an_interrupt_from_the_terminal_does_not_reach_the_server() {
    let folder = Folder::new();
    let (helper, joined) = Helper::started(&folder);
    kill_process_group(pid(helper.pid()), Signal::INT).expect("the group is there");
    helper.wait();
    let next = folder.start();
    assert_eq!((next.origin(), next.pid()), (Origin::Adopted, joined.server));
    assert_eq!(ask(&next.url(), "SELECT 1"), "1");
}

#[test]
fn of_several_that_start_at_once_one_creates_and_all_share() {
    let folder = Folder::new();
    let mut helpers: Vec<Helper> = (0..4).map(|_| Helper::new(&folder)).collect();
    helpers.iter_mut().for_each(Helper::go);
    let joined: Vec<_> = helpers.iter_mut().map(Helper::joined).collect();
    let created = joined.iter().filter(|joined| joined.origin == "created").count();
    assert_eq!(created, 1, "{joined:?}");
    assert!(joined.iter().all(|other| other.server == joined[0].server), "{joined:?}");

    // They leave at once, too: exactly one of them is the last.
    helpers.iter_mut().for_each(Helper::go);
    let stopped = helpers.into_iter().map(Helper::left).filter(|left| left == "stopped").count();
    assert_eq!(stopped, 1);
    assert!(!runs(joined[0].server));
}

#[test]
fn a_stale_pid_file_whose_process_id_is_a_strangers_does_not_block() {
    let folder = Folder::new();
    folder.start().leave().expect("leaves");
    let data = folder.cluster().join("data");
    let account = run_as().expect("an account");
    let mut stranger =
        command("/bin/sleep".as_ref(), &account).arg("600").stdin(Stdio::null()).spawn().expect("a stranger");
    let pid_file = data.join("postmaster.pid");
    let stale = format!("{}\n{}\n1\n5432\n/tmp\n\n  1 1\nready   \n", stranger.id(), data.display());
    fs::write(&pid_file, stale).expect("a stale file");
    account.give(&pid_file).expect("the server's own file");

    let started = PrivateServer::start(&folder.options());
    let stranger_lives = runs(stranger.id());
    stranger.kill().expect("the stranger is ours to end");
    stranger.wait().expect("its end");
    assert_eq!(started.expect("starts").origin(), Origin::Started);
    assert!(stranger_lives, "the stranger was left alone");
}

#[test]
fn a_server_that_crashed_under_its_users_is_started_again() {
    let folder = Folder::new();
    let first = folder.start();
    ask(&first.url(), "CREATE TABLE kept AS SELECT 7 AS number");
    kill_process(pid(first.pid()), Signal::KILL).expect("the server is ours to kill");
    let second = folder.start();
    assert_eq!(second.origin(), Origin::Started);
    assert_ne!(second.pid(), first.pid());
    assert_eq!(ask(&second.url(), "SELECT number FROM kept"), "7");
    assert_eq!(second.leave().expect("leaves"), Left::StillUsedByOthers);
    assert_eq!(first.leave().expect("leaves"), Left::Stopped);
}

#[test]
fn two_servers_never_share_one_cluster() {
    let folder = Folder::new();
    let server = folder.start();
    // The worst case: the running server's file is gone, so nothing but its lock speaks for it.
    fs::remove_file(folder.cluster().join("data/postmaster.pid")).expect("the file is there");
    let hurried = Options { patience: Duration::from_millis(300), ..folder.options() };
    match PrivateServer::start(&hurried) {
        Err(PrivateError::HeldElsewhere { .. }) => {}
        other => panic!("{other:?}"),
    }
    assert_eq!(ask(&server.url(), "SELECT 1"), "1");
    kill_process(pid(server.pid()), Signal::INT).expect("the server is ours to stop");
    eventually("the server ends", || !runs(server.pid()));
}

#[test]
fn a_cluster_that_was_half_made_is_made_anew() {
    let folder = Folder::new();
    let mut helper = Helper::new(&folder);
    helper.go();
    let unfinished = || {
        let clusters = fs::read_dir(folder.path()).into_iter().flatten().flatten();
        clusters
            .filter_map(|cluster| fs::read_dir(cluster.path()).ok())
            .flatten()
            .flatten()
            .find(|entry| entry.file_name().to_string_lossy().starts_with("unfinished-"))
    };
    eventually("initdb is at work", || unfinished().is_some_and(|dir| dir.path().join("base").exists()));
    helper.kill();
    assert!(!folder.cluster().join("data").exists(), "a half-made cluster has not the name of a whole one");

    let server = folder.start();
    assert_eq!(server.origin(), Origin::Created);
    assert_eq!(ask(&server.url(), "SELECT 1"), "1");
    // The orphaned initdb may have written on for a moment; a later start removes what it left.
    eventually("the rest is removed", || {
        drop(folder.start());
        unfinished().is_none()
    });
}

#[test]
fn destroy_and_stop_refuse_while_in_use_and_work_after() {
    let folder = Folder::new();
    assert!(matches!(status(&folder.options()), Ok(Status::None { .. })));
    assert!(!folder.path().exists(), "looking creates nothing");
    assert_eq!(destroy(&folder.options()).expect("nothing to do"), Destroyed::Nothing);

    let server = folder.start();
    ask(&server.url(), "CREATE TABLE gone ()");
    let url = server.url();
    match status(&folder.options()).expect("a status") {
        Status::Running { pid, usage, url: told, .. } => {
            assert_eq!((pid, usage, told), (server.pid(), Usage::InUse, url));
        }
        other => panic!("{other:?}"),
    }
    assert!(matches!(stop(&folder.options()), Err(PrivateError::InUse { .. })));
    assert!(matches!(destroy(&folder.options()), Err(PrivateError::InUse { .. })));
    assert_eq!(ask(&server.url(), "SELECT 1"), "1");
    server.leave().expect("leaves");
    assert!(matches!(status(&folder.options()), Ok(Status::Stopped { .. })));
    assert_eq!(stop(&folder.options()).expect("nothing to do"), Stopped::NotRunning);

    let (helper, joined) = Helper::started(&folder);
    helper.kill();
    assert_eq!(stop(&folder.options()).expect("stops"), Stopped::Stopped);
    assert!(!runs(joined.server));

    let bystander = folder.cluster().join("notes.txt");
    fs::write(&bystander, "not Taskdeck's").expect("a file");
    assert!(matches!(destroy(&folder.options()), Ok(Destroyed::Removed { .. })));
    assert!(!folder.cluster().join("data").exists());
    assert!(bystander.exists(), "only what Taskdeck made is removed");
    let again = folder.start();
    assert_eq!(again.origin(), Origin::Created);
    assert_eq!(ask(&again.url(), "SELECT count(*) FROM pg_class WHERE relname = 'gone'"), "0");
}

#[test]
fn a_lost_socket_is_mended_when_nobody_else_uses_the_server() {
    let folder = Folder::new();
    let (helper, joined) = Helper::started(&folder);
    let user = folder.start();
    let socket = user.socket_dir().join(format!(".s.PGSQL.{}", user.port()));
    fs::remove_file(&socket).expect("the socket is there");
    assert!(matches!(PrivateServer::start(&folder.options()), Err(PrivateError::SocketLost { .. })));
    assert!(runs(joined.server));
    drop(user);
    helper.kill();
    let next = folder.start();
    assert_eq!(next.origin(), Origin::Started);
    assert_eq!(ask(&next.url(), "SELECT 1"), "1");
}
