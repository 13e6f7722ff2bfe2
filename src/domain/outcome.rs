//! The typed answers of writes. What went wrong *around* a write (no answer, no connection) is not here: that
//! is the error of the `db` floor.

use serde::Serialize;

use super::limit::{AtLimit, OverLimit};
use super::{
    DecisionKind, Event, InstanceId, InstanceState, LastChange, Status, StopMode, StopRequest, Task, TaskId,
};

/// What became of one row of a decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The decision changed this row; here it is as it is now.
    Committed {
        /// The row afterwards.
        task: Task,
        /// Its version before.
        version_before: i64,
    },
    /// The row is there but had moved on, or is in a state from which the act is not possible.
    Conflict {
        /// The row as it is now.
        task: Task,
        /// Who changed it last and when, where known.
        last: Option<LastChange>,
    },
    /// No such row (for this tenant).
    NotFound,
    /// The four-eyes rule: whoever submitted this row may neither approve it nor, while nobody else has let it run,
    /// requeue it.
    Refused {
        /// The row, unchanged.
        task: Task,
    },
    /// Its tenant has no room for it today, or for as many as this decision asked for.
    OverLimit {
        /// The row, unchanged.
        task: Task,
        /// What is left of the tenant's day, and what was asked for.
        over: OverLimit,
    },
    /// This row would have been changed, but another row of the same decision stood in the way.
    Held {
        /// The row, unchanged.
        task: Task,
    },
}

/// The answer to a whole decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DecisionOutcome {
    /// Every row was changed.
    Committed,
    /// Nothing was changed: at least one row had moved on.
    Conflict,
    /// Nothing was changed: at least one row does not exist.
    NotFound,
    /// Nothing was changed: at least one row may not be approved by whoever submitted it, or not today.
    Refused,
}

/// A decision's answer row by row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decided {
    /// What was decided.
    pub kind: DecisionKind,
    /// One verdict a row, in ascending order of id.
    pub rows: Vec<(TaskId, Verdict)>,
    /// The first answer was lost and the outcome was established afterwards.
    pub resolved_from_unknown: bool,
    /// How often the whole decision was decided again after a deadlock or serialization failure.
    pub retries: u32,
}

impl Decided {
    /// The whole decision's outcome.
    pub fn outcome(&self) -> DecisionOutcome {
        let has = |test: fn(&Verdict) -> bool| self.rows.iter().any(|(_, verdict)| test(verdict));
        if has(|verdict| matches!(verdict, Verdict::NotFound)) {
            DecisionOutcome::NotFound
        } else if has(|verdict| matches!(verdict, Verdict::Refused { .. } | Verdict::OverLimit { .. })) {
            DecisionOutcome::Refused
        } else if has(|verdict| !matches!(verdict, Verdict::Committed { .. })) {
            DecisionOutcome::Conflict
        } else {
            DecisionOutcome::Committed
        }
    }
}

/// What became of a request to one instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StopVerdict {
    /// It was asked; it obeys at its next heartbeat.
    Committed {
        /// The instance afterwards.
        instance: Stopping,
    },
    /// It is there, but somebody else asked meanwhile, it was asked for as much already, it has ended, or it only
    /// watches.
    Conflict {
        /// The instance as it is now.
        instance: Stopping,
    },
    /// No such instance.
    NotFound,
}

/// An instance as the answer to a request to stop tells it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Stopping {
    /// Its id.
    pub id: InstanceId,
    /// `host:pid`.
    pub label: String,
    /// What it does.
    pub state: InstanceState,
    /// Whether its lease has passed, so that it will probably obey nobody.
    pub lease_past: bool,
    /// How often it was asked to stop.
    pub stop_version: i64,
    /// What it was asked for last.
    pub stop: Option<StopRequest>,
}

/// The answer to a whole request to stop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StopAnswer {
    /// How they are to stop.
    pub mode: StopMode,
    /// One verdict an instance, in ascending order of id.
    pub instances: Vec<(InstanceId, StopVerdict)>,
    /// The first answer was lost and the outcome was established afterwards.
    pub resolved_from_unknown: bool,
    /// How often it was asked again after a deadlock or serialization failure.
    pub retries: u32,
}

/// The answer to a claim of one given task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClaimById {
    /// The update changed the row: the caller holds the claim.
    Won {
        /// The row as claimed.
        task: Task,
    },
    /// The row is there but was not QUEUED and due, or this instance's lease has passed.
    Lost {
        /// The row as it is now.
        task: Task,
    },
    /// The row is QUEUED and due, but as many of its tenant's tasks run as may.
    AtLimit {
        /// The row as it is now.
        task: Task,
        /// How many run, and how many may.
        at: AtLimit,
    },
    /// No such row.
    NotFound,
}

/// The answer to a finish or release.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finished {
    /// It took effect.
    Committed {
        /// The state that it left the row in.
        status: Status,
    },
    /// The row is there, but this claim is no longer its current one; nothing was changed.
    LeaseLost {
        /// The state that the row has.
        status: Status,
        /// The row's current claim number.
        claim_no: i64,
    },
    /// No such row.
    NotFound,
}

/// What became of one of several texts that were submitted.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "nearly every one is the large one")]
pub enum SubmitVerdict {
    /// Its task is in the table.
    Submitted(Submitted),
    /// Its submission id names a task of another tenant: nothing was submitted, and that task is not shown.
    Taken,
}

impl SubmitVerdict {
    /// The task, where there is one.
    pub fn submitted(self) -> Option<Submitted> {
        match self {
            Self::Submitted(submitted) => Some(submitted),
            Self::Taken => None,
        }
    }
}

/// A text whose task is in the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Submitted {
    /// The task's row.
    pub task: Task,
    /// False where its key was known and the row is the earlier one.
    pub created: bool,
    /// The first answer was lost and the outcome was established afterwards.
    pub resolved_from_unknown: bool,
}

/// A task with its history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TaskHistory {
    /// The row.
    pub task: Task,
    /// Its events, oldest first.
    pub events: Vec<Event>,
}
