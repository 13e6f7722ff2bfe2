//! Whoever submitted a task may not approve it, where the task or the program's configuration says so: the statement
//! refuses, not the client.

use taskdeck::domain::decision::DecisionKind;
use taskdeck::domain::input::Admission;
use taskdeck::domain::outcome::{DecisionOutcome, Verdict};
use taskdeck::domain::{Approval, Decision, NewTask, Status, Task};

use crate::scene::{decide, decision, history, row, submit_as};
use crate::support::{TestDb, database};

async fn held_by(test: &TestDb, by: Option<&str>, approval: Approval) -> Task {
    let new = NewTask {
        admission: Admission::Hold,
        submitted_by: by.map(str::to_owned),
        approval,
        ..NewTask::default()
    };
    submit_as(&test.db, "held", &new).await
}

/// alice's approval; `approval` is what her own configuration says.
fn alices(tasks: &[&Task], approval: Approval) -> Decision {
    Decision { approval, ..decision(DecisionKind::Approve, tasks) }
}

#[tokio::test]
async fn who_submitted_it_is_refused_and_another_is_not() {
    let test = database().await;
    let db = &test.db;
    // The task's own rule holds whatever the approver's configuration says, and the other way round.
    for (task, configured) in [(Approval::Another, Approval::Anybody), (Approval::Anybody, Approval::Another)]
    {
        let held = held_by(&test, Some("alice"), task).await;
        let answer = decide(db, &alices(&[&held], configured)).await;
        assert_eq!(answer.outcome(), DecisionOutcome::Refused);
        assert_eq!(answer.rows, [(held.id, Verdict::Refused { task: held.clone() })]);
        assert_eq!((row(db, held.id).await, history(db, held.id).await.events.len()), (held.clone(), 0));
        let bobs = Decision { operator: "bob".to_owned(), ..alices(&[&held], configured) };
        assert_eq!(decide(db, &bobs).await.outcome(), DecisionOutcome::Committed);
        assert_eq!(row(db, held.id).await.status, Status::Queued);
        // It has moved on: that is what alice is told now.
        assert_eq!(decide(db, &alices(&[&held], configured)).await.outcome(), DecisionOutcome::Conflict);
    }
}

#[tokio::test]
async fn without_the_rule_or_a_known_submitter_anybody_may() {
    let test = database().await;
    for (by, task, configured) in [
        (Some("alice"), Approval::Anybody, Approval::Anybody),
        (None, Approval::Another, Approval::Another),
        (Some("bob"), Approval::Another, Approval::Another),
    ] {
        let held = held_by(&test, by, task).await;
        let answer = decide(&test.db, &alices(&[&held], configured)).await;
        assert_eq!(answer.outcome(), DecisionOutcome::Committed, "{by:?} {task:?} {configured:?}");
    }
}

/// A rejection is not a way round: what nobody else has let run, its submitter cannot bring back.
#[tokio::test]
async fn a_requeue_is_no_way_round_the_rule() {
    let test = database().await;
    let db = &test.db;
    let by = |who: &str, kind, task: &Task| Decision { operator: who.to_owned(), ..decision(kind, &[task]) };
    for (who, kind) in [("bob", DecisionKind::Reject), ("alice", DecisionKind::Cancel)] {
        let held = held_by(&test, Some("alice"), Approval::Another).await;
        decide(db, &by(who, kind, &held)).await;
        let gone = row(db, held.id).await;
        let answer = decide(db, &by("alice", DecisionKind::Requeue, &gone)).await;
        assert_eq!(answer.rows, [(gone.id, Verdict::Refused { task: gone.clone() })], "{who} {kind}");
        assert_eq!(row(db, gone.id).await, gone);
        let answer = decide(db, &by("bob", DecisionKind::Requeue, &gone)).await;
        assert_eq!(answer.outcome(), DecisionOutcome::Committed, "another may");
        // Now that bob has let it run, alice may bring it back.
        let queued = row(db, gone.id).await;
        decide(db, &by("alice", DecisionKind::Cancel, &queued)).await;
        let gone = row(db, gone.id).await;
        let answer = decide(db, &by("alice", DecisionKind::Requeue, &gone)).await;
        assert_eq!(answer.outcome(), DecisionOutcome::Committed, "{who} {kind}");
    }
    // A task that was never held is nobody's to approve.
    let new =
        NewTask { submitted_by: Some("alice".to_owned()), approval: Approval::Another, ..NewTask::default() };
    let free = submit_as(db, "free", &new).await;
    decide(db, &by("alice", DecisionKind::Cancel, &free)).await;
    let gone = row(db, free.id).await;
    let answer = decide(db, &by("alice", DecisionKind::Requeue, &gone)).await;
    assert_eq!(answer.outcome(), DecisionOutcome::Committed);
}

#[tokio::test]
async fn it_may_still_be_rejected_and_canceled_by_who_submitted_it() {
    let test = database().await;
    for kind in [DecisionKind::Reject, DecisionKind::Cancel] {
        let held = held_by(&test, Some("alice"), Approval::Another).await;
        let answer = decide(&test.db, &decision(kind, &[&held])).await;
        assert_eq!(answer.outcome(), DecisionOutcome::Committed, "{kind}");
    }
}

#[tokio::test]
async fn one_of_several_that_is_refused_holds_the_others_back() {
    let test = database().await;
    let (own, others) = (
        held_by(&test, Some("alice"), Approval::Another).await,
        held_by(&test, Some("bob"), Approval::Another).await,
    );
    let answer = decide(&test.db, &alices(&[&own, &others], Approval::Anybody)).await;
    assert_eq!(answer.outcome(), DecisionOutcome::Refused);
    assert_eq!(answer.rows[0].1, Verdict::Refused { task: own.clone() });
    assert_eq!(answer.rows[1].1, Verdict::Held { task: others.clone() });
    assert_eq!((row(&test.db, own.id).await, row(&test.db, others.id).await), (own, others));
}
