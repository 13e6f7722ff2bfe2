//! Many at once: every task is claimed once and analysed once.

use std::collections::HashMap;
use std::time::Duration;

use taskdeck::db::{ClaimRequest, Finish, FinishEnd, Limits, NewInstance};
use taskdeck::domain::outcome::Finished;
use taskdeck::domain::{InstanceId, InstanceState, Name, OperationId, Status, TextCounts};

use crate::rig::{Running, Script, config, reaches, submit, submit_many, task};
use crate::support::{database, database_with, until};

async fn register(db: &taskdeck::db::Db) -> InstanceId {
    let id = InstanceId(uuid::Uuid::now_v7());
    let new = NewInstance {
        id,
        host: "claimer".to_owned(),
        pid: 1,
        kind: "headless",
        operator: "tester".to_owned(),
        queues: vec![Name::default_name()],
        slots: 1,
        state: InstanceState::Working,
        lease: Duration::from_mins(1),
    };
    db.register(&new).await.expect("register");
    id
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_workers_analyse_two_thousand_tasks_exactly_once() {
    let test = database().await;
    let other = test.open_again(Limits::default()).await;
    let ids = submit_many(&test.db, 2_000).await;
    let script = Script::new();
    let small = || taskdeck::worker::Config { batch: 50, ..config() };
    let workers =
        [Running::start(&test.db, small(), script.clone()), Running::start(&other, small(), script.clone())];
    until("all are done", || async {
        let left = test.psql("SELECT count(*) FROM taskdeck.tasks WHERE status <> 'SUCCEEDED'");
        (left == "0").then_some(())
    })
    .await;
    for worker in &workers {
        assert_eq!(worker.drain().await, []);
    }
    let mut runs: HashMap<_, u32> = HashMap::new();
    for (id, _) in script.runs() {
        *runs.entry(id).or_default() += 1;
    }
    assert_eq!(runs.len(), ids.len());
    assert!(runs.values().all(|count| *count == 1), "none twice");
    let by = test.psql("SELECT count(DISTINCT claimed_by) FROM taskdeck.tasks");
    assert_eq!(by, "2", "both took part");
    let versions = test.psql("SELECT DISTINCT version, claim_no, attempt, words FROM taskdeck.tasks");
    assert_eq!(versions, "2|1|1|2");
}

#[tokio::test]
async fn a_finish_under_an_old_claim_changes_nothing() {
    let test = database().await;
    let id = submit(&test.db, "held").await;
    let old = register(&test.db).await;
    let request = ClaimRequest { instance: old, queues: vec![Name::default_name()], tenant: None, limit: 1 };
    assert_eq!(test.db.claim_next(&request).await.expect("claim").len(), 1);
    // The old owner's lease passes; a worker recovers the task and claims it again.
    test.psql(&format!(
        "UPDATE taskdeck.instances SET lease_until = now() - interval '1 s' WHERE id = '{old}'"
    ));
    let script = Script::new();
    let _worker = Running::start(&test.db, config(), script.clone());
    script.runs_now(id).await;
    let before = task(&test.db, id).await;
    assert_eq!((before.status, before.claim_no), (Status::Running, 2));
    let late = Finish {
        id,
        claim_no: 1,
        end: FinishEnd::Success { counts: TextCounts::of("wrong, and more words"), output: None },
        operation: OperationId(uuid::Uuid::now_v7()),
    };
    let answer = test.db.finish(old, "old", &[late]).await.expect("finish");
    assert_eq!(answer, [Finished::LeaseLost { status: Status::Running, claim_no: 2 }]);
    assert_eq!(task(&test.db, id).await, before);
    script.open();
    let done = reaches(&test.db, id, Status::Succeeded).await;
    assert_eq!(done.counts, TextCounts::of("held"));
}

/// Rows that a claim won whose answer was lost: found by asking, taken over, and run once.
#[tokio::test]
async fn what_a_lost_answer_had_won_is_taken_over() {
    let test = database().await;
    let script = Script::new();
    let quick = taskdeck::worker::Config { lease: Duration::from_secs(3), ..config() };
    let mut worker = Running::start(&test.db, quick, script.clone());
    let instance = worker.began().await;
    let held = submit(&test.db, "held").await;
    script.runs_now(held).await;
    // As if the worker had claimed it and never got the answer.
    let name = "UPDATE taskdeck.tasks SET status = 'RUNNING'";
    let lost = submit_elsewhere(&test.db).await;
    test.psql(&format!(
        "{name}, claimed_by = '{instance}', claim_no = 1, attempt = 1, version = 1 WHERE id = {lost}"
    ));
    let adopted = worker
        .event("taken over", |event| match event {
            taskdeck::worker::WorkerEvent::Adopted { claims } => Some(claims.clone()),
            _ => None,
        })
        .await;
    assert_eq!(adopted, [(lost, 1)]);
    reaches(&test.db, lost, Status::Succeeded).await;
    assert_eq!(script.runs(), [(held, 1), (lost, 1)]);
}

/// A task in a queue that no worker of these tests takes.
async fn submit_elsewhere(db: &taskdeck::db::Db) -> taskdeck::domain::TaskId {
    let queue = Name::new("queue", "elsewhere").expect("a name");
    crate::rig::submit_as(db, "elsewhere", taskdeck::domain::NewTask { queue, ..Default::default() }).await
}

/// One row that somebody has locked does not hold up the others of its batch.
#[tokio::test]
async fn a_locked_row_does_not_hold_up_the_others() {
    let limits = Limits { lock: Duration::from_millis(200), ..Limits::default() };
    let test = database_with(limits).await;
    let script = Script::new();
    let many = taskdeck::worker::Config { workers: 8, ..config() };
    let mut worker = Running::start(&test.db, many, script.clone());
    let mut ids = Vec::new();
    for _ in 0..8 {
        ids.push(submit(&test.db, "deaf").await);
    }
    for id in &ids {
        script.runs_now(*id).await;
    }
    let mut session = test.db.operator_pool().acquire().await.expect("a connection");
    let transaction = session.client().transaction().await.expect("begin");
    transaction
        .batch_execute(&format!("SELECT FROM taskdeck.tasks WHERE id = {} FOR UPDATE", ids[3]))
        .await
        .expect("lock");
    script.open();
    for id in ids.iter().filter(|id| **id != ids[3]) {
        reaches(&test.db, *id, Status::Succeeded).await;
    }
    assert_eq!(task(&test.db, ids[3]).await.status, Status::Running);
    transaction.rollback().await.expect("unlock");
    reaches(&test.db, ids[3], Status::Succeeded).await;
    worker
        .event("the trouble is over", |event| {
            matches!(event, taskdeck::worker::WorkerEvent::TroubleOver { .. }).then_some(())
        })
        .await;
}
