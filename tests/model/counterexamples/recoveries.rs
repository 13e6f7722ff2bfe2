//! Recoveries, heartbeats and ends of instances without one of their guards.

use super::{QUEUED, Scene};
use crate::guards::Guard;
use crate::properties::Property;
use crate::world::Budget;

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

/// What has just succeeded is pulled back. One of the statement's two looks at the state is enough: the first locks the
/// row and looks again then (river#1302 is what becomes of a rescuer that looks without a lock).
#[test]
fn a_recovery_without_the_status() {
    Scene {
        tasks: QUEUED,
        max_attempts: 2,
        budget: Budget { losses: 1, ..Budget::default() },
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
            "P0 finishes T0, is answered",
            "the lease of I0 passes",
            "I0 is declared lost",
            "T0 is recovered",
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
        &[
            "P0 claims T0: has read its instance",
            "P0 claims: has the row's lock, is answered",
            "P0 runs T0",
            "I0 is declared lost",
            "T0 is recovered",
            "P1 claims T0: has read its instance",
            "P1 claims: has the row's lock, is answered",
            "P1 runs T0",
        ],
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
