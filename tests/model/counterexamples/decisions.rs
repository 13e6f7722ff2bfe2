//! Decisions and submits without one of their guards.

use super::{QUEUED, SUBMITTED, Scene};
use crate::guards::Guard;
use crate::properties::Property;
use crate::world::Budget;

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

/// The operator is told that the row had moved on: it was their own decision that moved it.
#[test]
fn a_decision_that_leaves_no_trace() {
    Scene {
        tasks: QUEUED,
        max_attempts: 1,
        budget: Budget { lost_answers: 1, decisions: 1, ..Budget::default() },
        regardless: &[],
    }
    .breaks(
        &[Guard::DecideNoted],
        Property::I10ToldTheTruth,
        &[
            "an operator decides to cancel T0",
            "decision 0 is sent, its answer lost",
            "late: decision 0",
            "decision 0 is sent, is answered",
        ],
    );
}

/// That it also rewrites a row that is as it wants it already is not looked at.
#[test]
fn a_decision_without_the_status() {
    Scene {
        tasks: QUEUED,
        max_attempts: 1,
        budget: Budget { blind_decisions: 1, ..Budget::default() },
        regardless: &[Property::I8VersionCounts],
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
