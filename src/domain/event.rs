//! The audit trail: what operators, recoverers and failures did to a task.

use jiff::Timestamp;
use serde::Serialize;

use super::{OperationId, Process, Status};

/// A row of `events`; the serialised form is the JSON of `taskdeck show`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Event {
    /// When, by the database's clock.
    pub at: Timestamp,
    /// Who: an operator's name, or `host:pid` of an instance.
    pub actor: String,
    /// Their process, as its session called itself; none where it had no name, and of what was written before events
    /// had it.
    pub process: Option<Process>,
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
    /// Their process, as its session called itself; none where that is not known.
    pub process: Option<Process>,
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
    /// ` from ops2:4402`, where `operator` is told of a change under their own name, which does not say where it was
    /// made. Nothing where it was somebody else, whose name says enough.
    pub fn elsewhere(&self, operator: &str) -> String {
        let own = self.process.as_ref().filter(|_| self.actor == operator);
        own.and_then(Process::place).map(|place| format!(" from {place}")).unwrap_or_default()
    }

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

    fn by_bob(movement: &str, process: Option<&str>) -> LastChange {
        LastChange {
            actor: "bob".to_owned(),
            process: process.map(|process| Process(process.to_owned())),
            movement: movement.to_owned(),
            at: Timestamp::UNIX_EPOCH,
            ago_ms: 0,
            version_after: 1,
            reason: None,
        }
    }

    #[test]
    fn a_move_that_is_not_known_is_still_told() {
        assert_eq!(by_bob("reject", None).did(), "rejected it");
        assert_eq!(by_bob("blend", None).did(), "changed it (blend)");
    }

    #[test]
    fn ones_own_name_is_told_with_the_place_where_it_acted() {
        let console = by_bob("reject", Some("taskdeck console bob@ops2:4402 operator"));
        assert_eq!(console.elsewhere("bob"), " from ops2:4402");
        assert_eq!(console.elsewhere("alice"), "");
        assert_eq!(by_bob("reject", Some("psql")).elsewhere("bob"), "");
        assert_eq!(by_bob("reject", None).elsewhere("bob"), "");
    }
}
