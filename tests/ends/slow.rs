//! A database that answers slowly or refuses is not one that gives no answer.

use crate::desk::Desk;
use crate::support::empty_database;

#[test]
fn an_overview_that_is_stopped_by_the_server_stops_nothing_else() {
    let url = empty_database();
    // Makes the schema, and leaves the row of an instance.
    let mut desk = Desk::open(&url);
    desk.start("--workers 1 --queue other");
    desk.begin_empty();
    assert_eq!(desk.quit(), 0);
    // The overview asks for the state of instances, and that takes long; the list does not ask for it.
    desk.psql(
        "CREATE FUNCTION taskdeck.nap(t text) RETURNS text STABLE LANGUAGE plpgsql
             AS 'BEGIN PERFORM pg_sleep(20); RETURN t; END';
         ALTER TABLE taskdeck.instances RENAME TO kept;
         ALTER TABLE taskdeck.kept RENAME COLUMN state TO kept_state;
         CREATE VIEW taskdeck.instances AS SELECT *, taskdeck.nap(kept_state) AS state FROM taskdeck.kept",
    );
    let mut desk = Desk::open(&url);
    desk.start("--read-only --statement-timeout 700ms");
    let screen = desk.terminal.wait_text("the counts cannot be read: the server stopped the statement");
    assert!(screen.contains("link ok") && !screen.contains("NO ANSWER"), "{screen}");
    let second = desk.submit(&["meanwhile"]);
    desk.wait_line(second, &["QUEUED"]);
    let screen = desk.terminal.screen();
    assert!(screen.contains("COUNTS") && !screen.contains("NO ANSWER"), "{screen}");
    desk.psql(
        "DROP VIEW taskdeck.instances;
         ALTER TABLE taskdeck.kept RENAME COLUMN kept_state TO state;
         ALTER TABLE taskdeck.kept RENAME TO instances",
    );
    desk.terminal.wait_for("counts again", |screen| !screen.contains("COUNTS"));
    assert_eq!(desk.quit(), 0);
}
