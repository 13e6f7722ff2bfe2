//! A start that is interrupted, and one whose database is not there yet.

use std::net::TcpListener;
use std::time::Duration;

use rustix::process::Signal;

use crate::desk::{Desk, taskdeck, wait_until};
use crate::proxy::{Cut, Proxy};
use crate::reluctant::Reluctant;
use crate::support::{Server, empty_database, psql, shared_server, unique};
use crate::worker::Headless;

/// What the log says of a wait, once.
const WAITS: &str = "waiting for the database";

fn begin(url: &str, flags: &[&str]) -> Headless {
    Headless::begin(&[("TASKDECK_DATABASE_URL", url)], flags, &[])
}

/// Ends it by SIGTERM and says what it logged; that is no failure.
fn terminated(worker: Headless) -> String {
    worker.process().signal(Signal::TERM);
    let end = worker.end();
    assert_eq!(end.code, Some(0), "{}", end.log);
    end.log
}

#[test]
fn sigterm_at_any_moment_of_the_start_leaves_everything_in_order() {
    let url = empty_database();
    let desk = Desk::open(&url);
    for number in 0..200 {
        desk.submit(&[&format!("task {number}")]);
    }
    let (mut before, mut after) = (0, 0);
    // Up to 50 ms, and on, if the machine is slow, until it came as far as to work.
    for delay in (0_u64..).step_by(5) {
        if delay > 50 && after > 2 {
            break;
        }
        assert!(delay < 5_000, "it never came as far as to work");
        let worker = begin(&url, &["--workers", "2", "--work-delay", "50s", "--batch", "3"]);
        std::thread::sleep(Duration::from_millis(delay));
        worker.process().signal(Signal::TERM);
        // What runs is canceled by the second, if there is anything.
        wait_until("the drain or the end", || {
            let log = worker.log();
            (log.contains("draining") || log.contains("ended") || worker.process().is_gone()).then_some(())
        });
        if !worker.process().is_gone() {
            worker.process().signal(Signal::TERM);
        }
        let pid = worker.process().pid;
        let end = worker.end();
        let last = end.log.lines().last().unwrap_or_default();
        match end.code {
            // Before it took its signals over: nothing was begun.
            None => assert_eq!(end.log, "", "after {delay} ms"),
            Some(code) => assert_eq!(code, 0, "after {delay} ms: {}", end.log),
        }
        assert!(last.is_empty() || last.contains("ended"), "after {delay} ms: {}", end.log);
        if end.log.contains("registered") {
            after += 1;
        } else {
            before += 1;
        }
        let of_it =
            format!("SELECT count(*) FROM taskdeck.instances WHERE pid = {pid} AND state <> 'stopped'");
        assert_eq!(desk.psql(&of_it), "0", "after {delay} ms: {}", end.log);
        let running = "SELECT count(*) FROM taskdeck.tasks WHERE status = 'RUNNING'";
        assert_eq!(desk.psql(running), "0", "after {delay} ms: {}", end.log);
    }
    assert!(before > 0 && after > 0, "{before} before it worked, {after} after");
    // What was not begun is as it was; what ran was canceled, and the row says by whom.
    let wrong = "SELECT count(*) FROM taskdeck.tasks t WHERE NOT (status = 'QUEUED' AND attempt = 0)
                 AND NOT (status = 'CANCELED' AND EXISTS (SELECT FROM taskdeck.events e
                          WHERE e.task_id = t.id AND e.move = 'request-cancel'))";
    assert_eq!(desk.psql(wrong), "0");
}

#[test]
fn a_registration_whose_answer_is_held_back_is_taken_back() {
    let url = empty_database();
    let desk = Desk::open(&url);
    let id = desk.submit(&["waits"]);
    let (proxy, _runtime) = Proxy::start_aside(shared_server().port());
    // Longer than the heart is waited for at the end.
    proxy.cut(Cut::Stall, "(id, host, pid, version, kind");
    let worker = begin(&proxy.address(&url), &["--workers", "1", "--statement-timeout", "30s"]);
    let states = "SELECT state FROM taskdeck.instances";
    wait_until("the row of the registration", || (desk.psql(states) == "working").then_some(()));
    let log = terminated(worker);
    assert_eq!(proxy.cuts(), 1);
    assert!(log.lines().last().expect("a last line").contains("nothing was left"), "{log}");
    assert_eq!(desk.psql(states), "stopped");
    assert_eq!(desk.row(id), "QUEUED|f|0");
}

#[test]
fn sigterm_ends_it_while_the_database_is_silent_or_absent() {
    // Connections are taken by the system and never answered.
    let silent = TcpListener::bind("127.0.0.1:0").expect("bind");
    let port = silent.local_addr().expect("an address").port();
    let worker = begin(
        &format!("postgresql://tester@127.0.0.1:{port}/x?sslmode=disable"),
        &["--acquire-timeout", "10m"],
    );
    silent.set_nonblocking(true).expect("a wait that ends");
    let accepted = wait_until("a connection", || silent.accept().ok());
    let log = terminated(worker);
    drop(accepted);
    assert!(log.contains("ended before the database was open"), "{log}");

    // Nobody is given this port, so nobody listens there by the time that it is tried.
    let worker = begin("postgresql://tester:s3cret-word@127.0.0.1:1/x", &[]);
    worker.wait_log(WAITS, 1);
    let log = terminated(worker);
    assert!(!log.contains("s3cret-word"), "{log}");
    assert!(log.contains("refused") && log.contains("ended before the database was open"), "{log}");
    let worker = begin("postgresql:///x?host=/tmp/there-is-no-such-folder&user=tester", &[]);
    worker.wait_log(WAITS, 1);
    terminated(worker);
}

#[test]
fn a_worker_waits_for_a_database_that_is_not_there_yet_and_says_so_once() {
    let mut server = Server::start_restartable();
    server.psql("postgres", "CREATE DATABASE work").expect("create");
    server.stop();
    let url = server.url("work");
    let worker = begin(&url, &["--workers", "1"]);
    worker.wait_log(WAITS, 1);
    server.start_again();
    let log = worker.wait_log("registered", 1);
    assert_eq!(log.matches(WAITS).count(), 1, "{log}");
    assert!(log.contains("the database is there") && log.contains("failures="), "{log}");
    let desk = Desk::open(&url);
    let id = desk.submit(&["after the wait"]);
    desk.wait_row(id, |row| row.starts_with("SUCCEEDED"));
    terminated(worker);
}

#[test]
fn a_worker_waits_while_the_server_starts_or_has_no_room() {
    for (code, message) in [
        ("57P03", "the database system is starting up"),
        ("53300", "sorry, too many clients"),
        // A pooler's word for a server that is away.
        ("08P01", "server login has been failing, try again later"),
    ] {
        let url = empty_database();
        let name = url.rsplit('/').next().expect("a name");
        let reluctant = Reluctant::start(code, message, 4, shared_server().port());
        let worker = begin(&reluctant.url(name), &["--workers", "1"]);
        let log = worker.wait_log("registered", 1);
        assert_eq!(log.matches(WAITS).count(), 1, "{log}");
        assert!(log.contains(message) && reluctant.asked() > 4, "{log}");
        // It has one code for a server that is away and for a database that it does not know.
        assert_eq!(log.contains("does it know no database"), code == "08P01", "{log}");
        terminated(worker);
    }
}

/// The connection is taken and the first statement is not answered: that may pass too.
#[test]
fn a_worker_waits_while_nothing_is_answered() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime for the proxy");
    let url = empty_database();
    let server = shared_server().port();
    let proxy = runtime.block_on(Proxy::start(server));
    let through = url.replace(&format!(":{server}/"), &format!(":{}/", proxy.port())) + "?sslmode=disable";
    for cut in [Cut::Stall, Cut::Before] {
        proxy.cut(cut, "statement_timeout");
    }
    let worker = begin(&through, &["--workers", "1", "--statement-timeout", "300ms"]);
    let log = worker.wait_log("registered", 1);
    assert!(log.contains(WAITS), "{log}");
    assert_eq!(proxy.cuts(), 2);
    terminated(worker);
}

#[test]
fn a_worker_does_not_wait_for_what_does_not_pass() {
    let port = shared_server().port();
    let denied = Reluctant::start("28P01", "password authentication failed", u32::MAX, port);
    // Older poolers have no code of its own for it.
    let nosuch = Reluctant::start("08P01", "no such database: x", u32::MAX, port);
    let nobody = Reluctant::start("08P01", "\"trust\" authentication failed", u32::MAX, port);
    let unknown = shared_server().url(&format!("nosuch{}", unique()));
    for (url, code, says) in [
        (denied.url("x"), 5, "password"),
        (nosuch.url("x"), 5, "no such database: x"),
        (nobody.url("x"), 5, "authentication failed"),
        (unknown, 5, "does not exist"),
        ("postgresql://tester@127.0.0.1:x/y".to_owned(), 2, "port"),
    ] {
        let end = begin(&url, &[]).end();
        assert_eq!(end.code, Some(code), "{}", end.log);
        assert!(end.log.contains(says) && !end.log.contains(WAITS), "{}", end.log);
    }
    assert_eq!(denied.asked(), 1, "asked again with a wrong password");
    assert_eq!((nosuch.asked(), nobody.asked()), (1, 1), "asked again what a pooler does not know");
}

/// A command is for somebody who waits: only a server that says itself that it starts is asked again, for a while.
#[test]
fn a_command_waits_for_a_server_that_starts_and_for_nothing_else() {
    let url = empty_database();
    let name = url.rsplit('/').next().expect("a name");
    let port = shared_server().port();
    let command = |url: &str, flags: &[&str]| {
        taskdeck(
            &[("TASKDECK_DATABASE_URL", url)],
            &[&["submit", "--output", "json", "text"], flags].concat(),
        )
    };
    let starting = Reluctant::start("57P03", "the database system is starting up", 3, port);
    let output = command(&starting.url(name), &[]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(psql(&url, "SELECT count(*) FROM taskdeck.tasks").as_deref(), Ok("1"));

    let stays = Reluctant::start("57P03", "the database system is starting up", u32::MAX, port);
    let output = command(&stays.url(name), &["--acquire-timeout", "5s"]);
    assert_eq!(output.status.code(), Some(5), "{output:?}");
    assert!(stays.asked() > 1, "asked {} times", stays.asked());
    assert!(String::from_utf8_lossy(&output.stdout).contains("57P03"), "{output:?}");

    let full = Reluctant::start("53300", "sorry, too many clients", u32::MAX, port);
    let output = command(&full.url(name), &[]);
    assert_eq!((output.status.code(), full.asked()), (Some(5), 1), "{output:?}");
}
