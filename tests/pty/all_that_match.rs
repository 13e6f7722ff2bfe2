//! A thousand and more failures of one cause are brought back in a few keys, and the sum on screen is the table's.

use crate::conflicts::Session;
use crate::desk::{Desk, wait_until};
use crate::support::empty_database;

/// How many have failed of the cause that is searched for; another has failed of another.
const FAILED: usize = 1_200;

/// A console that only watches, over `FAILED` tasks of one cause and one of another.
fn failures(flags: &str) -> Desk {
    let mut desk = Desk::sized(80, 24, Some(&empty_database()), &[]);
    desk.start(&format!("--workers 0 {flags}"));
    desk.begin_empty();
    let file = tempfile::NamedTempFile::new().expect("a file of texts");
    let texts: String = (0..=FAILED).map(|number| format!("text {number}\n")).collect();
    std::fs::write(file.path(), texts).expect("write the texts");
    let output = desk.taskdeck(&["submit", "--lines", &file.path().display().to_string()]);
    assert!(output.status.success(), "{output:?}");
    desk.psql(&format!(
        "UPDATE taskdeck.tasks SET status = 'FAILED', version = version + 1, attempt = 3,
             finished_at = clock_timestamp(),
             error = CASE WHEN id <= {FAILED} THEN 'exit 1: no such column' ELSE 'exit 2' END"
    ));
    desk
}

/// How many tasks there are in each state: `FAILED 1,QUEUED 1200`.
fn table(desk: &Desk) -> String {
    desk.psql(
        "SELECT string_agg(status || ' ' || rows, ',' ORDER BY status)
         FROM (SELECT status, count(*) AS rows FROM taskdeck.tasks GROUP BY status) AS states",
    )
}

/// Searches for the cause, marks all that match, and asks to requeue them.
fn ask(desk: &mut Desk) {
    desk.wait_line(1_201, &["FAILED", "exit 2"]);
    desk.terminal.keys("/such column\r");
    desk.terminal.wait_for("the failures of one cause", |screen| {
        screen.contains(" 1200  FAILED") && !screen.contains(" 1201  FAILED")
    });
    desk.terminal.keys("A");
    desk.terminal.wait_text("all 1,200 that match");
    desk.terminal.keys("r");
    desk.terminal.wait_text("Requeue all 1,200 that match?");
    desk.wait_dialog("1,200  FAILED     will be QUEUED, no attempt spent");
}

/// Bob takes the 700th task for himself, and keeps its row until he is told to commit: the second chunk waits for it.
fn held(desk: &Desk) -> Session {
    let mut bob = Session::open(&desk.url());
    bob.send(
        "BEGIN;
         UPDATE taskdeck.tasks SET status = 'QUEUED', version = version + 1, attempt = 0, finished_at = NULL,
             error = NULL WHERE id = 700;",
    );
    wait_until("bob's lock", || {
        let locks = "SELECT count(*) FROM pg_locks WHERE relation = 'taskdeck.tasks'::regclass
                         AND mode = 'RowExclusiveLock'";
        (desk.psql(locks) != "0").then_some(())
    });
    bob
}

/// The first chunk is done, and the second waits behind bob.
fn wait_second(desk: &mut Desk) {
    desk.terminal.wait_text("500 of about 1,200 requeued");
    wait_until("the second chunk behind bob", || {
        let waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'
                           AND datname = current_database()";
        (desk.psql(waiting) != "0").then_some(())
    });
}

#[test]
fn twelve_hundred_failures_of_one_cause_are_requeued_in_three_keys() {
    let mut desk = failures("");
    ask(&mut desk);
    assert_eq!(table(&desk), "FAILED 1201", "nothing before the answer");
    desk.terminal.keys("y");
    let screen = desk.terminal.wait_text("Done: 1,200 requeued");
    assert!(screen.contains("1,200 requeued in 3 chunks"), "{screen}");
    assert!(screen.contains("None that was read as matching was left out."), "{screen}");
    assert_eq!(table(&desk), "FAILED 1,QUEUED 1200");
    let events =
        "SELECT count(*), count(DISTINCT task_id), count(DISTINCT operation_id), min(actor), max(move)
                      FROM taskdeck.events";
    assert_eq!(desk.psql(events), "1200|1200|3|alice|requeue");
    desk.terminal.keys("\r");
    desk.terminal.wait_for("the closed sum", |screen| !screen.contains("Done: 1,200"));
    desk.terminal.keys("5");
    desk.terminal.wait_text("requeue all that match: 1,200 requeued");
    assert_eq!(desk.quit(), 0);
}

#[test]
fn a_stop_comes_after_the_chunk_under_way_and_the_sum_is_the_tables() {
    let mut desk = failures("--lock-timeout 60s --statement-timeout 60s");
    ask(&mut desk);
    let mut bob = held(&desk);
    desk.terminal.keys("y");
    wait_second(&mut desk);
    desk.terminal.keys("\u{1b}");
    desk.terminal.wait_text("stopping after this chunk");
    assert_eq!(table(&desk), "FAILED 701,QUEUED 500", "the second chunk has no answer yet");
    bob.send("COMMIT;");
    // Its other rows are decided; bob's is left to him.
    let screen = desk.terminal.wait_text("Stopped: 999 requeued");
    assert!(screen.contains("1 was left as it is: 1 moved on"), "{screen}");
    assert!(screen.contains("700:"), "{screen}");
    assert_eq!(table(&desk), "FAILED 201,QUEUED 1000");
    assert_eq!(desk.psql("SELECT count(*) FROM taskdeck.events WHERE actor = 'alice'"), "999");
    desk.terminal.keys("\u{1b}");
    desk.terminal.wait_for("the closed sum", |screen| !screen.contains("Stopped: 999"));
    // What is left is asked about anew.
    desk.terminal.keys("A");
    desk.terminal.wait_text("200 marked; these are all that match");
    assert_eq!(desk.quit(), 0);
}

#[test]
fn who_ends_the_program_meanwhile_reads_the_sum_in_the_shell() {
    let mut desk = failures("--lock-timeout 60s --statement-timeout 60s");
    ask(&mut desk);
    let mut bob = held(&desk);
    desk.terminal.keys("y");
    wait_second(&mut desk);
    desk.terminal.keys("\u{3}");
    desk.terminal.wait_text("it stops after the chunk under");
    bob.send("COMMIT;");
    let screen = desk.terminal.wait_text("taskdeck: requeue all that match: 999 requeued");
    assert!(screen.contains("1 was left as it is"), "{screen}");
    assert_eq!(desk.back_in_shell(), 0);
    assert_eq!(table(&desk), "FAILED 201,QUEUED 1000");
}
