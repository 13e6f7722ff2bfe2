//! The way out: nothing is lost, nothing is said to have ended before it did.

use std::time::Duration;

use futures_util::FutureExt as _;
use taskdeck::domain::{InstanceState, Status, TaskId};
use taskdeck::worker::{Config, Shutdown, WorkerEvent};

use crate::rig::{Running, Script, config, moves, reaches, submit, task, two_beats};
use crate::support::{PATIENCE, database, until};

/// Prefetched claims without a run: a slot is held, and the worker is made to claim ahead by fast tasks before.
#[tokio::test]
async fn a_drain_waits_for_what_runs_and_gives_back_what_has_not_begun() {
    let test = database().await;
    let script = Script::new();
    let one = Config { workers: 1, ..config() };
    let mut fast = Vec::new();
    for _ in 0..20 {
        fast.push(submit(&test.db, "fast").await);
    }
    let held = submit(&test.db, "held").await;
    let mut behind = Vec::new();
    for _ in 0..5 {
        behind.push(submit(&test.db, "behind").await);
    }
    let mut worker = Running::start(&test.db, one, script.clone());
    script.runs_now(held).await;
    let mut local = worker.handle.local();
    let buffered = local.wait_for(|local| local.buffered > 0);
    tokio::time::timeout(PATIENCE, buffered).await.expect("claims ahead of fast tasks").expect("it lives");
    worker.handle.shutdown(Shutdown::Drain);
    worker.event("given back", |event| matches!(event, WorkerEvent::Released { .. }).then_some(())).await;
    assert_eq!(task(&test.db, held).await.status, Status::Running);
    let state = until("the instance says that it drains", || async {
        let instances = test.db.instances(None).await.expect("read");
        Some(instances[0].state).filter(|state| *state == InstanceState::Draining)
    });
    state.await;
    script.open();
    assert_eq!(worker.ended().await, []);
    assert_eq!(task(&test.db, held).await.status, Status::Succeeded);
    for id in behind {
        let back = task(&test.db, id).await;
        assert_eq!((back.status, back.attempt, back.claimed_by), (Status::Queued, 0, None), "{id}");
        assert!(!script.runs().iter().any(|(run, _)| *run == id));
    }
    assert_eq!(test.psql("SELECT state FROM taskdeck.instances"), "stopped");
}

#[tokio::test]
async fn a_cancel_waits_for_an_analyser_that_ignores_it() {
    let test = database().await;
    let script = Script::new();
    let quick = Config { lease: Duration::from_secs(3), ..config() };
    let mut worker = Running::start(&test.db, quick, script.clone());
    let deaf = submit(&test.db, "deaf").await;
    let held = submit(&test.db, "held").await;
    script.runs_now(deaf).await;
    script.runs_now(held).await;
    worker.handle.shutdown(Shutdown::Cancel);
    // The one that listens is CANCELED; the other stays RUNNING, with the request in its row.
    let canceled = reaches(&test.db, held, Status::Canceled).await;
    assert_eq!(canceled.attempt, 1);
    worker
        .event("the deaf one was asked", |event| {
            matches!(event, WorkerEvent::CancelRequested { id, .. } if *id == deaf).then_some(())
        })
        .await;
    let still = task(&test.db, deaf).await;
    assert_eq!((still.status, still.cancel_requested), (Status::Running, true));
    // However long it takes, and its lease is renewed for as long.
    two_beats(&test.db).await;
    assert_eq!(worker.handle.ended().now_or_never(), None);
    assert_eq!(task(&test.db, deaf).await.status, Status::Running);
    script.open();
    assert_eq!(worker.ended().await, []);
    assert_eq!(task(&test.db, deaf).await.status, Status::Canceled);
    assert_eq!(moves(&test.db, deaf).await, ["request-cancel", "stop"]);
}

#[tokio::test]
async fn the_grace_time_turns_a_drain_into_a_cancel() {
    let test = database().await;
    let script = Script::new();
    let mut worker =
        Running::start(&test.db, Config { grace: Duration::from_millis(100), ..config() }, script.clone());
    let id = submit(&test.db, "held").await;
    script.runs_now(id).await;
    assert_eq!(worker.drain().await, []);
    assert_eq!(task(&test.db, id).await.status, Status::Canceled);
    worker
        .event("it said why", |event| {
            matches!(event, WorkerEvent::ShuttingDown { reason: Some(_), .. }).then_some(())
        })
        .await;
}

/// Waits until `worker` has taken `id` back from one that is gone.
async fn recovers(worker: &mut Running, id: TaskId) {
    worker
        .event("recovered", |event| match event {
            WorkerEvent::Recovered { tasks } => tasks.iter().any(|task| task.id == id).then_some(()),
            _ => None,
        })
        .await;
}

#[tokio::test]
async fn leaving_tells_what_stays_running_and_another_worker_runs_it_after_the_lease() {
    let test = database().await;
    let script = Script::new();
    let short = Config { lease: Duration::from_secs(2), ..config() };
    let worker = Running::start(&test.db, short.clone(), script.clone());
    let id = submit(&test.db, "deaf").await;
    script.runs_now(id).await;
    worker.handle.shutdown(Shutdown::Drain);
    assert_eq!(worker.handle.leave().left, [id]);
    assert_eq!(worker.ended().await, [id]);
    let left = task(&test.db, id).await;
    assert_eq!((left.status, left.claim_no, left.cancel_requested), (Status::Running, 1, false));
    let second_script = Script::new();
    let mut second = Running::start(&test.db, short, second_script.clone());
    recovers(&mut second, id).await;
    second_script.runs_now(id).await;
    assert_eq!((script.runs(), second_script.runs()), (vec![(id, 1)], vec![(id, 2)]));
}

/// A cancel that the row says was requested survives the recovery.
#[tokio::test]
async fn what_was_canceled_before_the_leaving_is_canceled_by_whoever_recovers_it() {
    let test = database().await;
    let script = Script::new();
    let short = Config { lease: Duration::from_secs(2), ..config() };
    let mut worker = Running::start(&test.db, short.clone(), script.clone());
    let id = submit(&test.db, "deaf").await;
    script.runs_now(id).await;
    worker.handle.shutdown(Shutdown::Cancel);
    worker
        .event("the deaf one was asked", |event| {
            matches!(event, WorkerEvent::CancelRequested { .. }).then_some(())
        })
        .await;
    assert_eq!(worker.handle.leave().left, [id]);
    assert_eq!(worker.ended().await, [id]);
    let left = task(&test.db, id).await;
    assert_eq!((left.status, left.claim_no, left.cancel_requested), (Status::Running, 1, true));
    let second_script = Script::new();
    let mut second = Running::start(&test.db, short, second_script.clone());
    recovers(&mut second, id).await;
    assert_eq!(task(&test.db, id).await.status, Status::Canceled);
    assert_eq!(moves(&test.db, id).await, ["request-cancel", "recover"]);
    assert_eq!(second_script.runs(), []);
}

/// Whenever the shutdown comes after the start, it ends cleanly.
#[tokio::test]
async fn a_shutdown_right_after_the_start_ends_cleanly() {
    let test = database().await;
    let ids = crate::rig::submit_many(&test.db, 500).await;
    for delay in 0..25 {
        let worker = Running::start(&test.db, config(), Script::new());
        tokio::time::sleep(Duration::from_millis(delay * 2)).await;
        assert_eq!(worker.drain().await, [], "after {delay} ms");
        let running = test.psql("SELECT count(*) FROM taskdeck.tasks WHERE status = 'RUNNING'");
        assert_eq!(running, "0", "after {delay} ms");
    }
    let alive = test.psql("SELECT count(*) FROM taskdeck.instances WHERE state <> 'stopped'");
    assert_eq!(alive, "0");
    // Nothing was spent on the way.
    let spent = test.psql("SELECT count(*) FROM taskdeck.tasks WHERE status = 'QUEUED' AND attempt > 0");
    assert_eq!((spent.as_str(), ids.len()), ("0", 500));
}

/// Nothing is told to anybody: that it has stopped is seen by a lease that is not renewed, and by what it would
/// have claimed meanwhile.
#[tokio::test]
async fn dropping_the_handle_stops_everything() {
    let test = database().await;
    let script = Script::new();
    let short = Config { lease: Duration::from_secs(2), ..config() };
    let worker = Running::start(&test.db, short.clone(), script.clone());
    let id = submit(&test.db, "held").await;
    script.runs_now(id).await;
    drop(worker);
    // A claim that was on its way could still win what comes next.
    until("no statement of it under way", || async {
        let busy = test.db.pool_figures().iter().any(|pool| pool.in_use > 0)
            || test.psql(UNDER_WAY).parse::<u32>().expect("a number") > 0;
        (!busy).then_some(())
    })
    .await;
    let next = submit(&test.db, "next").await;
    let mut other = Running::start(&test.db, Config { workers: 0, ..short }, Script::new());
    recovers(&mut other, id).await;
    assert_eq!(task(&test.db, next).await.status, Status::Queued);
    assert_eq!(script.runs(), [(id, 1)]);
}

/// How many statements of the program run at the server.
const UNDER_WAY: &str = "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' \
                         AND datname = current_database() AND starts_with(application_name, 'taskdeck ')";
