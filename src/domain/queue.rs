//! Queues: how much waits in each, and who paused it.

use jiff::Timestamp;
use serde::Serialize;

use super::{Name, OperationId};

/// What operators said of a queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct QueueState {
    /// Whether workers claim nothing from it.
    pub paused: bool,
    /// +1 at each change; 0 where nobody ever paused it.
    pub version: i64,
    /// Who changed it last and when; none where nobody ever paused it.
    pub changed: Option<QueueChange>,
}

impl QueueState {
    /// A queue that nobody ever paused.
    pub const OPEN: Self = Self { paused: false, version: 0, changed: None };
}

/// Who paused or resumed a queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct QueueChange {
    /// Who.
    pub by: String,
    /// When, by the database's clock.
    pub at: Timestamp,
    /// Why, as they put it.
    pub reason: Option<String>,
}

/// A queue with what is in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Queue {
    /// Its name.
    pub name: String,
    /// Whether it is paused, and by whom.
    #[serde(flatten)]
    pub state: QueueState,
    /// Tasks that are due and wait.
    pub waiting: i64,
    /// Tasks that are put off until later.
    pub later: i64,
    /// Tasks that run.
    pub running: i64,
    /// Tasks that are held for approval.
    pub held: i64,
    /// How long the oldest due task has waited, in milliseconds; none if nothing is due.
    pub oldest_waiting_ms: Option<i64>,
    /// Live instances that claim from it.
    pub takers: i64,
}

/// An operator's act on a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum QueueAct {
    /// Workers claim nothing more from it; what runs goes on.
    Pause,
    /// They claim from it again.
    Resume,
}

impl QueueAct {
    /// The verb on the command line and in `events`.
    pub const fn verb(self) -> &'static str {
        match self {
            Self::Pause => "pause",
            Self::Resume => "resume",
        }
    }

    /// Whether the queue is paused afterwards.
    pub const fn pauses(self) -> bool {
        matches!(self, Self::Pause)
    }
}

/// One decision about one queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueDecision {
    /// What is decided.
    pub act: QueueAct,
    /// About which queue.
    pub queue: Name,
    /// Its version as it was seen.
    pub version: i64,
    /// Who decides.
    pub operator: String,
    /// Why, as the operator put it.
    pub reason: Option<String>,
    /// Names this decision, so that sending it again is harmless.
    pub operation: OperationId,
}

/// The answer to a decision about a queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueDecided {
    /// Whether it took effect; if not, the queue had moved on or was as asked already.
    pub outcome: QueueOutcome,
    /// The queue as it is now.
    pub state: QueueState,
    /// The first answer was lost and the outcome was established afterwards.
    pub resolved_from_unknown: bool,
    /// How often it was decided again after a deadlock or serialization failure.
    pub retries: u32,
}

/// Whether a decision about a queue took effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueueOutcome {
    /// It did.
    Committed,
    /// It did not, and nothing was changed.
    Conflict,
}
