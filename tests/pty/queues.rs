//! A queue is paused and resumed from a console.

use crate::desk::Desk;
use crate::support::empty_database;
use crate::worker::Headless;

fn has_line(screen: &str, words: &[&str]) -> bool {
    screen.lines().any(|line| words.iter().all(|word| line.contains(word)))
}

#[test]
fn a_worker_takes_nothing_from_a_queue_that_was_paused_here_until_it_is_resumed() {
    let url = empty_database();
    let mut desk = Desk::sized(80, 24, Some(&url), &[]);
    desk.start("--workers 0");
    desk.begin_empty();
    let worker = Headless::start(&url, &["--workers", "1", "--queue", "bills,other"], &[]);
    let first = desk.submit(&["--queue", "bills", "before the pause"]);
    desk.wait_row(first, |row| row.starts_with("SUCCEEDED"));
    desk.terminal.keys("2");
    desk.terminal.wait_text("no queue holds anything");
    desk.terminal.keys(":pause bills bad import\r");
    desk.wait_dialog("Workers claim nothing from `bills` until somebody resumes it.");
    assert_eq!(desk.psql("SELECT count(*) FROM taskdeck.queues"), "0", "nothing before the answer");
    desk.terminal.keys("y");
    desk.terminal.wait_text("paused queue bills (v0 → v1)");
    let waits = desk.submit(&["--queue", "bills", "waits"]);
    let goes = desk.submit(&["--queue", "other", "goes"]);
    // The same worker, later than the pause: it has looked, and left what waits.
    desk.wait_row(goes, |row| row.starts_with("SUCCEEDED"));
    assert_eq!(desk.row(waits), "QUEUED|f|0");
    desk.terminal.keys("\t");
    desk.terminal.wait_for("the paused queue", |screen| {
        has_line(screen, &[" > ", "bills", "PAUSED", "1", "alice"]) && screen.contains("\"bad import\"")
    });
    desk.terminal.wait_text("queue bills is paused by alice");

    // Somebody else resumes and pauses it: what is asked here next carries what is on screen.
    desk.taskdeck(&["resume", "bills", "--operator", "bob"]);
    desk.terminal.wait_for("the open queue", |screen| has_line(screen, &["bills", "open", "resumed by bob"]));
    desk.wait_row(waits, |row| row.starts_with("SUCCEEDED"));
    desk.terminal.keys(":pause\r");
    desk.wait_dialog("Workers claim nothing more from `bills`; nothing runs; nothing waits.");
    desk.taskdeck(&["pause", "bills", "--operator", "bob"]);
    desk.wait_dialog("Not possible: queue bills was paused by bob");
    desk.terminal.keys("y");
    desk.terminal.wait_text("nothing was sent");
    desk.terminal.keys("\u{1b}");
    desk.terminal.wait_for("bob's pause", |screen| {
        has_line(screen, &["bills", "PAUSED", "bob"]) && !screen.contains("Not possible")
    });
    let late = desk.submit(&["--queue", "bills", "waits for alice"]);
    desk.terminal.keys(":resume\r");
    desk.wait_dialog("Workers claim from `bills` again");
    assert_eq!(desk.row(late), "QUEUED|f|0");
    desk.terminal.keys("y");
    desk.wait_row(late, |row| row.starts_with("SUCCEEDED"));
    assert_eq!(
        desk.psql("SELECT actor, move, reason FROM taskdeck.events WHERE queue IS NOT NULL ORDER BY id"),
        "alice|pause|bad import\nbob|resume|\nbob|pause|\nalice|resume|"
    );
    drop(worker);
    assert_eq!(desk.quit(), 0);
}
