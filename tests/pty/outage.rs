//! A database that goes away and comes back under an open console.

use crate::desk::{Desk, line_of};
use crate::support::Server;

#[test]
fn a_stopped_database_is_said_rows_stay_decisions_are_refused_and_all_is_well_again_by_itself() {
    let mut server = Server::start();
    server.psql("postgres", "CREATE DATABASE jobs").expect("a database");
    let mut desk = Desk::open(&server.url("jobs"));
    desk.start("--workers 1 --queue other --poll 200ms");
    desk.begin_empty();
    let id = desk.submit(&["waits in a queue that nobody takes"]);
    desk.wait_line(id, &["QUEUED"]);
    desk.terminal.keys("g");
    for stop in [Server::stop, Server::stop_immediately] {
        stop(&mut server);
        let screen = desk.terminal.wait_for("the outage in the header", |screen| {
            screen.lines().next().is_some_and(|line| {
                line.contains("NO ANSWER for") && line.contains("next try") | line.contains("trying now")
            }) && old_data(screen).is_some_and(|age| age >= 2)
        });
        assert!(line_of(&screen, id).is_some_and(|line| line.contains("QUEUED")), "{screen}");
        let age = old_data(&screen).expect("an age");
        desk.terminal.wait_for("a growing age", |screen| old_data(screen).is_some_and(|now| now > age));

        desk.terminal.keys("c");
        desk.terminal.wait_text("will be CANCELED at once");
        desk.terminal.keys("y");
        let screen = desk.terminal.wait_text("not sent, database unavailable, nothing was changed");
        assert!(line_of(&screen, id).is_some_and(|line| line.contains("QUEUED")), "{screen}");

        server.start_again();
        desk.terminal.wait_for("all well again", |screen| {
            screen.contains("link ok") && !screen.contains("NO ANSWER") && !screen.contains("TROUBLE")
        });
        assert_eq!(desk.row(id), "QUEUED|f|0", "nothing was changed");
        // The workers are back too, without being told.
        let other = desk.submit(&["--queue", "other", "for the workers"]);
        desk.wait_line(other, &["SUCCEEDED"]);
    }
    assert_eq!(desk.quit(), 0);
}

#[test]
fn a_console_without_its_database_can_still_be_left() {
    let mut server = Server::start();
    server.psql("postgres", "CREATE DATABASE jobs").expect("a database");
    let mut desk = Desk::open(&server.url("jobs"));
    desk.start("--workers 1");
    desk.begin_empty();
    server.stop();
    desk.terminal.wait_text("NO ANSWER");
    // Nobody confirmed its end, which it says.
    assert_eq!(desk.quit(), 1);
    assert!(desk.terminal.screen().contains("did not answer at the end"), "{}", desk.terminal.screen());
    // And one that never finds it says so and ends.
    desk.run("taskdeck --workers 1");
    assert_eq!(desk.back_in_shell(), 5);
    assert!(desk.terminal.screen().contains("error:"), "{}", desk.terminal.screen());
}

/// The seconds of `DATA 14 s OLD`.
fn old_data(screen: &str) -> Option<u32> {
    let (_, rest) = screen.lines().next()?.split_once("DATA ")?;
    let (seconds, _) = rest.split_once(" s OLD")?;
    seconds.trim().split('.').next()?.parse().ok()
}
