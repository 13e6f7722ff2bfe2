//! The database goes away and comes back: back to work by itself, every result committed once.

use std::time::Duration;

use taskdeck::db::Limits;
use taskdeck::domain::Status;
use taskdeck::worker::{Config, Part, Shutdown, WorkerEvent};

use crate::rig::{Running, Script, config, reaches, submit, submit_many};
use crate::support::{PATIENCE, Server, open, until};

async fn server() -> (Server, taskdeck::db::Db) {
    let server = Server::start_restartable();
    server.psql("postgres", "CREATE DATABASE work").expect("create");
    let db = open(&server.url("work"), Limits::default()).await;
    db.migrate().await.expect("migrate");
    (server, db)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restart_of_the_database_costs_no_task_and_no_restart_of_the_worker() {
    let (mut server, db) = server().await;
    let script = Script::new();
    let mut worker = Running::start(&db, config(), script.clone());
    let first = worker.began().await;
    let held = submit(&db, "held").await;
    script.runs_now(held).await;
    server.stop();
    // Its analyser returns while nobody can be told.
    script.open();
    let mut local = worker.handle.local();
    let troubled = local.wait_for(|local| local.trouble.is_some());
    tokio::time::timeout(PATIENCE, troubled).await.expect("in time").expect("it lives");
    server.start_again();
    let done = reaches(&db, held, Status::Succeeded).await;
    assert_eq!((done.claim_no, done.claimed_by), (1, Some(first)), "the same claim, told again");
    let ids = submit_many(&db, 2_000).await;
    for id in ids {
        reaches(&db, id, Status::Succeeded).await;
    }
    assert_eq!(script.runs().len(), 2_001);
    let quiet = local.wait_for(|local| local.trouble.is_none());
    tokio::time::timeout(PATIENCE, quiet).await.expect("in time").expect("it lives");
    // What failed over and over, in every part, was told once or twice; its end with a count.
    let mut told = Vec::new();
    let failures = worker
        .event("the listener is back", |event| match event {
            WorkerEvent::Trouble { message, .. } => {
                told.push(message.clone());
                None
            }
            WorkerEvent::TroubleOver { part: Part::Listener, failures, .. } => Some(*failures),
            _ => None,
        })
        .await;
    assert!(failures > 0 && (1..=6).contains(&told.len()), "{failures}: {told:?}");
    told.sort();
    assert!(told.windows(3).all(|three| three[0] != three[2]), "{told:?}");
    assert_eq!(worker.drain().await, []);
}

/// Sessions are cut under load, again and again: answers are lost, and still each claim runs once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cut_connections_under_load_lose_nothing() {
    let test = crate::support::database().await;
    let mut ids = submit_many(&test.db, 400).await;
    let script = Script::new();
    let quick = Config { batch: 40, lease: Duration::from_secs(6), ..config() };
    let worker = Running::start(&test.db, quick, script.clone());
    let cut = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity \
               WHERE application_name LIKE 'taskdeck test %' AND datname = current_database()";
    // So many cuts as there are, and the last of them not before the work has begun again after the one before.
    for cuts in 0..12 {
        ids.extend(submit_many(&test.db, 400).await);
        until("work that goes on", || async { (script.runs().len() > cuts * 300).then_some(()) }).await;
        assert_ne!(test.psql(cut), "0", "it has sessions while it works");
    }
    until("all is done", || async {
        let left = test.psql("SELECT count(*) FROM taskdeck.tasks WHERE status <> 'SUCCEEDED'");
        (left == "0").then_some(())
    })
    .await;
    let mut runs = script.runs();
    runs.sort_unstable();
    runs.dedup();
    assert_eq!((runs.len(), script.runs().len()), (ids.len(), ids.len()), "every claim once");
    assert_eq!(worker.drain().await, []);
    assert_eq!(test.psql("SELECT DISTINCT words, version, claim_no FROM taskdeck.tasks"), "2|2|1");
}

/// The database is gone when the worker drains: that is bounded by the lease, and what was left is said.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_drain_without_a_database_ends_and_says_what_was_left() {
    let (mut server, db) = server().await;
    let script = Script::new();
    let quick = Config { lease: Duration::from_secs(2), ..config() };
    let mut worker = Running::start(&db, quick, script.clone());
    worker.began().await;
    let held = submit(&db, "held").await;
    script.runs_now(held).await;
    server.stop();
    script.open();
    worker.handle.shutdown(Shutdown::Drain);
    // It is the lease's end that ends it, by the local clock: nobody answers.
    let discarded = worker
        .event("the lease has passed", |event| match event {
            WorkerEvent::LeaseLost { discarded, .. } => Some(discarded.clone()),
            _ => None,
        })
        .await;
    assert_eq!(discarded, [held]);
    assert_eq!(worker.ended().await, [held]);
    server.start_again();
    assert_eq!(reaches(&db, held, Status::Running).await.claim_no, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_that_starts_before_its_database_works_once_it_is_there() {
    let (mut server, db) = server().await;
    let id = submit(&db, "early").await;
    server.stop();
    let mut worker = Running::start(&db, config(), Script::new());
    worker.event("it says so", |event| matches!(event, WorkerEvent::Trouble { .. }).then_some(())).await;
    server.start_again();
    reaches(&db, id, Status::Succeeded).await;
    assert_eq!(worker.drain().await, []);
}
