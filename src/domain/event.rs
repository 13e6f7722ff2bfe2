//! The audit trail: what operators, recoverers and failures did to a task.

use jiff::Timestamp;
use serde::Serialize;

use super::{OperationId, Status};

/// A row of `events`; the serialised form is the JSON of `taskdeck show`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Event {
    /// When, by the database's clock.
    pub at: Timestamp,
    /// Who: an operator's name, or `host:pid` of an instance.
    pub actor: String,
    /// What: `cancel`, `request-cancel`, `approve`, `reject`, `requeue`, `fail`, `retry`, `release`, `recover`.
    #[serde(rename = "move")]
    pub movement: String,
    /// The state before.
    pub from: Status,
    /// The state after.
    pub to: Status,
    /// The version before.
    pub version_before: i64,
    /// The version after.
    pub version_after: i64,
    /// Why, as the actor put it.
    pub reason: Option<String>,
    /// The write that made it.
    pub operation_id: OperationId,
}

/// The latest change of a row: what the loser of a race is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LastChange {
    /// Who made it.
    pub actor: String,
    /// What it was: an event's `move`, or `claim`, `finish` or `submit`.
    #[serde(rename = "move")]
    pub movement: String,
    /// When, by the database's clock.
    pub at: Timestamp,
    /// How long ago that was when it was read, in milliseconds, by the database's clock.
    pub ago_ms: i64,
    /// The version after it.
    pub version_after: i64,
    /// Why, as the actor put it.
    pub reason: Option<String>,
}
