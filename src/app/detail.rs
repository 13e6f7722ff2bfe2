//! One task with its whole text and its events.

use std::time::Duration;

use super::list::ReadStamp;
use super::message::ReadFailure;
use crate::domain::outcome::TaskHistory;
use crate::domain::{Task, TaskId};

/// The detail pane.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Detail {
    /// The task that it is about.
    pub target: Option<TaskId>,
    /// Whether the target is the one under the cursor or one that was asked for by number.
    pub follows: Follows,
    /// What was read of it last; it may be about an earlier target until the answer comes.
    pub read: Option<DetailRead>,
    /// Why the latest read failed, if it did. It says nothing about whether the task exists.
    pub failure: Option<ReadFailure>,
    /// The first visible line.
    pub scroll: usize,
    /// Since when the target is this one, for the short wait before it is read.
    pub(super) target_since: Duration,
    /// The version that the list showed when it was last read.
    pub(super) asked_version: Option<i64>,
}

/// What the target of the detail pane follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Follows {
    /// The cursor of the list.
    #[default]
    Cursor,
    /// A number that the operator asked for, until the cursor moves.
    Number,
}

/// What was read of one task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DetailRead {
    /// Which was asked for.
    pub id: TaskId,
    /// The task with its events; none: the database said that there is no such row for this tenant.
    pub found: Option<TaskHistory>,
    /// When it was read.
    pub stamp: ReadStamp,
}

impl Detail {
    /// What was read of the target, if that was read.
    pub fn current(&self) -> Option<&DetailRead> {
        self.read.as_ref().filter(|read| Some(read.id) == self.target)
    }

    /// The target's row as it was read for this pane.
    pub fn task(&self) -> Option<&Task> {
        self.current()?.found.as_ref().map(|history| &history.task)
    }
}
