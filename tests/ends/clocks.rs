//! A process whose clock is ten minutes wrong: leases, due times and ages are the database's.

use std::path::PathBuf;

use jiff::{Span, Timestamp};
use rustix::process::Signal;

use crate::desk::{Desk, taskdeck, wait_until};
use crate::support::empty_database;
use crate::worker::Headless;

/// The library that gives a program another time of day, where the packages of the usual systems put it.
fn library() -> String {
    let named = std::env::var_os("TASKDECK_FAKETIME").map(PathBuf::from);
    let folders = ["/usr/lib", "/usr/lib64"].into_iter().flat_map(|folder| {
        let below = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
        below.chain([PathBuf::from(folder)]).collect::<Vec<_>>()
    });
    let packaged = folders.flat_map(|folder| {
        ["faketime/libfaketimeMT.so.1", "libfaketime/libfaketimeMT.so.1", "libfaketimeMT.so.1"]
            .map(|name| folder.join(name))
    });
    let found = named.into_iter().chain(packaged).find(|path| path.is_file());
    found
        .expect(
            "libfaketime is needed for this test: `sh scripts/ensure-test-packages.sh` installs it (apt-get \
             install libfaketime), or name libfaketimeMT.so.1 in TASKDECK_FAKETIME",
        )
        .display()
        .to_string()
}

/// What sets the clock of a program `minutes` off. The monotonic clock, by which every program waits, stays right, as
/// it does on a host whose time of day is wrong.
fn wrong(library: &str, minutes: i32) -> [(&str, String); 4] {
    [
        ("LD_PRELOAD", library.to_owned()),
        ("FAKETIME", format!("{minutes:+}m")),
        // The one is the name that older versions know, the other that of newer ones.
        ("DONT_FAKE_MONOTONIC", "1".to_owned()),
        ("FAKETIME_DONT_FAKE_MONOTONIC", "1".to_owned()),
    ]
}

/// Whether the times in a log are about as wrong as they were to be.
fn is_off_by(log: &str, minutes: i32) -> bool {
    let logged: Timestamp = log
        .lines()
        .find_map(|line| line.split_whitespace().next()?.parse().ok())
        .unwrap_or_else(|| panic!("a time in\n{log}"));
    let wanted = Timestamp::now() + Span::new().minutes(minutes);
    wanted.duration_since(logged).abs() < jiff::SignedDuration::from_mins(3)
}

/// How many live instances have a heartbeat, a start and a lease that are right by the database's clock; how many live.
const RIGHT: &str = "
    SELECT count(*) FILTER (WHERE heartbeat_at BETWEEN clock_timestamp() - interval '1 min' AND clock_timestamp()
                              AND started_at BETWEEN clock_timestamp() - interval '2 min' AND clock_timestamp()
                              AND lease_until - heartbeat_at BETWEEN interval '7 s' AND interval '9 s'), count(*)
      FROM taskdeck.instances WHERE state = 'working'";

fn beside_one_that_is_right(minutes: i32) {
    let url = empty_database();
    let desk = Desk::open(&url);
    let library = library();
    let owned = wrong(&library, minutes);
    let clock: Vec<(&str, &str)> = owned.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let worker = |queue, clock: &[(&str, &str)]| {
        let flags = ["--workers", "2", "--lease", "8s", "--queue", queue, "--work-delay", "18s"];
        Headless::start(&url, &flags, clock)
    };
    let right = worker("right", &[]);
    let wrong = worker("wrong", &clock);
    assert!(is_off_by(&wrong.log(), minutes), "its clock was to be wrong:\n{}", wrong.log());
    assert!(is_off_by(&right.log(), 0), "{}", right.log());

    // Nothing is stolen and nothing lost while both work for longer than a lease.
    let tasks = ["right", "wrong"].map(|queue| desk.submit(&["--queue", queue, "takes two leases"]));
    let running = "SELECT count(*) FROM taskdeck.tasks WHERE status = 'RUNNING'";
    wait_until("both at work", || (desk.psql(running) == "2").then_some(()));
    let mut looks = 0;
    wait_until("both done", || {
        assert_eq!(desk.psql(RIGHT), "2|2", "heartbeats by the database's clock");
        looks += 1;
        (desk.psql(running) == "0").then_some(())
    });
    assert!(looks > 1, "it was looked at while they worked");
    for id in tasks {
        let row = format!("SELECT status, claim_no, attempt, version FROM taskdeck.tasks WHERE id = {id}");
        assert_eq!(desk.psql(&row), "SUCCEEDED|1|1|2");
    }
    assert_eq!(desk.psql("SELECT count(*) FROM taskdeck.events"), "0");
    for log in [right.log(), wrong.log()] {
        assert!(!log.contains("lease lost") && !log.contains("recovered"), "{log}");
    }

    // What was put off is due by the database's clock, whoever submits it and whoever would run it.
    let mut variables = clock.clone();
    variables.push(("TASKDECK_DATABASE_URL", &url));
    for delay in ["5m", "1s"] {
        let flags = ["submit", "--queue", "wrong", "--delay", delay, delay];
        assert!(taskdeck(&variables, &flags).status.success());
    }
    let of = |delay: &str, what: &str| {
        desk.psql(&format!(
            "SELECT {what} FROM taskdeck.tasks JOIN taskdeck.task_inputs USING (id) WHERE input = '{delay}'"
        ))
    };
    let near = "created_at BETWEEN clock_timestamp() - interval '1 min' AND clock_timestamp()";
    assert_eq!(of("5m", &format!("scheduled_at - created_at, {near}")), "00:05:00|t");
    wait_until("the one that is due", || (of("1s", "status") == "SUCCEEDED").then_some(()));
    assert_eq!(of("1s", "started_at >= scheduled_at, started_at < scheduled_at + interval '1 min'"), "t|t");
    assert_eq!(of("5m", "status, claim_no"), "QUEUED|0", "five minutes have not passed");

    // One that is really gone is noticed by the other, and not before its lease has passed.
    dies(&desk, &right, "right", &wrong);
    let third = worker("other", &[]);
    dies(&desk, &wrong, "wrong", &third);
}

/// Kills `worker` while it runs a task of `queue`: `heir`, the only other process, takes the task back.
fn dies(desk: &Desk, worker: &Headless, queue: &str, heir: &Headless) {
    let id = desk.submit(&["--queue", queue, "left behind"]);
    desk.wait_row(id, |row| row.starts_with("RUNNING"));
    worker.process().signal(Signal::KILL);
    desk.wait_row(id, |row| row == "QUEUED|f|2");
    let (dead, heir) = (worker.process().pid, heir.process().pid);
    let recovered = desk.psql(&format!(
        "SELECT e.move, e.at >= i.lease_until, e.at < i.lease_until + interval '1 min', e.actor LIKE '%:{heir}'
           FROM taskdeck.events e, taskdeck.instances i WHERE e.task_id = {id} AND i.pid = {dead}"
    ));
    assert_eq!(recovered, "recover|t|t|t");
}

#[test]
fn a_clock_ten_minutes_ahead_steals_nothing_and_loses_nothing() {
    beside_one_that_is_right(10);
}

#[test]
fn a_clock_ten_minutes_behind_steals_nothing_and_loses_nothing() {
    beside_one_that_is_right(-10);
}
