//! Answers that are lost: the request never arrived, or was applied and its answer cut off. Whichever it was, the
//! program finds out, does nothing twice, and says that it had to find out.

use std::sync::atomic::{AtomicU32, Ordering};

use taskdeck::db::{Db, DbError, Trouble};
use taskdeck::domain::decision::DecisionKind;
use taskdeck::domain::input::SubmissionKey;
use taskdeck::domain::outcome::{ClaimById, DecisionOutcome, Finished, Verdict};
use taskdeck::domain::{Name, NewTask, Status, TextCounts};
use tokio_postgres::Client;

use crate::proxy::{Cut, Proxy};
use crate::scene::{
    decided, decision, failure, finish, number, outside, request, row, running, submit, success, unavailable,
    worker,
};
use crate::support::{TestDb, database, open, shared_server};

/// A database, a connection outside, and the same database seen through a proxy that closes what it cuts.
async fn behind_a_proxy() -> (TestDb, Client, Proxy, Db) {
    let test = database().await;
    let client = outside(&test.url).await;
    let proxy = Proxy::start(shared_server().port()).await;
    let db = through(&proxy, &test, Cut::After).await;
    (test, client, proxy, db)
}

/// The database through a proxy that will cut in this way.
async fn through(proxy: &Proxy, test: &TestDb, cut: Cut) -> Db {
    open(&proxy.address(&test.url), cut.limits()).await
}

/// The two halves of "no answer came", and the answer that is held back until the deadline.
const CUTS: [Cut; 3] = [Cut::Before, Cut::After, Cut::Stall];

/// Counts how often an answer was lost.
fn counting(count: &AtomicU32) -> impl Fn(&Trouble) + Sync {
    move |_| {
        count.fetch_add(1, Ordering::SeqCst);
    }
}

#[tokio::test]
async fn a_submit_whose_answer_is_lost_makes_one_row() {
    let (test, client, proxy, db) = behind_a_proxy().await;
    for (round, cut) in (1..).zip(CUTS) {
        let db = through(&proxy, &test, cut).await;
        let lost = AtomicU32::new(0);
        proxy.cut(cut, "task_inputs (tenant");
        let text = format!("lost {round}");
        let key = SubmissionKey::fresh();
        let submitted = db.submit(&text, &NewTask::default(), &key, &counting(&lost)).await.expect("submit");
        assert_eq!((proxy.cuts(), lost.load(Ordering::SeqCst)), (round, 1), "{cut:?}");
        assert!(submitted.resolved_from_unknown && submitted.created, "{cut:?}");
        assert_eq!((submitted.task.input.as_str(), submitted.task.version), (text.as_str(), 0));
        for table in ["tasks", "task_inputs"] {
            let rows = number(&client, &format!("SELECT count(*) FROM taskdeck.{table}")).await;
            assert_eq!(rows, i64::try_from(round).expect("small"), "{cut:?} {table}");
        }
    }
    let given = SubmissionKey::given(&Name::default_name(), "mine").expect("key");
    proxy.cut(Cut::After, "task_inputs (tenant");
    let first = db.submit("x", &NewTask::default(), &given, &|_| {}).await.expect("submit");
    let again = db.submit("x", &NewTask::default(), &given, &|_| {}).await.expect("submit");
    assert_eq!((first.task.id, first.resolved_from_unknown), (again.task.id, true));
    assert_eq!((again.created, again.resolved_from_unknown), (false, false));
}

#[tokio::test]
async fn a_decision_whose_answer_is_lost_is_made_once() {
    let (test, client, proxy, db) = behind_a_proxy().await;
    for (round, cut) in (1..).zip(CUTS) {
        let db = through(&proxy, &test, cut).await;
        let task = submit(&test.db, "x").await;
        let lost = AtomicU32::new(0);
        proxy.cut(cut, "judged AS");
        let asked = decision(DecisionKind::Cancel, &[&task]);
        let answer = db.decide(&asked, &counting(&lost)).await.expect("decide");
        assert_eq!((proxy.cuts(), lost.load(Ordering::SeqCst)), (round, 1), "{cut:?}");
        assert!(answer.resolved_from_unknown, "{cut:?}");
        assert_eq!((answer.outcome(), answer.retries), (DecisionOutcome::Committed, 0), "{cut:?}");
        let now = row(&test.db, task.id).await;
        assert_eq!(answer.rows, [(task.id, Verdict::Committed { task: now.clone(), version_before: 0 })]);
        assert_eq!((now.status, now.version), (Status::Canceled, 1), "{cut:?}");
        let events = format!("SELECT count(*) FROM taskdeck.events WHERE task_id = {}", task.id);
        assert_eq!(number(&client, &events).await, 1, "{cut:?}");
    }
    // Where somebody else decides before it is sent again, the answer that is found is theirs.
    let task = submit(&test.db, "x").await;
    proxy.cut(Cut::Before, "judged AS");
    let bob = format!(
        "WITH t AS (UPDATE taskdeck.tasks SET status = 'CANCELED', version = 1, finished_at = now() \
           WHERE id = {id} RETURNING id) \
         INSERT INTO taskdeck.events (task_id, actor, move, status_before, status_after, version_before, \
           version_after, operation_id) \
         SELECT id, 'bob', 'cancel', 'QUEUED', 'CANCELED', 0, 1, gen_random_uuid() FROM t",
        id = task.id
    );
    let meanwhile = |_: &Trouble| assert_eq!(test.psql(&bob), "");
    let asked = decision(DecisionKind::Cancel, &[&task]);
    let answer = db.decide(&asked, &meanwhile).await.expect("decide");
    assert!(answer.resolved_from_unknown);
    match &answer.rows[0].1 {
        Verdict::Conflict { task: told, last } => {
            assert_eq!(*told, row(&test.db, task.id).await);
            assert_eq!(last.as_ref().map(|last| last.actor.as_str()), Some("bob"));
        }
        other => panic!("{other:?}"),
    }
}

/// Once an answer was lost, that the database cannot be asked does not mean that nothing was applied.
#[tokio::test]
async fn what_is_unknown_stays_so_until_the_database_can_be_asked() {
    let (test, client, proxy, db) = behind_a_proxy().await;
    let task = submit(&test.db, "x").await;
    for (connections, cut) in [(2, Cut::After), (3, Cut::Before)] {
        let seen = row(&test.db, task.id).await;
        let kind = if seen.version == 0 { DecisionKind::Cancel } else { DecisionKind::Requeue };
        // A wake-up that is still owed would take the connection that the decision is to be sent on.
        db.settle_wakes().await;
        proxy.cut(cut, "judged AS");
        proxy.refuse(connections);
        let asked = decision(kind, &[&seen]);
        let answer = db.decide(&asked, &|_| {}).await.expect("decide");
        assert_eq!((answer.outcome(), answer.resolved_from_unknown), (DecisionOutcome::Committed, true));
        assert_eq!(row(&test.db, task.id).await.version, seen.version + 1);
        db.settle_wakes().await;
        proxy.cut(cut, "task_inputs (tenant");
        proxy.refuse(connections);
        let key = SubmissionKey::fresh();
        let submitted = db.submit("y", &NewTask::default(), &key, &|_| {}).await.expect("submit");
        assert!(submitted.created && submitted.resolved_from_unknown);
    }
    assert_eq!(number(&client, "SELECT count(*) FROM taskdeck.events").await, 2);
    assert_eq!(number(&client, "SELECT count(*) FROM taskdeck.tasks").await, 3);
}

#[tokio::test]
async fn a_claim_whose_answer_is_lost_is_found_by_its_token() {
    let (test, client, proxy, db) = behind_a_proxy().await;
    for (round, cut) in CUTS.into_iter().enumerate() {
        let db = through(&proxy, &test, cut).await;
        let instance = worker(&test.db).await;
        let task = submit(&test.db, "claimed in the dark").await;
        proxy.cut(cut, "unnest($2::text[]) AS n(name)");
        match db.claim_next(&request(instance, 5)).await {
            Err(DbError::Unknown(_)) => {}
            other => panic!("{cut:?}: {other:?}"),
        }
        let held = db.claimed(instance).await.expect("asked");
        if cut == Cut::Before {
            assert_eq!(held, [], "it never arrived");
            assert_eq!(row(&test.db, task.id).await, task);
            assert_eq!(db.claim_next(&request(instance, 5)).await.expect("claim").len(), 1);
        } else {
            assert_eq!(held.len(), 1, "{cut:?}");
            assert_eq!((held[0].id, held[0].claim_no), (task.id, 1), "{cut:?}");
            assert_eq!(held[0].input.as_deref(), Ok("claimed in the dark"));
            assert_eq!((held[0].attempt, held[0].max_attempts), (1, 3));
        }
        let claims = "SELECT sum(claim_no)::bigint FROM taskdeck.tasks";
        assert_eq!(number(&client, claims).await, i64::try_from(round + 1).expect("small"), "claimed once");
    }
    let (instance, other) = (worker(&test.db).await, worker(&test.db).await);
    let task = submit(&test.db, "by id").await;
    proxy.cut(Cut::After, "cur.status = 'QUEUED'");
    assert!(matches!(db.claim_by_id(instance, task.id).await, Err(DbError::Unknown(_))));
    let lost = db.claim_by_id(other, task.id).await.expect("an answer");
    assert!(matches!(lost, ClaimById::Lost { task } if task.claimed_by == Some(instance)));
    assert_eq!(db.claimed(instance).await.expect("asked").len(), 1);
    assert_eq!(db.claimed(other).await.expect("asked"), []);
}

#[tokio::test]
async fn a_finish_whose_answer_is_lost_is_sent_again() {
    let (test, client, proxy, _db) = behind_a_proxy().await;
    let instance = worker(&test.db).await;
    for cut in CUTS {
        let db = through(&proxy, &test, cut).await;
        let claimed = running(&test.db, instance, "three words here").await;
        let end = success(&claimed);
        proxy.cut(cut, "AS f(id, claim_no, words");
        let first = db.finish(instance, "x", std::slice::from_ref(&end)).await;
        assert!(matches!(first, Err(DbError::Unknown(_))), "{cut:?}: {first:?}");
        let now = row(&test.db, claimed.id).await;
        assert_eq!(now.status == Status::Running, cut == Cut::Before, "{cut:?}");
        let committed = Finished::Committed { status: Status::Succeeded };
        assert_eq!(finish(&db, instance, &end).await, committed, "{cut:?}");
        let now = row(&test.db, claimed.id).await;
        assert_eq!((now.counts, now.version), (TextCounts::of("three words here"), 2), "{cut:?}");
        assert_eq!(db.claimed(instance).await.expect("asked"), [], "{cut:?}: it holds nothing any more");

        let claimed = running(&test.db, instance, "fails").await;
        let end = failure(&claimed, "once");
        proxy.cut(cut, "make_interval(secs => $10)");
        let first = db.finish(instance, "x", std::slice::from_ref(&end)).await;
        assert!(matches!(first, Err(DbError::Unknown(_))), "{cut:?}: {first:?}");
        assert_eq!(finish(&db, instance, &end).await, Finished::Committed { status: Status::Queued });
        let now = row(&test.db, claimed.id).await;
        assert_eq!((now.status, now.version, now.attempt), (Status::Queued, 2, 1), "{cut:?}");
        let events = format!("SELECT count(*) FROM taskdeck.events WHERE task_id = {}", claimed.id);
        assert_eq!(number(&client, &events).await, 1, "{cut:?}");
        decided(&test.db, DecisionKind::Cancel, &now).await;
    }
}

#[tokio::test]
async fn a_read_whose_answer_is_lost_is_unavailable_and_never_none() {
    let (test, _client, proxy, _db) = behind_a_proxy().await;
    let task = submit(&test.db, "x").await;
    for cut in CUTS {
        let db = through(&proxy, &test, cut).await;
        proxy.cut(cut, "WHERE t.id = $1 AND");
        unavailable(db.task(task.id, None, taskdeck::db::Preview::Whole).await);
        assert_eq!(row(&db, task.id).await, task, "{cut:?}: the next is answered");
        let figures = db.operator_pool().figures();
        assert_eq!(figures.in_use, 0, "{cut:?}");
    }
}

/// Only writes are cut off, again and again: what can still be read is the trace that the first has left.
#[tokio::test]
async fn an_operation_is_known_by_its_trace_while_no_write_gets_through() {
    let (test, _client, proxy, db) = behind_a_proxy().await;
    let cut_off = |marker| {
        proxy.cut(Cut::After, marker);
        (0..1_000).for_each(|_| proxy.cut(Cut::Before, marker));
    };
    let task = submit(&test.db, "x").await;
    cut_off("judged AS");
    let answer = db.decide(&decision(DecisionKind::Cancel, &[&task]), &|_| {}).await.expect("decide");
    assert_eq!((answer.outcome(), answer.resolved_from_unknown), (DecisionOutcome::Committed, true));
    let now = row(&test.db, task.id).await;
    assert_eq!(answer.rows, [(task.id, Verdict::Committed { task: now, version_before: 0 })]);
    assert_eq!(proxy.cuts(), 2, "once more was enough");
    proxy.disarm();
    cut_off("task_inputs (tenant");
    let key = SubmissionKey::fresh();
    let submitted = db.submit("y", &NewTask::default(), &key, &|_| {}).await.expect("submit");
    assert!(submitted.created && submitted.resolved_from_unknown);
    assert_eq!(proxy.cuts(), 4, "once more was enough");
    // No trace settles nothing: what never arrived is sent until it does.
    proxy.disarm();
    (0..5).for_each(|_| proxy.cut(Cut::Before, "judged AS"));
    let asked = decision(DecisionKind::Cancel, &[&submitted.task]);
    let answer = db.decide(&asked, &|_| {}).await.expect("decide");
    assert_eq!((answer.outcome(), answer.resolved_from_unknown), (DecisionOutcome::Committed, true));
    assert_eq!((proxy.cuts(), row(&test.db, submitted.task.id).await.version), (9, 1));
}

#[tokio::test]
async fn a_migration_that_has_nothing_to_do_is_never_unknown() {
    let (_test, _client, proxy, db) = behind_a_proxy().await;
    // The look at the version is lost, so it looks again under the lock; nothing is changed there either.
    proxy.cut(Cut::Before, "max(version) AS version");
    proxy.cut(Cut::After, "COMMIT");
    let migrated = db.migrate().await.expect("there was nothing to do");
    assert_eq!((migrated.from, proxy.cuts()), (migrated.to, 1));
}
