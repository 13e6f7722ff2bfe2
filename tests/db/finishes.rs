//! Ends of claims: result and state in one commit, by the current claim only.

use std::sync::Arc;
use std::time::Duration;

use taskdeck::db::{Claimed, Db, Finish, FinishEnd, Release};
use taskdeck::domain::decision::DecisionKind;
use taskdeck::domain::outcome::{Finished, Verdict};
use taskdeck::domain::{InstanceId, NewTask, Status, Task, TaskId, TextCounts};
use tokio::sync::Barrier;
use tokio_postgres::Client;

use crate::scene::{
    LONG, claim, decide, decided, decision, failure, finish, history, number, outside, row, running, submit,
    submit_as, success, worker, worker_with,
};
use crate::support::{database, until};

const SUCCEEDED: Finished = Finished::Committed { status: Status::Succeeded };

/// A success of the same claim with another result than the input's.
fn another(claimed: &Claimed, counts: TextCounts, output: Option<&str>) -> Finish {
    let output = output.map(str::to_owned);
    Finish { end: FinishEnd::Success { counts, output }, ..success(claimed) }
}

#[tokio::test]
async fn result_and_state_are_one_commit() {
    let test = database().await;
    let db = &test.db;
    let instance = worker(db).await;
    let claimed = running(db, instance, "two words").await;
    let before = row(db, claimed.id).await;
    let mut client = outside(&test.url).await;
    let transaction = client.transaction().await.expect("begin");
    let changed = transaction
        .execute(
            "UPDATE taskdeck.tasks SET status = 'SUCCEEDED', words = 99, finished_at = now() WHERE id = $1",
            &[&claimed.id.0],
        )
        .await
        .expect("update");
    assert_eq!(changed, 1);
    transaction.batch_execute("SELECT 1 / 0").await.expect_err("division by zero");
    transaction.commit().await.expect("the driver says so, though the server rolled back");
    let after = row(db, claimed.id).await;
    assert_eq!((after.status, after.counts), (Status::Running, TextCounts::default()));
    assert_eq!(after, before);

    let real = success(&claimed);
    assert_eq!(finish(db, instance, &real).await, SUCCEEDED);
    let done = row(db, claimed.id).await;
    assert_eq!((done.status, done.counts), (Status::Succeeded, TextCounts { words: 2, bytes: 9, runes: 9 }));
    assert_eq!(done.version, before.version + 1);
    assert!(done.finished_at.is_some());

    // Sent again it is the same finish; another one is told the state and changes nothing.
    assert_eq!(finish(db, instance, &real).await, SUCCEEDED);
    let refused = Finished::LeaseLost { status: Status::Succeeded, claim_no: 1 };
    let seconds = [
        another(&claimed, TextCounts { words: 99, ..done.counts }, None),
        another(&claimed, TextCounts { bytes: 99, ..done.counts }, None),
        another(&claimed, TextCounts { runes: 99, ..done.counts }, None),
        another(&claimed, done.counts, Some("more")),
        failure(&claimed, "a late failure"),
    ];
    for second in seconds {
        assert_eq!(finish(db, instance, &second).await, refused);
    }
    assert_eq!(finish(db, worker(db).await, &real).await, refused, "another instance's claim");
    let late = [Release::new(claimed.id, 1)];
    assert_eq!(db.release(instance, "x", "late", &late).await.expect("release"), []);
    assert_eq!(row(db, claimed.id).await, done);
    let absent = Finish { id: TaskId(i64::MAX), ..success(&claimed) };
    assert_eq!(finish(db, instance, &absent).await, Finished::NotFound);
    let absent = Finish { id: TaskId(i64::MAX), ..failure(&claimed, "x") };
    assert_eq!(finish(db, instance, &absent).await, Finished::NotFound);
}

#[tokio::test]
async fn the_table_refuses_what_must_not_be() {
    let test = database().await;
    let instance = worker(&test.db).await;
    let claimed = running(&test.db, instance, "x").await;
    let client = outside(&test.url).await;
    for (set, constraint) in [
        ("words = 1", "tasks_counts_only_in_success"),
        ("bytes = 1", "tasks_counts_only_in_success"),
        ("runes = 1", "tasks_counts_only_in_success"),
        ("output = 'part'", "tasks_counts_only_in_success"),
        ("status = 'FAILED', finished_at = now(), words = 1", "tasks_counts_only_in_success"),
        ("status = 'SUCCEEDED'", "tasks_final_has_an_end"),
        ("finished_at = now()", "tasks_final_has_an_end"),
        ("claimed_by = NULL", "tasks_running_has_an_owner"),
        ("status = 'QUEUED', cancel_requested = true", "tasks_request_only_while_running"),
        ("status = 'DONE'", "tasks_status"),
        ("attempt = -1", "tasks_attempts"),
    ] {
        let sql = format!("UPDATE taskdeck.tasks SET {set} WHERE id = {}", claimed.id);
        let error = client.execute(&sql, &[]).await.expect_err(set);
        assert_eq!(error.as_db_error().and_then(|db| db.constraint()), Some(constraint), "{set}");
    }
}

#[tokio::test]
async fn a_failure_is_retried_until_the_attempts_are_spent() {
    let test = database().await;
    let db = &test.db;
    let instance = worker(db).await;
    let task = submit_as(db, "fails", &NewTask { max_attempts: 2, ..NewTask::default() }).await;
    let first = claim(db, instance).await;
    let late = Finish {
        end: FinishEnd::Failure { error: "NUL\0".to_owned(), retry_after: Duration::from_hours(1) },
        ..success(&first)
    };
    assert_eq!(finish(db, instance, &late).await, Finished::Committed { status: Status::Queued });
    let queued = row(db, task.id).await;
    assert_eq!(queued.error.as_deref(), Some("NUL\\0"), "an analyser's words are made storable");
    assert_eq!((queued.attempt, queued.claimed_by, queued.finished_at), (1, None, None));
    let put_off = queued.scheduled_at.duration_since(task.scheduled_at).as_secs();
    assert!(put_off >= 3_600, "put off by {put_off} s");
    let client = outside(&test.url).await;
    client.execute("UPDATE taskdeck.tasks SET scheduled_at = created_at", &[]).await.expect("due");

    // Sent again once the next attempt runs: still this finish's own, and nothing changes.
    let second = claim(db, instance).await;
    assert_eq!((second.claim_no, second.attempt, second.max_attempts), (2, 2, 2));
    assert_eq!(finish(db, instance, &late).await, Finished::Committed { status: Status::Queued });
    let last = failure(&second, "again");
    assert_eq!(finish(db, instance, &last).await, Finished::Committed { status: Status::Failed });
    let failed = row(db, task.id).await;
    assert_eq!((failed.status, failed.counts), (Status::Failed, TextCounts::default()));
    assert_eq!((failed.error.as_deref(), failed.version), (Some("again"), 4));
    assert!(failed.finished_at.is_some());

    let history = history(db, task.id).await;
    let moves: Vec<_> = history
        .events
        .iter()
        .map(|e| (e.movement.as_str(), e.from, e.to, e.version_before, e.version_after, e.operation_id))
        .collect();
    let (queued, running, failed) = (Status::Queued, Status::Running, Status::Failed);
    assert_eq!(
        moves,
        [("retry", running, queued, 1, 2, late.operation), ("fail", running, failed, 3, 4, last.operation)]
    );
    assert_eq!(history.events[0].actor, "testhost:4242");
    assert_eq!(history.events[0].reason.as_deref(), Some("NUL\\0"));
}

/// The owner is lost, its task recovered and claimed again: returns the old claim, the new one and its owner.
async fn stale_claim(db: &Db) -> (InstanceId, Claimed, InstanceId, Claimed) {
    let frozen = worker_with(db, LONG).await;
    let old = running(db, frozen, "frozen").await;
    db.heartbeat(frozen, &crate::scene::beat(taskdeck::domain::InstanceState::Working, Duration::ZERO))
        .await
        .expect("heartbeat");
    let recovered = db.recover("another").await.expect("recover");
    assert_eq!(recovered.iter().map(|r| (r.id, r.claim_no)).collect::<Vec<_>>(), [(old.id, 1)]);
    let owner = worker(db).await;
    let new = claim(db, owner).await;
    assert_eq!((new.id, new.claim_no), (old.id, 2));
    (frozen, old, owner, new)
}

#[tokio::test]
async fn a_finish_of_an_old_claim_changes_nothing() {
    let test = database().await;
    let db = &test.db;
    let (frozen, old, owner, new) = stale_claim(db).await;
    let before = row(db, old.id).await;
    let lost = Finished::LeaseLost { status: Status::Running, claim_no: 2 };
    // The old claim by either instance, and the new claim's number by the instance that does not hold it.
    for (instance, claimed) in [(frozen, &old), (owner, &old), (frozen, &new)] {
        for end in [success(claimed), failure(claimed, "late")] {
            assert_eq!(finish(db, instance, &end).await, lost);
            assert_eq!(row(db, old.id).await, before);
        }
        let late = [Release::new(claimed.id, claimed.claim_no)];
        assert_eq!(db.release(instance, "x", "late", &late).await.expect("release"), []);
        assert_eq!(row(db, old.id).await, before);
    }
    // Both claims in one batch: only the current one takes effect, and the other is not told that it did.
    let answers = db
        .finish(owner, "x", &[another(&old, TextCounts::of("old"), None), success(&new)])
        .await
        .expect("finish");
    assert_eq!(answers, [Finished::LeaseLost { status: Status::Succeeded, claim_no: 2 }, SUCCEEDED]);
    assert_eq!(row(db, old.id).await.counts, TextCounts::of("frozen"));
}

#[tokio::test]
async fn a_batch_tells_each_its_own_end() {
    let test = database().await;
    let db = &test.db;
    let (_, stale, owner, _) = stale_claim(db).await;
    let good = running(db, owner, "good").await;
    let canceled = running(db, owner, "to be canceled").await;
    let failing = running(db, owner, "failing").await;
    decided(db, DecisionKind::Cancel, &row(db, canceled.id).await).await;
    let absent = Finish { id: TaskId(i64::MAX), ..success(&good) };
    let batch = [
        failure(&failing, "no"),
        success(&stale),
        success(&canceled),
        absent,
        another(&good, TextCounts::of("good"), Some("out\0")),
    ];
    let expected = [
        Finished::Committed { status: Status::Queued },
        Finished::LeaseLost { status: Status::Running, claim_no: 2 },
        Finished::Committed { status: Status::Canceled },
        Finished::NotFound,
        SUCCEEDED,
    ];
    assert_eq!(db.finish(owner, "x", &batch).await.expect("finish"), expected);
    let rows = [row(db, failing.id).await, row(db, canceled.id).await, row(db, good.id).await];
    // The whole batch sent again is the same batch.
    assert_eq!(db.finish(owner, "x", &batch).await.expect("finish"), expected);
    assert_eq!([row(db, failing.id).await, row(db, canceled.id).await, row(db, good.id).await], rows);
    let [failing, canceled, good] = rows;
    assert_eq!((failing.status, failing.counts), (Status::Queued, TextCounts::default()));
    assert_eq!((canceled.status, canceled.counts), (Status::Canceled, TextCounts::default()));
    assert!(!canceled.cancel_requested && canceled.error.is_none());
    assert_eq!((good.counts, good.output.as_deref()), (TextCounts::of("good"), Some("out\\0")));
}

#[tokio::test]
async fn a_failure_after_a_cancel_request_is_canceled() {
    let test = database().await;
    let db = &test.db;
    let instance = worker(db).await;
    let claimed = running(db, instance, "stopped").await;
    assert_eq!(db.cancel_requests(instance).await.expect("ask"), []);
    decided(db, DecisionKind::Cancel, &row(db, claimed.id).await).await;
    assert_eq!(db.cancel_requests(instance).await.expect("ask"), [(claimed.id, claimed.claim_no)]);
    let other = worker(db).await;
    assert_eq!(db.cancel_requests(other).await.expect("ask"), [], "another instance is not asked");
    let end = failure(&claimed, "killed");
    assert_eq!(finish(db, instance, &end).await, Finished::Committed { status: Status::Canceled });
    assert_eq!(db.cancel_requests(instance).await.expect("ask"), []);
    let events = history(db, claimed.id).await.events;
    assert_eq!(events.iter().map(|e| e.movement.as_str()).collect::<Vec<_>>(), ["request-cancel", "stop"]);
}

#[tokio::test]
async fn cancel_against_finish_tells_one_story() {
    let test = database().await;
    let db = &test.db;
    let instance = worker(db).await;
    let mut finished_first = 0;
    for round in 0..50 {
        let claimed = running(db, instance, "a race").await;
        let seen = row(db, claimed.id).await;
        let gate = Arc::new(Barrier::new(2));
        let cancel = tokio::spawn({
            let (db, gate, seen) = (db.clone(), Arc::clone(&gate), seen.clone());
            async move {
                gate.wait().await;
                decide(&db, &decision(DecisionKind::Cancel, &[&seen])).await.rows.remove(0).1
            }
        });
        gate.wait().await;
        let finished = finish(db, instance, &success(&claimed)).await;
        let verdict = cancel.await.expect("no panic");
        let now = row(db, claimed.id).await;
        match (finished, verdict) {
            (SUCCEEDED, Verdict::Conflict { task, last }) => {
                assert_eq!(
                    (now.status, now.counts, now.version),
                    (Status::Succeeded, TextCounts::of("a race"), 2)
                );
                assert_eq!(task, now, "round {round}: the cancel is told the row as it now is");
                assert_eq!(last.map(|last| last.movement).as_deref(), Some("finish"), "round {round}");
                finished_first += 1;
            }
            (Finished::Committed { status: Status::Canceled }, Verdict::Committed { task, .. }) => {
                assert!(task.cancel_requested && task.status == Status::Running, "round {round}");
                assert_eq!(
                    (now.status, now.counts, now.version),
                    (Status::Canceled, TextCounts::default(), 3)
                );
            }
            other => panic!("round {round}: two stories: {other:?}"),
        }
    }
    println!("{finished_first} of 50 finished first");
}

#[tokio::test]
async fn a_release_spends_no_attempt() {
    let test = database().await;
    let db = &test.db;
    let instance = worker(db).await;
    let kept = running(db, instance, "given back").await;
    let stopped = running(db, instance, "given back, canceled").await;
    let other = running(db, instance, "given back later").await;
    decided(db, DecisionKind::Cancel, &row(db, stopped.id).await).await;
    let releases = [stopped.id, TaskId(i64::MAX), kept.id].map(|id| Release::new(id, 1));
    let release = async |reason, releases: &[Release]| {
        db.release(instance, "testhost:4242", reason, releases).await.expect("release")
    };
    assert_eq!(release("draining", &releases).await, [kept.id, stopped.id]);
    let (kept, stopped) = (row(db, kept.id).await, row(db, stopped.id).await);
    assert_eq!((kept.status, kept.attempt, kept.claim_no, kept.version), (Status::Queued, 0, 1, 2));
    assert_eq!((kept.claimed_by, kept.finished_at), (None, None));
    assert_eq!((stopped.status, stopped.cancel_requested), (Status::Canceled, false));
    assert!(stopped.finished_at.is_some());
    for (task, movement) in [(&kept, "release"), (&stopped, "stop")] {
        let events = history(db, task.id).await.events;
        let last = events.last().expect("an event");
        assert_eq!((last.movement.as_str(), last.version_after), (movement, task.version));
        assert_eq!(last.reason.as_deref(), Some("draining"));
    }
    // Sent again, alone or with others, it is the same release, which its event tells; another one is told that there is
    // nothing to give back.
    assert_eq!(release("again", &releases).await, [kept.id, stopped.id]);
    let more = [releases[0], Release::new(other.id, 1), Release::new(kept.id, 1)];
    assert_eq!(release("again", &more).await, [stopped.id, other.id]);
    assert_eq!(release("again", &[Release::new(kept.id, 1)]).await, [], "only once");
    assert_eq!(row(db, kept.id).await, kept);
    decided(db, DecisionKind::Cancel, &row(db, other.id).await).await;
    assert_eq!(claim(db, instance).await.claim_no, 2, "the claim number only rises");
    assert_eq!(submit(db, "x").await.version, 0);
}

/// A finish that waits for the row decides by the row as it is afterwards, not by what it had read before.
#[tokio::test]
async fn a_finish_that_waited_reads_the_row_again() {
    let test = database().await;
    let db = test.db.clone();
    let instance = worker(&db).await;
    let claimed = running(&db, instance, "waits").await;
    let (mut client, watch) = (outside(&test.url).await, outside(&test.url).await);
    for (request, expected) in [(false, Status::Queued), (true, Status::Canceled)] {
        let claimed = if request { claim(&db, instance).await } else { claimed.clone() };
        let transaction = client.transaction().await.expect("begin");
        let set = "UPDATE taskdeck.tasks SET cancel_requested = $2, version = version + 1 WHERE id = $1";
        transaction.execute(set, &[&claimed.id.0, &request]).await.expect("update");
        let end = failure(&claimed, "x");
        let waiting = tokio::spawn({
            let db = db.clone();
            async move { finish(&db, instance, &end).await }
        });
        crate::scene::until_waiting(&watch).await;
        transaction.commit().await.expect("commit");
        assert_eq!(waiting.await.expect("no panic"), Finished::Committed { status: expected });
        let now: Task = row(&db, claimed.id).await;
        assert_eq!((now.status, now.counts), (expected, TextCounts::default()));
    }
}

/// A finish that is sent again while its first copy still waits for the row finds that it was the one that committed:
/// events are read after the wait, not by the snapshot from before it.
#[tokio::test]
async fn a_finish_sent_twice_at_once_is_one_finish() {
    let test = database().await;
    let db = test.db.clone();
    let instance = worker(&db).await;
    let (mut client, watch) = (outside(&test.url).await, outside(&test.url).await);
    for max_attempts in [3, 1] {
        let new = NewTask { max_attempts, ..NewTask::default() };
        crate::scene::submit_as(&db, "twice", &new).await;
        let end = failure(&claim(&db, instance).await, "broken");
        let transaction = client.transaction().await.expect("begin");
        let lock = "SELECT FROM taskdeck.tasks WHERE id = $1 FOR UPDATE";
        transaction.query(lock, &[&end.id.0]).await.expect("lock");
        let copies: Vec<_> = (1..=2)
            .map(|copy| {
                let (db, end) = (db.clone(), end.clone());
                (copy, tokio::spawn(async move { finish(&db, instance, &end).await }))
            })
            .collect();
        until_so_many_wait(&watch, 2).await;
        transaction.commit().await.expect("commit");
        for (copy, told) in copies {
            let told = told.await.expect("no panic");
            assert!(matches!(told, Finished::Committed { .. }), "copy {copy}: {told:?}");
        }
        let written =
            format!("SELECT count(*) FROM taskdeck.events WHERE operation_id = '{}'", end.operation);
        assert_eq!(number(&watch, &written).await, 1);
    }
}

async fn until_so_many_wait(watch: &Client, sessions: i64) {
    let waiting = "SELECT count(*) FROM pg_stat_activity \
                   WHERE wait_event_type = 'Lock' AND datname = current_database()";
    until("sessions that wait for the row", || async {
        (number(watch, waiting).await >= sessions).then_some(())
    })
    .await;
}
