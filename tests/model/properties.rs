//! What must hold, named after section 4 of the contract where it is said there.

use taskdeck::domain::{DecisionKind, Status};

use crate::act::Act;
use crate::protocol::{State, Task};
use crate::world::{Decided, Late, Life, Stage, Told, World};

/// Something that must hold in every state, or over every step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Property {
    /// For one (task, claim number) at most one claimer wins.
    I1OneWinner,
    /// A final state never changes, but by an operator's requeue.
    I2FinalStays,
    /// Counts are there in SUCCEEDED and nowhere else.
    I3CountsOnlyInSuccess,
    /// Two runs of one task never both have a valid lease, and no claim is made of a task that is RUNNING.
    I4OneValidRun,
    /// A submit that was answered is in the table, and never twice.
    I5OneRowPerSubmit,
    /// From every state, once nothing more befalls, every task can still come to its end.
    I6NoLostTask,
    /// Of two decisions made on the same version of a row, at most one takes effect.
    I7OneDecisionPerVersion,
    /// The version rises by one at each change, and at nothing else.
    I8VersionCounts,
    /// No operation takes effect twice, however often it is sent.
    I9OperationOnce,
    /// Whoever was told that nothing was changed is right for ever, and likewise of success.
    I10ToldTheTruth,
    /// The result that is committed is the current claim's.
    ResultOfTheClaim,
    /// A requested cancel ends as CANCELED.
    CancelKept,
    /// A lease that lasts is not taken away.
    LeaseKept,
    /// What was declared lost or has ended does not live again.
    DeadStaysDead,
    /// An instance that ends in good order holds nothing.
    EndsEmpty,
}

/// What a step or the state after it breaks.
pub(crate) fn broken(before: &World, act: Act, after: &World) -> Option<Property> {
    let decided = decision_behind(before, act);
    (0_u8..)
        .zip(before.tables.tasks.iter().zip(&after.tables.tasks))
        .find_map(|(task, (was, is))| {
            let decided = decided.filter(|decided| decided.task == task);
            of_step((*was)?, (*is)?, decided.map(|it| it.kind), before.claims[usize::from(task)])
        })
        .or_else(|| of_instances(before, act, after))
        .or_else(|| of_state(after))
}

/// The decision that `act` carries out, if it is an operator's statement that is executed.
fn decision_behind(before: &World, act: Act) -> Option<Decided> {
    let operation = match act {
        Act::IsAnswered { operation } => operation,
        Act::ArrivesLate { place, .. } => match before.late[usize::from(place)] {
            Some(Late::Decision { operation }) => operation,
            _ => return None,
        },
        _ => return None,
    };
    before.decisions[usize::from(operation)]
}

fn of_step(was: Task, is: Task, decided: Option<DecisionKind>, claims: u8) -> Option<Property> {
    if was == is {
        return None;
    }
    // That time passes is no change of the row: `scheduled_at` stays what it was.
    let was = Task { due: is.due, ..was };
    let changed = Task { version: is.version, ..was } != is;
    let claimed = is.attempt > was.attempt;
    let requeued = decided == Some(DecisionKind::Requeue)
        && is.status == Status::Queued
        && was.status != Status::Succeeded
        && is.attempt == 0;
    if claimed && was.status == Status::Running {
        return Some(Property::I4OneValidRun);
    }
    if claimed && claims > 0 && is.claim_no == was.claim_no {
        return Some(Property::I1OneWinner);
    }
    if was.status.is_final() && was != is && !requeued {
        return Some(Property::I2FinalStays);
    }
    if is.version != was.version + u8::from(changed) {
        return Some(Property::I8VersionCounts);
    }
    let succeeded = is.status == Status::Succeeded && was.status != Status::Succeeded;
    if succeeded && (was.status != Status::Running || is.result != is.claim_no + 1) {
        return Some(Property::ResultOfTheClaim);
    }
    if was.cancel_requested && !is.cancel_requested && is.status != Status::Canceled {
        return Some(Property::CancelKept);
    }
    None
}

fn of_instances(before: &World, act: Act, after: &World) -> Option<Property> {
    for (id, (was, is)) in (0..).zip(before.tables.instances.iter().zip(&after.tables.instances)) {
        let (Some(was), Some(is)) = (was, is) else { continue };
        if is.state == State::Lost && was.state != State::Lost && was.lease {
            return Some(Property::LeaseKept);
        }
        if !was.state.is_alive() && is.state.is_alive() {
            return Some(Property::DeadStaysDead);
        }
        let holds = |row: &Task| row.status == Status::Running && row.owner == Some(id);
        let ended = is.state == State::Stopped && was.state != State::Stopped;
        if matches!(act, Act::Ends { .. }) && ended && after.tables.tasks.iter().flatten().any(holds) {
            return Some(Property::EndsEmpty);
        }
    }
    None
}

fn of_state(world: &World) -> Option<Property> {
    for (task, row) in world.tables.tasks.iter().enumerate() {
        if row.is_some_and(|row| (row.result != 0) != (row.status == Status::Succeeded)) {
            return Some(Property::I3CountsOnlyInSuccess);
        }
        if valid_runs(world, task) > 1 {
            return Some(Property::I4OneValidRun);
        }
    }
    let rows = world.tables.tasks.iter().flatten().count();
    if world.budget.submits > 0 && (rows > 1 || world.told_submitted && rows == 0) {
        return Some(Property::I5OneRowPerSubmit);
    }
    let decisions = || world.decisions.iter().flatten();
    let outcomes = || {
        let finishes = world.finishes.iter().flatten().map(|it| (it.told, it.applied));
        decisions().map(|it| (it.told, it.applied)).chain(finishes)
    };
    if outcomes().any(|(_, applied)| applied > 1) {
        return Some(Property::I9OperationOnce);
    }
    let lied = |told: Told, applied: u8| match told {
        Told::Nothing => false,
        Told::Committed => applied == 0,
        Told::Conflict => applied > 0,
    };
    if outcomes().any(|(told, applied)| lied(told, applied)) {
        return Some(Property::I10ToldTheTruth);
    }
    let same = |task, version| {
        decisions().filter(|it| (it.task, it.version) == (task, version) && it.applied > 0).count()
    };
    decisions().any(|it| same(it.task, it.version) > 1).then_some(Property::I7OneDecisionPerVersion)
}

fn valid_runs(world: &World, task: usize) -> usize {
    let valid = |instance: u8| world.tables.instances[usize::from(instance)].is_some_and(|row| row.lease);
    world
        .processes
        .iter()
        .filter(|it| matches!(it.ledger[task], Stage::Running(_)) && it.lives() && valid(it.instance))
        .count()
}

/// Whether every task has come to its end, or waits for an operator.
pub(crate) fn all_ended(world: &World) -> bool {
    world.tables.tasks.iter().flatten().all(|row| row.status.is_final() || row.status == Status::Submitted)
}

/// Something that must happen somewhere, or the space proves nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Sight {
    LateStatementApplied,
    LateStatementRefused,
    LateFinishRefused,
    LateClaimWon,
    Recovered,
    RecoveredIntoCanceled,
    RecoveredAnInstanceThatEnded,
    SlowRecoveryRefused,
    /// The same task, and under a later claim than the one that was taken from it.
    SucceededAfterRecovery,
    LeaseLearnedToBeLost,
    ClaimLost,
    Succeeded,
    Retried,
    Failed,
    Canceled,
    FinishedIntoCanceled,
    Requeued,
    DecisionInConflict,
    DecisionResolved,
    AdoptedAfterLostAnswer,
    Released,
    Ended,
}

/// What a step shows.
pub(crate) fn sights(before: &World, act: Act, after: &World, mut see: impl FnMut(Sight)) {
    let rows = before.tables.tasks != after.tables.tasks;
    match act {
        Act::ArrivesLate { place, .. } => {
            let what = before.late[usize::from(place)];
            see(if rows { Sight::LateStatementApplied } else { Sight::LateStatementRefused });
            match what {
                Some(Late::FinishSuccess(_) | Late::Finish(_)) if !rows => see(Sight::LateFinishRefused),
                Some(Late::Claim { .. } | Late::ClaimOf { .. }) if rows => {
                    see(Sight::LateClaimWon);
                }
                _ => {}
            }
        }
        Act::EndsClaim { .. } if !rows => see(Sight::ClaimLost),
        Act::EndsRecovery if !rows => see(Sight::SlowRecoveryRefused),
        Act::Recovers { task } => {
            see(Sight::Recovered);
            let task = usize::from(task);
            if after.tables.tasks[task].is_some_and(|row| row.status == Status::Canceled) {
                see(Sight::RecoveredIntoCanceled);
            }
            let owner = before.tables.tasks[task].and_then(|row| row.owner);
            let state = owner.and_then(|id| before.tables.instances[usize::from(id)]).map(|row| row.state);
            if state == Some(State::Stopped) {
                see(Sight::RecoveredAnInstanceThatEnded);
            }
        }
        Act::Beats { process } if !after.processes[usize::from(process)].lives() => {
            see(Sight::LeaseLearnedToBeLost);
        }
        Act::Asks { process } => {
            let ledger = |world: &World| world.processes[usize::from(process)].ledger;
            if ledger(before) != ledger(after) {
                see(Sight::AdoptedAfterLostAnswer);
            }
        }
        Act::Releases { .. } if rows => see(Sight::Released),
        Act::Ends { process } if after.processes[usize::from(process)].life == Life::Ended => {
            see(Sight::Ended);
        }
        Act::Finishes { task, .. } => match after.tables.tasks[usize::from(task)].map(|row| row.status) {
            Some(Status::Succeeded) if rows => see(Sight::Succeeded),
            Some(Status::Queued) if rows => see(Sight::Retried),
            Some(Status::Failed) => see(Sight::Failed),
            Some(Status::Canceled) if rows => see(Sight::FinishedIntoCanceled),
            _ => {}
        },
        Act::IsAnswered { operation } => {
            let decided = after.decisions[usize::from(operation)];
            match decided.map(|it| it.told) {
                Some(Told::Conflict) => see(Sight::DecisionInConflict),
                Some(Told::Committed) if !rows => see(Sight::DecisionResolved),
                _ => {}
            }
            if rows && decided.is_some_and(|it| it.kind == DecisionKind::Requeue) {
                see(Sight::Requeued);
            }
            if rows && decided.is_some_and(|it| it.kind == DecisionKind::Cancel) {
                see(Sight::Canceled);
            }
        }
        _ => {}
    }
}
