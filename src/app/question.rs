//! A decision that waits for the operator's `y`: what will happen to which tasks.

use super::editor::Editor;
use super::list::SeenRow;
use crate::domain::{DecisionKind, Status};

/// The question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// What is to be decided.
    pub kind: DecisionKind,
    /// About which rows, by ascending id. All of them or none.
    pub rows: Vec<QuestionRow>,
    /// Only rows of this tenant, if set.
    pub tenant: Option<String>,
    /// Why, as far as it is written.
    pub reason: Editor,
    /// Where the keys go.
    pub focus: QuestionFocus,
    /// Where the rows were seen; there they are watched while the question stands.
    pub asked_from: AskedFrom,
    /// The list's generation when it was asked.
    pub generation: u64,
}

/// Where the keys of a question go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QuestionFocus {
    /// To the answer: `y`, `n`.
    Answer,
    /// To the reason: letters are text.
    Reason,
}

/// Where the rows of a question were seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AskedFrom {
    /// In the list.
    List,
    /// In the detail pane.
    Detail,
    /// In a conflict's answer.
    Conflict,
}

/// A row of a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuestionRow {
    /// The row as it was on screen.
    pub seen: SeenRow,
    /// Whether it can still be decided as it was seen.
    pub standing: Standing,
}

/// Whether a row can be decided as it was seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// It can.
    Ready {
        /// The state that it will have.
        to: Status,
    },
    /// The act is not possible in its state.
    NotPossible {
        /// Why.
        reason: String,
    },
    /// It changed since it was seen.
    Moved {
        /// Its version now.
        version: i64,
        /// Its state now.
        status: Status,
    },
    /// It is not in the list any more, so what it is now is not on screen.
    Gone,
    /// Another act on it is not answered yet.
    Busy {
        /// Which.
        kind: DecisionKind,
    },
}
