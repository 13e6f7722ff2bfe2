//! Signals while an answer is held back and while the database is down: the end comes in order, every row is right,
//! and whatever stays RUNNING is told and finished by the next process.

use rustix::process::Signal;

use crate::desk::{Desk, wait_until};
use crate::gate::Gate;
use crate::proxy::{Cut, Proxy};
use crate::support::{Server, empty_database, shared_server};
use crate::worker::{End, Headless};

/// A text that only the statement of a claim holds.
const CLAIM: &str = "AS n(name)";
/// A text that only the statement of successes holds.
const FINISH: &str = "AS f(id, claim_no, words";
/// A text that only the statement that ends an instance holds.
const SIGN_OFF: &str = "ended_at = clock_timestamp(), heartbeat_at";

/// A database behind a proxy: the desk looks at it directly, the address leads through the proxy.
struct Behind {
    desk: Desk,
    through: String,
    proxy: Proxy,
    _runtime: tokio::runtime::Runtime,
}

impl Behind {
    fn new() -> Self {
        let url = empty_database();
        let (proxy, runtime) = Proxy::start_aside(shared_server().port());
        let through = proxy.address(&url);
        let desk = Desk::open(&url);
        Self { desk, through, proxy, _runtime: runtime }
    }

    fn start(&self, flags: &[&str]) -> Headless {
        let flags = [&["--workers", "1"], flags].concat();
        Headless::begin(&[("TASKDECK_DATABASE_URL", &self.through)], &flags, &[])
    }
}

const BY_STATE: &str = "SELECT status, count(*) FROM taskdeck.tasks GROUP BY status ORDER BY status";
const INSTANCES: &str = "SELECT state FROM taskdeck.instances ORDER BY started_at";

fn last(end: &End) -> &str {
    end.log.lines().last().unwrap_or_default()
}

/// What a process left is finished by the next one once the lease has passed.
fn the_next_one_finishes(desk: &Desk, tasks: usize) {
    let next = Headless::start(&desk.url(), &["--workers", "2"], &[]);
    wait_until("everything is done", || (desk.psql(BY_STATE) == format!("SUCCEEDED|{tasks}")).then_some(()));
    next.process().signal(Signal::TERM);
    assert_eq!(next.end().code, Some(0));
    let held = "SELECT count(*) FROM taskdeck.instances WHERE state NOT IN ('stopped', 'lost')";
    assert_eq!(desk.psql(held), "0");
}

#[test]
fn a_claim_whose_answer_is_held_back_is_given_back() {
    let behind = Behind::new();
    for _ in 0..3 {
        behind.desk.submit(&["waits"]);
    }
    behind.proxy.cut(Cut::Stall, CLAIM);
    let worker = behind.start(&["--work-delay", "50s", "--statement-timeout", "5s"]);
    // Won, and nobody was told, until the deadline passes: the signal comes before that.
    wait_until("won tasks", || behind.desk.psql(BY_STATE).contains("RUNNING").then_some(()));
    worker.process().signal(Signal::TERM);
    let end = worker.end();
    assert_eq!((end.code, behind.proxy.cuts()), (Some(0), 1), "{}", end.log);
    assert!(last(&end).contains("nothing was left"), "{}", end.log);
    assert_eq!(behind.desk.psql(BY_STATE), "QUEUED|3");
    assert_eq!(behind.desk.psql("SELECT DISTINCT attempt FROM taskdeck.tasks"), "0");
    assert_eq!(behind.desk.psql(INSTANCES), "stopped");
    the_next_one_finishes(&behind.desk, 3);
}

#[test]
fn leaving_during_a_claim_says_that_its_tasks_stay() {
    let behind = Behind::new();
    let id = behind.desk.submit(&["waits"]);
    behind.proxy.cut(Cut::Stall, CLAIM);
    // A statement that is waited for longer than three signals take.
    let worker = behind.start(&["--statement-timeout", "10m", "--lease", "6s"]);
    behind.desk.wait_row(id, |row| row.starts_with("RUNNING"));
    for told in ["draining", "canceling", "leaving"] {
        worker.process().signal(Signal::TERM);
        worker.wait_log(told, 1);
    }
    let end = worker.end();
    assert_eq!(end.code, Some(1), "{}", end.log);
    assert!(last(&end).contains("won by a claim whose answer had not come"), "{}", end.log);
    assert_eq!(behind.desk.row(id), "RUNNING|f|1");
    assert_ne!(behind.desk.psql(INSTANCES), "stopped", "it has not said that it stopped");
    the_next_one_finishes(&behind.desk, 1);
}

#[test]
fn a_finish_whose_answer_is_held_back_is_asked_after() {
    let behind = Behind::new();
    let id = behind.desk.submit(&["ends"]);
    behind.proxy.cut(Cut::Stall, FINISH);
    let worker = behind.start(&["--statement-timeout", "3s"]);
    behind.desk.wait_row(id, |row| row == "SUCCEEDED|f|2");
    worker.process().signal(Signal::TERM);
    let end = worker.end();
    assert_eq!((end.code, behind.proxy.cuts()), (Some(0), 1), "{}", end.log);
    assert!(last(&end).contains("nothing was left"), "{}", end.log);
    assert_eq!(behind.desk.row(id), "SUCCEEDED|f|2", "written once");
    assert_eq!(behind.desk.psql(INSTANCES), "stopped");
}

#[test]
fn leaving_during_a_finish_does_not_say_that_the_task_stays_running() {
    let behind = Behind::new();
    let id = behind.desk.submit(&["ends"]);
    behind.proxy.cut(Cut::Stall, FINISH);
    let worker = behind.start(&["--statement-timeout", "10m", "--lease", "6s"]);
    behind.desk.wait_row(id, |row| row == "SUCCEEDED|f|2");
    for told in ["draining", "canceling", "leaving"] {
        worker.process().signal(Signal::TERM);
        worker.wait_log(told, 1);
    }
    let end = worker.end();
    assert_eq!(end.code, Some(1), "{}", end.log);
    assert!(last(&end).contains(&format!("may_have_ended={id}")), "{}", end.log);
    assert!(!end.log.contains("stay RUNNING"), "{}", end.log);
    assert_eq!(behind.desk.row(id), "SUCCEEDED|f|2");
}

/// A worker on a server of its own that drains; its one task runs until its gate is open.
struct Draining {
    server: Server,
    desk: Desk,
    worker: Headless,
    id: i64,
    gate: Gate,
}

impl Draining {
    fn start(lease: &str) -> Self {
        let server = Server::start_restartable();
        server.psql("postgres", "CREATE DATABASE work").expect("create");
        let desk = Desk::open(&server.url("work"));
        let gate = Gate::shut();
        let command = gate.exec();
        let flags = ["--workers", "1", "--lease", lease, "--grace", "10m", "--exec", &command];
        let worker = Headless::start(&desk.url(), &flags, &[]);
        let id = desk.submit(&["takes its time"]);
        desk.wait_row(id, |row| row.starts_with("RUNNING"));
        worker.process().signal(Signal::TERM);
        worker.wait_log("draining", 1);
        Self { server, desk, worker, id, gate }
    }
}

#[test]
fn a_database_that_stops_in_the_middle_of_a_drain_and_comes_back_costs_nothing() {
    let mut draining = Draining::start("5m");
    draining.server.stop();
    draining.gate.open();
    // Its result is there and cannot be told.
    wait_until("the command's end", || draining.gate.was_passed().then_some(()));
    let Draining { mut server, desk, worker, id, .. } = draining;
    server.start_again();
    let end = worker.end();
    assert_eq!(end.code, Some(0), "{}", end.log);
    assert!(last(&end).contains("nothing was left"), "{}", end.log);
    assert_eq!(desk.row(id), "SUCCEEDED|f|2");
    assert_eq!(desk.psql(INSTANCES), "stopped");
}

#[test]
fn a_database_that_does_not_come_back_in_a_drain_leaves_what_is_told() {
    let mut draining = Draining::start("6s");
    draining.server.stop();
    draining.gate.open();
    let Draining { mut server, desk, worker, id, .. } = draining;
    let end = worker.end();
    assert_eq!(end.code, Some(1), "{}", end.log);
    assert!(last(&end).contains(&format!("tasks={id}")), "{}", end.log);
    assert!(end.log.contains("lease lost"), "{}", end.log);
    server.start_again();
    assert_eq!(desk.row(id), "RUNNING|f|1");
    assert_ne!(desk.psql(INSTANCES), "stopped", "it has not said that it stopped");
    the_next_one_finishes(&desk, 1);
    assert_eq!(desk.psql("SELECT claim_no FROM taskdeck.tasks"), "2");
}

#[test]
fn sigterm_with_the_database_down_ends_and_says_that_nobody_confirmed_it() {
    let mut server = Server::start_restartable();
    server.psql("postgres", "CREATE DATABASE work").expect("create");
    let desk = Desk::open(&server.url("work"));
    let worker = Headless::start(&desk.url(), &["--workers", "1"], &[]);
    let id = desk.submit(&["is done before"]);
    desk.wait_row(id, |row| row.starts_with("SUCCEEDED"));
    server.stop();
    worker.process().signal(Signal::TERM);
    let end = worker.end();
    assert_eq!(end.code, Some(1), "{}", end.log);
    assert!(last(&end).contains("did not confirm its end"), "{}", end.log);
    server.start_again();
    assert_eq!(desk.row(id), "SUCCEEDED|f|2");
}

/// The console's exit agrees with the one of a worker without a terminal.
#[test]
fn a_console_whose_end_nobody_confirms_says_so_and_is_no_success() {
    let behind = Behind::new();
    let mut desk = Desk::open(&behind.through);
    desk.start("--workers 1 --statement-timeout 1s");
    desk.begin_empty();
    for _ in 0..100 {
        behind.proxy.cut(Cut::Stall, SIGN_OFF);
    }
    assert_eq!(desk.quit(), 1);
    let screen = desk.terminal.screen().replace('\n', "");
    assert!(screen.contains("the database did not answer at the end"), "{screen}");
}
