//! The ways out with tasks in flight: drain, cancel, leave; and what each leaves behind.

use crate::desk::{Desk, line_of};
use crate::support::empty_database;

const CTRL_C: &str = "\u{3}";

/// A console with `count` tasks that run for `delay`, and their ids.
fn busy(count: usize, delay: &str, more: &str) -> (Desk, Vec<i64>) {
    let mut desk = Desk::open(&empty_database());
    desk.start(&format!("--workers {count} --work-delay {delay} {more}"));
    desk.begin_empty();
    let ids: Vec<i64> = (0..count).map(|_| desk.submit(&["takes its time"])).collect();
    for id in &ids {
        desk.wait_line(*id, &["RUNNING", "here/"]);
    }
    (desk, ids)
}

#[test]
fn a_drain_shows_its_progress_and_loses_nothing() {
    let (mut desk, ids) = busy(2, "4s", "");
    desk.terminal.keys("q");
    desk.terminal.wait_for("the question", |screen| {
        screen.contains("2 tasks are running here") && screen.contains("drain: claim nothing more")
    });
    // Escape stays, and nothing has begun.
    desk.terminal.keys("\u{1b}");
    desk.terminal.wait_for("the closed question", |screen| !screen.contains("are running here"));
    assert_eq!(desk.psql("SELECT state FROM taskdeck.instances"), "working");
    let late = desk.submit(&["comes too late for this console"]);
    desk.terminal.keys("q");
    desk.terminal.wait_text("are running here");
    desk.terminal.keys("d");
    let screen = desk.terminal.wait_text("draining   2 left   waiting 00:0");
    for id in &ids {
        assert!(screen.lines().any(|line| line.contains(&format!("{id}  RUNNING"))), "{screen}");
    }
    assert_eq!(desk.back_in_shell(), 0);
    for id in ids {
        assert!(desk.row(id).starts_with("SUCCEEDED|f|"), "{}", desk.row(id));
    }
    // What was claimed ahead or not at all has spent no attempt.
    assert_eq!(
        desk.psql(&format!("SELECT status, attempt FROM taskdeck.tasks WHERE id = {late}")),
        "QUEUED|0"
    );
    assert_eq!(desk.psql("SELECT state FROM taskdeck.instances"), "stopped");
}

#[test]
fn c_in_the_question_cancels_what_runs() {
    let (mut desk, ids) = busy(1, "50s", "");
    desk.terminal.keys("q");
    desk.terminal.wait_text("1 task is running here");
    desk.terminal.keys("c");
    assert_eq!(desk.back_in_shell(), 0);
    assert!(desk.row(ids[0]).starts_with("CANCELED|f|"), "{}", desk.row(ids[0]));
}

#[test]
fn ctrl_c_asks_then_cancels_then_leaves_and_says_what_stays_running() {
    let (mut desk, ids) = busy(2, "50s", "--ignore-cancel");
    desk.terminal.keys(CTRL_C);
    desk.terminal.wait_text("drain: claim nothing more");
    desk.terminal.keys("d");
    desk.terminal.wait_text("draining   2 left");
    desk.terminal.keys(CTRL_C);
    // Asked is not ended: the rows stay RUNNING for as long as their analysers do.
    desk.terminal.wait_for("the cancel's progress", |screen| {
        screen.contains("asked to stop   2 left") && screen.matches("asked to stop").count() >= 3
    });
    for id in &ids {
        assert!(desk.row(*id).starts_with("RUNNING|t|"), "{}", desk.row(*id));
    }
    desk.terminal.keys(CTRL_C);
    assert_eq!(desk.back_in_shell(), 1);
    let said = format!("left RUNNING on 127.0.0.1:{}", desk.port());
    let screen = desk.terminal.screen().replace('\n', "");
    assert!(screen.contains(&said), "{screen}");
    assert!(screen.contains(&format!("was asked: {}, {}", ids[0], ids[1])), "{screen}");
    for id in ids {
        assert!(desk.row(id).starts_with("RUNNING|t|"), "{}", desk.row(id));
    }
}

#[test]
fn ctrl_c_alone_asks_first_and_then_cancels() {
    let (mut desk, ids) = busy(1, "50s", "");
    desk.terminal.keys(CTRL_C);
    desk.terminal.wait_text("1 task is running here");
    assert!(desk.row(ids[0]).starts_with("RUNNING|f|"), "{}", desk.row(ids[0]));
    desk.terminal.keys(CTRL_C);
    assert_eq!(desk.back_in_shell(), 0);
    assert!(desk.row(ids[0]).starts_with("CANCELED|f|"), "{}", desk.row(ids[0]));
}

#[test]
fn an_analyser_that_does_not_listen_is_waited_for() {
    let (mut desk, ids) = busy(1, "4s", "--ignore-cancel");
    desk.terminal.keys("q");
    desk.terminal.wait_text("1 task is running here");
    desk.terminal.keys("c");
    desk.terminal.wait_text("asked to stop   1 left");
    // Looking around while it ends: the row says what the database says.
    desk.terminal.keys("\u{1b}");
    let screen = desk.terminal.wait_for("the row that is being canceled", |screen| {
        line_of(screen, ids[0]).is_some_and(|line| line.contains("RUNNING canceling"))
    });
    assert!(screen.contains("still ending"), "{screen}");
    assert_eq!(desk.back_in_shell(), 0);
    assert!(desk.row(ids[0]).starts_with("CANCELED|f|"), "{}", desk.row(ids[0]));
}
