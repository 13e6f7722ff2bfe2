//! One row, as the database last returned it.

use std::fmt;

use jiff::Timestamp;
use serde::Serialize;
use uuid::Uuid;

use super::{Approval, InstanceId, Status, TextCounts};

/// A task's number; it never changes and is never used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct TaskId(pub i64);

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// Names one write, so that sending it again is recognised as the same write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(transparent)]
pub struct OperationId(pub Uuid);

impl fmt::Display for OperationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// A task's row with its text. The serialised form is the JSON of the command line; its names are fixed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Task {
    /// The task's number.
    pub id: TaskId,
    /// Whose task it is.
    pub tenant: String,
    /// Which workers may take it.
    pub queue: String,
    /// Where it is.
    pub status: Status,
    /// Rises by one at every change of the row.
    pub version: i64,
    /// Claims that have counted against `max_attempts`.
    pub attempt: i32,
    /// How many claims may fail before the task is FAILED.
    pub max_attempts: i32,
    /// The fencing token: the number of the row's latest claim; it only ever rises.
    pub claim_no: i64,
    /// The instance of the latest claim; none while the task waits.
    pub claimed_by: Option<InstanceId>,
    /// `host:pid` of `claimed_by`, where its row is still known.
    #[serde(skip)]
    pub worker: Option<String>,
    /// Whether an operator asked a RUNNING task to stop.
    pub cancel_requested: bool,
    /// Larger runs first.
    pub priority: i32,
    /// The submitted text, or its beginning where a reader asked for no more (see `input_bytes`).
    pub input: String,
    /// Length of the whole text in bytes of UTF-8.
    #[serde(skip)]
    pub input_bytes: i64,
    /// Who submitted it; none where that was not kept yet.
    pub submitted_by: Option<String>,
    /// Who may approve it.
    #[serde(skip)]
    pub approval: Approval,
    /// The analyser's counts; zeros unless SUCCEEDED.
    #[serde(flatten)]
    pub counts: TextCounts,
    /// What the analyser's command wrote, if it ran one.
    pub output: Option<String>,
    /// Why the latest attempt failed.
    pub error: Option<String>,
    /// When it was submitted (database clock, like all times here).
    pub created_at: Timestamp,
    /// Not claimed before this time.
    pub scheduled_at: Timestamp,
    /// When the latest claim was made.
    pub started_at: Option<Timestamp>,
    /// When it reached a final state.
    pub finished_at: Option<Timestamp>,
}

impl Task {
    /// Whether `operator` may not approve it, as they submitted it themselves.
    pub fn needs_another_than(&self, operator: &str) -> bool {
        self.approval == Approval::Another && self.submitted_by.as_deref() == Some(operator)
    }

    /// Whether `input` holds only the beginning of the text.
    pub fn input_is_cut(&self) -> bool {
        i64::try_from(self.input.len()).is_ok_and(|shown| shown < self.input_bytes)
    }
}
