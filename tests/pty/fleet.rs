//! Instances that are asked to stop: another one from screen 2, and this console's own workers from elsewhere.

use rustix::process::Signal;

use crate::desk::{Desk, wait_until};
use crate::gate::Gate;
use crate::support::{Server, empty_database};
use crate::worker::Headless;

/// What a console is started with whose task runs until the gate opens. Nothing wakes it where `bob_asks`, so it learns
/// of a request at a heartbeat.
fn works(gate: &Gate) -> String {
    format!("--workers 1 --lease 9s --exec '{}'", gate.exec())
}

/// Bob asks whatever works, by the same columns that the program's own statement writes.
fn bob_asks(desk: &Desk) {
    desk.psql(
        "UPDATE taskdeck.instances SET stop_version = stop_version + 1, stop_mode = 'drain', stop_by = 'bob', \
         stop_at = clock_timestamp(), stop_reason = 'kernel update' WHERE state = 'working'",
    );
}

/// The line of screen 2 that holds all of these.
fn has_line(screen: &str, words: &[&str]) -> bool {
    screen.lines().any(|line| words.iter().all(|word| line.contains(word)))
}

#[test]
fn an_instance_is_asked_to_drain_and_ends_once_its_task_has() {
    let url = empty_database();
    let mut desk = Desk::sized(160, 40, Some(&url), &[]);
    desk.start("--workers 0");
    desk.begin_empty();
    let gate = Gate::shut();
    let worker = Headless::start(&url, &["--workers", "1", "--exec", &gate.exec()], &[]);
    let name = format!(":{}", worker.process().pid);
    let id = desk.submit(&["takes its time"]);
    desk.wait_row(id, |row| row.starts_with("RUNNING"));
    desk.terminal.keys("2");
    desk.terminal.wait_for("the worker", |screen| has_line(screen, &[&name, "working", "1/1"]));
    // The cursor is on this process, which only watches: there the key says why.
    desk.terminal.keys("d");
    desk.terminal.wait_text("this process only watches");
    desk.terminal.keys("j");
    desk.terminal.wait_for("the cursor", |screen| has_line(screen, &[" > ", &name]));
    desk.terminal.keys("d");
    desk.wait_dialog("It claims nothing more and waits for what it runs; then it ends.");
    assert_eq!(desk.psql("SELECT count(*) FROM taskdeck.instances WHERE stop_version > 0"), "0");
    desk.terminal.keys("ikernel update\ry");
    desk.terminal.wait_for("the drain", |screen| {
        has_line(screen, &[&name, "draining", "by alice"])
            && screen.contains("alice asked it to drain")
            && screen.contains("kernel update")
    });
    assert!(desk.row(id).starts_with("RUNNING|f|"), "{}", desk.row(id));
    let late = desk.submit(&["comes too late for it"]);
    gate.open();
    desk.terminal.wait_for("the end", |screen| has_line(screen, &[&name, "stopped", "asked by alice"]));
    let end = worker.end();
    assert_eq!(end.code, Some(0), "{}", end.log);
    assert!(desk.row(id).starts_with("SUCCEEDED|"), "{}", desk.row(id));
    assert_eq!(
        desk.psql(&format!("SELECT status, attempt FROM taskdeck.tasks WHERE id = {late}")),
        "QUEUED|0"
    );
    let events = "SELECT actor, move, reason FROM taskdeck.events WHERE task_id IS NULL";
    assert_eq!(desk.psql(events), "alice|ask-drain|kernel update");
    assert_eq!(desk.quit(), 0);
}

#[test]
fn somebody_who_asked_first_is_told_of_and_nothing_is_sent_twice() {
    let url = empty_database();
    let mut desk = Desk::sized(160, 40, Some(&url), &[]);
    desk.start("--workers 0");
    desk.begin_empty();
    let worker = Headless::start(&url, &["--workers", "1", "--work-delay", "50s", "--lease", "9s"], &[]);
    let name = format!(":{}", worker.process().pid);
    let id = desk.submit(&["takes its time"]);
    desk.wait_row(id, |row| row.starts_with("RUNNING"));
    desk.terminal.keys("2");
    desk.terminal.wait_for("the worker", |screen| has_line(screen, &[&name, "working", "1/1"]));
    desk.terminal.keys("j");
    desk.terminal.wait_for("the cursor", |screen| has_line(screen, &[" > ", &name]));
    desk.terminal.keys("d");
    desk.wait_dialog("It claims nothing more");
    bob_asks(&desk);
    desk.wait_dialog("Not possible: bob asked it to drain");
    desk.terminal.keys("y");
    desk.terminal.wait_text("nothing was sent");
    assert_eq!(
        desk.psql("SELECT stop_version, stop_by FROM taskdeck.instances WHERE stop_version > 0"),
        "1|bob"
    );
    // Looked at again, what it runs can be asked to stop: the question says so before it is answered.
    desk.terminal.keys("\u{1b}");
    desk.terminal.wait_for("the closed question", |screen| !screen.contains("Not possible"));
    desk.terminal.wait_for("its drain", |screen| has_line(screen, &[&name, "draining", "by bob"]));
    desk.terminal.keys("dc");
    desk.wait_dialog("what it runs is asked to stop");
    desk.terminal.keys("y");
    desk.terminal.wait_for("the end", |screen| has_line(screen, &[&name, "stopped", "asked by alice"]));
    assert_eq!(worker.end().code, Some(0));
    assert!(desk.row(id).starts_with("CANCELED|"), "{}", desk.row(id));
    assert_eq!(desk.quit(), 0);
}

#[test]
fn a_console_whose_workers_were_asked_to_stop_lives_on_watching() {
    let url = empty_database();
    let mut desk = Desk::sized(160, 40, Some(&url), &[]);
    let gate = Gate::shut();
    desk.start(&works(&gate));
    desk.begin_empty();
    let id = desk.submit(&["takes its time"]);
    desk.wait_line(id, &["RUNNING", "here/"]);
    bob_asks(&desk);
    desk.terminal.wait_text("draining 1/1 asked by bob");
    assert!(desk.row(id).starts_with("RUNNING|f|"), "{}", desk.row(id));
    gate.open();
    desk.terminal
        .wait_text("the workers of this process have stopped, as bob asked; this console only watches now");
    desk.terminal.wait_text("watching stopped by bob");
    desk.wait_line(id, &["SUCCEEDED"]);
    wait_until("an instance that watches in place of the one that worked", || {
        let states = desk.psql("SELECT state FROM taskdeck.instances ORDER BY started_at");
        (states == "stopped\nwatching").then_some(())
    });
    // It claims nothing, and what comes is seen.
    let waits = desk.submit(&["nobody takes this"]);
    desk.wait_line(waits, &["QUEUED"]);
    // It goes on taking back what the dead leave.
    let lost = desk.submit(&["--queue", "far", "dies with its worker"]);
    let flags = ["--workers", "1", "--queue", "far", "--work-delay", "50s", "--lease", "2s"];
    let worker = Headless::start(&url, &flags, &[]);
    desk.wait_row(lost, |row| row.starts_with("RUNNING"));
    worker.process().signal(Signal::KILL);
    desk.wait_row(lost, |row| row.starts_with("QUEUED"));
    assert!(desk.row(waits).starts_with("QUEUED|f|0"), "{}", desk.row(waits));
    desk.terminal.keys("q");
    assert_eq!(desk.back_in_shell(), 0);
    let states = "SELECT state, count(*) FROM taskdeck.instances GROUP BY 1 ORDER BY 1";
    assert_eq!(desk.psql(states), "lost|1\nstopped|2");
}

/// What was left then is told when the console ends, however well its own end goes.
#[test]
fn what_workers_that_were_asked_to_stop_left_is_said_at_once_and_at_the_end_of_the_console() {
    let mut server = Server::start_restartable();
    server.psql("postgres", "CREATE DATABASE jobs").expect("a database");
    let mut desk = Desk::sized(160, 40, Some(&server.url("jobs")), &[]);
    desk.start("--workers 1 --work-delay 50s --lease 3s");
    desk.begin_empty();
    let id = desk.submit(&["is left behind"]);
    desk.wait_line(id, &["RUNNING", "here/"]);
    bob_asks(&desk);
    desk.terminal.wait_text("draining 1/1 asked by bob");
    server.stop();
    // Its lease passes while nothing can be written.
    let left = format!("left RUNNING until their lease passes: {id}");
    desk.terminal.wait_text("the workers of this process have ended, as bob asked");
    server.start_again();
    desk.terminal.wait_for("all well again", |screen| screen.contains("link ok"));
    desk.terminal.keys("5");
    desk.terminal.wait_for("the line in the log", |screen| screen.replace('\n', " ").contains(&left));
    assert_eq!(desk.quit(), 1);
    let said = format!("that was asked: {id}");
    let screen = desk.terminal.screen().replace('\n', "");
    assert!(screen.contains("left RUNNING on") && screen.contains(&said), "{screen}");
}

#[test]
fn quitting_while_workers_drain_on_request_ends_the_process_with_them() {
    let mut desk = Desk::open(&empty_database());
    let gate = Gate::shut();
    desk.start(&works(&gate));
    desk.begin_empty();
    let id = desk.submit(&["takes its time"]);
    desk.wait_line(id, &["RUNNING", "here/"]);
    bob_asks(&desk);
    desk.terminal.wait_text("draining 1/1");
    desk.terminal.keys("q");
    desk.wait_dialog("bob asked these workers to drain");
    desk.terminal.keys("d");
    desk.terminal.wait_text("draining   1 left");
    gate.open();
    assert_eq!(desk.back_in_shell(), 0);
    assert!(desk.row(id).starts_with("SUCCEEDED|"), "{}", desk.row(id));
    assert_eq!(desk.psql("SELECT state FROM taskdeck.instances"), "stopped");
}
