//! What the program said: every submit and decision that was asked for, and what its exit code and document claimed.

use std::sync::{Mutex, PoisonError};

use serde_json::Value;

use crate::plan::Micros;

/// How a call ended.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Told {
    /// By itself, with this code and document (null where there was none to read).
    Exit { code: i32, document: Value },
    /// It was killed in the middle: nothing was claimed.
    Killed,
    /// It did not end.
    Hung,
}

impl Told {
    pub(crate) fn code(&self) -> Option<i32> {
        match self {
            Self::Exit { code, .. } => Some(*code),
            Self::Killed | Self::Hung => None,
        }
    }

    pub(crate) fn document(&self) -> &Value {
        match self {
            Self::Exit { document, .. } => document,
            Self::Killed | Self::Hung => &Value::Null,
        }
    }
}

/// One send of a submit. Each text is nobody else's; only another send under the same key has it too.
#[derive(Debug, Clone)]
pub(crate) struct Submit {
    pub(crate) at: Micros,
    pub(crate) kind: Kind,
    pub(crate) texts: Vec<String>,
    pub(crate) told: Told,
}

/// How texts were sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Kind {
    /// One, under a key or without.
    One { key: Option<String> },
    /// A file of lines.
    Lines,
}

/// A decision. Its operator is nobody else's, so that its events are found again.
#[derive(Debug, Clone)]
pub(crate) struct Decide {
    pub(crate) at: Micros,
    pub(crate) operator: String,
    pub(crate) verb: &'static str,
    /// The rows, each with the version that was named.
    pub(crate) rows: Vec<(i64, Option<i64>)>,
    pub(crate) told: Told,
}

/// Everything that was said.
#[derive(Debug, Default)]
pub(crate) struct Journal {
    submits: Mutex<Vec<Submit>>,
    decisions: Mutex<Vec<Decide>>,
}

impl Journal {
    pub(crate) fn submitted(&self, submit: Submit) {
        self.submits.lock().unwrap_or_else(PoisonError::into_inner).push(submit);
    }

    pub(crate) fn decided(&self, decide: Decide) {
        self.decisions.lock().unwrap_or_else(PoisonError::into_inner).push(decide);
    }

    /// All of it.
    pub(crate) fn read(&self) -> (Vec<Submit>, Vec<Decide>) {
        let submits = self.submits.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let decisions = self.decisions.lock().unwrap_or_else(PoisonError::into_inner).clone();
        (submits, decisions)
    }
}
