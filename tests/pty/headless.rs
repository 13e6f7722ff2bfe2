//! The program without a terminal: its log, its signals, its service manager.

use std::os::unix::net::UnixDatagram;

use rustix::process::Signal;

use crate::desk::{Desk, wait_until};
use crate::support::{PATIENCE, empty_database, psql};
use crate::worker::Headless;

/// A database with one task, RUNNING for as long as it takes under a worker without a terminal.
fn busy(flags: &[&str]) -> (Desk, Headless, i64) {
    let url = empty_database();
    let desk = Desk::open(&url);
    let worker = Headless::start(&url, &[&["--workers", "1"], flags].concat(), &[]);
    let id = desk.submit(&["takes its time"]);
    desk.wait_row(id, |row| row.starts_with("RUNNING|f|"));
    (desk, worker, id)
}

#[test]
fn the_first_sigterm_drains_and_the_log_is_on_standard_error() {
    let (desk, worker, id) = busy(&["--work-delay", "2s"]);
    worker.process().signal(Signal::TERM);
    let end = worker.end();
    assert_eq!(end.code, Some(0), "{}", end.log);
    assert_eq!(end.out, "");
    for text in ["registered", "draining", "SIGTERM", "nothing was left"] {
        assert!(end.log.contains(text), "{text} in\n{}", end.log);
    }
    assert!(!end.log.contains('\u{1b}'), "no colours where there is no terminal:\n{}", end.log);
    assert!(desk.row(id).starts_with("SUCCEEDED|f|"), "{}", desk.row(id));
}

#[test]
fn the_second_signal_cancels() {
    let (desk, worker, id) = busy(&["--work-delay", "50s"]);
    worker.process().signal(Signal::INT);
    wait_until("the drain", || {
        (desk.psql("SELECT state FROM taskdeck.instances") == "draining").then_some(())
    });
    assert!(desk.row(id).starts_with("RUNNING|f|"), "{}", desk.row(id));
    worker.process().signal(Signal::TERM);
    let end = worker.end();
    assert_eq!(end.code, Some(0), "{}", end.log);
    assert!(desk.row(id).starts_with("CANCELED|f|"), "{}", desk.row(id));
}

#[test]
fn the_third_signal_leaves_and_names_what_stays() {
    let (desk, worker, id) = busy(&["--work-delay", "50s", "--ignore-cancel"]);
    worker.process().signal(Signal::TERM);
    wait_until("the drain", || {
        (desk.psql("SELECT state FROM taskdeck.instances") == "draining").then_some(())
    });
    worker.process().signal(Signal::TERM);
    desk.wait_row(id, |row| row.starts_with("RUNNING|t|"));
    worker.process().signal(Signal::TERM);
    let end = worker.end();
    assert_eq!(end.code, Some(1), "{}", end.log);
    assert!(end.log.contains(&format!("tasks={id}")) && end.log.contains("stay RUNNING"), "{}", end.log);
    assert!(desk.row(id).starts_with("RUNNING|t|"), "{}", desk.row(id));
}

#[test]
fn the_grace_time_turns_a_drain_into_a_cancel() {
    let (desk, worker, id) = busy(&["--work-delay", "50s", "--grace", "1s"]);
    worker.process().signal(Signal::TERM);
    let end = worker.end();
    assert_eq!(end.code, Some(0), "{}", end.log);
    assert!(end.log.contains("grace time has passed"), "{}", end.log);
    assert!(desk.row(id).starts_with("CANCELED|f|"), "{}", desk.row(id));
}

#[test]
fn the_service_manager_is_told_of_readiness_and_stop() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("notify");
    let socket = UnixDatagram::bind(&path).expect("a socket");
    socket.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    let url = empty_database();
    let name = path.display().to_string();
    let worker = Headless::start(&url, &["--workers", "1"], &[("NOTIFY_SOCKET", &name)]);
    let until = |wanted: &str| {
        let mut bytes = [0; 4096];
        let mut told = Vec::new();
        loop {
            let count =
                socket.recv(&mut bytes).unwrap_or_else(|error| panic!("{wanted} ({error}) after {told:?}"));
            let text = String::from_utf8_lossy(&bytes[..count]).into_owned();
            if text.lines().any(|line| line == wanted) {
                return told;
            }
            told.push(text);
        }
    };
    let before = until("READY=1");
    assert!(before.iter().all(|text| !text.contains("STOPPING")), "{before:?}");
    worker.process().signal(Signal::TERM);
    until("STOPPING=1");
    assert_eq!(worker.end().code, Some(0));
}

#[test]
fn without_a_terminal_on_either_side_the_console_says_how_to_do_without() {
    let url = empty_database();
    let mut desk = Desk::open(&url);
    for command in ["taskdeck </dev/null", "taskdeck | cat; (exit ${PIPESTATUS[0]})"] {
        desk.run(command);
        assert_eq!(desk.back_in_shell(), 2, "{command}");
        let screen = desk.terminal.screen();
        assert!(screen.contains("needs a terminal") && screen.contains("--no-ui"), "{screen}");
    }
    assert_eq!(
        psql(&url, "SELECT count(*) FROM pg_namespace WHERE nspname = 'taskdeck'").expect("an answer"),
        "0",
        "nothing was begun"
    );
}
