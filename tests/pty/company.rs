//! A console and a worker without a terminal on one database.

use rustix::process::Signal;

use crate::desk::Desk;
use crate::support::empty_database;
use crate::worker::Headless;

#[test]
fn another_process_appears_takes_tasks_drains_and_is_shown_stopped() {
    let url = empty_database();
    let mut desk = Desk::sized(160, 40, Some(&url), &[]);
    desk.start("--workers 0");
    desk.begin_empty();
    desk.terminal.keys("2");
    desk.terminal.wait_text("INSTANCE");
    let worker = Headless::start(&url, &["--workers", "2", "--work-delay", "3s"], &[]);
    let name = format!(":{}", worker.process().pid);
    let line = |screen: &str, words: &[&str]| {
        screen.lines().any(|line| line.contains(&name) && words.iter().all(|word| line.contains(word)))
    };
    desk.terminal.wait_for("the worker", |screen| line(screen, &["working", "0/2"]));
    let ids = [desk.submit(&["first"]), desk.submit(&["second"])];
    desk.terminal.wait_for("what it has in flight", |screen| {
        line(screen, &["2/2", &ids[0].to_string(), &ids[1].to_string()])
    });
    worker.process().signal(Signal::TERM);
    desk.terminal.wait_for("the drain", |screen| line(screen, &["draining"]));
    desk.terminal.wait_for("the end", |screen| line(screen, &["stopped"]));
    assert_eq!(worker.end().code, Some(0));
    desk.terminal.keys("1");
    for id in ids {
        desk.wait_line(id, &["SUCCEEDED"]);
    }
    assert_eq!(desk.quit(), 0);
}

#[test]
fn a_worker_that_is_killed_is_shown_lost_and_its_task_runs_again() {
    let url = empty_database();
    let mut desk = Desk::sized(160, 40, Some(&url), &[]);
    desk.start("--workers 1");
    desk.begin_empty();
    desk.terminal.keys("2");
    desk.terminal.wait_text("INSTANCE");
    let worker = Headless::start(
        &url,
        &["--workers", "1", "--queue", "far", "--work-delay", "50s", "--lease", "2s"],
        &[],
    );
    let name = format!(":{}", worker.process().pid);
    let id = desk.submit(&["--queue", "far", "dies with its worker"]);
    desk.wait_row(id, |row| row.starts_with("RUNNING"));
    worker.process().signal(Signal::KILL);
    desk.terminal.wait_for("the loss", |screen| {
        screen.lines().any(|line| line.contains(&name) && line.contains("LOST"))
    });
    desk.wait_row(id, |row| row.starts_with("QUEUED"));
    assert_eq!(desk.quit(), 0);
    let second = Headless::start(&url, &["--workers", "1", "--queue", "far"], &[]);
    desk.wait_row(id, |row| row.starts_with("SUCCEEDED"));
    second.process().signal(Signal::TERM);
    assert_eq!(second.end().code, Some(0));
}
