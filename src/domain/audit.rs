//! The audit trail as a whole: who did what to which task, queue, process or tenant.

use jiff::Timestamp;
use serde::Serialize;

use super::{InstanceId, OperationId, Process, TaskId};

/// A row of `events`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AuditEvent {
    /// Its number; a later one may be seen before an earlier one whose transaction took longer.
    pub id: i64,
    /// When, by the database's clock.
    pub at: Timestamp,
    /// Who: an operator's name, or `host:pid` of an instance.
    pub actor: String,
    /// The database role of their session, which the database itself filled in.
    pub role: String,
    /// Their process, as its session called itself; the database filled it in. None where it had no name, and of what
    /// was written before events had it.
    pub process: Option<Process>,
    /// What: see `docs/states.md`.
    #[serde(rename = "move")]
    pub movement: String,
    /// About which task.
    pub task: Option<TaskId>,
    /// About which queue.
    pub queue: Option<String>,
    /// About which tenant's limits.
    pub tenant: Option<String>,
    /// The process that was asked to stop, or whose claim was ended.
    pub instance: Option<InstanceId>,
    /// The state before.
    pub from: String,
    /// The state after.
    pub to: String,
    /// The version before.
    pub version_before: i64,
    /// The version after.
    pub version_after: i64,
    /// Why, as the actor put it.
    pub reason: Option<String>,
    /// The write that made it.
    pub operation_id: OperationId,
}

/// Some of the events that were asked for, the newest first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AuditPage {
    /// The events.
    pub events: Vec<AuditEvent>,
    /// Where to go on ([`AuditQuery::before`]); none where there are no others.
    pub next_before: Option<i64>,
}

/// Which events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditQuery {
    /// Only about this task.
    pub task: Option<TaskId>,
    /// Only by this operator or instance.
    pub actor: Option<String>,
    /// Not before this, by the database's clock.
    pub since: Option<Timestamp>,
    /// Only with a lower number: the next page.
    pub before: Option<i64>,
    /// Only about this tenant and its tasks.
    pub tenant: Option<String>,
    /// The most events; at least 1.
    pub limit: i64,
    /// How many events are looked at where a time or a tenant narrows them, so that few that match do not have all of
    /// them read; at least 1.
    pub window: i64,
}

impl AuditQuery {
    /// How many events a reader looks at who says nothing else.
    pub const WINDOW: i64 = 50_000;
}

impl Default for AuditQuery {
    fn default() -> Self {
        let window = Self::WINDOW;
        Self { task: None, actor: None, since: None, before: None, tenant: None, limit: 50, window }
    }
}
