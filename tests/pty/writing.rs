//! The editor and what is pasted: a paste is text, and a text survives whatever becomes of its submit.

use crate::desk::{Desk, line_of, wait_until};
use crate::support::{Server, empty_database};

/// A paste as a terminal brackets it.
fn paste(text: &str) -> String {
    format!("\u{1b}[200~{text}\u{1b}[201~")
}

#[test]
fn a_paste_in_the_list_runs_no_key() {
    let mut desk = Desk::open(&empty_database());
    desk.start("--workers 0");
    desk.begin_empty();
    let id = desk.submit(&["waits for workers"]);
    desk.wait_line(id, &["QUEUED"]);
    desk.terminal.keys("g");
    desk.terminal.keys(&paste("c\ny\nq\n\u{3}X\ny\nn\nhello\r\n\u{13}"));
    let screen = desk.terminal.wait_text("pasted text goes into a field only");
    assert!(!screen.contains("Cancel task") && !screen.contains("New task"), "{screen}");
    assert_eq!(desk.quit(), 0);
    assert_eq!(desk.row(id), "QUEUED|f|0");
    assert_eq!(desk.psql("SELECT count(*) FROM taskdeck.tasks"), "1");
}

#[test]
fn a_paste_in_the_editor_is_text_and_submits_nothing() {
    let mut desk = Desk::open(&empty_database());
    desk.start("--workers 0");
    desk.begin_empty();
    desk.terminal.keys("n");
    desk.terminal.wait_text("New task");
    desk.terminal.keys(&paste("first line\nq\ny\r\nlast line"));
    desk.terminal.wait_for("all lines in the editor", |screen| {
        ["New task", "first line", "last line"].iter().all(|text| screen.contains(text))
    });
    assert_eq!(desk.psql("SELECT count(*) FROM taskdeck.tasks"), "0");
    desk.terminal.keys("\u{13}");
    desk.wait_line(1, &["QUEUED", "first line"]);
    assert_eq!(
        desk.psql("SELECT replace(input, chr(13), '<CR>') FROM taskdeck.task_inputs"),
        "first line\nq\ny\nlast line"
    );
    assert_eq!(desk.quit(), 0);
}

#[test]
fn a_text_survives_a_failed_submit_and_goes_in_once_the_database_is_back() {
    let mut server = Server::start_restartable();
    server.psql("postgres", "CREATE DATABASE jobs").expect("a database");
    let mut desk = Desk::open(&server.url("jobs"));
    desk.start("--workers 0");
    desk.begin_empty();
    desk.terminal.keys("n");
    desk.terminal.wait_text("New task");
    desk.terminal.keys("written with care");
    desk.terminal.wait_text("written with care");
    server.stop();
    desk.terminal.wait_text("NO ANSWER");
    desk.terminal.keys("\u{13}");
    let screen = desk.wait_dialog("not submitted, database unavailable, the text is kept");
    assert!(screen.contains("written with care"), "{screen}");
    // Also closing the editor loses nothing.
    desk.terminal.keys("\u{1b}");
    desk.terminal.wait_for("the closed editor", |screen| !screen.contains("New task"));
    desk.terminal.keys("n");
    desk.terminal.wait_for("the text again", |screen| {
        screen.contains("New task") && screen.contains("written with care")
    });
    server.start_again();
    desk.terminal.wait_text("link ok");
    desk.terminal.keys("\u{13}");
    desk.wait_line(1, &["QUEUED", "written with care"]);
    let rows =
        wait_until("the row", || Some(desk.psql("SELECT count(*), min(input) FROM taskdeck.task_inputs")));
    assert_eq!(rows, "1|written with care");
    assert_eq!(desk.quit(), 0);
}

#[test]
fn an_unsent_text_is_asked_about_before_the_end() {
    let mut desk = Desk::open(&empty_database());
    desk.start("--workers 0");
    desk.begin_empty();
    desk.terminal.keys("n");
    desk.terminal.wait_text("New task");
    desk.terminal.keys("half a thought");
    desk.terminal.wait_text("half a thought");
    desk.terminal.keys("\u{1b}");
    desk.terminal.wait_for("the closed editor", |screen| !screen.contains("New task"));
    desk.terminal.keys("q");
    desk.terminal.wait_text("A text was not submitted");
    desk.terminal.keys("n");
    desk.terminal.wait_for("the closed question", |screen| !screen.contains("A text was not submitted"));
    desk.terminal.keys("q");
    desk.terminal.wait_text("A text was not submitted");
    desk.terminal.keys("y");
    assert_eq!(desk.back_in_shell(), 0);
}

#[test]
fn a_task_that_is_held_from_the_console_waits_for_approval_or_is_rejected_with_a_reason() {
    let mut desk = Desk::sized(80, 24, Some(&empty_database()), &[]);
    desk.start("--workers 1");
    desk.begin_empty();
    for (id, text) in [(1, "to be approved"), (2, "to be rejected")] {
        desk.terminal.keys("n");
        desk.terminal.wait_text("New task");
        desk.terminal.keys(text);
        desk.terminal.wait_text(text);
        if id == 1 {
            let screen = desk.terminal.wait_text("[ ] hold for approval");
            assert!(screen.contains("Ctrl-T hold it"), "{screen}");
            desk.terminal.keys("\u{14}");
        }
        // The next one too, until the switch is turned back.
        let screen = desk.terminal.wait_text("[x] hold for approval");
        assert!(screen.contains("Ctrl-T do not hold"), "{screen}");
        desk.terminal.keys("\u{13}");
        desk.wait_line(id, &["SUBMITTED"]);
    }
    let to_row = |desk: &mut Desk, key: &str, id: i64| {
        desk.terminal.keys(key);
        desk.terminal.wait_for("the row under the cursor", |screen| {
            line_of(screen, id).is_some_and(|line| line.contains('>'))
        });
    };
    to_row(&mut desk, "g", 2);
    desk.terminal.keys("X");
    desk.terminal.wait_text("Reject task 2?");
    desk.terminal.keys("i");
    desk.terminal.keys("duplicate of 1");
    desk.wait_dialog("duplicate of 1");
    assert_eq!(desk.row(2), "SUBMITTED|f|0", "a reason is text, whatever letters it has");
    desk.terminal.keys("\r");
    desk.terminal.wait_text("y reject");
    desk.terminal.keys("y");
    desk.wait_row(2, |row| row == "REJECTED|f|1");
    desk.wait_line(2, &["REJECTED"]);
    // Its worker is idle all the time: what is held is not taken.
    assert_eq!(desk.row(1), "SUBMITTED|f|0");
    to_row(&mut desk, "j", 1);
    desk.terminal.keys("a");
    desk.terminal.wait_text("Approve task 1?");
    desk.terminal.keys("y");
    desk.wait_row(1, |row| row.starts_with("SUCCEEDED"));
    desk.wait_line(1, &["SUCCEEDED"]);
    assert_eq!(desk.quit(), 0);
    let events = "SELECT string_agg(concat_ws(' ', actor, move, task_id, reason), ',' ORDER BY id) FROM taskdeck.events";
    assert_eq!(desk.psql(events), "alice reject 2 duplicate of 1,alice approve 1");
}
