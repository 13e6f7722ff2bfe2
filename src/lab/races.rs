//! Callers that reach for one row, and for one sum.

use futures_util::FutureExt as _;
use uuid::Uuid;

use super::Variant;
use super::cast::{Caller, Cast, TEXT, quiet};
use super::scene::{Asking, Said, let_go, play};
use super::watch::Clock;
use crate::db::DbError;
use crate::db::{Finish, FinishEnd};
use crate::domain::input::Admission;
use crate::domain::lab::{Answer, HOLDER, Part, Round};
use crate::domain::limit::{LimitDecision, LimitOutcome};
use crate::domain::{Approval, Decision, DecisionKind, Name, OperationId, Seen, Task, TaskId, TextCounts};

/// The limit of the budget: one approval.
const LIMIT: i64 = 1;

/// `caller`'s decision about `tasks` as they are given.
pub(super) fn decision(caller: &Caller, kind: DecisionKind, tasks: &[&Task]) -> Decision {
    Decision {
        kind,
        rows: tasks.iter().map(|task| Seen { id: task.id, version: task.version }).collect(),
        tenant: None,
        operator: caller.actor(),
        approval: Approval::Anybody,
        reason: Some("the lab".to_owned()),
        operation: OperationId(Uuid::now_v7()),
    }
}

/// Asks for a decision.
pub(super) fn decides<'a>(
    cast: &'a Cast,
    caller: &'a Caller,
    kind: DecisionKind,
    tasks: &[&Task],
) -> Asking<'a> {
    let asked = decision(caller, kind, tasks);
    let ask = async move { Said::decision(cast, caller.db.decide(&asked, &quiet).await) };
    Asking { who: caller.who.clone(), act: kind.verb(), ask: ask.boxed() }
}

/// Asks for a claim.
fn claims<'a>(cast: &'a Cast, caller: &'a Caller, id: TaskId, variant: Variant) -> Asking<'a> {
    let ask = async move {
        let answer = match variant {
            Variant::Product => caller.db.claim_by_id(caller.instance, id).await,
            Variant::ClaimWithoutStatus => caller.db.lab().claim_without_status(caller.instance, id).await,
        };
        Said::claim(cast, answer)
    };
    Asking { who: caller.who.clone(), act: "claim", ask: ask.boxed() }
}

/// A success of `caller`'s claim of `task`.
pub(super) fn success(task: TaskId, claim_no: i64, counts: TextCounts) -> Finish {
    Finish {
        id: task,
        claim_no,
        end: FinishEnd::Success { counts, output: None },
        operation: OperationId(Uuid::now_v7()),
    }
}

/// Asks for a finish.
pub(super) fn finishes<'a>(caller: &'a Caller, act: &'static str, finish: Finish) -> Asking<'a> {
    let ask = async move {
        Said::finish(caller.db.finish(caller.instance, &caller.actor(), std::slice::from_ref(&finish)).await)
    };
    Asking { who: caller.who.clone(), act, ask: ask.boxed() }
}

/// Plays a race about `tasks`: a holder keeps them until everybody is seen waiting.
async fn race(
    cast: &Cast,
    round: &mut Round,
    tasks: &[TaskId],
    mut asking: Vec<Asking<'_>>,
) -> Result<(), DbError> {
    // Who is asked first is first in the row's queue more often than not, so they take turns; where two parts take
    // turns too, each of them has every beginning.
    let first = usize::try_from(round.number / 2 + round.number % 2).unwrap_or(0) % asking.len().max(1);
    asking.rotate_left(first);
    round.states.push(cast.state("before", tasks).await?);
    let mut holder = cast.stage.lab().transaction().await?;
    holder.lock(tasks).await?;
    let clock = Clock::start();
    let transactions = [(holder.pid(), HOLDER)];
    play(cast, round, clock, &transactions, asking, |waiting| let_go(clock, holder, waiting)).await?;
    round.calls.sort_by(|a, b| a.who.cmp(&b.who));
    round.states.push(cast.state("after", tasks).await?);
    Ok(())
}

pub(super) async fn claim(cast: &Cast, round: &mut Round, variant: Variant) -> Result<(), DbError> {
    let task = cast.queued().await?;
    let asking = cast.callers.iter().map(|caller| claims(cast, caller, task.id, variant)).collect();
    race(cast, round, &[task.id], asking).await
}

pub(super) async fn decide(cast: &Cast, round: &mut Round) -> Result<(), DbError> {
    let task = cast.held().await?;
    let kinds = [DecisionKind::Approve, DecisionKind::Reject].into_iter().cycle();
    let asking = cast.callers.iter().zip(kinds).map(|(caller, kind)| decides(cast, caller, kind, &[&task]));
    race(cast, round, &[task.id], asking.collect()).await
}

pub(super) async fn cancel_and_claim(cast: &Cast, round: &mut Round) -> Result<(), DbError> {
    let task = cast.queued().await?;
    let asking: Vec<Asking<'_>> = (0..)
        .zip(&cast.callers)
        .map(|(place, caller)| match place % 2 {
            0 => decides(cast, caller, DecisionKind::Cancel, &[&task]),
            _ => claims(cast, caller, task.id, Variant::Product),
        })
        .collect();
    race(cast, round, &[task.id], asking).await
}

pub(super) async fn cancel_and_finish(cast: &Cast, round: &mut Round) -> Result<(), DbError> {
    let task = cast.queued().await?;
    let [_, worker] = cast.two();
    worker.db.claim_by_id(worker.instance, task.id).await?;
    let counts = TextCounts::of(TEXT);
    round.figures.insert("words".to_owned(), counts.words);
    let running = Task { version: task.version + 1, ..task.clone() };
    let asking: Vec<Asking<'_>> = cast
        .callers
        .iter()
        .map(|caller| {
            if caller.who == worker.who {
                finishes(caller, "finish", success(task.id, task.claim_no + 1, counts))
            } else {
                decides(cast, caller, DecisionKind::Cancel, &[&running])
            }
        })
        .collect();
    race(cast, round, &[task.id], asking).await
}

/// Each caller approves a task of its own; the tenant's limit is one. Either the statement counts for itself, or it is the
/// product's own, under a limit that an operator has set.
pub(super) async fn budget(cast: &Cast, round: &mut Round) -> Result<(), DbError> {
    // A tenant of this round alone, so that nothing that was approved before counts.
    let tenant = Name::new("tenant", &format!("budget-{}", round.number)).expect("letters and a number");
    let mut tasks = Vec::new();
    for _ in &cast.callers {
        tasks.push(cast.submit(Admission::Hold, &tenant).await?);
    }
    round.figures.insert("limit".to_owned(), LIMIT);
    let by_count = round.part == Part::ByCount;
    if !by_count {
        let decided = cast.stage.decide_limit(&limit(&tenant), &quiet).await?;
        if decided.outcome != LimitOutcome::Committed {
            return Err(DbError::not_sent(format!("the limit was not set: {}", decided.state.words())));
        }
    }
    let tenant = &tenant;
    let asking: Vec<Asking<'_>> = cast
        .callers
        .iter()
        .zip(&tasks)
        .map(|(caller, task)| {
            if by_count {
                approves_by_count(caller, task, tenant)
            } else {
                decides(cast, caller, DecisionKind::Approve, &[task])
            }
        })
        .collect();
    let ids: Vec<TaskId> = tasks.iter().map(|task| task.id).collect();
    race(cast, round, &ids, asking).await
}

/// An operator's word that `tenant` has [`LIMIT`] approvals a day.
fn limit(tenant: &Name) -> LimitDecision {
    LimitDecision {
        tenant: tenant.clone(),
        max_running: None,
        max_approved_per_day: Some(LIMIT),
        version: 0,
        operator: "lab".to_owned(),
        reason: None,
        operation: OperationId(Uuid::now_v7()),
    }
}

/// Asks for an approval that counts for itself.
fn approves_by_count<'a>(caller: &'a Caller, task: &Task, tenant: &'a Name) -> Asking<'a> {
    let (id, version) = (task.id, task.version);
    let ask = async move {
        match caller.db.lab().approve_by_count(id, version, tenant, LIMIT).await {
            Ok(0) => Said::new(Answer::OverLimit, Some(0)),
            Ok(rows) => Said::new(Answer::Committed, i64::try_from(rows).ok()),
            Err(error) => Said::error(&error),
        }
    };
    Asking { who: caller.who.clone(), act: "approve", ask: ask.boxed() }
}
