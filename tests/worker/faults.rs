//! What befalls a database while a worker works: after each the worker is back by itself, and every claim was
//! run once.

use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use taskdeck::db::{Db, Limits, Preview};
use taskdeck::domain::{Status, TaskId};
use taskdeck::worker::{Config, Part, WorkerEvent};

use crate::rig::{Running, Script, config, reaches, submit, submit_many};
use crate::support::{PATIENCE, Server, open, until};

/// Deadlines short enough to be met in a test.
fn limits() -> Limits {
    Limits { statement: Duration::from_secs(1), acquire: Duration::from_secs(2), ..Limits::default() }
}

/// A server of its own with a worker that only wake-ups make look.
struct Scene {
    server: Server,
    db: Db,
    script: std::sync::Arc<Script>,
    worker: Running,
    ids: Vec<TaskId>,
}

impl Scene {
    async fn start() -> Self {
        let server = Server::start_restartable();
        server.psql("postgres", "CREATE DATABASE work").expect("create");
        let db = open(&server.url("work"), limits()).await;
        db.migrate().await.expect("migrate");
        let script = Script::new();
        let patient = Config { poll: Duration::from_hours(1), batch: 40, ..config() };
        let mut worker = Running::start(&db, patient, script.clone());
        worker.began().await;
        let scene = Self { server, db, script, worker, ids: Vec::new() };
        scene.worker.is_well().await;
        scene
    }

    /// How long a number of tasks takes, from submit to end.
    async fn round(&mut self) -> Duration {
        let began = Instant::now();
        let ids = submit_many(&self.db, 400).await;
        for id in &ids {
            reaches(&self.db, *id, Status::Succeeded).await;
        }
        self.ids.extend(ids);
        began.elapsed()
    }

    /// Lets something befall the server while the worker works, and waits for everything to be as before.
    async fn lives_through(&mut self, what: impl FnOnce(&mut Server)) {
        let before = self.round().await;
        let held = submit(&self.db, "held").await;
        self.script.runs_now(held).await;
        let under_way = submit_many(&self.db, 1_000).await;
        until("work under way", || async { (self.script.runs().len() > self.ids.len() + 50).then_some(()) })
            .await;
        what(&mut self.server);
        self.script.open();
        // A look-up is not asked again by itself as a write is.
        until("an answer", || async { self.db.task(held, None, Preview::Beginning).await.ok().flatten() })
            .await;
        self.ids.extend(under_way);
        self.ids.push(held);
        for id in &self.ids {
            assert_eq!(reaches(&self.db, *id, Status::Succeeded).await.claim_no, 1, "{id}");
        }
        self.worker.is_well().await;
        let after = self.round().await;
        // For a person to compare: on a machine with other work the two say little about each other.
        println!("a round took {before:?} before and {after:?} after");
        let mut runs = self.script.runs();
        runs.sort_unstable();
        runs.dedup();
        assert_eq!((runs.len(), self.script.runs().len()), (self.ids.len(), self.ids.len()), "each once");
        let instances = self.server.psql("work", "SELECT count(*) FROM taskdeck.instances");
        assert_eq!(instances.as_deref(), Ok("1"), "its lease has lasted");
        assert_eq!(self.worker.drain().await, []);
    }
}

fn list(pids: &[i32]) -> String {
    pids.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn signal(pid: i32, signal: Signal) {
    kill_process(Pid::from_raw(pid).expect("a process"), signal).expect("a signal to the server");
}

/// The processes of the server that serve its clients or itself.
fn processes(server: &Server, which: &str) -> Vec<i32> {
    let pids =
        server.psql("work", &format!("SELECT pid FROM pg_stat_activity WHERE {which}")).expect("asked");
    pids.lines().map(|pid| pid.parse().expect("a number")).collect()
}

/// A server whose processes are all stopped. They go on with the end of this, also where the test has failed: a server
/// that stands still could not be ended.
struct Silent(Vec<i32>);

impl Silent {
    fn make(server: &Server) -> Self {
        // One that cleans up may have ended by the time that it would be stopped.
        let lasting = "pid <> pg_backend_pid() AND backend_type <> 'autovacuum worker'";
        // The postmaster first, so that nobody comes who is not stopped too.
        let mut silent = Self(vec![server.pid()]);
        silent.0.extend(processes(server, lasting));
        for pid in &silent.0 {
            signal(*pid, Signal::STOP);
        }
        silent
    }
}

impl Drop for Silent {
    fn drop(&mut self) {
        for pid in self.0.iter().rev() {
            // One that has ended is none that stands still.
            let _ = kill_process(Pid::from_raw(*pid).expect("a process"), Signal::CONT);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restart_in_good_order() {
    Scene::start()
        .await
        .lives_through(|server| {
            server.stop();
            server.start_again();
        })
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_immediate_restart() {
    Scene::start()
        .await
        .lives_through(|server| {
            server.stop_immediately();
            server.start_again();
        })
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_that_is_killed_takes_all_others_down() {
    Scene::start()
        .await
        .lives_through(|server| {
            let ours = processes(server, "starts_with(application_name, 'taskdeck test ')");
            signal(ours[0], Signal::KILL);
            // The server ends all the others, and begins anew.
            let gone = format!("SELECT count(*) FROM pg_stat_activity WHERE pid IN ({})", list(&ours));
            let began = Instant::now();
            while server.psql("work", &gone).as_deref() != Ok("0") {
                assert!(began.elapsed() < PATIENCE, "the others are still there");
                std::thread::sleep(Duration::from_millis(10));
            }
        })
        .await;
}

/// Nothing is refused and nothing is answered, by old sessions and new ones, until the deadlines have passed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_takes_connections_and_stays_silent() {
    let mut scene = Scene::start().await;
    let mut local = scene.worker.handle.local();
    let mut troubled = move || {
        tokio::task::block_in_place(|| {
            let told = local.wait_for(|local| local.trouble.is_some());
            let told = tokio::runtime::Handle::current().block_on(tokio::time::timeout(PATIENCE, told));
            told.expect("told in time").expect("it lives");
        });
    };
    scene
        .lives_through(|server| {
            let silent = Silent::make(server);
            troubled();
            drop(silent);
        })
        .await;
}

/// The connection that listens is ended again and again: told once each time, and wake-ups come again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_listener_that_is_ended() {
    let mut scene = Scene::start().await;
    for _ in 0..5 {
        let listener = processes(&scene.server, "starts_with(application_name, 'taskdeck test listen')");
        let [pid] = listener[..] else { panic!("one listener: {listener:?}") };
        let sql = format!("SELECT pg_terminate_backend({pid}, 10000)");
        assert_eq!(scene.server.psql("work", &sql).as_deref(), Ok("t"));
        let mut told = Vec::new();
        scene
            .worker
            .event("it listens again", |event| match event {
                WorkerEvent::Trouble { part, message, .. } => {
                    told.push((*part, message.clone()));
                    None
                }
                WorkerEvent::TroubleOver { part: Part::Listener, .. } => Some(()),
                _ => None,
            })
            .await;
        assert!(matches!(&told[..], [(Part::Listener, message)] if message.contains("57P01")), "{told:?}");
        scene.round().await;
    }
    assert_eq!(scene.worker.drain().await, []);
}

/// The server gives fewer connections than are asked for, then none, then enough.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_with_no_connection_left() {
    let server = Server::start();
    server.psql("postgres", "CREATE ROLE few LOGIN").expect("create");
    server.psql("postgres", "CREATE DATABASE work OWNER few").expect("create");
    let url = server.url("work").replace("tester@", "few@");
    let direct = open(&server.url("work"), Limits::default()).await;
    let db = open(&url, Limits { operator_pool: 1, workers_pool: 5, ..limits() }).await;
    db.migrate().await.expect("migrate");
    // Fewer than the pools and the listener want.
    let allow = |number: i32| {
        let sql = format!("ALTER ROLE few CONNECTION LIMIT {number}");
        server.psql("postgres", &sql).expect("limit");
        let end =
            "SELECT count(pg_terminate_backend(pid, 10000)) FROM pg_stat_activity WHERE usename = 'few'";
        server.psql("postgres", end).expect("end all");
    };
    allow(3);
    let script = Script::new();
    let mut worker = Running::start(&db, config(), script.clone());
    worker.began().await;
    let ids = submit_many(&direct, 1_000).await;
    for id in &ids {
        reaches(&direct, *id, Status::Succeeded).await;
    }
    // As one connection is enough, no part that works has met the server's refusal.
    while let Ok(event) = worker.told.try_recv() {
        let works = |part: &Part| matches!(part, Part::Heart | Part::Claims | Part::Finishes);
        assert!(!matches!(&event, WorkerEvent::Trouble { part, .. } if works(part)), "{event:?}");
    }
    allow(0);
    let (message, hint) = worker
        .event("no connection at all", |event| match event {
            WorkerEvent::Trouble { part: Part::Heart | Part::Claims, message, hint } => {
                message.contains("53300").then(|| (message.clone(), hint.clone()))
            }
            _ => None,
        })
        .await;
    assert!(message.contains("too many connections for role"), "{message}");
    assert!(hint.is_some_and(|hint| hint.contains("CONNECTION LIMIT") && hint.contains("--pool-size")));
    let more = submit_many(&direct, 100).await;
    server.psql("postgres", "ALTER ROLE few CONNECTION LIMIT -1").expect("enough");
    for id in &more {
        reaches(&direct, *id, Status::Succeeded).await;
    }
    assert_eq!(script.runs().len(), ids.len() + more.len());
    assert_eq!(worker.drain().await, []);
}
