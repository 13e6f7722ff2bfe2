//! Notifications: what is told of a task whose submitter asked for it, and how far that is.

use std::time::Duration;

use jiff::Timestamp;
use serde::Serialize;

use super::{InstanceId, Status, Task, TaskId, figure};

/// A decision about a task, or its final state, that is to be told. Task and version name it: whoever is told twice
/// knows it by them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Notification {
    /// The task.
    pub task_id: TaskId,
    /// The version that the change made.
    pub version: i64,
    /// What was done: as in `events`, and `finish` for a success.
    #[serde(rename = "move")]
    pub movement: String,
    /// The state before.
    pub from: Status,
    /// The state after.
    pub to: Status,
    /// Who: an operator's name, or `host:pid` of an instance.
    pub actor: String,
    /// Why, as the actor put it.
    pub reason: Option<String>,
    /// When, by the database's clock.
    pub at: Timestamp,
    /// Whose task it is.
    pub tenant: String,
    /// Its queue.
    pub queue: String,
}

/// What a hook is given on its standard input.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Delivery {
    /// What is told.
    #[serde(flatten)]
    pub notification: Notification,
    /// Which delivery this is, from 1: the earlier ones failed, or nobody heard how they ended.
    pub delivery: i64,
    /// The task as it is now; none if it is gone.
    pub task: Option<Task>,
}

/// A row of the outbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OutboxEntry {
    /// Its number: in the order of writing.
    pub id: i64,
    /// What is told.
    #[serde(flatten)]
    pub notification: Notification,
    /// How many deliveries were begun.
    pub deliveries: i64,
    /// Not tried before this time.
    pub due_at: Timestamp,
    /// Why the latest delivery failed.
    pub error: Option<String>,
    /// Who delivers it now, or has delivered it.
    pub claimed_by: Option<InstanceId>,
    /// `host:pid` of `claimed_by`, where its row is still known.
    pub owner: Option<String>,
    /// When it was delivered.
    pub delivered_at: Option<Timestamp>,
}

/// Which rows of the outbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutboxQuery {
    /// All of this task; none: what is not delivered of every task.
    pub task: Option<TaskId>,
    /// Only of this tenant.
    pub tenant: Option<String>,
    /// Only those with a higher number: the next page.
    pub after: Option<i64>,
    /// The most rows; at least 1.
    pub limit: i64,
}

/// Some of the rows that were asked for, the oldest first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OutboxPage {
    /// The rows.
    pub rows: Vec<OutboxEntry>,
    /// Where to go on ([`OutboxQuery::after`]); none where there are no others.
    pub next_after: Option<i64>,
}

/// What waits to be told, in one look.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OutboxTally {
    /// Notifications that are not delivered, counted up to [`OutboxTally::COUNTED`].
    pub waiting: i64,
    /// How many of those have failed before.
    pub failing: i64,
    /// How long the oldest has waited, in milliseconds.
    pub oldest_ms: i64,
    /// What the oldest of those that failed said.
    pub error: Option<String>,
}

impl OutboxTally {
    /// How far is counted.
    pub const COUNTED: i64 = 10_000;

    /// In words: `3 wait, oldest 12 s, 1 failing: exit 1`.
    pub fn words(&self) -> String {
        let more = if self.waiting >= Self::COUNTED { "+" } else { "" };
        let oldest = Duration::from_millis(u64::try_from(self.oldest_ms).unwrap_or(0));
        let said = self.error.as_deref().and_then(|error| error.lines().next()).unwrap_or("failed");
        let failing = match self.failing {
            0 => String::new(),
            failing => format!(", {}{more} failing: {said}", figure::thousands(failing)),
        };
        let wait = if self.waiting == 1 { "waits" } else { "wait" };
        format!("{}{more} {wait}, oldest {}{failing}", figure::thousands(self.waiting), figure::age(oldest))
    }
}
