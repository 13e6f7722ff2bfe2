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

impl LastChange {
    /// What was done, as something that somebody did: `canceled it`.
    pub fn did(&self) -> String {
        match self.movement.as_str() {
            "cancel" => "canceled it",
            "request-cancel" => "asked it to stop",
            "approve" => "approved it",
            "reject" => "rejected it",
            "requeue" => "requeued it",
            "claim" => "claimed it",
            "finish" => "finished it",
            "submit" => "submitted it",
            "fail" => "failed on it",
            "retry" => "failed on it and put it back",
            "release" => "gave it back",
            "recover" => "recovered it",
            other => return format!("changed it ({other})"),
        }
        .to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_move_that_is_not_known_is_still_told() {
        let did = |movement: &str| {
            let movement = movement.to_owned();
            LastChange {
                actor: "bob".to_owned(),
                movement,
                at: Timestamp::UNIX_EPOCH,
                ago_ms: 0,
                version_after: 1,
                reason: None,
            }
            .did()
        };
        assert_eq!(did("reject"), "rejected it");
        assert_eq!(did("blend"), "changed it (blend)");
    }
}
