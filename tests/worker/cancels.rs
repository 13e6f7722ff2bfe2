//! Cancel against a worker: which of the two it was is decided by the row.

use taskdeck::domain::outcome::DecisionOutcome;
use taskdeck::domain::{NewTask, Status, TextCounts};
use taskdeck::worker::{Config, WorkerEvent};

use crate::rig::{Running, Script, cancel, config, moves, reaches, submit, submit_as, task};
use crate::support::database;

#[tokio::test]
async fn a_queued_task_that_is_canceled_is_never_analysed() {
    let test = database().await;
    let canceled = submit(&test.db, "canceled").await;
    assert_eq!(cancel(&test.db, canceled).await.outcome(), DecisionOutcome::Committed);
    let script = Script::new();
    let _worker = Running::start(&test.db, config(), script.clone());
    let other = submit(&test.db, "other").await;
    reaches(&test.db, other, Status::Succeeded).await;
    assert_eq!(task(&test.db, canceled).await.status, Status::Canceled);
    assert_eq!(script.runs(), [(other, 1)]);
}

#[tokio::test]
async fn a_running_task_stays_running_until_its_analyser_has_returned() {
    let test = database().await;
    let script = Script::new();
    let mut worker = Running::start(&test.db, config(), script.clone());
    let id = submit(&test.db, "deaf").await;
    script.runs_now(id).await;
    assert_eq!(cancel(&test.db, id).await.outcome(), DecisionOutcome::Committed);
    worker
        .event("the request has reached the run", |event| {
            matches!(event, WorkerEvent::CancelRequested { id: asked, .. } if *asked == id).then_some(())
        })
        .await;
    let still = task(&test.db, id).await;
    assert_eq!((still.status, still.cancel_requested), (Status::Running, true));
    let running = test.psql(&format!("SELECT status, cancel_requested FROM taskdeck.tasks WHERE id = {id}"));
    assert_eq!(running, "RUNNING|t");
    script.open();
    // The analyser ran to its end, but the row says that it was canceled first.
    let canceled = reaches(&test.db, id, Status::Canceled).await;
    assert_eq!((canceled.counts, canceled.output, canceled.error), (TextCounts::default(), None, None));
    assert_eq!(moves(&test.db, id).await, ["request-cancel", "stop"]);
}

#[tokio::test]
async fn an_analyser_that_co_operates_is_stopped() {
    let test = database().await;
    let script = Script::new();
    let worker = Running::start(&test.db, config(), script.clone());
    let id = submit(&test.db, "held").await;
    script.runs_now(id).await;
    cancel(&test.db, id).await;
    let canceled = reaches(&test.db, id, Status::Canceled).await;
    assert_eq!((canceled.attempt, canceled.counts), (1, TextCounts::default()));
    assert_eq!(worker.drain().await, []);
}

/// A cancel that comes while a failed task waits for its retry is a cancel.
#[tokio::test]
async fn a_retry_that_is_canceled_does_not_run_again() {
    let test = database().await;
    let script = Script::new();
    let slow = Config {
        retry: taskdeck::domain::Backoff {
            base: std::time::Duration::from_mins(1),
            cap: std::time::Duration::from_mins(1),
        },
        ..config()
    };
    let mut worker = Running::start(&test.db, slow, script.clone());
    let id = submit_as(&test.db, "fail", NewTask::default()).await;
    worker
        .event("the first failure", |event| matches!(event, WorkerEvent::Retrying { .. }).then_some(()))
        .await;
    assert_eq!(cancel(&test.db, id).await.outcome(), DecisionOutcome::Committed);
    test.psql(&format!("UPDATE taskdeck.tasks SET scheduled_at = now() WHERE id = {id}"));
    let other = submit(&test.db, "other").await;
    reaches(&test.db, other, Status::Succeeded).await;
    assert_eq!(task(&test.db, id).await.status, Status::Canceled);
    assert_eq!(script.runs(), [(id, 1), (other, 1)]);
}
