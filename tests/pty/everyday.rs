//! An operator's ordinary day: start, write a task, watch it, cancel another, quit.

use crate::desk::{Desk, rows_with, wait_until};
use crate::support::empty_database;

#[test]
fn a_text_is_written_and_succeeds_another_is_canceled_and_the_terminal_is_given_back() {
    let mut desk = Desk::open(&empty_database());
    desk.start("--workers 1 --work-delay 1s");
    desk.begin_empty();

    desk.terminal.keys("n");
    desk.terminal.wait_text("New task");
    desk.terminal.keys("Go \u{8bed}\u{8a00}\rsecond line");
    desk.terminal.wait_text("second line");
    desk.terminal.keys("\u{13}");
    desk.wait_line(1, &["SUCCEEDED", "Go \u{8bed}\u{8a00}\\nsecond line"]);
    assert_eq!(desk.psql("SELECT input FROM taskdeck.task_inputs"), "Go \u{8bed}\u{8a00}\nsecond line");
    let counts = "SELECT status, words, bytes, runes FROM taskdeck.tasks WHERE id = 1";
    assert_eq!(desk.psql(counts), "SUCCEEDED|4|21|17");
    // The counts stand beside the row under the cursor.
    desk.terminal.keys("g");
    desk.terminal.wait_for("the counts", |screen| {
        screen.contains("4 words") && screen.contains("21 bytes") && screen.contains("17 runes")
    });
    assert_eq!(desk.quit(), 0);
}

#[test]
fn a_running_task_is_asked_to_stop_and_is_canceled_only_once_it_has() {
    let mut desk = Desk::open(&empty_database());
    // The worker that runs it does not co-operate, so that the request is seen for as long as it takes.
    desk.start("--workers 1 --work-delay 4s --ignore-cancel");
    desk.begin_empty();
    let id = desk.submit(&["a text that takes its time"]);
    desk.wait_line(id, &["RUNNING"]);
    desk.terminal.keys("gc");
    desk.wait_dialog("will be asked to stop; stays RUNNING until its analyser has returned");
    desk.terminal.keys("y");
    desk.wait_line(id, &["RUNNING", "canceling"]);
    assert!(desk.row(id).starts_with("RUNNING|t|"), "{}", desk.row(id));
    desk.wait_line(id, &["CANCELED"]);
    assert!(desk.row(id).starts_with("CANCELED|f|"), "{}", desk.row(id));
    let events = "SELECT actor, move FROM taskdeck.events WHERE move LIKE '%cancel%' ORDER BY id";
    assert!(desk.psql(events).starts_with("alice|"), "{}", desk.psql(events));
    assert_eq!(desk.quit(), 0);
}

#[test]
fn a_first_start_offers_samples_and_y_submits_them() {
    let mut desk = Desk::open(&empty_database());
    desk.start("--workers 2");
    desk.terminal.wait_text("y submit the samples");
    desk.terminal.keys("y");
    desk.terminal.wait_for("samples that have succeeded", |screen| rows_with(screen, "SUCCEEDED") == 5);
    assert_eq!(
        desk.psql("SELECT count(*), min(status), max(status) FROM taskdeck.tasks"),
        "5|SUCCEEDED|SUCCEEDED"
    );
    assert_eq!(desk.quit(), 0);

    desk.start("--workers 2");
    let screen = desk.terminal.wait_for("the list", |screen| screen.contains("SUCCEEDED"));
    assert!(!screen.contains("A new database"), "{screen}");
    assert_eq!(desk.quit(), 0);
}

#[test]
fn n_to_the_samples_leaves_the_database_empty() {
    let mut desk = Desk::open(&empty_database());
    desk.start("--workers 2");
    desk.terminal.wait_text("A new database");
    desk.terminal.keys("n");
    desk.terminal.wait_for("the closed question", |screen| !screen.contains("A new database"));
    // The instance has ended in the table, so whatever this console was going to write it has written.
    assert_eq!(desk.quit(), 0);
    wait_until("the end of the instance", || {
        (desk.psql("SELECT state FROM taskdeck.instances") == "stopped").then_some(())
    });
    assert_eq!(desk.psql("SELECT count(*) FROM taskdeck.task_inputs"), "0");
}
