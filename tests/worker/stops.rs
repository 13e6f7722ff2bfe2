//! Workers that somebody else asked to stop obey, and the rows say who asked.

use taskdeck::domain::instance::{SeenInstance, Stop};
use taskdeck::domain::outcome::StopVerdict;
use taskdeck::domain::{InstanceId, InstanceState, OperationId, Status, StopMode};
use taskdeck::worker::{Shutdown, WorkerEvent};

use crate::rig::{Running, Script, config, history, reaches, submit, task};
use crate::support::{PATIENCE, database, until};

async fn ask(db: &taskdeck::db::Db, id: InstanceId, mode: StopMode, stop_version: i64) {
    let stop = Stop {
        mode,
        instances: vec![SeenInstance { id, stop_version }],
        operator: "bob".to_owned(),
        reason: Some("new release".to_owned()),
        operation: OperationId(uuid::Uuid::now_v7()),
    };
    let answer = db.stop(&stop, &|_| {}).await.expect("ask");
    assert!(matches!(answer.instances.as_slice(), [(_, StopVerdict::Committed { .. })]), "{answer:?}");
}

async fn state(db: &taskdeck::db::Db, id: InstanceId) -> InstanceState {
    let all = db.instances(None).await.expect("instances");
    all.iter().find(|instance| instance.id == id).expect("listed").state
}

#[tokio::test]
async fn a_worker_that_is_asked_to_drain_claims_nothing_more_and_ends_what_it_runs() {
    let test = database().await;
    let script = Script::new();
    let mut worker = Running::start(&test.db, config(), script.clone());
    let id = worker.began().await;
    let held = submit(&test.db, "held").await;
    script.runs_now(held).await;
    ask(&test.db, id, StopMode::Drain, 0).await;
    let told = worker
        .event("asked", |event| match event {
            WorkerEvent::AskedToStop { mode, by, reason } => Some((*mode, by.clone(), reason.clone())),
            _ => None,
        })
        .await;
    assert_eq!(told, (StopMode::Drain, "bob".to_owned(), Some("new release".to_owned())));
    until("its row says so", || async {
        (state(&test.db, id).await == InstanceState::Draining).then_some(())
    })
    .await;
    let mut local = worker.handle.local();
    let shown = local.wait_for(|local| local.asked_to_stop.as_ref().is_some_and(|stop| stop.by == "bob"));
    tokio::time::timeout(PATIENCE, shown).await.expect("in time").expect("it lives");
    let late = submit(&test.db, "late").await;
    script.open();
    assert_eq!(worker.ended().await, []);
    assert_eq!(task(&test.db, held).await.status, Status::Succeeded);
    assert_eq!((task(&test.db, late).await.status, script.runs().len()), (Status::Queued, 1));
    assert_eq!(state(&test.db, id).await, InstanceState::Stopped);
}

#[tokio::test]
async fn a_cancel_for_all_it_runs_is_in_the_name_of_who_asked() {
    let test = database().await;
    let script = Script::new();
    let mut worker = Running::start(&test.db, config(), script.clone());
    let id = worker.began().await;
    let held = submit(&test.db, "held").await;
    script.runs_now(held).await;
    // A drain first, and then the graver request.
    ask(&test.db, id, StopMode::Drain, 0).await;
    worker
        .event("draining", |event| {
            matches!(event, WorkerEvent::ShuttingDown { mode: Shutdown::Drain, .. }).then_some(())
        })
        .await;
    ask(&test.db, id, StopMode::Cancel, 1).await;
    assert_eq!(worker.ended().await, []);
    reaches(&test.db, held, Status::Canceled).await;
    let events = history(&test.db, held).await.events;
    let told: Vec<_> = events.iter().map(|event| (event.movement.as_str(), event.actor.as_str())).collect();
    let here = format!("test:{}", std::process::id());
    assert_eq!(told, [("request-cancel", "bob"), ("stop", here.as_str())]);
    let reason = events[0].reason.clone().expect("a reason");
    assert!(reason.contains("new release") && reason.contains(&here), "{reason}");
}
