//! With every guard in its place the whole space holds, and it is not an empty one.

use taskdeck::domain::Status;

use crate::guards::{Guard, Guards};
use crate::properties::Sight;
use crate::search::explore;
use crate::world::{Budget, World};

const QUEUED: &[Status] = &[Status::Queued];
const NONE: Budget = Budget {
    lost_answers: 0,
    losses: 0,
    give_backs: 0,
    slow_recoveries: 0,
    decisions: 0,
    blind_decisions: 0,
    closes: 0,
    submits: 0,
};

/// Everything that can be reached from here holds, and each of `sights` is seen.
fn holds(tasks: &[Status], max_attempts: u8, budget: Budget, guards: Guards, sights: &[Sight]) {
    let found = explore(World::new(tasks, max_attempts, budget), guards, &[]);
    let size = format!("{} states, {} steps", found.states, found.steps);
    println!("{size}");
    if let Some((property, path)) = found.broken {
        panic!("{property:?} is broken ({size}):\n{}", path.join("\n"));
    }
    let unseen: Vec<&Sight> = sights.iter().filter(|sight| !found.sights.contains(sight)).collect();
    assert!(unseen.is_empty(), "never seen in {size}: {unseen:?}");
}

#[test]
fn a_lost_answer_a_loss_a_slow_recovery_and_attempts_to_spare() {
    let budget = Budget { lost_answers: 1, losses: 1, give_backs: 1, slow_recoveries: 1, ..NONE };
    let sights = [
        Sight::LateFinishRefused,
        Sight::LateClaimWon,
        Sight::LateStatementApplied,
        Sight::LateStatementRefused,
        Sight::AdoptedAfterLostAnswer,
        Sight::ClaimLost,
        Sight::Recovered,
        Sight::SlowRecoveryRefused,
        Sight::SucceededAfterRecovery,
        Sight::LeaseLearnedToBeLost,
        Sight::Released,
        Sight::Failed,
    ];
    holds(QUEUED, 2, budget, Guards::ALL, &sights);
}

#[test]
fn two_lost_answers_and_a_loss() {
    let budget = Budget { lost_answers: 2, losses: 1, ..NONE };
    let sights = [Sight::LateFinishRefused, Sight::Recovered, Sight::SucceededAfterRecovery];
    holds(QUEUED, 2, budget, Guards::ALL, &sights);
}

#[test]
fn two_losses() {
    let budget = Budget { lost_answers: 1, losses: 2, ..NONE };
    let sights = [Sight::Recovered, Sight::LeaseLearnedToBeLost, Sight::SucceededAfterRecovery];
    holds(QUEUED, 2, budget, Guards::ALL, &sights);
}

#[test]
fn a_process_that_closes_down() {
    let budget = Budget { lost_answers: 1, losses: 1, closes: 1, ..NONE };
    let sights = [Sight::Ended, Sight::Released, Sight::RecoveredAnInstanceThatEnded];
    holds(QUEUED, 1, budget, Guards::ALL, &sights);
}

#[test]
fn decisions_beside_workers_that_fail() {
    let budget = Budget { lost_answers: 1, losses: 1, decisions: 1, ..NONE };
    let sights =
        [Sight::FinishedIntoCanceled, Sight::RecoveredIntoCanceled, Sight::Canceled, Sight::Requeued];
    holds(QUEUED, 1, budget, Guards::ALL, &sights);
}

#[test]
fn decisions_beside_each_other() {
    let budget = Budget { lost_answers: 1, decisions: 2, blind_decisions: 1, ..NONE };
    let sights = [Sight::DecisionInConflict, Sight::DecisionResolved];
    holds(&[Status::Submitted], 1, budget, Guards::ALL, &sights);
}

#[test]
fn two_tasks() {
    let two = &[Status::Queued, Status::Queued];
    holds(two, 2, Budget { lost_answers: 1, ..NONE }, Guards::ALL, &[Sight::LateClaimWon, Sight::Retried]);
    holds(two, 2, Budget { losses: 1, ..NONE }, Guards::ALL, &[Sight::SucceededAfterRecovery]);
}

#[test]
fn a_submit_that_is_sent_again() {
    let budget = Budget { lost_answers: 2, submits: 1, ..NONE };
    holds(&[], 1, budget, Guards::ALL, &[Sight::LateStatementRefused, Sight::Succeeded]);
}

/// What another condition says too, or what spares time or an attempt and nothing else. They may all be missing at
/// once as long as the others stand; `counterexamples.rs` removes those that stand in for them.
fn without_the_spare() -> Guards {
    Guards::without(&[
        // The claim number names its owner.
        Guard::FinishOwner,
        Guard::ReleaseOwner,
        Guard::RecoverOwner,
        // Only an instance whose lease has passed is declared lost, and no heartbeat renews it after that.
        Guard::RecoverLease,
        // The version that was seen never comes again.
        Guard::OperationKey,
        // What a dead instance claims is recovered: an attempt is spent.
        Guard::ClaimWorking,
        Guard::ClaimLease,
        // Only time is lost, or what a list shows.
        Guard::ClaimDue,
        Guard::DeclareLostAlive,
        Guard::EndAlive,
    ])
}

#[test]
fn what_another_guard_says_too() {
    let budget = Budget { lost_answers: 1, losses: 1, give_backs: 1, slow_recoveries: 1, ..NONE };
    let sights = [
        Sight::LateFinishRefused,
        Sight::Recovered,
        Sight::SlowRecoveryRefused,
        Sight::SucceededAfterRecovery,
    ];
    holds(QUEUED, 2, budget, without_the_spare(), &sights);
}

#[test]
fn what_another_guard_says_too_where_a_process_closes() {
    let budget = Budget { lost_answers: 1, losses: 1, closes: 1, slow_recoveries: 1, ..NONE };
    let sights = [Sight::Ended, Sight::RecoveredAnInstanceThatEnded, Sight::SucceededAfterRecovery];
    holds(QUEUED, 2, budget, without_the_spare(), &sights);
}

#[test]
fn what_another_guard_says_too_about_decisions() {
    let budget = Budget { lost_answers: 1, decisions: 2, blind_decisions: 1, ..NONE };
    let sights = [Sight::DecisionInConflict, Sight::DecisionResolved];
    holds(&[Status::Submitted], 1, budget, without_the_spare(), &sights);
}

/// A worker never both releases and finishes one claim, and a release takes the owner's name off the row.
#[test]
fn what_the_owner_says_too_of_a_release() {
    let budget = Budget { lost_answers: 1, give_backs: 1, decisions: 1, ..NONE };
    let sights = [Sight::Released, Sight::LateStatementRefused];
    holds(QUEUED, 1, budget, Guards::without(&[Guard::ReleaseStatus]), &sights);
}
