//! Decisions: each takes effect once, on the row that was seen, or the operator is told the row as it is.

use std::sync::Arc;

use taskdeck::db::{Db, DbError, Limits};
use taskdeck::domain::decision::{Decision, DecisionKind, Seen};
use taskdeck::domain::outcome::{DecisionOutcome, Verdict};
use taskdeck::domain::{InstanceId, NewTask, OperationId, Status, Task, TaskId};
use tokio::sync::Barrier;
use tokio_postgres::Client;

use crate::scene::{
    claim, decide, decided, decision, failure, finish, history, name, number, operation, outside, quiet, row,
    submit, submit_as, submit_held, success, unavailable, until_waiting, worker,
};
use crate::support::{database, database_with};

/// A task that has come to `status` by the moves of the program itself.
async fn task_in(db: &Db, instance: InstanceId, status: Status) -> Task {
    let id = match status {
        Status::Submitted => submit_held(db, "x").await.id,
        Status::Rejected => {
            let held = submit_held(db, "x").await;
            decided(db, DecisionKind::Reject, &held).await.id
        }
        Status::Queued => submit(db, "x").await.id,
        Status::Canceled => {
            let queued = submit(db, "x").await;
            decided(db, DecisionKind::Cancel, &queued).await.id
        }
        Status::Running | Status::Succeeded | Status::Failed => {
            let queue = format!("q{}", crate::support::unique());
            let new = NewTask { max_attempts: 1, queue: name(&queue), ..NewTask::default() };
            let id = submit_as(db, "x", &new).await.id;
            let request = taskdeck::db::ClaimRequest {
                queues: vec![name(&queue)],
                ..crate::scene::request(instance, 1)
            };
            let claimed = db.claim_next(&request).await.expect("claim").remove(0);
            match status {
                Status::Succeeded => Some(finish(db, instance, &success(&claimed)).await),
                Status::Failed => Some(finish(db, instance, &failure(&claimed, "x")).await),
                _ => None,
            };
            id
        }
    };
    let task = row(db, id).await;
    assert_eq!(task.status, status);
    task
}

async fn events_of(client: &Client, id: TaskId) -> i64 {
    number(client, &format!("SELECT count(*) FROM taskdeck.events WHERE task_id = {id}")).await
}

#[tokio::test]
async fn every_pair_of_state_and_decision_is_as_the_table_says() {
    let test = database().await;
    let db = &test.db;
    let client = outside(&test.url).await;
    let instance = worker(db).await;
    for from in Status::ALL {
        for kind in DecisionKind::ALL {
            let before = task_in(db, instance, from).await;
            let events = events_of(&client, before.id).await;
            let asked = Decision { reason: Some("be\0cause".to_owned()), ..decision(kind, &[&before]) };
            let mut answer = decide(db, &asked).await;
            let now = row(db, before.id).await;
            match (kind.leads_to(from), answer.rows.remove(0).1) {
                (Some(to), Verdict::Committed { task, version_before }) => {
                    assert_eq!((now.status, now.version), (to, before.version + 1), "{kind} {from}");
                    assert_eq!((&task, version_before), (&now, before.version), "{kind} {from}");
                    assert_eq!(now.cancel_requested, from == Status::Running, "{kind} {from}");
                    assert_eq!(now.finished_at.is_some(), to.is_final(), "{kind} {from}");
                    let history = history(db, now.id).await;
                    let event = history.events.last().expect("an event");
                    let movement = if from == Status::Running { "request-cancel" } else { kind.verb() };
                    assert_eq!((event.movement.as_str(), event.from, event.to), (movement, from, to));
                    assert_eq!((event.version_before, event.version_after), (before.version, now.version));
                    assert_eq!((event.actor.as_str(), event.operation_id), ("alice", asked.operation));
                    assert_eq!(event.reason.as_deref(), Some("be\\0cause"));
                    assert_eq!(events_of(&client, now.id).await, events + 1, "{kind} {from}");
                    if kind == DecisionKind::Requeue {
                        assert_eq!((now.attempt, now.claimed_by, now.error), (0, None, None));
                        assert_eq!(now.claim_no, before.claim_no, "the token is not set back");
                    }
                }
                (None, Verdict::Conflict { task, .. }) => {
                    assert_eq!((&task, &now), (&before, &before), "{kind} {from}");
                    assert_eq!(events_of(&client, now.id).await, events, "{kind} {from}");
                }
                other => panic!("{kind} {from}: {other:?}"),
            }
        }
    }
    // A cancel that was requested already is not requested again.
    let running = task_in(db, instance, Status::Running).await;
    let requested = decided(db, DecisionKind::Cancel, &running).await;
    let again = decide(db, &decision(DecisionKind::Cancel, &[&requested])).await;
    assert_eq!(again.outcome(), DecisionOutcome::Conflict);
    assert_eq!(row(db, running.id).await, requested);
}

#[tokio::test]
async fn a_stale_version_is_told_the_row_and_who_changed_it() {
    let test = database().await;
    let db = &test.db;
    let instance = worker(db).await;
    let seen = submit(db, "x").await;
    let by_bob = Decision {
        operator: "bob".to_owned(),
        reason: Some("wrong text".to_owned()),
        ..decision(DecisionKind::Cancel, &[&seen])
    };
    decide(db, &by_bob).await;
    decided(db, DecisionKind::Requeue, &row(db, seen.id).await).await;
    // The state is the one that was seen, only the version is not: and still nothing is changed.
    let now = row(db, seen.id).await;
    assert_eq!((now.status, now.version), (Status::Queued, 2));
    let told = |mut decided: taskdeck::domain::outcome::Decided| match decided.rows.remove(0).1 {
        Verdict::Conflict { task, last } => (task, last.expect("somebody changed it")),
        other => panic!("{other:?}"),
    };
    let (task, last) = told(decide(db, &decision(DecisionKind::Cancel, &[&seen])).await);
    assert_eq!((task, row(db, seen.id).await), (now.clone(), now.clone()));
    assert_eq!((last.actor.as_str(), last.movement.as_str(), last.version_after), ("alice", "requeue", 2));

    let canceled = Decision { reason: Some("why".to_owned()), ..decision(DecisionKind::Cancel, &[&now]) };
    decide(db, &Decision { operator: "bob".to_owned(), ..canceled }).await;
    let (task, last) = told(decide(db, &decision(DecisionKind::Cancel, &[&now])).await);
    assert_eq!((last.actor.as_str(), last.movement.as_str(), last.version_after), ("bob", "cancel", 3));
    assert_eq!(last.reason.as_deref(), Some("why"));
    assert_eq!(task.finished_at.map(|at| at <= last.at), Some(true));

    // A worker's changes are in the row itself, and are told as well.
    let requeued = decided(db, DecisionKind::Requeue, &task).await;
    let claimed = claim(db, instance).await;
    let (task, last) = told(decide(db, &decision(DecisionKind::Cancel, &[&requeued])).await);
    assert_eq!(task.status, Status::Running);
    assert_eq!((last.actor.as_str(), last.movement.as_str()), ("testhost:4242", "claim"));
    finish(db, instance, &success(&claimed)).await;
    let (_, last) = told(decide(db, &decision(DecisionKind::Cancel, &[&task])).await);
    assert_eq!((last.actor.as_str(), last.movement.as_str()), ("testhost:4242", "finish"));
}

#[tokio::test]
async fn several_rows_are_all_changed_or_none() {
    let test = database().await;
    let db = &test.db;
    let client = outside(&test.url).await;
    let (a, b, c) = (submit(db, "a").await, submit(db, "b").await, submit(db, "c").await);
    let moved = decided(db, DecisionKind::Cancel, &b).await;
    let events = number(&client, "SELECT count(*) FROM taskdeck.events").await;
    let answer = decide(db, &decision(DecisionKind::Cancel, &[&c, &b, &a])).await;
    assert_eq!(answer.outcome(), DecisionOutcome::Conflict);
    let [(_, first), (_, second), (_, third)] = <[_; 3]>::try_from(answer.rows).expect("three rows");
    assert_eq!((first, third), (Verdict::Held { task: a.clone() }, Verdict::Held { task: c.clone() }));
    assert!(matches!(second, Verdict::Conflict { task, .. } if task == moved));

    let absent = Task { id: TaskId(i64::MAX), ..a.clone() };
    let answer = decide(db, &decision(DecisionKind::Cancel, &[&a, &absent, &c])).await;
    assert_eq!(answer.outcome(), DecisionOutcome::NotFound);
    assert_eq!(answer.rows[0].1, Verdict::Held { task: a.clone() });
    assert_eq!(answer.rows[2], (absent.id, Verdict::NotFound));
    assert_eq!((row(db, a.id).await, row(db, c.id).await), (a.clone(), c.clone()));
    assert_eq!(number(&client, "SELECT count(*) FROM taskdeck.events").await, events);

    let asked = decision(DecisionKind::Cancel, &[&c, &a]);
    assert_eq!(decide(db, &asked).await.outcome(), DecisionOutcome::Committed);
    assert_eq!(number(&client, "SELECT count(*) FROM taskdeck.events").await, events + 2);
    assert_eq!(row(db, c.id).await.status, Status::Canceled);
}

#[tokio::test]
async fn another_tenants_row_is_not_found() {
    let test = database().await;
    let db = &test.db;
    let theirs = submit_as(db, "theirs", &NewTask { tenant: name("b"), ..NewTask::default() }).await;
    let absent = Task { id: TaskId(i64::MAX), ..theirs.clone() };
    for kind in DecisionKind::ALL {
        for seen in [&theirs, &absent] {
            let asked = Decision { tenant: Some("a".to_owned()), ..decision(kind, &[seen]) };
            let answer = decide(db, &asked).await;
            assert_eq!(answer.rows, [(seen.id, Verdict::NotFound)], "{kind}");
            assert_eq!(answer.outcome(), DecisionOutcome::NotFound);
        }
    }
    assert_eq!(row(db, theirs.id).await, theirs);
    let preview = taskdeck::db::Preview::Whole;
    assert_eq!(db.task(theirs.id, Some("a"), preview).await.expect("look up"), None);
    assert_eq!(db.history(theirs.id, Some("a")).await.expect("look up").0, None);
    let mine = Decision { tenant: Some("b".to_owned()), ..decision(DecisionKind::Cancel, &[&theirs]) };
    assert_eq!(decide(db, &mine).await.outcome(), DecisionOutcome::Committed);

    // Not even with the name of the operation that changed it: that one was never about a row of tenant a.
    for rows in [mine.rows.clone(), Vec::new()] {
        let guessed = Decision { tenant: Some("a".to_owned()), rows: rows.clone(), ..mine.clone() };
        let answer = decide(db, &guessed).await;
        let expected: Vec<_> = rows.iter().map(|seen| (seen.id, Verdict::NotFound)).collect();
        assert_eq!(answer.rows, expected);
    }
}

#[tokio::test]
async fn approve_against_reject_in_a_hundred_rounds() {
    let test = database().await;
    let db = &test.db;
    let client = outside(&test.url).await;
    for round in 0..100 {
        let held = submit_held(db, "a race").await;
        let gate = Arc::new(Barrier::new(2));
        let deciders =
            [("alice", DecisionKind::Approve), ("bob", DecisionKind::Reject)].map(|(operator, kind)| {
                let (db, gate) = (db.clone(), Arc::clone(&gate));
                let asked = Decision { operator: operator.to_owned(), ..decision(kind, &[&held]) };
                tokio::spawn(async move {
                    gate.wait().await;
                    (operator, kind, decide(&db, &asked).await.rows.remove(0).1)
                })
            });
        let (mut winner, mut loser) = (None, None);
        for decider in deciders {
            let (operator, kind, verdict) = decider.await.expect("no panic");
            match verdict {
                Verdict::Committed { task, version_before: 0 } => winner = Some((operator, kind, task)),
                Verdict::Conflict { task, last } => loser = Some((task, last.expect("who it was"))),
                other => panic!("round {round}: {other:?}"),
            }
        }
        let (operator, kind, won) = winner.expect("a winner");
        let (told, last) = loser.expect("a loser");
        let now = row(db, held.id).await;
        assert_eq!((now.version, Some(now.status)), (1, kind.leads_to(Status::Submitted)), "round {round}");
        assert_eq!((&won, &told), (&now, &now), "round {round}: both are told the row as it now is");
        assert_eq!((last.actor.as_str(), last.movement.as_str()), (operator, kind.verb()), "round {round}");
        assert_eq!(events_of(&client, held.id).await, 1, "round {round}");
    }
}

#[tokio::test]
async fn the_same_operation_twice_is_one_and_gives_one_answer() {
    let test = database().await;
    let db = &test.db;
    let client = outside(&test.url).await;
    let (held, other) = (submit_held(db, "x").await, submit_held(db, "y").await);
    let asked = decision(DecisionKind::Approve, &[&held, &other]);
    let first = decide(db, &asked).await;
    assert_eq!(first.outcome(), DecisionOutcome::Committed);
    assert_eq!(decide(db, &asked).await, first);
    assert_eq!(number(&client, "SELECT count(*) FROM taskdeck.events").await, 2);
    // The same name for something else is not the same operation.
    let rejected = Decision { kind: DecisionKind::Reject, ..asked.clone() };
    assert_eq!(decide(db, &rejected).await.outcome(), DecisionOutcome::Conflict);
    let third = submit(db, "z").await;
    let more = Decision { rows: vec![Seen { id: third.id, version: 9 }, asked.rows[0]], ..asked.clone() };
    let answer = decide(db, &more).await;
    assert_eq!(answer.outcome(), DecisionOutcome::Conflict, "{:?}", answer.rows);
    // An operation that was applied stays applied whatever became of the row.
    decided(db, DecisionKind::Cancel, &row(db, held.id).await).await;
    let answer = decide(db, &asked).await;
    assert_eq!(answer.outcome(), DecisionOutcome::Committed);
    assert!(matches!(&answer.rows[0].1, Verdict::Committed { task, version_before: 0 }
        if task.status == Status::Canceled && task.version == 2));
    let fresh = Decision { operation: OperationId(operation().0), ..asked };
    assert_eq!(decide(db, &fresh).await.outcome(), DecisionOutcome::Conflict);
}

#[tokio::test]
async fn a_lock_timeout_is_unavailable_and_not_tried_again() {
    let limits = Limits { lock: std::time::Duration::from_millis(200), ..Limits::default() };
    let test = database_with(limits).await;
    let task = submit(&test.db, "x").await;
    let mut client = outside(&test.url).await;
    let holder = client.transaction().await.expect("begin");
    holder.execute("SELECT FROM taskdeck.tasks WHERE id = $1 FOR UPDATE", &[&task.id.0]).await.expect("lock");
    let trouble = unavailable(test.db.decide(&decision(DecisionKind::Cancel, &[&task]), &quiet).await);
    assert_eq!(trouble.sqlstate.as_deref(), Some("55P03"));
    assert!(trouble.message.starts_with("waited too long for a row lock"), "{trouble}");
    assert!(trouble.hint.is_some_and(|hint| hint.contains("--lock-timeout")));
    let calls = test.db.statement_figures();
    let decide_figures = calls.iter().find(|figures| figures.name == "decide").expect("called");
    assert_eq!((decide_figures.calls, decide_figures.errors), (1, 1), "not tried again");
    holder.rollback().await.expect("rollback");
    assert_eq!(row(&test.db, task.id).await, task);
    decided(&test.db, DecisionKind::Cancel, &task).await;
}

/// An outside session and a decision lock two rows in opposite orders; returns the decision's answer.
async fn deadlock(outside_does: &str) -> (Vec<Verdict>, u32, Vec<Task>) {
    let limits = Limits {
        lock: std::time::Duration::from_secs(30),
        statement: std::time::Duration::from_secs(40),
        ..Limits::default()
    };
    let test = database_with(limits).await;
    let db = test.db.clone();
    let (first, second) = (submit(&db, "first").await, submit(&db, "second").await);
    let (mut client, watch) = (outside(&test.url).await, outside(&test.url).await);
    // The server ends whose wait has lasted longest when it looks: the decision's, which looks first.
    client.batch_execute("SET deadlock_timeout = '50s'").await.expect("set");
    let holder = client.transaction().await.expect("begin");
    holder
        .execute("SELECT FROM taskdeck.tasks WHERE id = $1 FOR UPDATE", &[&second.id.0])
        .await
        .expect("lock");
    let asked = decision(DecisionKind::Cancel, &[&second, &first]);
    let deciding = tokio::spawn(async move { db.decide(&asked, &quiet).await });
    until_waiting(&watch).await;
    holder
        .execute("SELECT FROM taskdeck.tasks WHERE id = $1 FOR UPDATE", &[&first.id.0])
        .await
        .expect("survives");
    holder.execute(outside_does, &[&second.id.0]).await.expect("change");
    holder.commit().await.expect("commit");
    let decided = match deciding.await.expect("no panic") {
        Ok(decided) => decided,
        Err(DbError::Unavailable(trouble)) => panic!("given up: {trouble}"),
        Err(other) => panic!("{other:?}"),
    };
    assert!(!decided.resolved_from_unknown);
    let rows = vec![row(&test.db, first.id).await, row(&test.db, second.id).await];
    (decided.rows.into_iter().map(|(_, verdict)| verdict).collect(), decided.retries, rows)
}

#[tokio::test]
async fn a_deadlock_is_decided_again_as_a_whole() {
    let nothing = "SELECT FROM taskdeck.tasks WHERE id = $1";
    let (verdicts, retries, rows) = deadlock(nothing).await;
    assert!(verdicts.iter().all(|verdict| matches!(verdict, Verdict::Committed { .. })), "{verdicts:?}");
    assert_eq!(retries, 1);
    assert!(rows.iter().all(|task| (task.status, task.version) == (Status::Canceled, 1)));
}

#[tokio::test]
async fn after_a_deadlock_a_row_that_moved_on_is_a_conflict() {
    let change = "UPDATE taskdeck.tasks SET version = version + 1 WHERE id = $1";
    let (verdicts, retries, rows) = deadlock(change).await;
    assert_eq!(verdicts[0], Verdict::Held { task: rows[0].clone() });
    assert!(matches!(&verdicts[1], Verdict::Conflict { task, .. } if *task == rows[1]), "{verdicts:?}");
    assert_eq!((retries, rows[0].version, rows[1].version), (1, 0, 1));
}
