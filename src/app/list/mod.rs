//! The list of tasks: what was returned, where the cursor is, what is marked.
//!
//! Invariant: rows are exactly what the database returned; the cursor follows a task's id and never lands on
//! another row by itself.

mod cursor;
mod load;
mod marks;

pub use cursor::Step;

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;

use super::bulk::AllMatching;
use super::message::ReadFailure;
use crate::domain::observed::{Filter, Listed};
use crate::domain::{Status, Task, TaskId};

/// How many rows are read at first, and how many more at the end of what is loaded.
pub const PAGE: usize = 100;

/// The most rows that are loaded at once; beyond, the loaded part moves along.
pub const MOST: usize = 500;

/// Screen 1's list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskList {
    /// Which tasks are asked for.
    pub filter: Filter,
    /// What was returned, newest first.
    pub rows: Vec<Listed>,
    /// When it was read; none before the first answer to this filter.
    pub read: Option<ReadStamp>,
    /// Why the latest read failed, if it did; the rows stay.
    pub failure: Option<ReadFailure>,
    /// Where older rows begin; none at the end.
    pub next_before: Option<TaskId>,
    /// Only rows below this id are loaded; none: from the newest on.
    pub before: Option<TaskId>,
    /// How many rows are asked for.
    pub limit: usize,
    /// Where the cursor is.
    pub cursor: Cursor,
    /// The first visible row.
    pub offset: usize,
    /// The marked rows, each as it was on screen when it was marked.
    pub marks: BTreeMap<TaskId, SeenRow>,
    /// That all that match are marked, beyond what is loaded too; then there are no marks on single rows.
    pub all: Option<AllMatching>,
    /// Numbers the question; an answer to an earlier one is dropped.
    pub generation: u64,
    /// The filter that the program was started with; stepping back leads to it.
    pub home: Filter,
    /// Who put the cursor where it is.
    pub placed: Placed,
    /// The generation whose rows are all to be marked when they arrive.
    pub(super) mark_when_loaded: Option<u64>,
}

/// Who put the cursor where it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placed {
    /// The console, on the first row: new rows come in above it on screen, and when it is pushed off the screen
    /// the cursor is on no row.
    ByConsole,
    /// The operator, by going to the newest: new rows come in above it as long as there is room for both.
    AtTop,
    /// The operator: the row stays on its line of the screen.
    ByOperator,
}

/// When something was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadStamp {
    /// When it arrived, since the program's start.
    pub arrived: Duration,
    /// The database's clock when it was read.
    pub read_at: Timestamp,
}

/// Where the cursor of the list is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cursor {
    /// Nowhere: there is no row.
    None,
    /// On the row of this task.
    On {
        /// The task.
        id: TaskId,
    },
    /// The row that it was on left the list. It is on no row until it is moved, so that no key can hit
    /// another one by accident.
    Gone {
        /// The task that left.
        id: TaskId,
        /// Where its row was: the row that is there now is another one.
        at: usize,
    },
}

/// What was on screen of a row when the operator pointed at it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SeenRow {
    /// The task.
    pub id: TaskId,
    /// Its version.
    pub version: i64,
    /// Its state.
    pub status: Status,
    /// Whether it was asked to stop.
    pub cancel_requested: bool,
}

impl From<&Task> for SeenRow {
    fn from(task: &Task) -> Self {
        Self {
            id: task.id,
            version: task.version,
            status: task.status,
            cancel_requested: task.cancel_requested,
        }
    }
}

impl TaskList {
    /// An empty list that asks for `filter`.
    pub fn new(filter: Filter) -> Self {
        Self {
            home: filter.clone(),
            placed: Placed::ByConsole,
            mark_when_loaded: None,
            filter,
            rows: Vec::new(),
            read: None,
            failure: None,
            next_before: None,
            before: None,
            limit: PAGE,
            cursor: Cursor::None,
            offset: 0,
            marks: BTreeMap::new(),
            all: None,
            generation: 0,
        }
    }

    /// Where the row of `id` is.
    pub fn position(&self, id: TaskId) -> Option<usize> {
        self.rows.iter().position(|row| row.id() == id)
    }

    /// The row of `id`, if it is loaded and could be read.
    pub fn task(&self, id: TaskId) -> Option<&Task> {
        self.rows.iter().find(|row| row.id() == id)?.task()
    }

    /// The line that the cursor is on; none where it is on no row.
    pub fn cursor_position(&self) -> Option<usize> {
        match self.cursor {
            Cursor::On { id } => self.position(id),
            Cursor::None | Cursor::Gone { .. } => None,
        }
    }

    /// The row under the cursor, if there is one.
    pub fn under_cursor(&self) -> Option<&Listed> {
        self.rows.get(self.cursor_position()?)
    }

    /// How many loaded rows are newer than the first visible one; none where the newest are not loaded at all.
    pub fn hidden_above(&self) -> Option<usize> {
        self.before.is_none().then_some(self.offset)
    }

    /// Whether a new row will be in view when it arrives, by where the cursor is; `lines` are there for rows.
    pub(super) fn shows_newest(&self, lines: usize) -> bool {
        if self.before.is_some() {
            return false;
        }
        match (self.placed, self.cursor) {
            (Placed::ByConsole, _) | (_, Cursor::None) => true,
            (Placed::AtTop, _) => self.cursor_position().is_none_or(|at| at + 1 < lines),
            (Placed::ByOperator, _) => self.rows.len() < lines,
        }
    }

    /// Whether the operator narrowed or widened what the program was started with.
    pub fn is_filtered(&self) -> bool {
        self.filter != self.home
    }
}
