//! Someone else got there first: the operator is told, before anything is sent or by the database's answer.

use std::process::{Child, Command, Stdio};

use crate::desk::{Desk, dialog, wait_until};
use crate::support::empty_database;

/// A console that only watches, its cursor on the one task that waits.
fn watching() -> (Desk, i64) {
    let mut desk = Desk::open(&empty_database());
    desk.start("--workers 0");
    desk.begin_empty();
    let id = desk.submit(&["who gets there first"]);
    desk.wait_line(id, &["QUEUED"]);
    desk.terminal.keys("g");
    (desk, id)
}

#[test]
fn a_row_that_moved_on_while_the_question_stands_is_not_sent() {
    let (mut desk, id) = watching();
    desk.terminal.keys("c");
    desk.terminal.wait_text("will be CANCELED at once");
    let output = desk.taskdeck(&["cancel", "--operator", "bob", &id.to_string()]);
    assert!(output.status.success(), "{output:?}");
    desk.wait_dialog("moved on since you saw it (v0 \u{2192} v1, now CANCELED): look again");
    desk.terminal.keys("y");
    desk.terminal.wait_text("nothing was sent");
    desk.terminal.keys("n");
    desk.terminal.wait_for("the closed question", |screen| !screen.contains("Cancel task"));
    assert_eq!(desk.quit(), 0);
    assert_eq!(desk.row(id), "CANCELED|f|1");
    assert_eq!(desk.psql("SELECT string_agg(actor || ' ' || move, ',') FROM taskdeck.events"), "bob cancel");
}

#[test]
fn a_row_that_moved_on_after_the_answer_is_a_conflict_that_names_the_winner() {
    let (mut desk, id) = watching();
    // Bob's decision holds the row's lock; alice's is sent and waits behind it; then bob's is committed.
    let mut bob = Session::open(&desk.url());
    bob.send(&format!(
        "BEGIN;
         UPDATE taskdeck.tasks SET status = 'CANCELED', version = version + 1, finished_at = clock_timestamp()
             WHERE id = {id};
         INSERT INTO taskdeck.events (task_id, actor, move, status_before, status_after, version_before,
                 version_after, reason, operation_id)
             VALUES ({id}, 'bob', 'cancel', 'QUEUED', 'CANCELED', 0, 1, 'wrong file', gen_random_uuid());"
    ));
    wait_until("bob's lock", || {
        let locks = "SELECT count(*) FROM pg_locks WHERE relation = 'taskdeck.tasks'::regclass
                         AND mode = 'RowExclusiveLock'";
        (desk.psql(locks) != "0").then_some(())
    });
    desk.terminal.keys("c");
    desk.terminal.wait_text("will be CANCELED at once");
    desk.terminal.keys("y");
    // An act in progress is shown beside the row, and the row stays what the database said.
    desk.wait_line(id, &["QUEUED", "cancel: asking\u{2026}"]);
    wait_until("alice behind bob", || {
        let waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'
                           AND datname = current_database()";
        (desk.psql(waiting) != "0").then_some(())
    });
    bob.send("COMMIT;");
    let screen = desk.terminal.wait_text("Nothing was changed");
    let said = dialog(&screen);
    for text in [
        format!("You asked to cancel {id} as you saw it: v0."),
        "bob canceled it".to_owned(),
        "(v0 \u{2192} v1): \"wrong file\"".to_owned(),
        "It is now CANCELED, v1.".to_owned(),
        "r requeue it as v1".to_owned(),
    ] {
        assert!(said.contains(&text), "{text} in\n{screen}");
    }
    // Deciding again is a decision of its own, about the row as it is now, with a question of its own.
    desk.terminal.keys("r");
    desk.terminal.wait_text(&format!("Requeue task {id}?"));
    assert_eq!(desk.row(id), "CANCELED|f|1");
    desk.terminal.keys("y");
    desk.wait_row(id, |row| row == "QUEUED|f|2");
    desk.wait_line(id, &["QUEUED"]);
    assert_eq!(desk.quit(), 0);
    let events = "SELECT string_agg(actor || ' ' || move, ',' ORDER BY id) FROM taskdeck.events";
    assert_eq!(desk.psql(events), "bob cancel,alice requeue");
}

#[test]
fn a_key_without_a_row_decides_nothing() {
    let mut desk = Desk::open(&empty_database());
    desk.start("--workers 0");
    desk.begin_empty();
    for key in ["c", "r", "a", "X", " ", "y", "R", "d", "4"] {
        let mark = desk.terminal.mark();
        desk.terminal.keys(key);
        desk.terminal.wait_bytes(mark);
    }
    let screen = desk.terminal.wait_text("this version has no race screen");
    assert!(!screen.contains("Cancel task") && !screen.contains("Requeue task"), "{screen}");
    assert_eq!(desk.quit(), 0);
    assert_eq!(desk.psql("SELECT count(*) FROM taskdeck.events"), "0");
}

/// Another operator's own session, by psql.
pub(crate) struct Session {
    psql: Child,
}

impl Session {
    pub(crate) fn open(url: &str) -> Self {
        let psql = Command::new("psql")
            .args(["-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", url])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .expect("start psql");
        Self { psql }
    }

    pub(crate) fn send(&mut self, sql: &str) {
        use std::io::Write as _;
        writeln!(self.psql.stdin.as_mut().expect("its input"), "{sql}").expect("psql reads");
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        drop(self.psql.stdin.take());
        let _ = self.psql.wait();
    }
}
