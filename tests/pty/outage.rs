//! A database that goes away and comes back under an open console.

use crate::desk::{Desk, line_of, wait_until};
use crate::proxy::Proxy;
use crate::support::{Server, empty_database, shared_server};
use crate::worker::Headless;

#[test]
fn a_stopped_database_is_said_rows_stay_decisions_are_refused_and_all_is_well_again_by_itself() {
    let mut server = Server::start_restartable();
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
    let mut server = Server::start_restartable();
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

/// Every part of a worker fails over and over while the database is away: that is a few lines, and its end is told with
/// a count.
#[test]
fn an_outage_is_a_handful_of_log_lines() {
    let (proxy, _runtime) = Proxy::start_aside(shared_server().port());
    let folder = tempfile::tempdir().expect("a folder");
    let log = folder.path().join("log");
    let path = log.display().to_string();
    let worker = Headless::start(
        &proxy.address(&empty_database()),
        &["--workers", "2", "--poll", "100ms", "--log-file", &path, "--log-format", "json"],
        &[],
    );
    let lines = || -> Vec<serde_json::Value> {
        let text = std::fs::read_to_string(&log).expect("a log");
        text.lines().map(|line| serde_json::from_str(line).expect("a document")).collect()
    };
    let before = proxy.arrivals().len();
    proxy.shut();
    // So many that every part has failed some times: they come in one after the other.
    wait_until("attempts to come in", || (proxy.arrivals().len() >= before + 15).then_some(()));
    proxy.let_in();
    wait_until("the end of the outage for every part", || {
        let lines = lines();
        let over = |part: &str| lines.iter().any(|line| line["part"] == part && line["failures"].is_u64());
        ["heartbeat", "claims", "listener"].into_iter().all(over).then_some(())
    });
    worker.process().signal(rustix::process::Signal::TERM);
    assert_eq!(worker.end().code, Some(0));
    let lines = lines();
    let failures: u64 = lines.iter().filter_map(|line| line["failures"].as_u64()).sum();
    assert!(failures > 20, "{failures} failures: {lines:#?}");
    let over = lines.iter().filter(|line| line["message"] == "works again").count();
    assert!((3..=6).contains(&over), "one a part: {lines:#?}");
    let grave: Vec<_> = lines.iter().filter(|line| line["level"] != "INFO").collect();
    assert!((1..=7).contains(&grave.len()), "{grave:#?}");
    let closed = grave.iter().filter(|line| line.to_string().contains("cannot connect")).count();
    assert!((1..=2).contains(&closed), "by one part that helps and one that works at most: {grave:#?}");
}

/// The seconds of `DATA 14 s OLD`.
fn old_data(screen: &str) -> Option<u32> {
    let (_, rest) = screen.lines().next()?.split_once("DATA ")?;
    let (seconds, _) = rest.split_once(" s OLD")?;
    seconds.trim().split('.').next()?.parse().ok()
}
