//! What a worker does with a text: the contract that every analyser keeps.

use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::BoxFuture;

use super::latch::Latch;
use crate::domain::{TaskId, TextCounts};

/// One claimed task, as its analyser sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// The task.
    pub id: TaskId,
    /// The claim under which it runs.
    pub claim_no: i64,
    /// Whose task it is.
    pub tenant: String,
    /// Attempts spent, this one included.
    pub attempt: i32,
    /// The whole text.
    pub text: String,
}

/// How an analyser ended. There is no partial result: a failure keeps nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Analysis {
    /// It ran to its end.
    Success {
        /// The counts of the text.
        counts: TextCounts,
        /// What its command wrote, if it ran one.
        output: Option<String>,
    },
    /// It failed by itself; the attempt is spent.
    Failure {
        /// Why.
        error: String,
    },
    /// It was asked to stop and has: nothing of it runs any more.
    Stopped {
        /// The last that it said, for an error message; may be empty.
        said: String,
    },
}

/// Counts a text, or runs something with it.
///
/// An analyser returns only when nothing of it runs any more. It should look at `cancel` wherever it waits; one
/// that does not is waited for. A panic is a failed attempt, nothing more.
pub trait Analyser: Send + Sync + fmt::Debug {
    /// Analyses `job.text`, and says in `doing` what it is at.
    fn analyse<'a>(&'a self, job: &'a Job, cancel: &'a Cancel, doing: &'a Doing) -> BoxFuture<'a, Analysis>;
}

/// Asks one run to stop. It is only asked: the run ends when its analyser returns.
#[derive(Debug, Clone, Default)]
pub struct Cancel(Latch);

impl Cancel {
    /// A token that nobody has set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks; asking again changes nothing.
    pub fn request(&self) {
        self.0.set();
    }

    /// Whether it was asked.
    pub fn is_requested(&self) -> bool {
        self.0.is_set()
    }

    /// Returns once it was asked.
    pub async fn requested(&self) {
        self.0.wait().await;
    }
}

/// What a run is at, in a few words for whoever watches: `counting`, `command pid 5123`, `waiting 2 s`.
#[derive(Debug, Clone, Default)]
pub struct Doing(Arc<Mutex<Cow<'static, str>>>);

impl Doing {
    /// Says it.
    pub fn now(&self, what: impl Into<Cow<'static, str>>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = what.into();
    }

    /// What was said last; empty before anything was.
    pub fn text(&self) -> String {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).to_string()
    }
}
