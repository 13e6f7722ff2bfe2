//! One task with its whole text and its events.

use std::time::Duration;

use jiff::Timestamp;

use super::list::{Cursor, ReadStamp};
use super::message::ReadFailure;
use super::state::State;
use crate::domain::outcome::TaskHistory;
use crate::domain::{DecisionKind, Task, TaskId};

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
    /// The decision for which the target was looked up by its number, until the database has said whether it exists.
    pub(super) looked_up_for: Option<DecisionKind>,
    /// Whether it is to be read again although nothing tells that it changed.
    pub(super) stale: bool,
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

impl State {
    /// Lets the detail pane show the task under the cursor, unless it shows one that was asked for by number.
    pub(super) fn follow_cursor(&mut self) {
        if self.detail.follows == Follows::Number {
            return;
        }
        let target = match self.list.cursor {
            Cursor::On { id } | Cursor::Gone { id, .. } => Some(id),
            Cursor::None => None,
        };
        self.set_target(target);
    }

    pub(super) fn set_target(&mut self, target: Option<TaskId>) {
        if self.detail.target == target {
            return;
        }
        self.detail.target = target;
        self.detail.looked_up_for = None;
        self.detail.failure = None;
        self.detail.scroll = 0;
        self.detail.target_since = self.now;
        self.refresh.detail.now(self.now);
        self.needs_draw = true;
    }

    /// Shows one task as it was read; none: the database said that there is no such row.
    pub(super) fn detail_loaded(&mut self, id: TaskId, read_at: Timestamp, found: Option<TaskHistory>) {
        if self.detail.target != Some(id) {
            return;
        }
        self.refresh.detail.answered(self.now);
        let before = self.detail.current().map(|read| &read.found);
        self.needs_draw |= before != Some(&found) || self.detail.failure.is_some();
        self.detail.failure = None;
        self.detail.stale = false;
        if let Some(kind) = self.detail.looked_up_for.take() {
            let text = if found.is_some() {
                format!("{id} was not on screen; here it is. Look at it, then {kind} it")
            } else {
                let tenant = self.list.filter.tenant.as_ref();
                let of = tenant.map(|tenant| format!(" of tenant {tenant}")).unwrap_or_default();
                format!("there is no task {id}{of}: the database has no such row; nothing to {kind}")
            };
            self.hint(text);
            self.needs_draw = true;
        }
        self.detail.read = Some(DetailRead { id, found, stamp: ReadStamp { arrived: self.now, read_at } });
    }

    /// Keeps what was read and says that it could not be read again.
    pub(super) fn detail_failed(&mut self, id: TaskId, failure: ReadFailure) {
        if self.detail.target != Some(id) {
            return;
        }
        self.refresh.detail.failed(self.now);
        self.needs_draw |= self.detail.failure.as_ref() != Some(&failure);
        self.detail.failure = Some(failure);
    }

    /// Looks up the task of this number, which is to be decided and is not on screen.
    pub(super) fn look_up(&mut self, id: TaskId, kind: DecisionKind) {
        self.go_to(id);
        if self.list.position(id).is_some() {
            self.hint(format!("{id} was not on screen; here it is. Look at it, then {kind} it"));
        } else {
            self.detail.looked_up_for = Some(kind);
            self.detail.stale = true;
            self.refresh.detail.soon(self.now);
            self.hint(format!("{id} was not on screen; looking it up…"));
        }
    }

    /// Shows the task of this number: under the cursor where its row is loaded, else alone.
    pub(super) fn go_to(&mut self, id: TaskId) {
        self.screen = super::state::Screen::Tasks;
        if self.list.position(id).is_some() {
            self.put_cursor(id);
        } else {
            self.detail.follows = Follows::Number;
            self.set_target(Some(id));
        }
        self.pane = super::state::Pane::Detail;
    }
}
