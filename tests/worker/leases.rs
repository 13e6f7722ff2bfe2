//! A lost lease: what ran is worth nothing, and the process goes on as another instance.

use std::time::Duration;

use taskdeck::domain::{Status, TextCounts};
use taskdeck::worker::{Config, Shutdown, WorkerEvent};

use crate::proxy::{Cut, Proxy};
use crate::rig::{FROZEN_FOR, Running, Script, config, reaches, submit, submit_many, task};
use crate::support::{Server, database, open, shared_server};

async fn lease_lost(worker: &mut Running) -> Vec<taskdeck::domain::TaskId> {
    worker
        .event("the lease is lost", |event| match event {
            WorkerEvent::LeaseLost { discarded, .. } => Some(discarded.clone()),
            _ => None,
        })
        .await
}

#[tokio::test]
async fn an_instance_that_was_declared_lost_begins_anew_and_its_results_are_discarded() {
    let test = database().await;
    let script = Script::new();
    // A slot more than there are tasks, as the deaf one occupies its own until it returns.
    let quick = Config { lease: Duration::from_secs(6), workers: 3, ..config() };
    let mut worker = Running::start(&test.db, quick, script.clone());
    let first = worker.began().await;
    let deaf = submit(&test.db, "deaf").await;
    let held = submit(&test.db, "held").await;
    script.runs_now(deaf).await;
    script.runs_now(held).await;
    test.psql("UPDATE taskdeck.instances SET state = 'lost', lease_until = now() - interval '1 s'");
    let mut discarded = lease_lost(&mut worker).await;
    discarded.sort();
    assert_eq!(discarded, [deaf, held]);
    let second = worker.began().await;
    assert_ne!(first, second);
    // The one that listened was stopped, recovered and claimed again while the deaf one still occupies its slot.
    reaches(&test.db, held, Status::Running).await;
    script.open();
    let done = reaches(&test.db, deaf, Status::Succeeded).await;
    assert!(done.claim_no > 1, "the result of claim 1 was discarded");
    assert_eq!((done.claimed_by, done.counts), (Some(second), TextCounts::of("deaf")));
    reaches(&test.db, held, Status::Succeeded).await;
    let mut runs = script.runs();
    runs.sort_unstable();
    runs.dedup();
    assert_eq!(runs.len(), script.runs().len(), "no claim was run twice");
    assert_eq!(worker.drain().await, []);
}

/// No heartbeat gets through: the local clock says when the lease has passed, without any answer.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lease_that_may_have_passed_is_lost_without_the_database() {
    let mut server = Server::start_restartable();
    server.psql("postgres", "CREATE DATABASE work").expect("create");
    let db = crate::support::open(&server.url("work"), taskdeck::db::Limits::default()).await;
    db.migrate().await.expect("migrate");
    let script = Script::new();
    let quick = Config { lease: Duration::from_secs(5), ..config() };
    let mut worker = Running::start(&db, quick, script.clone());
    let first = worker.began().await;
    let held = submit(&db, "held").await;
    script.runs_now(held).await;
    server.stop();
    assert_eq!(lease_lost(&mut worker).await, [held]);
    let mut local = worker.handle.local();
    let seen = local.wait_for(|local| local.trouble.is_some() && local.instance != first);
    let seen = tokio::time::timeout(crate::support::PATIENCE, seen).await.expect("in time");
    assert_eq!(seen.expect("it lives").lease_left, Duration::ZERO);
    server.start_again();
    let second = worker.began().await;
    assert_ne!(first, second);
    script.open();
    let done = reaches(&db, held, Status::Succeeded).await;
    assert_eq!((done.claim_no, done.claimed_by), (2, Some(second)));
    assert_eq!(script.runs(), [(held, 1), (held, 2)]);
    let well = local.wait_for(|local| local.trouble.is_none());
    tokio::time::timeout(crate::support::PATIENCE, well).await.expect("in time").expect("it lives");
    assert_eq!(worker.drain().await, []);
    assert_eq!(task(&db, held).await.status, Status::Succeeded);
}

/// Everything of the worker is on one thread, and stands still with the analyser for longer than the lease, as a
/// process does that was stopped. The slot is the first that goes on, before the heart has looked at the time.
#[tokio::test]
async fn what_waits_under_a_lease_that_has_passed_is_not_begun() {
    let test = database().await;
    let script = Script::new();
    let quick = Config { workers: 1, lease: FROZEN_FOR / 2, ..config() };
    submit_many(&test.db, 20).await;
    let frozen = submit(&test.db, "freeze").await;
    let behind = submit_many(&test.db, 5).await;
    let mut worker = Running::start(&test.db, quick, script.clone());
    let claimed = worker.event("claimed together", |event| match event {
        WorkerEvent::Claimed { claims } if claims.iter().any(|(id, _)| *id == frozen) => Some(claims.clone()),
        _ => None,
    });
    let claimed = claimed.await;
    assert!(behind.iter().any(|id| claimed.contains(&(*id, 1))), "claimed ahead of the slot: {claimed:?}");
    let mut discarded = lease_lost(&mut worker).await;
    discarded.retain(|id| behind.contains(id));
    assert!(!discarded.is_empty());
    for id in discarded {
        let done = reaches(&test.db, id, Status::Succeeded).await;
        assert_eq!(done.claim_no, 2);
        assert!(!script.runs().contains(&(id, 1)), "{id} was begun under a lease that had passed");
    }
    assert_eq!(worker.drain().await, []);
}

/// A drain that loses its lease asks what it leaves in one statement: a bad line holds it up once, not once a task.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lease_lost_on_the_way_out_holds_the_end_up_once_and_not_for_each_task() {
    const TASKS: usize = 40;
    let test = database().await;
    let proxy = Proxy::start(shared_server().port()).await;
    let db = open(&proxy.address(&test.url), Cut::Stall.limits()).await;
    let script = Script::new();
    let many = Config { workers: TASKS, lease: Duration::from_secs(6), ..config() };
    let mut worker = Running::start(&db, many, script.clone());
    let mut ids = Vec::new();
    for _ in 0..TASKS {
        ids.push(submit(&test.db, "deaf").await);
    }
    for id in &ids {
        script.runs_now(*id).await;
    }
    worker.handle.shutdown(Shutdown::Drain);
    // Lost, and yet with time on its lease, so that nobody takes its tasks back meanwhile.
    test.psql("UPDATE taskdeck.instances SET state = 'lost', lease_until = now() + interval '1 h'");
    assert_eq!(lease_lost(&mut worker).await, ids);
    for _ in 0..TASKS {
        proxy.cut(Cut::Stall, "WHERE t.id = $1 AND");
    }
    let cuts = proxy.cuts();
    proxy.cut(Cut::Stall, "SELECT t.id, t.claim_no\nFROM");
    script.open();
    assert_eq!(worker.ended().await, ids, "what stays RUNNING is told");
    assert_eq!(proxy.cuts() - cuts, 1);
}
