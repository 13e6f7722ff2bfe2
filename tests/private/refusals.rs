//! What the private server refuses, and what it says then.

use super::*;

#[test]
fn a_socket_folder_that_is_not_ours_is_refused() {
    let folder = Folder::new();
    let server = folder.start();
    let socket_dir = server.socket_dir().to_owned();
    server.leave().expect("leaves");
    let elsewhere = folder.path().join("elsewhere");
    let account = run_as().expect("an account");
    fs::create_dir(&elsewhere).expect("a folder");
    // Apart from being behind a link it is all that a socket's folder must be.
    fs::set_permissions(&elsewhere, Permissions::from_mode(0o700)).expect("closes");
    account.give(&elsewhere).expect("the server's own folder");
    symlink(&elsewhere, &socket_dir).expect("a link");
    let refused = PrivateServer::start(&folder.options());
    fs::remove_file(&socket_dir).expect("the link is ours");
    assert!(matches!(refused, Err(PrivateError::SocketDirTaken { .. })), "{refused:?}");

    fs::create_dir(&socket_dir).expect("a folder");
    account.give(&socket_dir).expect("the server's own folder");
    fs::set_permissions(&socket_dir, Permissions::from_mode(0o777)).expect("opens");
    let closed = folder.start();
    assert_eq!(
        fs::metadata(&socket_dir).expect("the folder").mode() & 0o777,
        0o700,
        "closed before it is used"
    );
    closed.leave().expect("leaves");

    if let RunAs::Other { uid, .. } = account {
        fs::create_dir(&socket_dir).expect("a folder");
        fs::set_permissions(&socket_dir, Permissions::from_mode(0o700)).expect("closes");
        std::os::unix::fs::chown(&socket_dir, Some(uid + 1), None).expect("another owner");
        let refused = PrivateServer::start(&folder.options());
        fs::remove_dir(&socket_dir).expect("the folder is ours");
        assert!(matches!(refused, Err(PrivateError::SocketDirTaken { .. })), "{refused:?}");
    }
    fs::remove_dir(&elsewhere).expect("nothing was put there");
}

#[test]
fn a_server_that_cannot_start_says_why() {
    let folder = Folder::new();
    folder.start().leave().expect("leaves");
    let conf = folder.cluster().join("data/postgresql.conf");
    let text = fs::read_to_string(&conf).expect("the settings");
    fs::write(&conf, format!("{text}\nnonsense_setting = 1\n")).expect("writes");
    match PrivateServer::start(&folder.options()) {
        Err(error @ PrivateError::StartFailed { .. }) => {
            assert!(error.to_string().contains("nonsense_setting"), "{error}");
            assert!(!error.to_string().contains('\n'), "{error}");
        }
        other => panic!("{other:?}"),
    }
    fs::write(&conf, text).expect("writes");
    assert_eq!(folder.start().origin(), Origin::Started);
}

#[test]
fn waiting_for_another_taskdeck_is_bounded_and_names_it() {
    let folder = Folder::new();
    folder.start().leave().expect("leaves");
    let lock = folder.path().join("start.lock");
    let held = File::options().read(true).write(true).open(&lock).expect("the lock");
    held.lock().expect("locks");
    fs::write(&lock, "PID 4711, starting it\n").expect("writes");
    let hurried = Options { patience: Duration::from_millis(200), ..folder.options() };
    match PrivateServer::start(&hurried) {
        Err(PrivateError::Busy { holder, .. }) => assert_eq!(holder, "PID 4711, starting it"),
        other => panic!("{other:?}"),
    }
    held.unlock().expect("unlocks");
    folder.start();
}

#[test]
fn a_folder_that_cannot_be_used_is_a_clear_error() {
    let outer = Folder::new();
    fs::create_dir_all(outer.path()).expect("a folder");
    let closed = outer.path().join("closed");
    fs::create_dir(&closed).expect("a folder");
    let inner = Options { data_dir: Some(closed.join("deck")), ..outer.options() };
    if let RunAs::Other { name, .. } = run_as().expect("an account") {
        fs::set_permissions(&closed, Permissions::from_mode(0o700)).expect("closes");
        match PrivateServer::start(&inner) {
            Err(error @ PrivateError::FolderUnreachable { .. }) => {
                let closed = fs::canonicalize(&closed).expect("a path");
                assert!(
                    error.to_string().contains(&format!("cannot enter {},", closed.display())),
                    "{error}"
                );
                assert_eq!(fs::read_dir(&closed).expect("the folder").count(), 0, "nothing was created");
                assert!(error.to_string().contains(&name) && error.hint().contains("chmod"), "{error}");
            }
            other => panic!("{other:?}"),
        }
    } else {
        fs::set_permissions(&closed, Permissions::from_mode(0o500)).expect("closes");
        match PrivateServer::start(&inner) {
            Err(error @ PrivateError::Io { .. }) => {
                assert!(error.to_string().contains("create the folder"), "{error}");
            }
            other => panic!("{other:?}"),
        }
    }
    fs::set_permissions(&closed, Permissions::from_mode(0o700)).expect("opens");
}

#[test]
fn a_cluster_that_taskdeck_did_not_make_is_left_alone() {
    let folder = Folder::new();
    let data = folder.path().join("pg15/data");
    fs::create_dir_all(&data).expect("a folder");
    fs::write(data.join("PG_VERSION"), "15\n").expect("writes");
    assert!(matches!(PrivateServer::start(&folder.options()), Err(PrivateError::NotOurs { .. })));
    assert!(matches!(destroy(&folder.options()), Err(PrivateError::NotOurs { .. })));
    assert!(data.join("PG_VERSION").exists());
}

#[test]
fn missing_programs_are_an_error_that_names_the_package() {
    let account = run_as().expect("an account");
    let nothing = Search { named: None, path: Some("/nowhere".into()), usual: vec!["/proc".into()] };
    match find_programs(&nothing, &account) {
        Err(error @ PrivateError::NoPrograms { .. }) => {
            assert!(error.hint().contains("postgresql"), "{}", error.hint());
        }
        other => panic!("{other:?}"),
    }
    let folder = Folder::new();
    let named = Search { named: Some("/proc".into()), ..Search::from_env() };
    let options = Options { search: named, ..folder.options() };
    match PrivateServer::start(&options) {
        Err(error @ PrivateError::NamedPrograms { .. }) => assert!(error.hint().contains("TASKDECK_PG_BIN")),
        other => panic!("{other:?}"),
    }
    let found = find_programs(&Search::from_env(), &account).expect("the programs of this machine");
    assert!(found.iter().all(|programs| programs.postgres.is_absolute() && programs.initdb.is_file()));
    assert!(found.windows(2).all(|pair| pair[0].major > pair[1].major), "newest first");
}

#[test]
fn a_cluster_of_another_version_is_kept_and_mentioned() {
    let folder = Folder::new();
    let server = folder.start();
    let cluster = server.folder().to_owned();
    server.leave().expect("leaves");
    let stranded = cluster.with_file_name("pg13");
    fs::rename(&cluster, &stranded).expect("renames");
    let server = folder.start();
    assert_eq!(server.origin(), Origin::Created);
    assert!(server.announcement().contains("pg13"), "{}", server.announcement());
    server.leave().expect("leaves");
    fs::remove_dir_all(&cluster).expect("ours");
    fs::rename(&stranded, &cluster).expect("renames");
    assert_eq!(folder.start().origin(), Origin::Started);
}

#[test]
fn a_long_data_folder_is_no_matter_and_psql_understands_the_url() {
    let outer = Folder::new();
    let long = outer.path().join("x".repeat(120)).join("a folder with blanks");
    let options = Options { data_dir: Some(long), ..outer.options() };
    let server = PrivateServer::start(&options).expect("starts");
    assert!(server.socket_dir().as_os_str().len() <= 90);
    let output =
        Command::new("psql").args(["-XAtc", "SELECT current_user", &server.url()]).output().expect("psql");
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "taskdeck", "{output:?}");
    server.leave().expect("leaves");
    destroy(&options).expect("removes");
}

/// Found out long before its time is up, and left as it is: it holds every task, and goes on where it was.
#[test]
fn a_frozen_server_is_told_as_such_and_no_second_one_is_started() {
    let folder = Folder::new();
    let (helper, joined) = Helper::started(&folder);
    kill_process(pid(joined.server), Signal::STOP).expect("it can be stopped");
    let waits = Options { patience: Duration::from_hours(1), ..folder.options() };
    for silence in [Duration::from_hours(1), Duration::ZERO] {
        match PrivateServer::start(&Options { silence, ..waits.clone() }) {
            Err(error @ PrivateError::Frozen { pid }) => {
                assert_eq!(pid, joined.server);
                assert!(error.hint().contains(&format!("kill -CONT {pid}")), "{}", error.hint());
            }
            other => panic!("{other:?}"),
        }
    }
    kill_process(pid(joined.server), Signal::CONT).expect("it can be continued");
    let user = folder.start();
    assert_eq!((user.origin(), user.pid()), (Origin::Adopted, joined.server));
    // Who wants to stop it is told too; that it was asked to stop takes effect once it goes on.
    user.leave().expect("leaves");
    helper.kill();
    kill_process(pid(joined.server), Signal::STOP).expect("it can be stopped");
    assert!(matches!(stop(&waits), Err(PrivateError::Frozen { .. })));
    assert!(runs(joined.server));
    kill_process(pid(joined.server), Signal::CONT).expect("it can be continued");
    eventually("it stops", || !runs(joined.server));
}
