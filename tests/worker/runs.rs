//! What becomes of a task that a worker takes.

use std::future::poll_fn;
use std::sync::Arc;

use taskdeck::db::Limits;
use taskdeck::domain::input::SubmissionKey;
use taskdeck::domain::{InstanceState, NewTask, Status, TextCounts};
use taskdeck::worker::{Config, TextStats, WorkerEvent};
use tokio_postgres::{AsyncMessage, NoTls};

use crate::rig::{Running, Script, config, moves, reaches, rests, submit, submit_as, task};
use crate::support::{PATIENCE, TestDb, database, until};

#[tokio::test]
async fn a_text_is_counted_and_result_and_state_are_committed_together() {
    let test = database().await;
    let mut worker = Running::start(&test.db, config(), Arc::new(TextStats));
    let instance = worker.began().await;
    let id = submit(&test.db, "Go 语言").await;
    let done = reaches(&test.db, id, Status::Succeeded).await;
    assert_eq!(done.counts, TextCounts { words: 2, bytes: 9, runes: 5 });
    assert_eq!((done.version, done.attempt, done.claim_no), (2, 1, 1));
    assert_eq!(
        (done.claimed_by, done.worker.as_deref().map(|worker| worker.starts_with("test:"))),
        (Some(instance), Some(true))
    );
    assert!(done.started_at.is_some() && done.finished_at.is_some());
    assert_eq!(worker.drain().await, []);
}

/// The channels on which something was announced before this one's own word came through, which is the last.
async fn announced(connection: &mut Announcements, test: &TestDb) -> Vec<String> {
    // What this process still owes its listeners is sent before.
    test.db.settle_wakes().await;
    test.psql("NOTIFY the_last_word");
    let mut channels = Vec::new();
    while channels.last().is_none_or(|channel| channel != "the_last_word") {
        let next = tokio::time::timeout(PATIENCE, poll_fn(|context| connection.poll_message(context)));
        if let AsyncMessage::Notification(word) = next.await.expect("in time").expect("open").expect("a word")
        {
            channels.push(word.channel().to_owned());
        }
    }
    channels
}

type Announcements = tokio_postgres::Connection<tokio_postgres::Socket, tokio_postgres::tls::NoTlsStream>;

/// A connection of the test's own that hears what is announced.
async fn ear(test: &TestDb) -> (tokio_postgres::Client, Announcements) {
    let (client, mut connection) = tokio_postgres::connect(&test.url, NoTls).await.expect("connect");
    let listen = client.batch_execute("LISTEN taskdeck_taskdeck; LISTEN the_last_word");
    tokio::select! {
        listens = listen => listens.expect("listen"),
        message = poll_fn(|context| connection.poll_message(context)) => panic!("{message:?}"),
    }
    (client, connection)
}

/// The wake-up that a submit sends comes after its row, and a submit that fails sends none: with a poll of an hour
/// only a wake-up can make the worker look.
#[tokio::test]
async fn a_submit_wakes_and_one_that_fails_does_not() {
    let test = database().await;
    let (_client, mut ear) = ear(&test).await;
    let script = Script::new();
    let hour = std::time::Duration::from_hours(1);
    let patient = Config { poll: hour, lease: std::time::Duration::from_secs(3), ..config() };
    let mut worker = Running::start(&test.db, patient, script.clone());
    worker.began().await;
    rests(&test.db).await;
    assert_eq!(announced(&mut ear, &test).await, ["the_last_word"]);
    let first = submit(&test.db, "first").await;
    reaches(&test.db, first, Status::Succeeded).await;
    assert_eq!(announced(&mut ear, &test).await, ["taskdeck_taskdeck", "the_last_word"]);
    // The server refuses the row: what it would be is not allowed.
    let refused = NewTask { max_attempts: 0, ..NewTask::default() };
    let error = test.db.submit("never", &refused, &SubmissionKey::fresh(), &|_| {}).await;
    assert!(error.is_err(), "{error:?}");
    assert_eq!(announced(&mut ear, &test).await, ["the_last_word"]);
    assert_eq!(script.runs(), [(first, 1)]);
}

#[tokio::test]
async fn a_failure_keeps_nothing_and_the_attempts_are_spent_one_by_one() {
    let test = database().await;
    let script = Script::new();
    let mut worker = Running::start(&test.db, config(), script.clone());
    let id = submit(&test.db, "fail now").await;
    let failed = reaches(&test.db, id, Status::Failed).await;
    assert_eq!(failed.counts, TextCounts::default());
    assert_eq!((failed.attempt, failed.claim_no, failed.version), (3, 3, 6));
    assert_eq!(failed.error.as_deref(), Some("as told: fail now"));
    assert_eq!(moves(&test.db, id).await, ["retry", "retry", "fail"]);
    assert_eq!(script.runs(), [(id, 1), (id, 2), (id, 3)]);
    let last = worker
        .event("the last failure", |event| match event {
            WorkerEvent::Failed { id, claim_no, error } => Some((*id, *claim_no, error.clone())),
            _ => None,
        })
        .await;
    assert_eq!(last, (id, 3, "as told: fail now".to_owned()));
}

#[tokio::test]
async fn a_retry_waits_by_the_databases_clock() {
    let test = database().await;
    let slow = Config {
        retry: taskdeck::domain::Backoff {
            base: std::time::Duration::from_mins(10),
            cap: std::time::Duration::from_hours(1),
        },
        ..config()
    };
    let _worker = Running::start(&test.db, slow, Script::new());
    let id = submit(&test.db, "fail").await;
    until("it was tried once", || async {
        let task = task(&test.db, id).await;
        ((task.status, task.attempt) == (Status::Queued, 1)).then_some(())
    })
    .await;
    let wait = test.psql(&format!(
        "SELECT extract(epoch FROM scheduled_at - now()) FROM taskdeck.tasks WHERE id = {id}"
    ));
    let wait: f64 = wait.parse().expect("seconds");
    assert!((890.0..1_510.0).contains(&wait), "2 × 600 s, more or less a quarter: {wait}");
}

#[tokio::test]
async fn a_panic_is_a_failed_attempt_and_the_worker_lives_on() {
    let test = database().await;
    let script = Script::new();
    let _worker = Running::start(&test.db, Config { workers: 1, ..config() }, script.clone());
    let once = NewTask { max_attempts: 1, ..NewTask::default() };
    let id = submit_as(&test.db, "panic please", once).await;
    let failed = reaches(&test.db, id, Status::Failed).await;
    assert_eq!(failed.error.as_deref(), Some("the analyser panicked: as told: panic please"));
    let next = submit(&test.db, "next").await;
    reaches(&test.db, next, Status::Succeeded).await;
    assert_eq!(script.runs(), [(id, 1), (next, 1)]);
}

#[tokio::test]
async fn a_text_that_cannot_be_read_fails_its_attempt_and_says_why() {
    let test = database().await;
    let id = submit_as(&test.db, "soon gone", NewTask { max_attempts: 1, ..NewTask::default() }).await;
    test.psql("DELETE FROM taskdeck.task_inputs");
    let script = Script::new();
    let _worker = Running::start(&test.db, config(), script.clone());
    let error = until("it failed", || async {
        let error =
            test.psql(&format!("SELECT error FROM taskdeck.tasks WHERE id = {id} AND status = 'FAILED'"));
        (!error.is_empty()).then_some(error)
    })
    .await;
    assert!(error.starts_with("the text cannot be read: "), "{error}");
    assert_eq!(script.runs(), []);
}

#[tokio::test]
async fn an_attempt_has_its_time() {
    let test = database().await;
    let limited = Config { task_timeout: Some(std::time::Duration::from_millis(50)), ..config() };
    let _worker = Running::start(&test.db, limited, Script::new());
    let id = submit_as(&test.db, "held", NewTask { max_attempts: 1, ..NewTask::default() }).await;
    let failed = reaches(&test.db, id, Status::Failed).await;
    assert_eq!(failed.error.as_deref(), Some("timed out after 50 ms"));
}

#[tokio::test]
async fn only_its_queues_and_its_tenant_are_claimed() {
    let test = database().await;
    let name = |text| taskdeck::domain::Name::new("queue", text).expect("a name");
    let other = submit_as(&test.db, "a", NewTask { queue: name("other"), ..NewTask::default() }).await;
    let theirs = submit_as(&test.db, "b", NewTask { tenant: name("them"), ..NewTask::default() }).await;
    let narrow = Config { tenant: Some(name("default")), ..config() };
    let _worker = Running::start(&test.db, narrow, Script::new());
    let ours = submit(&test.db, "c").await;
    reaches(&test.db, ours, Status::Succeeded).await;
    for id in [other, theirs] {
        assert_eq!(task(&test.db, id).await.status, Status::Queued);
    }
}

/// What runs is seen while it runs, and the view is empty again afterwards.
#[tokio::test]
async fn whoever_watches_sees_the_slots() {
    let test = database().await;
    let script = Script::new();
    let worker = Running::start(&test.db, config(), script.clone());
    let mut local = worker.handle.local();
    let id = submit(&test.db, "deaf").await;
    let seen = tokio::time::timeout(
        PATIENCE,
        local.wait_for(|local| local.running.iter().any(|run| run.doing == "as told")),
    )
    .await
    .expect("in time")
    .expect("the worker lives")
    .clone();
    assert_eq!((seen.running[0].id, seen.running[0].claim_no), (id, 1));
    assert_eq!((seen.slots, seen.state), (2, InstanceState::Working));
    assert!(seen.lease_left > std::time::Duration::from_secs(1));
    script.open();
    let empty = local.wait_for(|local| local.running.is_empty());
    tokio::time::timeout(PATIENCE, empty).await.expect("in time").expect("the worker lives");
}

#[tokio::test]
async fn a_worker_without_slots_watches_and_recovers() {
    let test = database().await;
    let waiting = submit(&test.db, "waits").await;
    let dead = submit(&test.db, "left behind").await;
    test.psql(&format!(
        "UPDATE taskdeck.tasks SET status = 'RUNNING', claimed_by = gen_random_uuid(), claim_no = 1, attempt = 1,
         version = 1 WHERE id = {dead}"
    ));
    let mut worker = Running::start(&test.db, Config { workers: 0, ..config() }, Script::new());
    let instance = worker.began().await;
    reaches(&test.db, dead, Status::Queued).await;
    let seen = test.db.instances(None).await.expect("read");
    let own = seen.iter().find(|seen| seen.id == instance).expect("it is registered");
    assert_eq!((own.state, own.slots), (InstanceState::Watching, 0));
    assert_eq!(worker.drain().await, []);
    assert_eq!(task(&test.db, waiting).await.status, Status::Queued);
    assert_eq!(test.psql("SELECT state FROM taskdeck.instances"), "stopped");
}

/// Limits so small that every call waits for the only connection.
#[tokio::test]
async fn one_connection_is_enough() {
    let limits = Limits { operator_pool: 1, workers_pool: 1, ..Limits::default() };
    let test = crate::support::database_with(limits).await;
    let worker = Running::start(&test.db, config(), Script::new());
    let ids = crate::rig::submit_many(&test.db, 300).await;
    for id in ids {
        reaches(&test.db, id, Status::Succeeded).await;
    }
    assert_eq!(worker.drain().await, []);
}
