//! Asking processes to stop: a conditional update that their heartbeat reads, of two operators one wins.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use taskdeck::db::sql::STOP;
use taskdeck::db::{Db, Limits, Renewal, Wake};
use taskdeck::domain::instance::{SeenInstance, Stop, TakenBack};
use taskdeck::domain::outcome::{StopVerdict, Stopping};
use taskdeck::domain::{Instance, InstanceId, InstanceState, Name, NewTask, Status, StopMode};
use tokio::sync::Barrier;

use crate::proxy::{Cut, Proxy};
use crate::scene::{
    LONG, beat, claim, name, new_instance, number, operation, outside, quiet, submit_as, worker,
};
use crate::support::{PATIENCE, database, open, shared_server, until};

pub(crate) fn stop(by: &str, mode: StopMode, seen: &[(InstanceId, i64)]) -> Stop {
    Stop {
        mode,
        instances: seen.iter().map(|&(id, stop_version)| SeenInstance { id, stop_version }).collect(),
        operator: by.to_owned(),
        reason: Some("new release".to_owned()),
        operation: operation(),
    }
}

async fn ask(db: &Db, stop: &Stop) -> Vec<StopVerdict> {
    let answer = db.stop(stop, &quiet).await.expect("ask");
    assert!(!answer.resolved_from_unknown);
    answer.instances.into_iter().map(|(_, verdict)| verdict).collect()
}

fn asked(verdict: &StopVerdict) -> Option<&Stopping> {
    match verdict {
        StopVerdict::Committed { instance } => Some(instance),
        _ => None,
    }
}

fn refused(verdict: &StopVerdict) -> Option<&Stopping> {
    match verdict {
        StopVerdict::Conflict { instance } => Some(instance),
        _ => None,
    }
}

async fn instance(db: &Db, id: InstanceId) -> Instance {
    let all = db.instances(None).await.expect("instances");
    all.into_iter().find(|instance| instance.id == id).expect("listed")
}

#[tokio::test]
async fn a_request_is_read_by_the_next_heartbeat_and_stands_in_the_history() {
    let test = database().await;
    let (db, id) = (&test.db, worker(&test.db).await);
    let working = beat(InstanceState::Working, LONG);
    assert_eq!(db.heartbeat(id, &working).await.expect("beat"), Renewal::Renewed { stop: None });

    let verdicts = ask(db, &stop("bob", StopMode::Drain, &[(id, 0)])).await;
    let now = asked(&verdicts[0]).expect("asked");
    assert_eq!(
        (now.label.as_str(), now.state, now.stop_version),
        ("testhost:4242", InstanceState::Working, 1)
    );
    let Renewal::Renewed { stop: Some(read) } = db.heartbeat(id, &working).await.expect("beat") else {
        panic!("it is told at its next beat");
    };
    assert_eq!((read.mode, read.by.as_str()), (StopMode::Drain, "bob"));
    assert_eq!(read.reason.as_deref(), Some("new release"));
    assert_eq!(instance(db, id).await.stop, Some(read));

    // The same again, milder, or with an old version: refused, and told who asked.
    for (mode, version) in [(StopMode::Drain, 1), (StopMode::Drain, 0), (StopMode::Cancel, 0)] {
        let verdicts = ask(db, &stop("eve", mode, &[(id, version)])).await;
        let now = refused(&verdicts[0]).unwrap_or_else(|| panic!("{mode:?} v{version}: {verdicts:?}"));
        assert_eq!(now.stop.as_ref().map(|stop| stop.by.as_str()), Some("bob"));
    }
    let verdicts = ask(db, &stop("carol", StopMode::Cancel, &[(id, 1)])).await;
    assert_eq!(asked(&verdicts[0]).expect("graver").stop_version, 2);
    let verdicts = ask(db, &stop("bob", StopMode::Drain, &[(id, 2)])).await;
    assert!(refused(&verdicts[0]).is_some(), "a cancel is not taken back");

    let history = test.psql(
        "SELECT actor, move, status_before, version_before, version_after, reason, task_id IS NULL \
         FROM taskdeck.events WHERE instance IS NOT NULL ORDER BY id",
    );
    assert_eq!(
        history,
        "bob|ask-drain|working|0|1|new release|t\ncarol|ask-cancel|working|1|2|new release|t"
    );
}

#[tokio::test]
async fn who_has_ended_or_only_watches_is_not_asked_and_the_others_are() {
    let test = database().await;
    let db = &test.db;
    let live = worker(db).await;
    let ended = worker(db).await;
    db.end_instance(ended, 0, 0).await.expect("end");
    let lost = worker(db).await;
    db.heartbeat(lost, &beat(InstanceState::Working, Duration::ZERO)).await.expect("beat");
    db.recover("r").await.expect("recover");
    let watching = new_instance(&["default"], LONG);
    let watching = taskdeck::db::NewInstance { state: InstanceState::Watching, ..watching };
    db.register(&watching).await.expect("register");
    let nobody = InstanceId(uuid::Uuid::now_v7());
    let seen = [(nobody, 0), (watching.id, 0), (lost, 0), (ended, 0), (live, 0)];
    let answer = db.stop(&stop("bob", StopMode::Cancel, &seen), &quiet).await.expect("ask");
    let of = |id| &answer.instances.iter().find(|(asked, _)| *asked == id).expect("answered").1;
    assert_eq!(answer.instances.len(), 5);
    assert_eq!(asked(of(live)).expect("asked").state, InstanceState::Working);
    assert_eq!(refused(of(ended)).expect("refused").state, InstanceState::Stopped);
    assert_eq!(refused(of(lost)).expect("refused").state, InstanceState::Lost);
    assert_eq!(refused(of(watching.id)).expect("refused").state, InstanceState::Watching);
    assert_eq!(*of(nobody), StopVerdict::NotFound);
    assert_eq!(test.psql("SELECT count(*) FROM taskdeck.events"), "1");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_operators_who_saw_the_same_one_asks() {
    let test = database().await;
    let other = test.open_again(Limits::default()).await;
    for round in 1..=30 {
        let id = worker(&test.db).await;
        let gate = Arc::new(Barrier::new(2));
        let racer = |db: &Db, by: &'static str, mode| {
            let (db, gate) = (db.clone(), Arc::clone(&gate));
            tokio::spawn(async move {
                let stop = stop(by, mode, &[(id, 0)]);
                gate.wait().await;
                ask(&db, &stop).await.remove(0)
            })
        };
        let (a, b) = (racer(&test.db, "alice", StopMode::Drain), racer(&other, "bob", StopMode::Cancel));
        let verdicts = [a.await.expect("no panic"), b.await.expect("no panic")];
        let winners: Vec<&Stopping> = verdicts.iter().filter_map(asked).collect();
        let losers: Vec<&Stopping> = verdicts.iter().filter_map(refused).collect();
        assert_eq!((winners.len(), losers.len()), (1, 1), "round {round}: {verdicts:?}");
        // The loser is told who won, not what it saw.
        assert_eq!((&losers[0].stop, losers[0].stop_version), (&winners[0].stop, 1), "round {round}");
        let now = instance(&test.db, id).await;
        assert_eq!((now.stop_version, &now.stop), (1, &winners[0].stop), "round {round}");
    }
    assert_eq!(test.psql("SELECT count(*) FROM taskdeck.events"), "30");
}

#[tokio::test]
async fn a_request_whose_answer_is_lost_is_asked_once() {
    let test = database().await;
    let client = outside(&test.url).await;
    let proxy = Proxy::start(shared_server().port()).await;
    for (round, cut) in (1..).zip([Cut::Before, Cut::After, Cut::Stall]) {
        let db = open(&proxy.address(&test.url), cut.limits()).await;
        let id = worker(&test.db).await;
        proxy.cut(cut, "SET stop_version");
        let lost = AtomicU32::new(0);
        let count = |_: &taskdeck::db::Trouble| {
            lost.fetch_add(1, Ordering::SeqCst);
        };
        let answer = db.stop(&stop("bob", StopMode::Drain, &[(id, 0)]), &count).await.expect("ask");
        assert_eq!((proxy.cuts(), lost.load(Ordering::SeqCst)), (round, 1), "{cut:?}");
        assert!(answer.resolved_from_unknown, "{cut:?}");
        assert_eq!(asked(&answer.instances[0].1).expect("asked").stop_version, 1, "{cut:?}");
        let events = number(&client, "SELECT count(*) FROM taskdeck.events").await;
        assert_eq!(events, i64::try_from(round).expect("small"), "{cut:?}");
    }
    assert!(STOP.text.contains("SET stop_version"), "the proxy knows it by these words");
}

#[tokio::test]
async fn a_request_wakes_whoever_listens_apart_from_work() {
    let test = database().await;
    let id = worker(&test.db).await;
    let mut listener = test.db.listen().await.expect("listen");
    ask(&test.db, &stop("bob", StopMode::Drain, &[(id, 0)])).await;
    assert_eq!(listener.wait(PATIENCE).await.expect("heard"), Wake::Fleet);
    test.db.wake();
    assert_eq!(listener.wait(PATIENCE).await.expect("heard"), Wake::Work);
}

/// The wake-up is sent beside the caller, and only where somebody was asked.
#[tokio::test]
async fn no_answer_waits_for_the_wake_up() {
    let test = database().await;
    let server = shared_server();
    let proxy = Proxy::start(server.port()).await;
    let url = test.url.replace(&format!(":{}/", server.port()), &format!(":{}/", proxy.port()));
    let limits = Limits { statement: Duration::from_hours(1), ..Limits::default() };
    let db = open(&format!("{url}?sslmode=disable"), limits).await;
    let id = worker(&test.db).await;
    proxy.cut(Cut::Stall, "pg_notify");
    let within = tokio::time::timeout(PATIENCE, async {
        let verdicts = ask(&db, &stop("bob", StopMode::Drain, &[(id, 9)])).await;
        assert!(refused(&verdicts[0]).is_some());
        db.settle_wakes().await;
        assert_eq!(proxy.cuts(), 0, "nobody was asked, so nobody is woken");
        let verdicts = ask(&db, &stop("bob", StopMode::Drain, &[(id, 0)])).await;
        assert!(asked(&verdicts[0]).is_some());
    });
    within.await.expect("the answer is there before the wake-up is");
    until("the wake-up is on its way", || async { (proxy.cuts() == 1).then_some(()) }).await;
}

#[tokio::test]
async fn what_was_taken_back_from_a_lost_instance_is_named_to_its_tenant() {
    let test = database().await;
    let (db, dead) = (&test.db, worker(&test.db).await);
    let mine = NewTask { tenant: name("mine"), max_attempts: 1, ..NewTask::default() };
    let first = submit_as(db, "first", &NewTask::default()).await;
    assert_eq!(claim(db, dead).await.id, first.id);
    let second = submit_as(db, "second", &mine).await;
    assert_eq!(claim(db, dead).await.id, second.id);
    db.heartbeat(dead, &beat(InstanceState::Working, Duration::ZERO)).await.expect("beat");
    db.recover("r").await.expect("recover");
    let queued = TakenBack { id: first.id, status: Status::Queued };
    let failed = TakenBack { id: second.id, status: Status::Failed };
    assert_eq!(instance(db, dead).await.recovered_tasks, [failed, queued], "newest first");
    let tenant = Name::new("tenant", "mine").expect("a name");
    let seen = db.instances(Some(tenant.as_str())).await.expect("instances");
    let seen = seen.iter().find(|instance| instance.id == dead).expect("listed");
    assert_eq!(seen.recovered_tasks, [failed], "another tenant's task is not named");
}
