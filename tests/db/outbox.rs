//! The outbox: which moves write a notification, in the same statement, what is told of them, and what is seen of them.

use std::time::Duration;

use taskdeck::db::{Db, Release};
use taskdeck::domain::decision::DecisionKind;
use taskdeck::domain::input::Admission;
use taskdeck::domain::outbox::OutboxQuery;
use taskdeck::domain::outcome::{DecisionOutcome, Finished};
use taskdeck::domain::{Approval, Decision, InstanceId, InstanceState, NewTask, Status, Task, TaskId};

use crate::deliveries::{delivered, failed, fill, keys, take};
use crate::scene::{
    LONG, beat, claim, decide, decided, decision, failure, finish, name, row, submit_as, success, worker,
};
use crate::support::{TestDb, database};

fn told() -> NewTask {
    NewTask { notify: true, max_attempts: 1, ..NewTask::default() }
}

fn held() -> NewTask {
    NewTask { admission: Admission::Hold, ..told() }
}

/// What stands in the outbox about `id`, the oldest first: `move from>to vVERSION by ACTOR`.
fn about(test: &TestDb, id: TaskId) -> String {
    test.psql(&format!(
        "SELECT move || ' ' || status_before || '>' || status_after || ' v' || version || ' by ' || actor \
         FROM taskdeck.outbox WHERE task_id = {id} ORDER BY id"
    ))
}

/// The newest notification of `id`, which the transaction that last changed the row has written.
fn newest(test: &TestDb, id: TaskId) -> String {
    let same = test.psql(&format!(
        "SELECT o.xmin = t.xmin AND o.version = t.version FROM taskdeck.outbox o JOIN taskdeck.tasks t ON t.id = o.task_id \
         WHERE o.task_id = {id} ORDER BY o.id DESC LIMIT 1"
    ));
    assert_eq!(same, "t", "written with the change: {}", about(test, id));
    about(test, id).lines().last().unwrap_or_default().to_owned()
}

/// Submits, and claims what was submitted.
async fn running(db: &Db, by: InstanceId, new: &NewTask) -> taskdeck::db::Claimed {
    let task = submit_as(db, "two words", new).await;
    let claimed = claim(db, by).await;
    assert_eq!(claimed.id, task.id);
    claimed
}

#[tokio::test]
async fn each_decision_and_each_final_state_is_written_with_its_change() {
    let test = database().await;
    let (db, by) = (&test.db, worker(&test.db).await);
    let task = submit_as(db, "x", &held()).await;
    assert_eq!(about(&test, task.id), "", "nothing was decided yet");
    decided(db, DecisionKind::Approve, &task).await;
    assert_eq!(newest(&test, task.id), "approve SUBMITTED>QUEUED v1 by alice");
    let claimed = claim(db, by).await;
    assert_eq!(about(&test, task.id).lines().count(), 1, "a claim is not told");
    decided(db, DecisionKind::Cancel, &row(db, task.id).await).await;
    assert_eq!(newest(&test, task.id), "request-cancel RUNNING>RUNNING v3 by alice");
    finish(db, by, &failure(&claimed, "no")).await;
    assert_eq!(newest(&test, task.id), "stop RUNNING>CANCELED v4 by testhost:4242");
    decided(db, DecisionKind::Requeue, &row(db, task.id).await).await;
    assert_eq!(newest(&test, task.id), "requeue CANCELED>QUEUED v5 by alice");
    let queued = row(db, task.id).await;
    decided(db, DecisionKind::Cancel, &queued).await;
    assert_eq!(newest(&test, task.id), "cancel QUEUED>CANCELED v6 by alice");
    let rejected = submit_as(db, "x", &held()).await;
    decided(db, DecisionKind::Reject, &rejected).await;
    assert_eq!(newest(&test, rejected.id), "reject SUBMITTED>REJECTED v1 by alice");

    // Two at once, so that both are ended by the statement for batches.
    let two = [running(db, by, &told()).await, running(db, by, &told()).await];
    let ends = [success(&two[0]), success(&two[1])];
    db.finish(by, "testhost:4242", &ends).await.expect("finish");
    for claimed in &two {
        assert_eq!(newest(&test, claimed.id), "finish RUNNING>SUCCEEDED v2 by testhost:4242");
    }
    let failing = running(db, by, &told()).await;
    finish(db, by, &failure(&failing, "it broke")).await;
    assert_eq!(newest(&test, failing.id), "fail RUNNING>FAILED v2 by testhost:4242");
    let reason = format!("SELECT reason FROM taskdeck.outbox WHERE task_id = {}", failing.id);
    assert_eq!(test.psql(&reason), "it broke");

    let released = running(db, by, &told()).await;
    decided(db, DecisionKind::Cancel, &row(db, released.id).await).await;
    db.release(by, "testhost:4242", "no slot", &[Release::new(released.id, released.claim_no)])
        .await
        .expect("release");
    assert_eq!(newest(&test, released.id), "stop RUNNING>CANCELED v3 by testhost:4242");

    let lost = worker(db).await;
    let lost_one = running(db, lost, &told()).await;
    db.heartbeat(lost, &beat(InstanceState::Working, Duration::ZERO)).await.expect("beat");
    assert_eq!(db.recover("rescuer:1").await.expect("recover").len(), 1);
    assert_eq!(newest(&test, lost_one.id), "recover RUNNING>FAILED v2 by rescuer:1");
}

/// The statement of one end may commit a success too, where the one for batches did not.
#[tokio::test]
async fn a_success_that_a_cancel_request_overtook_is_told_as_it_ended() {
    let test = database().await;
    let (db, by) = (&test.db, worker(&test.db).await);
    let claimed = running(db, by, &told()).await;
    decided(db, DecisionKind::Cancel, &row(db, claimed.id).await).await;
    assert_eq!(finish(db, by, &success(&claimed)).await, Finished::Committed { status: Status::Canceled });
    assert_eq!(newest(&test, claimed.id), "stop RUNNING>CANCELED v3 by testhost:4242");
    assert_eq!(about(&test, claimed.id).lines().count(), 2, "the request and the end");
}

#[tokio::test]
async fn what_is_no_end_and_what_nobody_asked_about_is_not_told() {
    let test = database().await;
    let (db, by) = (&test.db, worker(&test.db).await);
    let again = NewTask { max_attempts: 9, ..told() };
    let retried = running(db, by, &again).await;
    finish(db, by, &failure(&retried, "no")).await;
    let released = claim(db, by).await;
    db.release(by, "w", "no slot", &[Release::new(released.id, released.claim_no)]).await.expect("release");
    let lost = worker(db).await;
    claim(db, lost).await;
    db.heartbeat(lost, &beat(InstanceState::Working, Duration::ZERO)).await.expect("beat");
    assert_eq!(db.recover("w").await.expect("recover").len(), 1);
    assert_eq!(row(db, retried.id).await.status, Status::Queued);
    assert_eq!(about(&test, retried.id), "");

    let quiet = NewTask { notify: false, ..told() };
    let done = claim(db, by).await;
    finish(db, by, &success(&done)).await;
    let silent = running(db, by, &quiet).await;
    finish(db, by, &success(&silent)).await;
    let silent = running(db, by, &quiet).await;
    finish(db, by, &failure(&silent, "no")).await;
    decided(db, DecisionKind::Requeue, &row(db, silent.id).await).await;
    decided(db, DecisionKind::Cancel, &row(db, silent.id).await).await;
    assert_eq!(test.psql("SELECT count(*), min(task_id) FROM taskdeck.outbox"), format!("1|{}", done.id));
}

#[tokio::test]
async fn a_decision_that_changes_nothing_tells_nothing_and_one_sent_twice_tells_once() {
    let test = database().await;
    let db = &test.db;
    let one = submit_as(db, "x", &held()).await;
    let approval = decision(DecisionKind::Approve, &[&one]);
    for _ in 0..2 {
        assert_eq!(decide(db, &approval).await.outcome(), DecisionOutcome::Committed);
    }
    assert_eq!(
        decide(db, &decision(DecisionKind::Reject, &[&one])).await.outcome(),
        DecisionOutcome::Conflict
    );
    // All or none: the other has moved on, so this one is spared.
    let other = submit_as(db, "x", &held()).await;
    let both = decision(DecisionKind::Reject, &[&one, &other]);
    assert_eq!(decide(db, &both).await.outcome(), DecisionOutcome::Conflict);
    let own = NewTask { submitted_by: Some("alice".to_owned()), approval: Approval::Another, ..held() };
    let own = submit_as(db, "x", &own).await;
    let refused = Decision { approval: Approval::Another, ..decision(DecisionKind::Approve, &[&own]) };
    assert_eq!(decide(db, &refused).await.outcome(), DecisionOutcome::Refused);
    assert_eq!(
        (about(&test, one.id), about(&test, other.id), about(&test, own.id)),
        ("approve SUBMITTED>QUEUED v1 by alice".to_owned(), String::new(), String::new())
    );
}

/// What cannot be written to the outbox does not happen either.
#[tokio::test]
async fn without_its_notification_nothing_is_decided_or_ended() {
    let test = database().await;
    let (db, by) = (&test.db, worker(&test.db).await);
    let one = submit_as(db, "x", &held()).await;
    let runs = running(db, by, &told()).await;
    test.psql(
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'as told'; END $$; \
         CREATE TRIGGER refuse BEFORE INSERT ON taskdeck.outbox FOR EACH ROW EXECUTE FUNCTION refuse()",
    );
    db.decide(&decision(DecisionKind::Approve, &[&one]), &crate::scene::quiet).await.expect_err("refused");
    db.finish(by, "w", &[success(&runs)]).await.expect_err("refused");
    db.finish(by, "w", &[failure(&runs, "no")]).await.expect_err("refused");
    assert_eq!(row(db, one.id).await, one);
    assert_eq!(row(db, runs.id).await.status, Status::Running);
}

#[tokio::test]
async fn a_delivery_has_the_task_as_it_is_now_or_none_where_it_is_gone() {
    let test = database().await;
    let (db, by) = (&test.db, worker(&test.db).await);
    let task = submit_as(db, "x", &held()).await;
    let approved = decided(db, DecisionKind::Approve, &task).await;
    decided(db, DecisionKind::Cancel, &approved).await;
    let first = take(db, by, 1, &[]).await.remove(0);
    let delivery = first.delivery.as_ref().expect("readable");
    let task_now = row(db, task.id).await;
    assert_eq!((delivery.task.as_ref(), delivery.delivery), (Some(&task_now), 1));
    assert_eq!(first.notification.to, Status::Queued, "what is told is what was decided then");
    assert_eq!(task_now.status, Status::Canceled);
    // A task that cannot be read is not one that is gone.
    test.psql(&format!("UPDATE taskdeck.tasks SET created_at = 'infinity' WHERE id = {}", task.id));
    let unreadable = db.deliveries_held(by, &[]).await.expect("held").remove(0);
    assert!(unreadable.delivery.is_err_and(|problem| problem.contains("created_at")));
    test.psql(&format!("DELETE FROM taskdeck.tasks WHERE id = {}", task.id));
    let gone = db.deliveries_held(by, &[]).await.expect("held").remove(0);
    assert_eq!(gone.delivery.expect("readable").task, None);
}

#[tokio::test]
async fn who_works_for_one_tenant_delivers_for_it_alone() {
    let test = database().await;
    let (db, by) = (&test.db, worker(&test.db).await);
    let mut ids = Vec::new();
    for tenant in ["acme", "zeta"] {
        let task = submit_as(db, "x", &NewTask { tenant: name(tenant), ..told() }).await;
        decided(db, DecisionKind::Cancel, &task).await;
        ids.push(task.id.0);
    }
    assert_eq!(db.claim_deliveries(by, Some(&name("zeta")), 9).await.expect("claim"), 1);
    assert_eq!(keys(&db.deliveries_held(by, &[]).await.expect("held")), [(ids[1], 1)]);
    let seen = async |tenant: Option<&str>| {
        let tenant = tenant.map(str::to_owned);
        let query = OutboxQuery { task: None, tenant, after: None, limit: 9 };
        db.outbox(&query).await.expect("outbox").rows.len()
    };
    assert_eq!((seen(None).await, seen(Some("acme")).await), (2, 1));
    let waits = db.overview(Some("acme")).await.expect("overview").outbox.expect("one");
    assert_eq!((waits.waiting, waits.failing, waits.error), (1, 0, None));
}

#[tokio::test]
async fn what_waits_is_listed_the_oldest_first_and_counted() {
    let test = database().await;
    let (db, by) = (&test.db, worker(&test.db).await);
    assert_eq!(db.overview(None).await.expect("overview").outbox, None);
    fill(&test, 3, 2);
    let held = take(db, by, 3, &[]).await;
    delivered(db, by, &held[0]).await;
    failed(db, by, &held[1], LONG).await;
    let page = async |task: Option<i64>, after: Option<i64>, limit| {
        let query = OutboxQuery { task: task.map(TaskId), tenant: None, after, limit };
        db.outbox(&query).await.expect("outbox")
    };
    let key =
        |row: &taskdeck::domain::outbox::OutboxEntry| (row.notification.task_id.0, row.notification.version);
    let first = page(None, None, 3).await;
    assert_eq!(first.rows.iter().map(key).collect::<Vec<_>>(), [(1001, 1), (1002, 1), (1000, 2)]);
    let rest = page(None, first.next_after, 3).await;
    assert_eq!(rest.rows.iter().map(key).collect::<Vec<_>>(), [(1001, 2), (1002, 2)]);
    assert_eq!(rest.next_after, None);
    let failing = &first.rows[0];
    assert_eq!((failing.deliveries, failing.claimed_by, failing.error.as_deref()), (1, None, Some("exit 1")));
    let with = &first.rows[1];
    assert_eq!((with.claimed_by, with.owner.as_deref()), (Some(by), Some("testhost:4242")));
    let of_one = page(Some(1000), None, 9).await;
    assert_eq!(of_one.rows.iter().map(key).collect::<Vec<_>>(), [(1000, 1), (1000, 2)]);
    assert!(of_one.rows[0].delivered_at.is_some() && of_one.rows[1].delivered_at.is_none());
    test.psql(
        "UPDATE taskdeck.outbox SET at = now() - interval '9 minutes' WHERE task_id = 1002 AND version = 1",
    );
    let waits = db.overview(None).await.expect("overview").outbox.expect("some");
    assert_eq!((waits.waiting, waits.failing, waits.error.as_deref()), (5, 1, Some("exit 1")));
    assert!(waits.oldest_ms >= 9 * 60_000, "{waits:?}");
}

#[tokio::test]
async fn what_was_delivered_is_forgotten_after_a_day_and_what_was_not_never_is() {
    let test = database().await;
    let (db, by) = (&test.db, worker(&test.db).await);
    fill(&test, 3, 1);
    let held = take(db, by, 2, &[]).await;
    for one in &held {
        delivered(db, by, one).await;
    }
    test.psql("UPDATE taskdeck.outbox SET at = at - interval '9 days', due_at = due_at - interval '9 days'");
    test.psql(&format!(
        "UPDATE taskdeck.outbox SET delivered_at = now() - interval '25 hours' WHERE id = {}",
        held[0].number
    ));
    db.prune_outbox().await.expect("prune");
    assert_eq!(
        test.psql("SELECT string_agg(task_id::text, ' ' ORDER BY id) FROM taskdeck.outbox"),
        "1001 1002"
    );
    // More than one batch.
    test.psql("DELETE FROM taskdeck.outbox");
    fill(&test, 2_500, 1);
    test.psql("UPDATE taskdeck.outbox SET delivered_at = now() - interval '2 days'");
    db.prune_outbox().await.expect("prune");
    assert_eq!(test.psql("SELECT count(*) FROM taskdeck.outbox"), "0");
}

/// Nobody needs the task's own words in a list of columns that is fixed.
#[tokio::test]
async fn the_tasks_own_columns_are_as_they_were() {
    let test = database().await;
    let task: Task = submit_as(&test.db, "x", &told()).await;
    let json = serde_json::to_value(&task).expect("JSON");
    assert_eq!(json.get("notify"), None);
    assert_eq!(test.psql("SELECT notify FROM taskdeck.tasks"), "t");
}
