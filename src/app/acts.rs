//! Writes that were asked for and are not answered yet. They are shown beside the row; the row itself changes
//! only when the database says so.

use std::time::Duration;

use super::effect::RequestId;
use crate::domain::{DecisionKind, Seen, TaskId};

/// A decision that was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Act {
    /// Its number.
    pub request: RequestId,
    /// What was decided.
    pub kind: DecisionKind,
    /// About which rows, as they were seen.
    pub rows: Vec<Seen>,
    /// When it was sent, since the program's start.
    pub asked: Duration,
    /// How far it is.
    pub phase: Phase,
}

/// How far an act is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// No answer yet.
    Asking,
    /// The answer was lost; the root is finding out.
    Unknown,
    /// It could not be found out in time. Stays beside the row until the row is seen with another version or
    /// is decided again.
    Unresolved,
}

/// The writes that are not answered yet.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Acts {
    /// Decisions, in the order in which they were sent.
    pub decisions: Vec<Act>,
    /// Files and samples that are being submitted, with what they are.
    pub lines: Vec<(RequestId, String)>,
}

impl Acts {
    /// The act on this row that is not answered yet or stayed unresolved.
    pub fn on(&self, id: TaskId) -> Option<&Act> {
        self.decisions.iter().rev().find(|act| act.rows.iter().any(|row| row.id == id))
    }

    /// What stands beside the row of `id`: `cancel: asking…`.
    pub fn beside(&self, id: TaskId) -> Option<String> {
        self.on(id).map(|act| match act.phase {
            Phase::Asking => format!("{}: asking…", act.kind),
            Phase::Unknown => format!("{}: outcome unknown, checking…", act.kind),
            Phase::Unresolved => format!("{}: outcome not known", act.kind),
        })
    }

    /// How many writes wait for an answer.
    pub fn waiting(&self) -> usize {
        self.decisions.iter().filter(|act| act.phase != Phase::Unresolved).count() + self.lines.len()
    }
}
