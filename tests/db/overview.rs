//! The overview: counts that are exact or say that they are estimates, rates of the living, and what has waited
//! longest and why. And the server's own state.

use std::time::Duration;

use taskdeck::db::Db;
use taskdeck::domain::decision::DecisionKind;
use taskdeck::domain::observed::{OldestDue, Tally};
use taskdeck::domain::{InstanceState, NewTask, Status, TaskId};

use crate::scene::{
    LONG, beat, claim, decided, fill, finish, name, new_instance, outside, running, submit, submit_as,
    submit_held, success, until_waiting, worker,
};
use crate::support::{database, until};

async fn oldest(db: &Db, tenant: Option<&str>) -> Option<OldestDue> {
    db.overview(tenant).await.expect("overview").oldest_due
}

#[tokio::test]
async fn a_small_table_is_counted_exactly() {
    let test = database().await;
    let db = &test.db;
    let client = outside(&test.url).await;
    let instance = worker(db).await;
    let done = running(db, instance, "done").await;
    finish(db, instance, &success(&done)).await;
    running(db, instance, "runs").await;
    submit_held(db, "held").await;
    let other = NewTask { tenant: name("b"), ..NewTask::default() };
    let canceled = submit_as(db, "canceled", &other).await;
    decided(db, DecisionKind::Cancel, &canceled).await;
    submit_as(db, "queued", &other).await;
    submit_as(db, "later", &NewTask { delay: LONG, ..other }).await;

    let counts = |overview: &taskdeck::domain::observed::Overview| {
        Status::ALL.map(|status| {
            let Tally { count, estimated } = overview.tallies.of(status);
            assert!(!estimated, "{status}");
            count
        })
    };
    let overview = db.overview(None).await.expect("overview");
    assert_eq!(counts(&overview), [1, 2, 1, 1, 0, 1, 0]);
    assert_eq!(counts(&db.overview(Some("b")).await.expect("overview")), [0, 2, 0, 0, 0, 1, 0]);
    assert_eq!(counts(&db.overview(Some("c")).await.expect("overview")), [0; 7]);

    // Rates are the sum over those that live.
    let (second, lost) = (worker(db).await, worker(db).await);
    for instance in [instance, second, lost] {
        db.heartbeat(instance, &beat(InstanceState::Working, LONG)).await.expect("heartbeat");
    }
    let expire = "UPDATE taskdeck.instances SET lease_until = now() - interval '1 s' WHERE id = $1";
    client.execute(expire, &[&lost.0]).await.expect("expire");
    let overview = db.overview(None).await.expect("overview");
    assert_eq!((overview.alive_instances, overview.lost_instances), (2, 0), "past, not yet declared");
    assert!((overview.done_per_s - 6.0).abs() < 1e-9 && (overview.failed_per_min - 8.0).abs() < 1e-9);
    db.recover("r").await.expect("recover");
    let overview = db.overview(None).await.expect("overview");
    assert_eq!((overview.alive_instances, overview.lost_instances), (2, 1));
    // What was declared lost counts as such, however long its lease would have lasted.
    client
        .batch_execute("UPDATE taskdeck.instances SET lease_until = now() + interval '1 h'")
        .await
        .expect("set");
    let overview = db.overview(None).await.expect("overview");
    assert_eq!((overview.alive_instances, overview.lost_instances), (2, 1));
}

#[tokio::test]
async fn a_large_table_is_estimated_where_counting_would_cost() {
    let test = database().await;
    let db = &test.db;
    let client = outside(&test.url).await;
    fill(&client, 160_000, "status, scheduled_at", "'QUEUED', now()").await;
    client.batch_execute("ANALYZE taskdeck.tasks, taskdeck.task_inputs").await.expect("analyze");
    // They have just run: the statistics of states say nothing of it yet.
    let ran = "UPDATE taskdeck.tasks SET status = 'SUCCEEDED', finished_at = now()";
    client.batch_execute(ran).await.expect("run");
    fill(&client, 12_000, "status, scheduled_at, finished_at", "'FAILED', now(), now()").await;
    fill(&client, 50, "status, scheduled_at, finished_at", "'CANCELED', now(), now()").await;
    fill(&client, 40, "status, scheduled_at", "'QUEUED', now()").await;
    fill(&client, 30, "status, scheduled_at", "'QUEUED', now() + interval '1 h'").await;
    fill(&client, 20, "status, scheduled_at", "'SUBMITTED', now()").await;
    fill(&client, 10, "status, scheduled_at, claimed_by", "'RUNNING', now(), gen_random_uuid()").await;
    let size = crate::scene::number(&client, "SELECT pg_relation_size('taskdeck.tasks')").await;
    assert!(size > 16 * 1024 * 1024, "{size} bytes are a large table");

    let overview = db.overview(None).await.expect("overview");
    for (status, count) in [
        (Status::Queued, 70),
        (Status::Submitted, 20),
        (Status::Running, 10),
        (Status::Canceled, 50),
        (Status::Rejected, 0),
    ] {
        assert_eq!(overview.tallies.of(status), Tally { count, estimated: false }, "{status}");
    }
    for (status, count) in [(Status::Succeeded, 160_000_i64), (Status::Failed, 12_000)] {
        let tally = overview.tallies.of(status);
        assert!(tally.estimated, "{status}");
        let off = (tally.count - count).abs();
        assert!(off < count / 4, "{status}: {} for {count}", tally.count);
    }
    let theirs = db.overview(Some("nobody")).await.expect("overview");
    assert_eq!(theirs.tallies.of(Status::Queued), Tally { count: 0, estimated: false });
}

#[tokio::test]
async fn the_oldest_due_task_and_why_it_waits() {
    let test = database().await;
    let db = &test.db;
    let client = outside(&test.url).await;
    assert_eq!(oldest(db, None).await, None, "nothing is due");
    let later = submit_as(db, "later", &NewTask { delay: LONG, ..NewTask::default() }).await.id;
    submit_held(db, "held").await;
    assert_eq!(oldest(db, None).await, None, "neither held nor put off is due");

    let due = submit(db, "due").await.id;
    let found = oldest(db, None).await.expect("due");
    assert_eq!((found.id, found.takers, found.free_slots), (due, 0, 0));
    assert_eq!(found.why(), "no live worker takes queue default");
    let aged = |id: TaskId, what: &str, seconds: u32| {
        format!("UPDATE taskdeck.tasks SET {what} - interval '{seconds} s' WHERE id = {id}")
    };
    client
        .batch_execute(&aged(due, "created_at = now() - interval '1 s', scheduled_at = now()", 60))
        .await
        .expect("age");
    assert_eq!(oldest(db, None).await.expect("due").id, due);
    // What was put off is due since its time, and counts with the others: here it has waited longest.
    client
        .batch_execute(&aged(later, "created_at = now() - interval '1 day', scheduled_at = now()", 90))
        .await
        .expect("age");
    let found = oldest(db, None).await.expect("due");
    assert_eq!(found.id, later);
    assert!((90_000..10_000_000).contains(&found.waiting_ms), "{} ms", found.waiting_ms);
    let other = submit_as(db, "b's", &NewTask { tenant: name("b"), ..NewTask::default() }).await.id;
    assert_eq!(oldest(db, Some("b")).await.expect("due").id, other);
    assert_eq!(oldest(db, Some("c")).await, None);
    let mail = NewTask { queue: name("mail"), tenant: name("m"), delay: LONG, ..NewTask::default() };
    let mail = submit_as(db, "mail", &mail).await.id;
    client
        .batch_execute(&aged(mail, "created_at = now() - interval '1 day', scheduled_at = now()", 80))
        .await
        .expect("age");
    let found = oldest(db, Some("m")).await.expect("due");
    assert_eq!((found.id, found.queue.as_str()), (mail, "mail"), "in whichever queue");

    // Who could take it: only those that live, work, and take its queue.
    for (state, queues, lease) in [
        (InstanceState::Draining, ["default"], LONG),
        (InstanceState::Working, ["mail"], LONG),
        (InstanceState::Working, ["default"], Duration::ZERO),
    ] {
        let new = taskdeck::db::NewInstance { state, ..new_instance(&queues, lease) };
        db.register(&new).await.expect("register");
    }
    let found = oldest(db, None).await.expect("due");
    assert_eq!((found.id, found.takers), (later, 0));
    let taker = worker(db).await;
    let found = oldest(db, None).await.expect("due");
    assert_eq!((found.takers, found.free_slots, found.why().as_str()), (1, 4, "about to be claimed"));
    for _ in 0..3 {
        claim(db, taker).await;
    }
    fill(&client, 2, "status, scheduled_at", "'QUEUED', now()").await;
    let found = oldest(db, Some("default")).await.expect("due");
    assert_eq!((found.takers, found.free_slots), (1, 1));
    claim(db, taker).await;
    let found = oldest(db, Some("default")).await.expect("due");
    assert_eq!((found.takers, found.free_slots, found.why().as_str()), (1, 0, "all slots are busy"));
}

#[tokio::test]
async fn the_servers_own_state() {
    let test = database().await;
    let db = test.db.clone();
    let (mut holder, watch) = (outside(&test.url).await, outside(&test.url).await);
    let task = submit(&db, "x").await;
    let open = holder.transaction().await.expect("begin");
    open.batch_execute("SET application_name = 'a long report'").await.expect("name");
    open.execute("SELECT FROM taskdeck.tasks WHERE id = $1 FOR UPDATE", &[&task.id.0]).await.expect("lock");
    let deciding = tokio::spawn({
        let db = db.clone();
        async move { crate::scene::decide(&db, &crate::scene::decision(DecisionKind::Cancel, &[&task])).await }
    });
    until_waiting(&watch).await;
    let health = until("the lock wait to be seen", || async {
        let health = db.health().await.expect("health");
        (!health.waits.is_empty()).then_some(health)
    })
    .await;
    let wait = &health.waits[0];
    assert_eq!(wait.blocker_application, "a long report");
    assert_eq!(wait.application, "taskdeck test operator");
    assert_ne!(wait.pid, wait.blocked_by);
    assert!(health.oldest_transaction.is_some());
    assert!(health.database.starts_with('t') && health.role == "tester" && health.ours >= 2);
    assert!(!health.is_replica && !health.is_read_only);
    assert_eq!((health.isolation.as_str(), health.max_connections), ("read committed", 200));
    open.rollback().await.expect("rollback");
    deciding.await.expect("no panic");
}
