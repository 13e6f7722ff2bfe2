//! Claims, finishes and releases without one of their guards.

use super::{QUEUED, Scene};
use crate::guards::Guard;
use crate::properties::Property;
use crate::world::Budget;

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

/// A failure that was sent twice ends the next claim of the same instance too.
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
        Property::I9OperationOnce,
        &[
            "P0 claims T0: has read its instance",
            "P0 claims: has the row's lock, is answered",
            "P0 runs T0",
            "P0's run of T0 fails",
            "P0 finishes T0 and gives up on the answer",
            "P0 finishes T0, is answered",
            "T0 comes due",
            "P0 claims T0: has read its instance",
            "P0 claims: has the row's lock, is answered",
            "late: I0's failure of T0 under claim 1",
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
        regardless: &[Property::I9OperationOnce],
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

/// What was canceled keeps counts all the same.
#[test]
fn a_finish_that_counts_whatever_its_end() {
    Scene {
        tasks: QUEUED,
        max_attempts: 1,
        budget: Budget { decisions: 1, ..Budget::default() },
        regardless: &[],
    }
    .breaks(
        &[Guard::FinishCounts],
        Property::I3CountsOnlyInSuccess,
        &[
            "P0 claims T0: has read its instance",
            "P0 claims: has the row's lock, is answered",
            "P0 runs T0",
            "P0's run of T0 succeeds",
            "an operator decides to cancel T0",
            "decision 0 is sent, is answered",
            "P0 finishes T0, is answered",
            "P0 finishes T0 whatever its end, is answered",
        ],
    );
}

/// A success that was committed and whose answer was lost is taken for a lost lease.
#[test]
fn a_success_that_does_not_know_itself() {
    Scene {
        tasks: QUEUED,
        max_attempts: 1,
        budget: Budget { lost_answers: 1, ..Budget::default() },
        regardless: &[],
    }
    .breaks(
        &[Guard::FinishOwn],
        Property::I10ToldTheTruth,
        &[
            "P0 claims T0: has read its instance",
            "P0 claims: has the row's lock, is answered",
            "P0 runs T0",
            "P0's run of T0 succeeds",
            "P0 finishes T0 and gives up on the answer",
            "late: I0's success of T0 under claim 1",
            "P0 finishes T0, is answered",
            "P0 finishes T0 whatever its end, is answered",
        ],
    );
}

/// The same of a failure.
#[test]
fn a_failure_that_leaves_no_trace() {
    Scene {
        tasks: QUEUED,
        max_attempts: 1,
        budget: Budget { lost_answers: 1, ..Budget::default() },
        regardless: &[],
    }
    .breaks(
        &[Guard::FinishNoted],
        Property::I10ToldTheTruth,
        &[
            "P0 claims T0: has read its instance",
            "P0 claims: has the row's lock, is answered",
            "P0 runs T0",
            "P0's run of T0 fails",
            "P0 finishes T0 and gives up on the answer",
            "late: I0's failure of T0 under claim 1",
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
            "P0 releases T0, is answered",
            "late: I0's release of T0 under claim 1",
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
