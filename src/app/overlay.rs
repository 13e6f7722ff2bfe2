//! What can lie over a screen.

use super::bulk::BulkQuestion;
use super::editor::Editor;
use super::question::{Ask, Question};
use super::queues::QueueQuestion;
use super::stop::StopQuestion;
use crate::domain::{Status, TaskId};

/// Something over the screen that gets the keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Overlay {
    /// The sample texts that a first start offers: `y` or `n`.
    FirstStart,
    /// A decision to confirm.
    Question(Question),
    /// A decision about all that match to confirm.
    Bulk(Box<BulkQuestion>),
    /// The decision about all that match that runs, or its sum: [`super::State::bulk`].
    BulkRun,
    /// A request to stop to confirm.
    Stop(StopQuestion),
    /// The first of [`super::State::stop_conflicts`].
    StopConflict,
    /// A decision about a queue to confirm.
    Queue(QueueQuestion),
    /// The first of [`super::State::queue_conflicts`].
    QueueConflict,
    /// Lines of a file to confirm.
    SubmitLines {
        /// The file, as it was typed.
        path: String,
    },
    /// The first of [`super::State::conflicts`].
    Conflict,
    /// The editor of [`super::State::submit`].
    Submit,
    /// A text was not submitted and the program is to end: `y` loses it, `n` stays.
    Unsent,
    /// The shutdown question or its progress; [`super::State::shutdown`] tells which.
    Shutdown,
    /// The line in which a command is typed.
    Command {
        /// What was typed.
        line: Editor,
        /// Which completion Tab chose last.
        chosen: Option<usize>,
        /// What was typed before Tab, while completions are walked through.
        typed: String,
        /// Which earlier command is shown; 0 is the latest.
        recalled: Option<usize>,
    },
    /// The line in which a search is typed.
    Search {
        /// What was typed.
        line: Editor,
    },
    /// The line in which a tenant is typed; empty means all.
    Tenant {
        /// What was typed.
        line: Editor,
        /// What is wrong with it.
        problem: Option<String>,
    },
    /// The states to choose from.
    States {
        /// Which line the cursor is on, in [`Status::ALL`].
        cursor: usize,
        /// Which are chosen; empty means all.
        chosen: Vec<Status>,
    },
    /// What every key does; [`super::help::help`] has the lines.
    Help {
        /// The first visible line.
        scroll: usize,
    },
    /// A whole input.
    Input {
        /// Of which task.
        id: TaskId,
        /// The text, as it was read.
        text: String,
        /// The first visible line, in lines of the text after wrapping by the view.
        scroll: usize,
    },
}

impl Overlay {
    /// Whether rows of the screen below may be hidden; what is typed stands in the last lines only.
    pub const fn hides_rows(&self) -> bool {
        !matches!(self, Self::Command { .. } | Self::Search { .. } | Self::Tenant { .. })
    }

    /// The question, if it is one that is answered by `y` or `n` and takes a reason.
    pub fn question(&self) -> Option<&dyn Ask> {
        match self {
            Self::Question(question) => Some(question),
            Self::Bulk(question) => Some(&**question),
            Self::Stop(question) => Some(question),
            Self::Queue(question) => Some(question),
            _ => None,
        }
    }

    /// The same, to answer it.
    pub(super) fn question_mut(&mut self) -> Option<&mut dyn Ask> {
        match self {
            Self::Question(question) => Some(question),
            Self::Bulk(question) => Some(&mut **question),
            Self::Stop(question) => Some(question),
            Self::Queue(question) => Some(question),
            _ => None,
        }
    }
}
