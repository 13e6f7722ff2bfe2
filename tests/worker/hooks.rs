//! A worker that delivers notifications.

use std::time::Duration;

use taskdeck::db::sql::OUTBOX_CLAIM;
use taskdeck::db::{Db, Limits};
use taskdeck::domain::input::Admission;
use taskdeck::domain::{Approval, Backoff, Decision, DecisionKind, NewTask, OperationId, Seen, TaskId};
use taskdeck::worker::{Config, Hook, Shutdown, SignOff, WorkerEvent};

use crate::proxy::{Cut, Proxy};
use crate::receiver::{Receiver, WAITS};
use crate::rig::{Running, Script, calls, config, submit_as, task};
use crate::support::{PATIENCE, Server, TestDb, database, open, shared_server, until};

/// A worker with this hook and nothing else to do, and short waits.
fn delivers(receiver: &Receiver) -> Config {
    let retry = Backoff { base: Duration::from_millis(5), cap: Duration::from_millis(50) };
    let hook = Hook::parse(&receiver.hook(), PATIENCE, Duration::from_millis(300)).expect("a good command");
    Config { workers: 0, hook: Some(hook.with_retry(retry)), ..config() }
}

fn start(db: &Db, config: Config) -> Running {
    Running::start(db, config, Script::new())
}

/// A held task of which everything is to be told.
async fn held(db: &Db, text: &str) -> TaskId {
    let new = NewTask { admission: Admission::Hold, notify: true, ..NewTask::default() };
    submit_as(db, text, new).await
}

async fn decide(db: &Db, kind: DecisionKind, id: TaskId) {
    let version = task(db, id).await.version;
    let decided = db.decide(&decision(kind, id, version), &|_| {}).await.expect("decide");
    assert_eq!(decided.outcome(), taskdeck::domain::outcome::DecisionOutcome::Committed);
}

fn decision(kind: DecisionKind, id: TaskId, version: i64) -> Decision {
    Decision {
        kind,
        rows: vec![Seen { id, version }],
        tenant: None,
        operator: "bob".to_owned(),
        approval: Approval::Anybody,
        reason: Some("as \u{1b}[31m\u{202e}told".to_owned()),
        operation: OperationId(uuid::Uuid::now_v7()),
    }
}

/// A task that was approved, canceled, requeued and canceled again: versions 1 to 4.
async fn four_times(db: &Db, text: &str) -> TaskId {
    let id = held(db, text).await;
    for kind in [DecisionKind::Approve, DecisionKind::Cancel, DecisionKind::Requeue, DecisionKind::Cancel] {
        decide(db, kind, id).await;
    }
    id
}

/// Waits until nothing waits to be delivered.
async fn all_delivered(test: &TestDb) {
    until("everything is delivered", || async {
        let left = test.psql("SELECT count(*) FROM taskdeck.outbox WHERE delivered_at IS NULL");
        (left == "0").then_some(())
    })
    .await;
}

/// Waits until the hook has said so many lines.
async fn said(receiver: &Receiver, lines: usize) {
    until("the hook says something", || async { (receiver.log().len() >= lines).then_some(()) }).await;
}

#[tokio::test]
async fn a_hook_is_given_the_notification_in_order_and_harmless() {
    let test = database().await;
    let receiver = Receiver::with("echo nobody reads this; echo \"$TASKDECK_TENANT\" >>\"$here/tenant\"");
    let id = four_times(&test.db, "two words").await;
    let mut worker = start(&test.db, delivers(&receiver));
    let last = worker
        .event("the last is delivered", |event| match event {
            WorkerEvent::Delivered { id, version: 4, delivery } => Some((*id, *delivery)),
            _ => None,
        })
        .await;
    assert_eq!(last, (id, 1));
    let expected: Vec<String> =
        (1..=4).flat_map(|version| [format!("begun {version} 1"), format!("ended {version} 1")]).collect();
    assert_eq!(receiver.of(id), expected);
    assert!(!receiver.file("told").chars().any(|c| c == '\u{1b}' || c == '\u{202e}'), "made harmless");
    let told = receiver.told();
    let first = &told[0];
    for (name, value) in [
        ("task_id", serde_json::json!(id)),
        ("version", 1.into()),
        ("move", "approve".into()),
        ("from", "SUBMITTED".into()),
        ("to", "QUEUED".into()),
        ("actor", "bob".into()),
        ("reason", "as \u{1b}[31m\u{202e}told".into()),
        ("tenant", "default".into()),
        ("queue", "default".into()),
        ("delivery", 1.into()),
    ] {
        assert_eq!(first[name], value, "{name}: {first}");
    }
    assert!(first["at"].as_str().is_some_and(|at| at.ends_with('Z')), "{first}");
    let now = serde_json::to_value(task(&test.db, id).await).expect("JSON");
    assert_eq!(first["task"], now, "the task as it is, not as it was");
    assert_eq!(receiver.file("tenant").lines().next(), Some("default"));
    assert_eq!(worker.drain().await, []);
}

#[tokio::test]
async fn one_that_fails_is_tried_again_and_holds_up_its_own_task_alone() {
    let test = database().await;
    let failing = held(&test.db, "fails").await;
    let body = format!(
        "if [ $TASKDECK_TASK_ID = {failing} ] && [ $TASKDECK_VERSION = 1 ] && ! [ -e \"$here/go\" ]; then \
         echo no such host >&2; exit 7; fi"
    );
    let receiver = Receiver::with(&body);
    decide(&test.db, DecisionKind::Approve, failing).await;
    decide(&test.db, DecisionKind::Cancel, failing).await;
    let mut worker = start(&test.db, delivers(&receiver));
    let error = worker
        .event("it has failed for the third time", |event| match event {
            WorkerEvent::NotDelivered { delivery: 3, error, .. } => Some(error.clone()),
            _ => None,
        })
        .await;
    assert_eq!(error, "exit 7: no such host");
    let other = four_times(&test.db, "goes").await;
    until("the other is told", || async { (receiver.of(other).len() == 8).then_some(()) }).await;
    let waits = test.psql(&format!(
        "SELECT version, claim_no > 2, error, delivered_at IS NULL FROM taskdeck.outbox WHERE task_id = {failing} ORDER BY id"
    ));
    assert_eq!(waits, "1|t|exit 7: no such host|t\n2|f||t");
    receiver.open();
    all_delivered(&test).await;
    let said = receiver.of(failing);
    let ended: Vec<_> = said.iter().filter(|line| line.starts_with("ended")).collect();
    assert!(ended.len() == 2 && ended[0].starts_with("ended 1") && ended[1] == "ended 2 1", "{said:?}");
    assert_eq!(test.psql("SELECT count(error) FROM taskdeck.outbox"), "0");
    assert_eq!(worker.drain().await, []);
}

#[tokio::test]
async fn a_hook_that_takes_too_long_or_cannot_be_started_or_is_killed_has_failed() {
    for (line, says) in [
        (
            "sh -c 'trap \"\" TERM; echo deaf >&2; while :; do sleep 0.05; done'",
            "timed out after 300 ms: deaf",
        ),
        ("/no/such/program", "cannot start `/no/such/program`: No such file"),
        ("sh -c 'kill -KILL $$'", "killed by SIGKILL (9)"),
    ] {
        let test = database().await;
        let hook = Hook::parse(line, Duration::from_millis(300), Duration::from_millis(200)).expect("good");
        let mut worker = start(&test.db, Config { workers: 0, hook: Some(hook), ..config() });
        decide(&test.db, DecisionKind::Reject, held(&test.db, "x").await).await;
        let error = worker
            .event("it failed", |event| match event {
                WorkerEvent::NotDelivered { error, .. } => Some(error.clone()),
                _ => None,
            })
            .await;
        assert!(error.starts_with(says), "{error}");
        assert_eq!(worker.drain().await, []);
        assert!(test.psql("SELECT error FROM taskdeck.outbox").starts_with(says));
    }
}

/// A decision wakes who delivers, and the end of a task wakes who has ended it, also where nothing can be heard.
#[tokio::test]
async fn nobody_waits_for_the_next_poll() {
    let test = database().await;
    let receiver = Receiver::with("");
    let rare = Config { poll: Duration::from_hours(1), ..delivers(&receiver) };
    let worker = start(&test.db, Config { workers: 1, ..rare });
    worker.is_well().await;
    let other = test.open_again(Limits::default()).await;
    let id = held(&other, "x").await;
    decide(&other, DecisionKind::Approve, id).await;
    said(&receiver, 4).await;
    let version = |line: &String| line.split(' ').nth(1).map(str::to_owned);
    let versions: Vec<_> = receiver.of(id).iter().filter_map(version).collect();
    assert_eq!(versions, ["1", "1", "3", "3"], "the approval and the end");
    assert_eq!(worker.drain().await, []);
}

/// The decision is written and waits in its commit: whoever delivers looks several times and tells nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_told_before_it_is_committed() {
    let server = Server::start();
    server.psql("postgres", "CREATE DATABASE work").expect("create");
    let hasty = format!("{}?options=-c%20synchronous_commit%3Dlocal", server.url("work"));
    let strict = format!("{}?options=-c%20synchronous_commit%3Don", server.url("work"));
    let outside = |sql: &str| crate::support::psql(&hasty, sql).expect("asked");
    let db = open(&hasty, Limits::default()).await;
    db.migrate().await.expect("migrate");
    let receiver = Receiver::with("");
    let worker = start(&db, delivers(&receiver));
    worker.is_well().await;
    let id = held(&db, "x").await;
    let limits = Limits { statement: PATIENCE, ..Limits::default() };
    let decides = open(&strict, limits).await;
    outside("ALTER SYSTEM SET synchronous_standby_names = 'nosuch'");
    outside("SELECT pg_reload_conf()");
    let deciding =
        tokio::spawn(async move { decides.decide(&decision(DecisionKind::Approve, id, 0), &|_| {}).await });
    let waits = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
    until("the decision in its commit", || async { (outside(waits) == "1").then_some(()) }).await;
    let before = calls(&db, OUTBOX_CLAIM);
    until("three looks", || async { (calls(&db, OUTBOX_CLAIM) >= before + 3).then_some(()) }).await;
    assert_eq!((receiver.log(), outside(waits).as_str()), (Vec::new(), "1"), "told before it was decided");
    outside("ALTER SYSTEM RESET synchronous_standby_names");
    outside("SELECT pg_reload_conf()");
    deciding.await.expect("no panic").expect("decided");
    said(&receiver, 2).await;
    assert_eq!(receiver.of(id), ["begun 1 1", "ended 1 1"]);
    assert_eq!(worker.drain().await, []);
}

/// Each answer of the delivery's own statements is lost once, in each way: nothing is told twice, nothing is forgotten.
async fn every_answer_once(cut: Cut) {
    let test = database().await;
    let proxy = Proxy::start(shared_server().port()).await;
    let db = open(&proxy.address(&test.url), cut.limits()).await;
    let receiver = Receiver::with("[ $TASKDECK_DELIVERY != 1 ] || [ $TASKDECK_VERSION != 2 ] || exit 1");
    let markers =
        ["o.claim_no = due.claim_no", "o.id <> ALL ($2", "coalesce(delivered_at", "coalesce(claimed_by, $1)"];
    for marker in markers {
        proxy.cut(cut, marker);
    }
    let worker = start(&db, delivers(&receiver));
    let id = four_times(&test.db, "x").await;
    all_delivered(&test).await;
    assert_eq!((proxy.cuts(), proxy.armed()), (4, 0), "{cut:?}");
    let said = receiver.of(id);
    let ended: Vec<_> = said.iter().filter(|line| line.starts_with("ended")).collect();
    assert_eq!(ended, ["ended 1 1", "ended 2 2", "ended 3 1", "ended 4 1"], "{cut:?}: {said:?}");
    assert_eq!(said.len(), 9, "{cut:?}: {said:?}");
    assert_eq!(worker.drain().await, []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_request_of_a_delivery_once_never_arrives() {
    every_answer_once(Cut::Before).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_answer_of_a_delivery_once_is_cut_off() {
    every_answer_once(Cut::After).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_answer_of_a_delivery_once_is_held_back() {
    every_answer_once(Cut::Stall).await;
}

/// A delivery that was going on when the lease was lost is stopped and worth nothing; the next instance tells it again.
#[tokio::test]
async fn a_lost_lease_stops_the_hook_and_another_delivers() {
    let test = database().await;
    let receiver = Receiver::with(WAITS);
    let mut worker = start(&test.db, delivers(&receiver));
    let first = worker.began().await;
    let id = held(&test.db, "x").await;
    decide(&test.db, DecisionKind::Reject, id).await;
    said(&receiver, 1).await;
    test.psql(&format!(
        "UPDATE taskdeck.instances SET state = 'lost', lease_until = now() - interval '1 second', ended_at = now() \
         WHERE id = '{first}'"
    ));
    let why = worker
        .event("the delivery is discarded", |event| match event {
            WorkerEvent::DeliveryDiscarded { delivery: 1, why, .. } => Some(*why),
            _ => None,
        })
        .await;
    assert!(why.contains("the lease was lost"), "{why}");
    said(&receiver, 2).await;
    receiver.open();
    all_delivered(&test).await;
    assert_eq!(
        receiver.of(id),
        ["begun 1 1", "begun 1 2", "ended 1 2"],
        "the first was stopped, not let go on"
    );
    assert_eq!(worker.drain().await, []);
}

#[tokio::test]
async fn a_drain_waits_for_the_hook_and_begins_nothing_new() {
    let test = database().await;
    let receiver = Receiver::with(WAITS);
    let worker = start(&test.db, delivers(&receiver));
    let id = four_times(&test.db, "x").await;
    said(&receiver, 1).await;
    worker.handle.shutdown(Shutdown::Drain);
    let beats = || calls(&test.db, taskdeck::db::sql::HEARTBEAT);
    let before = beats();
    until("heartbeats go on", || async { (beats() >= before + 2).then_some(()) }).await;
    assert_eq!(test.psql("SELECT state FROM taskdeck.instances"), "draining");
    receiver.open();
    let ended = tokio::time::timeout(PATIENCE, worker.handle.ended()).await.expect("in time");
    assert_eq!((ended.undelivered, ended.sign_off), (Vec::new(), SignOff::Confirmed));
    assert_eq!(receiver.of(id), ["begun 1 1", "ended 1 1"]);
    assert_eq!(test.psql("SELECT count(delivered_at), count(claimed_by) FROM taskdeck.outbox"), "1|1");
}

#[tokio::test]
async fn a_cancel_stops_the_hook_and_frees_its_notification_at_once() {
    let test = database().await;
    let receiver = Receiver::with(WAITS);
    let worker = start(&test.db, delivers(&receiver));
    let id = held(&test.db, "x").await;
    decide(&test.db, DecisionKind::Reject, id).await;
    said(&receiver, 1).await;
    worker.handle.shutdown(Shutdown::Cancel);
    let ended = tokio::time::timeout(PATIENCE, worker.handle.ended()).await.expect("in time");
    assert_eq!((ended.undelivered, ended.sign_off), (Vec::new(), SignOff::Confirmed));
    let free =
        "SELECT claimed_by IS NULL, due_at <= now(), error FROM taskdeck.outbox WHERE delivered_at IS NULL";
    assert_eq!(test.psql(free), "t|t|stopped: its process was shutting down");
    receiver.open();
    let next = start(&test.db, delivers(&receiver));
    all_delivered(&test).await;
    assert_eq!(receiver.of(id), ["begun 1 1", "begun 1 2", "ended 1 2"]);
    assert_eq!(next.drain().await, []);
}

#[tokio::test]
async fn leaving_kills_the_hook_and_names_what_it_was_to_tell() {
    let test = database().await;
    let receiver = Receiver::with(&format!("echo $$ >\"$here/pid\"\n{WAITS}"));
    let worker = start(&test.db, delivers(&receiver));
    let id = held(&test.db, "x").await;
    decide(&test.db, DecisionKind::Reject, id).await;
    let pid = until("the hook runs", || async { receiver.file("pid").trim().parse::<u32>().ok() }).await;
    worker.handle.leave();
    let ended = tokio::time::timeout(PATIENCE, worker.handle.ended()).await.expect("in time");
    assert_eq!((ended.undelivered, ended.left), (vec![(id, 1)], Vec::new()));
    until("the hook is gone", || async {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let state = stat.rsplit(") ").next().unwrap_or_default();
        (stat.is_empty() || state.starts_with('Z')).then_some(())
    })
    .await;
    assert_eq!(test.psql("SELECT count(delivered_at), count(claimed_by) FROM taskdeck.outbox"), "0|1");
}

#[test]
fn bad_hooks_are_refused() {
    for bad in ["", "  ", "''", "sh -c 'open", "a\0b"] {
        let refusal = Hook::parse(bad, PATIENCE, PATIENCE).expect_err(bad);
        assert_eq!(refusal.field, "hook");
    }
}
