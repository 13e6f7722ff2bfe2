//! Without one of its guards the protocol breaks. Each test names what breaks first and pins the shortest way there.
//!
//! P is a process, I an instance, T a task. "Gives up on the answer" leaves the statement under way; where it is
//! executed in the end the line begins with "late".

use taskdeck::domain::Status;

use crate::properties::Property;
use crate::protocol::{Guard, Guards};
use crate::search::explore;
use crate::world::{Budget, World};

const QUEUED: &[Status] = &[Status::Queued];
const SUBMITTED: &[Status] = &[Status::Submitted];

/// Where a search begins, and what may befall.
struct Scene {
    tasks: &'static [Status],
    max_attempts: u8,
    budget: Budget,
    /// What is known to break and not looked at.
    regardless: &'static [Property],
}

impl Scene {
    /// Without `gone`, `property` breaks first, and this is how.
    #[track_caller]
    fn breaks(self, gone: &[Guard], property: Property, way: &[&str]) {
        let Self { tasks, max_attempts, budget, regardless } = self;
        let found = explore(World::new(tasks, max_attempts, budget), Guards::without(gone), regardless);
        let Some((broken, path)) = found.broken else {
            panic!("nothing breaks in {} states without {gone:?}", found.states)
        };
        let told = format!("{broken:?}\n{}", path.join("\n"));
        assert_eq!(told, format!("{property:?}\n{}", way.join("\n")), "after {} states", found.states);
    }
}

/// Two run at once: a claim that was given up on comes late and takes a task that is RUNNING.
#[test]
fn a_claim_without_its_status() {
    Scene {
        tasks: QUEUED,
        max_attempts: 1,
        budget: Budget { lost_answers: 1, ..Budget::default() },
        regardless: &[],
    }
    .breaks(
        &[Guard::ClaimStatus],
        Property::I4OneValidRun,
        &[
            "P0 claims and gives up on the answer",
            "P1 claims T0: has read its instance",
            "P1 claims: has the row's lock, is answered",
            "late: I0's claim takes T0",
        ],
    );
}

/// Two claims bear the same number.
#[test]
fn a_token_that_does_not_rise() {
    Scene {
        tasks: QUEUED,
        max_attempts: 1,
        budget: Budget { give_backs: 1, ..Budget::default() },
        regardless: &[],
    }
    .breaks(
        &[Guard::ClaimRaisesToken],
        Property::I1OneWinner,
        &[
            "P0 claims T0: has read its instance",
            "P0 claims: has the row's lock, is answered",
            "P0 is to give T0 back",
            "P0 releases T0, is answered",
            "P0 claims T0: has read its instance",
            "P0 claims: has the row's lock, is answered",
        ],
    );
}

/// A success that was sent twice changes a row that is final.
#[test]
fn a_finish_without_its_status() {
    Scene {
        tasks: QUEUED,
        max_attempts: 1,
        budget: Budget { lost_answers: 1, ..Budget::default() },
        regardless: &[],
    }
    .breaks(
        &[Guard::FinishStatus],
        Property::I2FinalStays,
        &[
            "P0 claims T0: has read its instance",
            "P0 claims: has the row's lock, is answered",
            "P0 runs T0",
            "P0's run of T0 succeeds",
            "P0 finishes T0 and gives up on the answer",
            "P0 finishes T0, is answered",
            "late: I0's success of T0 under claim 1",
        ],
    );
}

/// A run that was recovered commits its result under a claim of the same instance that came late.
#[test]
fn a_finish_without_the_token() {
    Scene {
        tasks: QUEUED,
        max_attempts: 2,
        budget: Budget { lost_answers: 1, losses: 1, ..Budget::default() },
        regardless: &[],
    }
    .breaks(
        &[Guard::FinishToken],
        Property::ResultOfTheClaim,
        &[
            "P0 claims T0: has read its instance",
            "P0 claims and gives up on the answer",
            "P0 asks what it holds",
            "P0 claims T0: has read its instance",
            "P0 claims: has the row's lock, is answered",
            "P0 runs T0",
            "P0's run of T0 succeeds",
            "the lease of I0 passes",
            "I0 is declared lost",
            "T0 is recovered",
            "late: I0's claim of T0",
            "P0 finishes T0, is answered",
        ],
    );
}

/// A run that was recovered commits its result over somebody else's claim (the mistake that river makes).
#[test]
fn a_finish_guarded_by_state_only() {
    Scene {
        tasks: QUEUED,
        max_attempts: 2,
        budget: Budget { lost_answers: 1, losses: 1, ..Budget::default() },
        regardless: &[],
    }
    .breaks(
        &[Guard::FinishOwner, Guard::FinishToken],
        Property::ResultOfTheClaim,
        &[
            "P0 claims and gives up on the answer",
            "P1 claims T0: has read its instance",
            "P1 claims: has the row's lock, is answered",
            "P1 runs T0",
            "P1's run of T0 succeeds",
            "the lease of I1 passes",
            "I1 is declared lost",
            "T0 is recovered",
            "late: I0's claim takes T0",
            "P1 finishes T0, is answered",
        ],
    );
}

#[test]
fn a_finish_that_overlooks_a_cancel() {
    Scene {
        tasks: QUEUED,
        max_attempts: 1,
        budget: Budget { decisions: 1, ..Budget::default() },
        regardless: &[],
    }
    .breaks(
        &[Guard::FinishCancel],
        Property::CancelKept,
        &[
            "P0 claims T0: has read its instance",
            "P0 claims: has the row's lock, is answered",
            "P0 runs T0",
            "P0's run of T0 succeeds",
            "an operator decides to cancel T0",
            "decision 0 is sent, is answered",
            "P0 finishes T0, is answered",
        ],
    );
}

/// A release that comes late ends the next claim of the same instance, and two run at once.
#[test]
fn a_release_without_the_token() {
    Scene {
        tasks: QUEUED,
        max_attempts: 1,
        budget: Budget { lost_answers: 1, give_backs: 1, ..Budget::default() },
        regardless: &[],
    }
    .breaks(
        &[Guard::ReleaseToken],
        Property::I4OneValidRun,
        &[
            "P0 claims T0: has read its instance",
            "P0 claims: has the row's lock, is answered",
            "P0 is to give T0 back",
            "P0 releases T0 and gives up on the answer",
            "P0 releases T0, is answered",
            "P0 claims T0: has read its instance",
            "P0 claims: has the row's lock, is answered",
            "P0 runs T0",
            "late: I0's release of T0 under claim 1",
            "P1 claims T0: has read its instance",
            "P1 claims: has the row's lock, is answered",
            "P1 runs T0",
        ],
    );
}

/// A release that comes late takes the task out of a final state.
#[test]
fn a_release_without_status_and_owner() {
    Scene {
        tasks: QUEUED,
        max_attempts: 1,
        budget: Budget { lost_answers: 1, decisions: 1, ..Budget::default() },
        regardless: &[],
    }
    .breaks(
        &[Guard::ReleaseStatus, Guard::ReleaseOwner],
        Property::I2FinalStays,
        &[
            "P0 claims T0: has read its instance",
            "P0 claims: has the row's lock, is answered",
            "an operator decides to cancel T0",
            "decision 0 is sent, is answered",
            "P0 is to give T0 back",
            "P0 releases T0 and gives up on the answer",
            "late: I0's release of T0 under claim 1",
            "P0 releases T0, is answered",
        ],
    );
}

#[test]
fn a_release_that_overlooks_a_cancel() {
    Scene {
        tasks: QUEUED,
        max_attempts: 1,
        budget: Budget { decisions: 1, ..Budget::default() },
        regardless: &[],
    }
    .breaks(
        &[Guard::ReleaseCancel],
        Property::CancelKept,
        &[
            "P0 claims T0: has read its instance",
            "P0 claims: has the row's lock, is answered",
            "an operator decides to cancel T0",
            "decision 0 is sent, is answered",
            "P0 is to give T0 back",
            "P0 releases T0, is answered",
        ],
    );
}

/// A late heartbeat renews a lease whose tasks have just been taken: two run at once.
#[test]
fn a_recovery_that_looks_at_the_lease_alone() {
    Scene {
        tasks: QUEUED,
        max_attempts: 2,
        budget: Budget { losses: 1, ..Budget::default() },
        regardless: &[],
    }
    .breaks(
        &[Guard::RecoverDead],
        Property::I4OneValidRun,
        &[
            "P0 claims T0: has read its instance",
            "P0 claims: has the row's lock, is answered",
            "P0 runs T0",
            "the lease of I0 passes",
            "T0 is recovered",
            "P0 beats, is answered",
            "P1 claims T0: has read its instance",
            "P1 claims: has the row's lock, is answered",
            "P1 runs T0",
        ],
    );
}

#[test]
fn a_recovery_without_a_look_at_the_owner() {
    Scene { tasks: QUEUED, max_attempts: 2, budget: Budget { ..Budget::default() }, regardless: &[] }.breaks(
        &[Guard::RecoverDead, Guard::RecoverLease],
        Property::I4OneValidRun,
        &[
            "P0 claims T0: has read its instance",
            "P0 claims: has the row's lock, is answered",
            "P0 runs T0",
            "T0 is recovered",
            "P1 claims T0: has read its instance",
            "P1 claims: has the row's lock, is answered",
            "P1 runs T0",
        ],
    );
}

/// A claim that waited for its row is won after its instance has ended: nobody takes it back.
#[test]
fn a_recovery_that_forgets_instances_that_ended() {
    Scene {
        tasks: QUEUED,
        max_attempts: 1,
        budget: Budget { lost_answers: 1, closes: 1, ..Budget::default() },
        regardless: &[],
    }
    .breaks(
        &[Guard::RecoverStopped],
        Property::I6NoLostTask,
        &[
            "P0 claims T0: has read its instance",
            "P0 claims and gives up on the answer",
            "P0 asks what it holds",
            "P0 closes",
            "P0 ends its instance",
            "late: I0's claim of T0",
        ],
    );
}

/// The rescuer reads, the worker finishes, the rescuer writes: a finished task is pulled back (river#1302).
#[test]
fn a_recovery_without_the_status() {
    Scene {
        tasks: QUEUED,
        max_attempts: 2,
        budget: Budget { losses: 1, slow_recoveries: 1, ..Budget::default() },
        regardless: &[],
    }
    .breaks(
        &[Guard::RecoverStatus],
        Property::I2FinalStays,
        &[
            "P0 claims T0: has read its instance",
            "P0 claims: has the row's lock, is answered",
            "P0 runs T0",
            "P0's run of T0 succeeds",
            "the lease of I0 passes",
            "I0 is declared lost",
            "a slow recovery reads T0",
            "P0 finishes T0, is answered",
            "the slow recovery writes",
        ],
    );
}

/// The same, and worse: all three of its conditions gone.
#[test]
fn a_recovery_by_id_only() {
    Scene {
        tasks: QUEUED,
        max_attempts: 2,
        budget: Budget { losses: 1, slow_recoveries: 1, ..Budget::default() },
        regardless: &[],
    }
    .breaks(
        &[Guard::RecoverStatus, Guard::RecoverOwner, Guard::RecoverToken],
        Property::I2FinalStays,
        &[
            "P0 claims T0: has read its instance",
            "P0 claims: has the row's lock, is answered",
            "P0 runs T0",
            "P0's run of T0 succeeds",
            "the lease of I0 passes",
            "I0 is declared lost",
            "a slow recovery reads T0",
            "P0 finishes T0, is answered",
            "the slow recovery writes",
        ],
    );
}

/// Either of the two is enough. Without both, a task is taken from a living instance that claimed it meanwhile.
#[test]
fn a_recovery_without_owner_and_token() {
    Scene {
        tasks: QUEUED,
        max_attempts: 2,
        budget: Budget { losses: 1, slow_recoveries: 1, give_backs: 1, ..Budget::default() },
        regardless: &[],
    }
    .breaks(
        &[Guard::RecoverOwner, Guard::RecoverToken],
        Property::I4OneValidRun,
        &[
            "P0 claims T0: has read its instance",
            "P0 claims: has the row's lock, is answered",
            "P0 is to give T0 back",
            "the lease of I0 passes",
            "I0 is declared lost",
            "a slow recovery reads T0",
            "P0 releases T0, is answered",
            "P0 beats, is answered",
            "P0 starts over under a new id",
            "P0 claims T0: has read its instance",
            "P0 claims: has the row's lock, is answered",
            "P0 runs T0",
            "the slow recovery writes",
            "P1 claims T0: has read its instance",
            "P1 claims: has the row's lock, is answered",
            "P1 runs T0",
        ],
    );
}

#[test]
fn a_recovery_that_overlooks_a_cancel() {
    Scene {
        tasks: QUEUED,
        max_attempts: 1,
        budget: Budget { losses: 1, decisions: 1, ..Budget::default() },
        regardless: &[],
    }
    .breaks(
        &[Guard::RecoverCancel],
        Property::CancelKept,
        &[
            "P0 claims T0: has read its instance",
            "P0 claims: has the row's lock, is answered",
            "the lease of I0 passes",
            "I0 is declared lost",
            "an operator decides to cancel T0",
            "decision 0 is sent, is answered",
            "T0 is recovered",
        ],
    );
}

#[test]
fn a_declaration_without_the_lease() {
    Scene {
        tasks: QUEUED,
        max_attempts: 2,
        budget: Budget { losses: 1, ..Budget::default() },
        regardless: &[],
    }
    .breaks(&[Guard::DeclareLostLease], Property::LeaseKept, &["I0 is declared lost"]);
}

/// The recovery's own look at the lease keeps that harmless. Without both, two run at once.
#[test]
fn a_declaration_and_a_recovery_without_the_lease() {
    Scene {
        tasks: QUEUED,
        max_attempts: 2,
        budget: Budget { losses: 1, ..Budget::default() },
        regardless: &[Property::LeaseKept],
    }
    .breaks(
        &[Guard::DeclareLostLease, Guard::RecoverLease],
        Property::I4OneValidRun,
        &[/*a_declaration_and_a_recovery_without_the_lease*/],
    );
}

#[test]
fn a_heartbeat_that_revives() {
    Scene {
        tasks: QUEUED,
        max_attempts: 2,
        budget: Budget { losses: 1, ..Budget::default() },
        regardless: &[],
    }
    .breaks(
        &[Guard::HeartbeatAlive],
        Property::DeadStaysDead,
        &["the lease of I0 passes", "I0 is declared lost", "P0 beats, is answered"],
    );
}

/// What that leads to: whoever was declared lost runs on under a valid lease beside the next claim.
#[test]
fn a_heartbeat_that_revives_what_was_recovered() {
    Scene {
        tasks: QUEUED,
        max_attempts: 2,
        budget: Budget { losses: 1, ..Budget::default() },
        regardless: &[Property::DeadStaysDead],
    }
    .breaks(
        &[Guard::HeartbeatAlive],
        Property::I4OneValidRun,
        &[
            "P0 claims T0: has read its instance",
            "P0 claims: has the row's lock, is answered",
            "P0 runs T0",
            "the lease of I0 passes",
            "I0 is declared lost",
            "T0 is recovered",
            "P0 beats, is answered",
            "P1 claims T0: has read its instance",
            "P1 claims: has the row's lock, is answered",
            "P1 runs T0",
        ],
    );
}

#[test]
fn an_end_that_does_not_look_what_is_held() {
    Scene {
        tasks: QUEUED,
        max_attempts: 1,
        budget: Budget { lost_answers: 1, closes: 1, ..Budget::default() },
        regardless: &[],
    }
    .breaks(
        &[Guard::EndHoldsNothing],
        Property::EndsEmpty,
        &[
            "P0 claims and gives up on the answer",
            "P0 asks what it holds",
            "P0 closes",
            "late: I0's claim takes T0",
            "P0 ends its instance",
        ],
    );
}

/// Both operators saw version 0, and both are told that it took effect.
#[test]
fn a_decision_without_the_version() {
    Scene {
        tasks: SUBMITTED,
        max_attempts: 1,
        budget: Budget { decisions: 2, ..Budget::default() },
        regardless: &[],
    }
    .breaks(
        &[Guard::DecideVersion],
        Property::I7OneDecisionPerVersion,
        &[
            "an operator decides to cancel T0",
            "an operator decides to approve T0",
            "decision 1 is sent, is answered",
            "decision 0 is sent, is answered",
        ],
    );
}

/// A cancel whose answer was lost is sent again and undoes somebody's requeue.
#[test]
fn a_decision_without_version_and_operation_key() {
    Scene {
        tasks: QUEUED,
        max_attempts: 1,
        budget: Budget { lost_answers: 1, decisions: 2, ..Budget::default() },
        regardless: &[],
    }
    .breaks(
        &[Guard::DecideVersion, Guard::OperationKey],
        Property::I9OperationOnce,
        &[
            "an operator decides to cancel T0",
            "decision 0 is sent, its answer lost",
            "late: decision 0",
            "an operator decides to requeue T0",
            "decision 1 is sent, is answered",
            "decision 0 is sent, is answered",
        ],
    );
}

#[test]
fn a_decision_without_the_status() {
    Scene {
        tasks: QUEUED,
        max_attempts: 1,
        budget: Budget { blind_decisions: 1, ..Budget::default() },
        regardless: &[],
    }
    .breaks(
        &[Guard::DecideStatus],
        Property::I2FinalStays,
        &[
            "P0 claims T0: has read its instance",
            "P0 claims: has the row's lock, is answered",
            "P0 runs T0",
            "P0's run of T0 succeeds",
            "P0 finishes T0, is answered",
            "an operator decides to cancel T0",
            "decision 0 is sent, is answered",
        ],
    );
}

#[test]
fn a_submit_without_its_key() {
    Scene {
        tasks: &[],
        max_attempts: 1,
        budget: Budget { lost_answers: 1, submits: 1, ..Budget::default() },
        regardless: &[],
    }
    .breaks(
        &[Guard::SubmissionKey],
        Property::I5OneRowPerSubmit,
        &["the text is submitted, its answer lost", "late: the submit", "the text is submitted, is answered"],
    );
}

#[test]
fn a_change_that_no_version_counts() {
    Scene { tasks: QUEUED, max_attempts: 1, budget: Budget { ..Budget::default() }, regardless: &[] }.breaks(
        &[Guard::RaisesVersion],
        Property::I8VersionCounts,
        &["P0 claims T0: has read its instance", "P0 claims: has the row's lock, is answered"],
    );
}
