//! Someone else got there first: what was asked, what the row is now, who made it so.

use std::time::Duration;

use super::list::SeenRow;
use crate::domain::{DecisionKind, LastChange, Task, TaskId};

/// A decision that changed nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// What was asked.
    pub kind: DecisionKind,
    /// The rows that stood in the way, by ascending id.
    pub rows: Vec<ConflictRow>,
    /// How many other rows of the same decision were left as they were.
    pub held: usize,
    /// When the answer arrived, since the program's start.
    pub arrived: Duration,
    /// Which row the cursor is on.
    pub cursor: usize,
}

/// A row that stood in the way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConflictRow {
    /// The task.
    pub id: TaskId,
    /// The version with which the decision was made.
    pub version_seen: i64,
    /// The row as it was seen, where the state was still known.
    pub seen: Option<SeenRow>,
    /// What the database answered.
    pub answer: ConflictAnswer,
}

/// What the database answered about a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConflictAnswer {
    /// The row as it is now.
    Now {
        /// The row.
        task: Box<Task>,
        /// Who changed it last and when, where known; its age counts from the conflict's arrival.
        last: Option<LastChange>,
    },
    /// No such row (for this tenant).
    NotFound,
}
