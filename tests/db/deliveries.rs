//! The delivery's protocol: who may deliver which notification, in what order, and under which claim.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use taskdeck::db::{Confirmed, Db, HeldDelivery, Limits};
use taskdeck::domain::outbox::OutboxQuery;
use taskdeck::domain::{InstanceId, InstanceState};

use crate::scene::{LONG, beat, new_instance, number, outside, worker};
use crate::support::{PATIENCE, TestDb, database, database_with, until};

/// Tasks with notifications, by SQL: so many `tasks`, with versions 1 to `versions` each. Their numbers begin at 1000.
pub(crate) fn fill(test: &TestDb, tasks: i64, versions: i64) {
    test.psql(&format!(
        "INSERT INTO taskdeck.outbox (task_id, version, tenant, queue, move, status_before, status_after, actor) \
         SELECT 999 + t, v, 'default', 'default', 'approve', 'SUBMITTED', 'QUEUED', 'alice' \
         FROM generate_series(1, {versions}) v, generate_series(1, {tasks}) t ORDER BY v, t"
    ));
}

/// Claims up to `limit` and reads what this instance has that is not in `known`.
pub(crate) async fn take(db: &Db, by: InstanceId, limit: i64, known: &[i64]) -> Vec<HeldDelivery> {
    db.claim_deliveries(by, None, limit).await.expect("claim");
    db.deliveries_held(by, known).await.expect("held")
}

/// Task and version of each.
pub(crate) fn keys(held: &[HeldDelivery]) -> Vec<(i64, i64)> {
    held.iter().map(|one| (one.notification.task_id.0, one.notification.version)).collect()
}

pub(crate) async fn delivered(db: &Db, by: InstanceId, held: &HeldDelivery) -> Confirmed {
    db.delivered(by, held.number, held.claim_no).await.expect("done")
}

pub(crate) async fn failed(db: &Db, by: InstanceId, held: &HeldDelivery, after: Duration) -> Confirmed {
    db.not_delivered(by, held.number, held.claim_no, "exit 1", after).await.expect("retry")
}

#[tokio::test]
async fn of_one_task_only_the_first_that_is_not_delivered_is_claimed() {
    let test = database().await;
    let (db, by) = (&test.db, worker(&test.db).await);
    fill(&test, 2, 3);
    let first = take(db, by, 9, &[]).await;
    assert_eq!(keys(&first), [(1000, 1), (1001, 1)]);
    let known: Vec<i64> = first.iter().map(|one| one.number).collect();
    assert_eq!(take(db, by, 9, &known).await, [], "those before are not delivered");
    assert_eq!(delivered(db, by, &first[0]).await, Confirmed::Yes);
    let next = take(db, by, 9, &known).await;
    assert_eq!(keys(&next), [(1000, 2)]);
    assert_eq!(delivered(db, by, &first[1]).await, Confirmed::Yes);
    assert_eq!(keys(&take(db, by, 9, &[next[0].number]).await), [(1001, 2)]);
}

#[tokio::test]
async fn what_failed_waits_and_those_behind_it_wait_with_it() {
    let test = database().await;
    let (db, by) = (&test.db, worker(&test.db).await);
    fill(&test, 2, 2);
    let first = take(db, by, 9, &[]).await;
    assert_eq!(failed(db, by, &first[0], LONG).await, Confirmed::Yes);
    assert_eq!(delivered(db, by, &first[1]).await, Confirmed::Yes);
    // The second task goes on, the first one waits as a whole.
    assert_eq!(keys(&take(db, by, 9, &[]).await), [(1001, 2)]);
    let due = "SELECT count(*), count(DISTINCT due_at), min(due_at) > now() + interval '50 minutes', max(error) \
               FROM taskdeck.outbox WHERE task_id = 1000";
    assert_eq!(test.psql(due), "2|1|t|exit 1");
    test.psql("UPDATE taskdeck.outbox SET due_at = now() WHERE task_id = 1000");
    let other = worker(db).await;
    let again = take(db, other, 9, &[]).await;
    assert_eq!((keys(&again), again[0].claim_no), (vec![(1000, 1)], 2));
    // Given back at once, another may have it at once.
    assert_eq!(failed(db, other, &again[0], Duration::ZERO).await, Confirmed::Yes);
    assert_eq!(take(db, other, 9, &[]).await[0].claim_no, 3);
}

#[tokio::test]
async fn what_somebody_delivers_is_claimed_by_nobody_else_until_they_are_lost() {
    let test = database().await;
    let (db, first) = (&test.db, worker(&test.db).await);
    let other = worker(db).await;
    fill(&test, 1, 1);
    assert_eq!(take(db, first, 9, &[]).await.len(), 1);
    assert_eq!(db.claim_deliveries(other, None, 9).await.expect("claim"), 0);
    // A lease that has passed is not enough: the heartbeat may still come.
    db.heartbeat(first, &beat(InstanceState::Working, Duration::ZERO)).await.expect("beat");
    assert_eq!(db.claim_deliveries(other, None, 9).await.expect("claim"), 0);
    db.recover("w").await.expect("declares it lost");
    let taken = take(db, other, 9, &[]).await;
    assert_eq!(taken[0].claim_no, 2);
    // One that has ended in good order, and one that nobody knows any more.
    let third = worker(db).await;
    db.end_instance(other, 0, 0).await.expect("end");
    assert_eq!(take(db, third, 9, &[]).await[0].claim_no, 3);
    test.psql(&format!("DELETE FROM taskdeck.instances WHERE id = '{third}'"));
    let fourth = worker(db).await;
    assert_eq!(take(db, fourth, 9, &[]).await[0].claim_no, 4);
}

#[tokio::test]
async fn only_a_living_instance_claims_also_one_that_only_watches() {
    let test = database().await;
    let db = &test.db;
    fill(&test, 1, 1);
    let stands = async |state: InstanceState, lease: Duration| {
        let new = taskdeck::db::NewInstance { state, ..new_instance(&["default"], lease) };
        db.register(&new).await.expect("register");
        new.id
    };
    let nobody = InstanceId(uuid::Uuid::now_v7());
    let passed = stands(InstanceState::Working, Duration::ZERO).await;
    let draining = stands(InstanceState::Draining, LONG).await;
    let canceling = stands(InstanceState::Canceling, LONG).await;
    let ended = stands(InstanceState::Working, LONG).await;
    test.psql(&format!("UPDATE taskdeck.instances SET state = 'stopped' WHERE id = '{ended}'"));
    for id in [nobody, passed, draining, canceling, ended] {
        assert_eq!(db.claim_deliveries(id, None, 9).await.expect("claim"), 0);
    }
    let watching = stands(InstanceState::Watching, LONG).await;
    assert_eq!(db.claim_deliveries(watching, None, 9).await.expect("claim"), 1);
}

#[tokio::test]
async fn a_late_end_of_an_old_claim_changes_nothing() {
    let test = database().await;
    let (db, by) = (&test.db, worker(&test.db).await);
    let other = worker(db).await;
    fill(&test, 1, 1);
    let old = take(db, by, 9, &[]).await.remove(0);
    assert_eq!(failed(db, by, &old, Duration::ZERO).await, Confirmed::Yes);
    let now = take(db, by, 9, &[]).await.remove(0);
    assert_eq!((old.claim_no, now.claim_no), (1, 2));
    let before = test.psql("SELECT * FROM taskdeck.outbox");
    assert_eq!(delivered(db, by, &old).await, Confirmed::ClaimLost);
    assert_eq!(failed(db, by, &old, LONG).await, Confirmed::ClaimLost);
    // Nor does the end of a claim that is somebody else's.
    assert_eq!(delivered(db, other, &now).await, Confirmed::ClaimLost);
    assert_eq!(failed(db, other, &now, LONG).await, Confirmed::ClaimLost);
    assert_eq!(test.psql("SELECT * FROM taskdeck.outbox"), before);
    // The right one may be said again, as its answer may have been lost, and stays what it was.
    assert_eq!(delivered(db, by, &now).await, Confirmed::Yes);
    let done = test.psql("SELECT * FROM taskdeck.outbox");
    assert_eq!(delivered(db, by, &now).await, Confirmed::Yes);
    assert_eq!(failed(db, by, &now, LONG).await, Confirmed::ClaimLost, "what is delivered stays so");
    assert_eq!(test.psql("SELECT * FROM taskdeck.outbox"), done);
    assert_eq!(take(db, other, 9, &[]).await, []);
}

/// A failure that is sent again after its answer was lost is known again.
#[tokio::test]
async fn a_failure_may_be_said_twice() {
    let test = database().await;
    let (db, by) = (&test.db, worker(&test.db).await);
    fill(&test, 1, 1);
    let held = take(db, by, 9, &[]).await.remove(0);
    for _ in 0..2 {
        assert_eq!(failed(db, by, &held, Duration::ZERO).await, Confirmed::Yes);
    }
}

/// Its snapshot does not know an instance that began after it, and takes it for one that nobody knows.
#[tokio::test]
async fn a_claim_that_read_early_takes_nothing_from_the_living() {
    // The slow claim waits at its gate for as long as all the other calls take.
    let limits = Limits { statement: PATIENCE, lock: PATIENCE, ..Limits::default() };
    let test = database_with(limits).await;
    let (db, client) = (&test.db, outside(&test.url).await);
    let lost = worker(db).await;
    fill(&test, 2, 1);
    assert_eq!(take(db, lost, 9, &[]).await.len(), 2);
    db.heartbeat(lost, &beat(InstanceState::Working, Duration::ZERO)).await.expect("beat");
    db.recover("w").await.expect("declares it lost");
    client
        .batch_execute(
            "CREATE FUNCTION gate() RETURNS trigger LANGUAGE plpgsql AS \
               $$ BEGIN PERFORM pg_advisory_xact_lock(7); RETURN NEW; END $$; \
             CREATE TRIGGER gate BEFORE UPDATE ON taskdeck.outbox FOR EACH ROW WHEN (OLD.task_id = 1000) \
               EXECUTE FUNCTION gate(); \
             SELECT pg_advisory_lock(7)",
        )
        .await
        .expect("close the gate");
    let slow = worker(db).await;
    let claiming = tokio::spawn({
        let db = db.clone();
        async move { db.claim_deliveries(slow, None, 9).await.expect("claim") }
    });
    until("the slow claim at the gate", || async {
        let sql = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted \
                   AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";
        (number(&client, sql).await == 1).then_some(())
    })
    .await;
    let began_later = worker(db).await;
    let taken = take(db, began_later, 9, &[]).await;
    assert_eq!(keys(&taken), [(1001, 1)], "the first is locked");
    client.batch_execute("SELECT pg_advisory_unlock(7)").await.expect("open the gate");
    assert_eq!(claiming.await.expect("no panic"), 1);
    assert_eq!(keys(&db.deliveries_held(slow, &[]).await.expect("held")), [(1000, 1)]);
    assert_eq!(db.deliveries_held(began_later, &[]).await.expect("held"), taken);
    assert_eq!(delivered(db, began_later, &taken[0]).await, Confirmed::Yes);
}

/// Several processes deliver at once: each notification once, those of a task one after the other in their order.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_is_delivered_once_and_those_of_a_task_in_order() {
    const TASKS: i64 = 12;
    const VERSIONS: i64 = 8;
    let test = database().await;
    fill(&test, TASKS, VERSIONS);
    let log = Arc::new(Mutex::new(Vec::new()));
    let deliverers: Vec<_> = (0..4)
        .map(|_| {
            let (db, log) = (test.db.clone(), Arc::clone(&log));
            tokio::spawn(async move {
                let by = worker(&db).await;
                let left = |page: &taskdeck::domain::outbox::OutboxPage| !page.rows.is_empty();
                let all = OutboxQuery { task: None, tenant: None, after: None, limit: 1 };
                while left(&db.outbox(&all).await.expect("outbox")) {
                    for held in take(&db, by, 3, &[]).await {
                        let (task, version) = (held.notification.task_id.0, held.notification.version);
                        log.lock().expect("no panic").push(("begun", task, version));
                        tokio::task::yield_now().await;
                        // Now and then one fails.
                        if (task + version + held.claim_no) % 5 == 0 {
                            log.lock().expect("no panic").push(("failed", task, version));
                            assert_eq!(failed(&db, by, &held, Duration::ZERO).await, Confirmed::Yes);
                        } else {
                            log.lock().expect("no panic").push(("ended", task, version));
                            assert_eq!(delivered(&db, by, &held).await, Confirmed::Yes);
                        }
                    }
                }
            })
        })
        .collect();
    for deliverer in deliverers {
        deliverer.await.expect("no panic");
    }
    let mut by_task: HashMap<i64, Vec<(&str, i64)>> = HashMap::new();
    for (what, task, version) in log.lock().expect("no panic").iter() {
        by_task.entry(*task).or_default().push((what, *version));
    }
    for (task, said) in &by_task {
        let pairs: Vec<_> = said.chunks(2).collect();
        for pair in &pairs {
            assert!(matches!(pair, [("begun", a), ("ended" | "failed", b)] if a == b), "{task}: {said:?}");
        }
        let ended: Vec<i64> = said.iter().filter(|(what, _)| *what == "ended").map(|(_, v)| *v).collect();
        assert_eq!(ended, (1..=VERSIONS).collect::<Vec<_>>(), "{task}: {said:?}");
    }
    assert_eq!(by_task.len(), usize::try_from(TASKS).expect("few"));
}

/// A claim does not read all that wait behind a failing one, or were delivered before.
#[tokio::test]
async fn a_claim_reads_what_is_due_and_little_else() {
    let test = database().await;
    let (db, by) = (&test.db, worker(&test.db).await);
    fill(&test, 400, 5);
    test.psql("UPDATE taskdeck.outbox SET delivered_at = now() WHERE version < 3");
    test.psql("VACUUM ANALYZE taskdeck.outbox");
    let held = take(db, by, 400, &[]).await;
    assert_eq!(held.len(), 400);
    for one in &held {
        failed(db, by, one, LONG).await;
    }
    fill_one(&test);
    let mut session = db.workers_pool().acquire().await.expect("a slot");
    let explain =
        format!("EXPLAIN (ANALYZE, FORMAT JSON) {}", crate::scene::text(taskdeck::db::sql::OUTBOX_CLAIM));
    let params: &[(&(dyn tokio_postgres::types::ToSql + Sync), tokio_postgres::types::Type)] = &[
        (&by.0, tokio_postgres::types::Type::UUID),
        (&4_i64, tokio_postgres::types::Type::INT8),
        (&None::<&str>, tokio_postgres::types::Type::TEXT),
    ];
    let rows = session.client().query_typed(&explain, params).await.expect("explain");
    let plan: serde_json::Value = rows[0].get(0);
    let read = crate::scene::rows_read(&plan, "outbox");
    assert!((1.0..30.0).contains(&read), "{read} rows of 2001: {plan:#}");
}

/// One more that is due.
fn fill_one(test: &TestDb) {
    test.psql(
        "INSERT INTO taskdeck.outbox (task_id, version, tenant, queue, move, status_before, status_after, actor) \
         VALUES (1, 1, 'default', 'default', 'approve', 'SUBMITTED', 'QUEUED', 'alice')",
    );
}
