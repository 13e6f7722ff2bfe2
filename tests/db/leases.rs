//! Leases: an instance that no longer renews is lost, and what it held is taken back, once.

use std::sync::Arc;
use std::time::Duration;

use taskdeck::db::sql::RECOVER;
use taskdeck::db::{Claimed, Db, Limits, Recovered, Renewal, SignedOff};
use taskdeck::domain::decision::DecisionKind;
use taskdeck::domain::outcome::Finished;
use taskdeck::domain::{InstanceId, InstanceState, NewTask, Status, TextCounts};
use tokio::sync::Barrier;
use tokio_postgres::types::{ToSql, Type};

use crate::scene::{
    LONG, beat, claim, decided, finish, history, new_instance, number, outside, request, row, running,
    submit, submit_as, success, text, until_so_many_wait, until_waiting, worker, worker_with,
};
use crate::support::{PATIENCE, database, database_with};

/// Lets `instance` be frozen for longer than its lease.
async fn freeze(db: &Db, instance: InstanceId) {
    let renewed = db.heartbeat(instance, &beat(InstanceState::Working, Duration::ZERO)).await;
    assert_eq!(renewed.expect("heartbeat"), Renewal::Renewed { stop: None });
}

async fn thaw(db: &Db, instance: InstanceId) -> Renewal {
    db.heartbeat(instance, &beat(InstanceState::Working, LONG)).await.expect("heartbeat")
}

#[tokio::test]
async fn a_dead_instances_tasks_are_taken_back_each_to_its_state() {
    let test = database().await;
    let db = &test.db;
    let (dead, live) = (worker(db).await, worker(db).await);
    let again = running(db, dead, "again").await;
    let spent = submit_as(db, "spent", &NewTask { max_attempts: 1, ..NewTask::default() }).await;
    assert_eq!(claim(db, dead).await.id, spent.id);
    let canceled = running(db, dead, "canceled").await;
    decided(db, DecisionKind::Cancel, &row(db, canceled.id).await).await;
    let kept = running(db, live, "kept").await;
    let kept_row = row(db, kept.id).await;
    assert_eq!(db.recover("r").await.expect("recover"), [], "everybody is alive");

    freeze(db, dead).await;
    let taken = db.recover("rescuer:1").await.expect("recover");
    let states: Vec<_> = taken.iter().map(|r| (r.id, r.status, r.claim_no)).collect();
    assert_eq!(
        states,
        [(again.id, Status::Queued, 1), (spent.id, Status::Failed, 1), (canceled.id, Status::Canceled, 1)]
    );
    for Recovered { id, status, reason, .. } in &taken {
        assert!(reason.contains("testhost:4242"), "{reason}");
        let now = row(db, *id).await;
        assert_eq!((now.status, now.claimed_by, now.cancel_requested), (*status, None, false));
        assert_eq!((now.counts, now.finished_at.is_some()), (TextCounts::default(), status.is_final()));
        assert_eq!(now.error.is_some(), *status != Status::Canceled);
        let events = history(db, *id).await.events;
        let last = events.last().expect("an event");
        assert_eq!((last.movement.as_str(), last.actor.as_str()), ("recover", "rescuer:1"));
        assert_eq!((last.from, last.to, last.version_after), (Status::Running, *status, now.version));
        assert_eq!((last.version_before + 1, last.reason.as_deref()), (now.version, Some(reason.as_str())));
    }
    assert_eq!(row(db, kept.id).await, kept_row, "a live instance's task is never taken");
    assert_eq!(db.recover("r").await.expect("recover"), [], "once");
    let instances = db.instances(None).await.expect("instances");
    let of = |id| instances.iter().find(|i| i.id == id).expect("listed");
    assert_eq!((of(dead).state, of(dead).recovered, of(dead).running), (InstanceState::Lost, 3, 0));
    assert_eq!((of(live).state, of(live).recovered, of(live).running), (InstanceState::Working, 0, 1));
    assert_eq!(of(live).in_flight.iter().map(|f| (f.id, f.claim_no)).collect::<Vec<_>>(), [(kept.id, 1)]);
    assert!(of(live).lease_left_s > 3_000.0 && of(dead).lease_left_s <= 0.0);

    // The lost one learns it, gets nothing more, and a late finish of its changes nothing.
    assert_eq!(thaw(db, dead).await, Renewal::Lost);
    assert_eq!(db.claim_next(&request(dead, 9)).await.expect("claim"), []);
    let now = row(db, again.id).await;
    let late = finish(db, dead, &success(&again)).await;
    assert_eq!(late, Finished::LeaseLost { status: Status::Queued, claim_no: 1 });
    assert_eq!(row(db, again.id).await, now);
    assert_eq!(claim(db, live).await.claim_no, 2);
}

#[tokio::test]
async fn a_lease_that_passed_unnoticed_is_renewed_and_nothing_is_taken() {
    let test = database().await;
    let db = &test.db;
    let client = outside(&test.url).await;
    let instance = worker(db).await;
    let held = running(db, instance, "x").await;
    freeze(db, instance).await;
    assert_eq!(thaw(db, instance).await, Renewal::Renewed { stop: None }, "nobody had declared it lost");
    assert_eq!(db.recover("r").await.expect("recover"), []);
    assert_eq!(row(db, held.id).await.claimed_by, Some(instance));
    let published = "SELECT count(*) FROM taskdeck.instances WHERE done_total = 1 AND failed_total = 2 AND \
                     done_per_s = 3 AND failed_per_min = 4 AND claims_per_s = 5 AND state = 'working' AND \
                     lease_until > now() + interval '59 minutes'";
    assert_eq!(number(&client, published).await, 1);
    // A lease that lasts protects also who is said to be lost: only the database's clock decides.
    client.batch_execute("UPDATE taskdeck.instances SET state = 'lost'").await.expect("set");
    assert_eq!(db.recover("r").await.expect("recover"), []);
    assert_eq!(thaw(db, instance).await, Renewal::Lost);
    assert_eq!(row(db, held.id).await.status, Status::Running);
}

#[tokio::test]
async fn every_state_that_lives_can_be_lost_and_no_ended_one_again() {
    let test = database().await;
    let db = &test.db;
    let client = outside(&test.url).await;
    for state in InstanceState::ALL {
        let instance = worker_with(db, Duration::ZERO).await;
        let set = "UPDATE taskdeck.instances SET state = $2, recovered = 7, ended_at = \
                   CASE WHEN $2 IN ('stopped', 'lost') THEN now() - interval '1 minute' END WHERE id = $1";
        client.execute(set, &[&instance.0, &state.as_str()]).await.expect("set");
        db.recover("r").await.expect("recover");
        let expected = if state.is_alive() { InstanceState::Lost } else { state };
        let row = client
            .query_one(
                "SELECT state, ended_at < now() - interval '30 seconds' FROM taskdeck.instances WHERE id = $1",
                &[&instance.0],
            )
            .await
            .expect("row");
        assert_eq!(row.get::<_, String>(0), expected.as_str());
        assert_eq!(row.get::<_, bool>(1), !state.is_alive(), "{state:?}: an end is not moved");
    }
}

/// The statement itself, without the look for lost instances that the program does before it: a lease that has
/// just passed is no reason to take a task from an instance that may still renew it.
#[tokio::test]
async fn only_what_a_lost_instance_holds_is_taken() {
    let test = database().await;
    let db = &test.db;
    let client = outside(&test.url).await;
    let instance = worker(db).await;
    let held = running(db, instance, "x").await;
    freeze(db, instance).await;
    let operation = uuid::Uuid::now_v7();
    let params: [(&(dyn ToSql + Sync), Type); 3] =
        [(&9_i64, Type::INT8), (&"r", Type::TEXT), (&operation, Type::UUID)];
    for (state, taken) in [("working", 0), ("draining", 0), ("lost", 1)] {
        let set = "UPDATE taskdeck.instances SET state = $1";
        client.execute(set, &[&state]).await.expect("set");
        let rows = client.query_typed(&text(RECOVER), &params).await.expect("recover");
        assert_eq!(rows.len(), taken, "{state}");
    }
    assert_eq!(row(db, held.id).await.status, Status::Queued);
}

#[tokio::test]
async fn a_row_that_another_session_holds_is_passed_over() {
    let test = database().await;
    let db = &test.db;
    let mut client = outside(&test.url).await;
    let dead = worker(db).await;
    let (first, second) = (running(db, dead, "locked").await, running(db, dead, "free").await);
    freeze(db, dead).await;
    let holder = client.transaction().await.expect("begin");
    holder
        .execute("SELECT FROM taskdeck.tasks WHERE id = $1 FOR UPDATE", &[&first.id.0])
        .await
        .expect("lock");
    let taken = db.recover("r").await.expect("recovers without waiting");
    assert_eq!(taken.iter().map(|taken| taken.id).collect::<Vec<_>>(), [second.id]);
    holder.rollback().await.expect("rollback");
    let taken = db.recover("r").await.expect("recover");
    assert_eq!(taken.iter().map(|taken| taken.id).collect::<Vec<_>>(), [first.id]);
}

#[tokio::test]
async fn an_unknown_owners_tasks_are_taken_back_too() {
    let test = database().await;
    let db = &test.db;
    let client = outside(&test.url).await;
    let instance = worker(db).await;
    let held = running(db, instance, "x").await;
    client.batch_execute("DELETE FROM taskdeck.instances").await.expect("delete");
    let taken = db.recover("r").await.expect("recover");
    assert_eq!(taken.iter().map(|r| (r.id, r.status)).collect::<Vec<_>>(), [(held.id, Status::Queued)]);
    assert!(taken[0].reason.contains("an unknown instance"));
}

#[tokio::test]
async fn more_than_one_statement_takes_are_all_taken_by_two_recoverers_once() {
    let test = database().await;
    let db = &test.db;
    let client = outside(&test.url).await;
    let dead = worker(db).await;
    crate::scene::fill(&client, 450, "status, scheduled_at", "'QUEUED', now()").await;
    assert_eq!(db.claim_next(&request(dead, 450)).await.expect("claim").len(), 450);
    freeze(db, dead).await;
    let (first, second) = tokio::join!(db.recover("a"), db.recover("b"));
    let mut ids: Vec<_> =
        first.expect("recover").into_iter().chain(second.expect("recover")).map(|r| r.id).collect();
    // One may have passed over what the other held; whoever comes next finds nothing that is left.
    ids.extend(db.recover("c").await.expect("recover").into_iter().map(|r| r.id));
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 450);
    assert_eq!(number(&client, "SELECT count(*) FROM taskdeck.events").await, 450, "each taken once");
    assert_eq!(number(&client, "SELECT count(*) FROM taskdeck.tasks WHERE version = 2").await, 450);
    assert_eq!(number(&client, "SELECT recovered FROM taskdeck.instances").await, 450);
}

/// What happened to `claimed`, which one of the two ended; and that only one did.
async fn winner(db: &Db, claimed: &Claimed, finished: Finished, taken: &[Recovered]) -> &'static str {
    let now = row(db, claimed.id).await;
    assert_eq!(now.version, 2, "one of the two");
    match (finished, taken) {
        (Finished::Committed { status: Status::Succeeded }, []) => {
            assert_eq!((now.status, now.counts), (Status::Succeeded, TextCounts::of("a race")));
            "finish"
        }
        (Finished::LeaseLost { status: Status::Queued, claim_no: 1 }, [taken]) => {
            assert_eq!((taken.id, now.status), (claimed.id, Status::Queued));
            assert_eq!(now.counts, TextCounts::default());
            decided(db, DecisionKind::Cancel, &now).await;
            "recovery"
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn recover_against_finish_has_one_winner() {
    let test = database().await;
    let db = &test.db;
    for _ in 0..30 {
        let instance = worker(db).await;
        let claimed = running(db, instance, "a race").await;
        freeze(db, instance).await;
        let gate = Arc::new(Barrier::new(2));
        let recovering = tokio::spawn({
            let (db, gate) = (db.clone(), Arc::clone(&gate));
            async move {
                gate.wait().await;
                db.recover("r").await.expect("recover")
            }
        });
        gate.wait().await;
        let finished = finish(db, instance, &success(&claimed)).await;
        winner(db, &claimed, finished, &recovering.await.expect("no panic")).await;
    }
}

/// The same race with each of the two certainly ahead of the other, and both under way at once.
#[tokio::test]
async fn whoever_has_the_row_first_wins_it() {
    // Here everybody waits for locks, on purpose.
    let test = database_with(Limits { statement: PATIENCE, lock: PATIENCE, ..Limits::default() }).await;
    let db = &test.db;
    let (mut holder, watch) = (outside(&test.url).await, outside(&test.url).await);
    for first in ["finish", "recovery", "finish", "recovery"] {
        let instance = worker(db).await;
        let claimed = running(db, instance, "a race").await;
        freeze(db, instance).await;
        let lost = "UPDATE taskdeck.instances SET state = 'lost' WHERE id = $1";
        holder.execute(lost, &[&instance.0]).await.expect("lost");
        let held = holder.transaction().await.expect("begin");
        // The finish needs the task's row alone. The recovery takes it, then counts in the instance's.
        let (table, id) = if first == "finish" {
            ("tasks", claimed.id.0.to_string())
        } else {
            ("instances", format!("'{instance}'"))
        };
        held.batch_execute(&format!("SELECT FROM taskdeck.{table} WHERE id = {id} FOR UPDATE"))
            .await
            .expect("lock");
        let finishing = || {
            let (db, success) = (db.clone(), success(&claimed));
            tokio::spawn(async move { finish(&db, instance, &success).await })
        };
        let (finishing, taken) = if first == "finish" {
            let finishing = finishing();
            until_so_many_wait(&watch, 1).await;
            let taken = db.recover("r").await.expect("recover");
            held.rollback().await.expect("unlock");
            (finishing, taken)
        } else {
            let recovering = tokio::spawn({
                let db = db.clone();
                async move { db.recover("r").await.expect("recover") }
            });
            until_so_many_wait(&watch, 1).await;
            let finishing = finishing();
            until_so_many_wait(&watch, 2).await;
            held.rollback().await.expect("unlock");
            (finishing, recovering.await.expect("no panic"))
        };
        let finished = finishing.await.expect("no panic");
        assert_eq!(winner(db, &claimed, finished, &taken).await, first);
    }
}

#[tokio::test]
async fn an_instance_ends_once_nothing_of_it_runs() {
    let test = database().await;
    let db = &test.db;
    let client = outside(&test.url).await;
    let instance = worker(db).await;
    let held = running(db, instance, "x").await;
    assert_eq!(db.end_instance(instance, 5, 6).await.expect("end"), SignedOff::No, "it holds a task");
    assert_eq!(thaw(db, instance).await, Renewal::Renewed { stop: None });
    finish(db, instance, &success(&held)).await;
    assert_eq!(db.end_instance(instance, 5, 6).await.expect("end"), SignedOff::Yes);
    let ended = "SELECT count(*) FROM taskdeck.instances WHERE state = 'stopped' AND done_total = 5 \
                 AND failed_total = 6 AND done_per_s = 0 AND lease_until <= now() AND ended_at IS NOT NULL";
    assert_eq!(number(&client, ended).await, 1);
    assert_eq!(db.end_instance(instance, 0, 0).await.expect("end"), SignedOff::No, "once");
    assert_eq!(thaw(db, instance).await, Renewal::Lost);
    submit(db, "y").await;
    assert_eq!(db.claim_next(&request(instance, 1)).await.expect("claim"), []);

    // A task that it had claimed at the last moment is taken back, whatever it said of itself.
    let late = "UPDATE taskdeck.tasks SET status = 'RUNNING', claimed_by = $1, claim_no = 1, attempt = 1, \
                version = version + 1 WHERE status = 'QUEUED'";
    assert_eq!(client.execute(late, &[&instance.0]).await.expect("claim"), 1);
    assert_eq!(db.recover("r").await.expect("recover").len(), 1);
}

#[tokio::test]
async fn registering_twice_is_once_and_old_instances_are_forgotten() {
    let test = database().await;
    let db = &test.db;
    let client = outside(&test.url).await;
    let new = new_instance(&["default", "mail"], LONG);
    db.register(&new).await.expect("register");
    db.heartbeat(new.id, &beat(InstanceState::Draining, LONG)).await.expect("heartbeat");
    db.register(&new).await.expect("register again");
    let instances = db.instances(None).await.expect("instances");
    assert_eq!(instances.len(), 1);
    assert_eq!(instances[0].state, InstanceState::Draining, "the second did nothing");
    assert_eq!((instances[0].label().as_str(), instances[0].slots), ("testhost:4242", 4));
    assert_eq!(instances[0].queues, ["default", "mail"]);

    let (owner, old, recent) = (worker(db).await, worker(db).await, worker(db).await);
    running(db, owner, "x").await;
    let age = "UPDATE taskdeck.instances SET state = 'lost', lease_until = now() + interval '1 hour', \
               ended_at = now() - CASE WHEN id = $1 THEN interval '6 days' ELSE interval '8 days' END \
               WHERE id <> $2";
    client.execute(age, &[&recent.0, &new.id.0]).await.expect("age");
    db.prune_instances().await.expect("prune");
    let left = client.query("SELECT id FROM taskdeck.instances", &[]).await.expect("rows");
    let left: std::collections::HashSet<uuid::Uuid> = left.iter().map(|row| row.get(0)).collect();
    assert_eq!(
        left,
        [new.id.0, owner.0, recent.0].into(),
        "not {old}, which ended long ago and owns nothing"
    );
}

/// In ascending id, as a request to stop does: who meets the first row locked holds none of the others meanwhile, so
/// the two cannot wait in a circle.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn instances_are_locked_in_ascending_order() {
    let limits =
        Limits { lock: Duration::from_mins(1), statement: Duration::from_mins(1), ..Limits::default() };
    let lease = "lease_until = now() - interval '1 s'";
    for lost in ["state = 'working'", "state = 'lost'"] {
        let test = database_with(limits.clone()).await;
        let client = outside(&test.url).await;
        // The one with the lowest id comes last in the table.
        let mut new: Vec<_> = (0..8).map(|_| new_instance(&["default"], LONG)).collect();
        new.sort_by_key(|instance| std::cmp::Reverse(instance.id));
        for instance in &new {
            test.db.register(instance).await.expect("register");
            running(&test.db, instance.id, "x").await;
        }
        client
            .batch_execute(&format!("UPDATE taskdeck.instances SET {lost}, {lease} WHERE state = 'working'"))
            .await
            .expect("leases that have passed");
        let mut holder = outside(&test.url).await;
        let held = holder.transaction().await.expect("begin");
        let first = new.last().expect("some").id;
        held.batch_execute(&format!("SELECT FROM taskdeck.instances WHERE id = '{first}' FOR UPDATE"))
            .await
            .expect("lock");
        let recovering = tokio::spawn({
            let db = test.db.clone();
            async move { db.recover("r").await }
        });
        until_waiting(&client).await;
        let ids: Vec<String> = new.iter().map(|instance| format!("'{}'", instance.id)).collect();
        let free = format!(
            "SELECT count(*) FROM (SELECT FROM taskdeck.instances WHERE id IN ({}) FOR UPDATE SKIP LOCKED) i",
            ids.join(", ")
        );
        assert_eq!(number(&client, &free).await, 7, "{lost}");
        held.rollback().await.expect("rollback");
        let recovered = recovering.await.expect("no panic").expect("recover");
        assert_eq!(recovered.len(), 8, "{lost}");
    }
}
