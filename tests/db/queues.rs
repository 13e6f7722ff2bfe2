//! Queues are paused and resumed by a decision like any other, and a claim carries the condition.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use taskdeck::db::{ClaimRequest, Db, Limits};
use taskdeck::domain::outcome::ClaimById;
use taskdeck::domain::queue::{Queue, QueueAct, QueueDecided, QueueDecision, QueueOutcome, QueueState};
use taskdeck::domain::{NewTask, Status};
use tokio::sync::Barrier;

use crate::proxy::{Cut, Proxy};
use crate::scene::{
    claim, name, number, operation, outside, quiet, request, row, submit, submit_as, submit_held, worker,
};
use crate::support::{database, open, shared_server};

pub(crate) fn decision(by: &str, act: QueueAct, queue: &str, version: i64) -> QueueDecision {
    QueueDecision {
        act,
        queue: name(queue),
        version,
        operator: by.to_owned(),
        reason: Some("bad import".to_owned()),
        operation: operation(),
    }
}

async fn decide(db: &Db, by: &str, act: QueueAct, queue: &str, version: i64) -> QueueDecided {
    db.decide_queue(&decision(by, act, queue, version), &quiet).await.expect("decide")
}

async fn pause(db: &Db, queue: &str, version: i64) -> QueueState {
    let decided = decide(db, "alice", QueueAct::Pause, queue, version).await;
    assert_eq!(decided.outcome, QueueOutcome::Committed);
    decided.state
}

async fn resume(db: &Db, queue: &str, version: i64) -> QueueState {
    let decided = decide(db, "bob", QueueAct::Resume, queue, version).await;
    assert_eq!(decided.outcome, QueueOutcome::Committed);
    decided.state
}

#[tokio::test]
async fn nothing_is_claimed_from_a_paused_queue_and_the_others_go_on() {
    let test = database().await;
    let (db, id) = (&test.db, worker(&test.db).await);
    let stays = submit(db, "stays").await;
    let other = NewTask { queue: name("other"), ..NewTask::default() };
    let goes = submit_as(db, "goes", &other).await;
    let both = ClaimRequest { queues: vec![name("default"), name("other")], ..request(id, 9) };
    let state = pause(db, "default", 0).await;
    assert_eq!((state.paused, state.version), (true, 1));
    let change = state.changed.expect("who");
    assert_eq!((change.by.as_str(), change.reason.as_deref()), ("alice", Some("bad import")));

    assert_eq!(db.claim_next(&request(id, 9)).await.expect("claim"), []);
    let claimed = db.claim_next(&both).await.expect("claim");
    assert_eq!(claimed.iter().map(|task| task.id).collect::<Vec<_>>(), [goes.id]);
    let by_id = db.claim_by_id(id, stays.id).await.expect("claim");
    assert!(matches!(by_id, ClaimById::Lost { .. }), "{by_id:?}");
    assert_eq!(row(db, stays.id).await, stays, "untouched");
    let oldest = db.overview(None).await.expect("overview").oldest_due.expect("one is due");
    assert_eq!((oldest.id, oldest.why().as_str()), (stays.id, "queue default is paused by alice"));

    assert_eq!(resume(db, "default", 1).await.version, 2);
    assert_eq!(claim(db, id).await.id, stays.id);
    let told = test.psql(
        "SELECT actor, move, queue, status_before, status_after, version_before, version_after, reason \
         FROM taskdeck.events WHERE queue IS NOT NULL ORDER BY id",
    );
    assert_eq!(
        told,
        "alice|pause|default|open|paused|0|1|bad import\nbob|resume|default|paused|open|1|2|bad import"
    );
}

#[tokio::test]
async fn a_version_that_has_moved_on_or_what_is_so_already_changes_nothing() {
    let test = database().await;
    let db = &test.db;
    // Nobody ever paused it: it is open, and there is nothing to resume.
    let decided = decide(db, "eve", QueueAct::Resume, "default", 0).await;
    assert_eq!((decided.outcome, decided.state), (QueueOutcome::Conflict, QueueState::OPEN));
    let made_up = decide(db, "eve", QueueAct::Pause, "default", 3).await;
    assert_eq!((made_up.outcome, made_up.state), (QueueOutcome::Conflict, QueueState::OPEN));
    pause(db, "default", 0).await;
    let state = resume(db, "default", 1).await;
    // It went from open to open: the one who still sees the first is refused.
    for (act, version) in [
        (QueueAct::Pause, 0),
        (QueueAct::Pause, 1),
        (QueueAct::Pause, 3),
        (QueueAct::Resume, 2),
        (QueueAct::Resume, 1),
    ] {
        let decided = decide(db, "eve", act, "default", version).await;
        assert_eq!((decided.outcome, &decided.state), (QueueOutcome::Conflict, &state), "{act:?} v{version}");
    }
    assert_eq!(test.psql("SELECT count(*), max(version) FROM taskdeck.queues"), "1|2");
    assert_eq!(test.psql("SELECT count(*) FROM taskdeck.events"), "2");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_operators_who_saw_the_same_one_decides() {
    let test = database().await;
    let other = test.open_again(Limits::default()).await;
    for round in 0..40 {
        // Even rounds: both are the first ever to pause it. Odd rounds: it has a row, and one has seen an old version.
        let (queue, version) = (format!("q{}", round / 2), i64::from(round % 2));
        let gate = Arc::new(Barrier::new(2));
        let act = if version == 0 { QueueAct::Pause } else { QueueAct::Resume };
        let racer = |db: &Db, by: &'static str| {
            let (db, gate, queue) = (db.clone(), Arc::clone(&gate), queue.clone());
            tokio::spawn(async move {
                gate.wait().await;
                (by, decide(&db, by, act, &queue, version).await)
            })
        };
        let (a, b) = (racer(&test.db, "alice"), racer(&other, "bob"));
        let answers = [a.await.expect("no panic"), b.await.expect("no panic")];
        let won: Vec<_> = answers.iter().filter(|(_, d)| d.outcome == QueueOutcome::Committed).collect();
        assert_eq!(won.len(), 1, "round {round}: {answers:?}");
        let by = |decided: &QueueDecided| decided.state.changed.as_ref().map(|change| change.by.clone());
        for (_, decided) in &answers {
            assert_eq!(by(decided).as_deref(), Some(won[0].0), "round {round}: both are told who won");
            assert_eq!(decided.state.version, version + 1, "round {round}");
        }
    }
    assert_eq!(test.psql("SELECT count(*) FROM taskdeck.events"), "40");
}

#[tokio::test]
async fn a_decision_whose_answer_is_lost_is_made_once() {
    let test = database().await;
    let client = outside(&test.url).await;
    let proxy = Proxy::start(shared_server().port()).await;
    for (round, cut) in (0..).zip([Cut::Before, Cut::After, Cut::Stall]) {
        let db = open(&proxy.address(&test.url), cut.limits()).await;
        proxy.cut(cut, "queues AS q (name");
        let lost = AtomicU32::new(0);
        let count = |_: &taskdeck::db::Trouble| {
            lost.fetch_add(1, Ordering::SeqCst);
        };
        let act = if round % 2 == 0 { QueueAct::Pause } else { QueueAct::Resume };
        let decided = db.decide_queue(&decision("bob", act, "default", round), &count).await.expect("decide");
        assert_eq!((decided.outcome, decided.state.version), (QueueOutcome::Committed, round + 1), "{cut:?}");
        assert!(decided.resolved_from_unknown && lost.load(Ordering::SeqCst) == 1, "{cut:?}");
        assert_eq!(number(&client, "SELECT count(*) FROM taskdeck.events").await, round + 1, "{cut:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn once_a_pause_is_answered_no_claim_that_begins_later_wins() {
    let test = database().await;
    let client = outside(&test.url).await;
    crate::scene::fill(&client, 30_000, "status, scheduled_at", "'QUEUED', now()").await;
    let claimers: Vec<_> = (0..3)
        .map(|_| {
            let db = test.db.clone();
            tokio::spawn(async move {
                let id = worker(&db).await;
                let mut won = 0;
                loop {
                    // One each, so that the pause comes long before the end.
                    let claimed = db.claim_next(&request(id, 1)).await.expect("claim");
                    if claimed.is_empty() {
                        return won;
                    }
                    won += claimed.len();
                }
            })
        })
        .collect();
    crate::support::until("some are claimed", || async {
        let sql = "SELECT count(*) FROM taskdeck.tasks WHERE status = 'RUNNING'";
        (number(&client, sql).await > 50).then_some(())
    })
    .await;
    pause(&test.db, "default", 0).await;
    let late = worker(&test.db).await;
    assert_eq!(test.db.claim_next(&request(late, 500)).await.expect("claim"), []);
    let mut won = 0;
    for claimer in claimers {
        won += claimer.await.expect("no panic");
    }
    assert!(won < 30_000, "the pause came before the end");
    let running = number(&client, "SELECT count(*) FROM taskdeck.tasks WHERE status = 'RUNNING'").await;
    assert_eq!(running, i64::try_from(won).expect("few"));
    resume(&test.db, "default", 1).await;
    assert_eq!(test.db.claim_next(&request(late, 10)).await.expect("claim").len(), 10);
}

#[tokio::test]
async fn queues_are_listed_with_what_is_in_them() {
    let test = database().await;
    let (db, id) = (&test.db, worker(&test.db).await);
    let bills = NewTask { queue: name("bills"), tenant: name("acme"), ..NewTask::default() };
    submit(db, "runs").await;
    claim(db, id).await;
    submit(db, "waits").await;
    submit(db, "waits too").await;
    submit_held(db, "held").await;
    submit_as(db, "later", &NewTask { delay: Duration::from_hours(1), ..bills.clone() }).await;
    let due = submit_as(db, "due again", &bills).await;
    test.psql(&format!(
        "UPDATE taskdeck.tasks SET scheduled_at = now() - interval '1 minute', created_at = now() - interval '9 minutes' \
         WHERE id = {}",
        due.id
    ));
    pause(db, "empty", 0).await;
    let all = db.queues(None).await.expect("queues");
    let numbers = |queue: &Queue| {
        let Queue { waiting, later, running, held, takers, .. } = queue;
        (queue.name.clone(), [*waiting, *later, *running, *held, *takers], queue.state.paused)
    };
    assert_eq!(
        all.iter().map(numbers).collect::<Vec<_>>(),
        [
            ("bills".to_owned(), [1, 1, 0, 0, 0], false),
            ("default".to_owned(), [2, 0, 1, 1, 1], false),
            ("empty".to_owned(), [0, 0, 0, 0, 0], true)
        ]
    );
    let waiting = |at: usize| all[at].oldest_waiting_ms;
    assert!(
        waiting(0).is_some_and(|ms| (60_000..500_000).contains(&ms)),
        "since it is due: {:?}",
        waiting(0)
    );
    assert!(waiting(1).is_some_and(|ms| ms < 60_000) && waiting(2).is_none());
    let acme = db.queues(Some("acme")).await.expect("queues");
    assert_eq!(
        acme.iter().map(|queue| (queue.name.as_str(), queue.waiting)).collect::<Vec<_>>(),
        [("bills", 1), ("empty", 0)]
    );
    assert_eq!(row(db, due.id).await.status, Status::Queued);
}
