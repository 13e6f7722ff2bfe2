//! What operators decide about rows, and from which states.

use std::fmt;

use serde::{Serialize, Serializer};

use super::{OperationId, Status, TaskId};

/// An operator's act on a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DecisionKind {
    /// SUBMITTED or QUEUED becomes CANCELED at once; RUNNING is asked to stop and stays RUNNING until it has.
    Cancel,
    /// SUBMITTED becomes QUEUED.
    Approve,
    /// SUBMITTED becomes REJECTED.
    Reject,
    /// FAILED, CANCELED or REJECTED becomes QUEUED with no attempt spent.
    Requeue,
}

impl DecisionKind {
    /// Every kind.
    pub const ALL: [Self; 4] = [Self::Cancel, Self::Approve, Self::Reject, Self::Requeue];

    /// The verb on the command line and in `events`.
    pub const fn verb(self) -> &'static str {
        match self {
            Self::Cancel => "cancel",
            Self::Approve => "approve",
            Self::Reject => "reject",
            Self::Requeue => "requeue",
        }
    }

    /// The verb's past form, for notices.
    pub const fn past(self) -> &'static str {
        match self {
            Self::Cancel => "canceled",
            Self::Approve => "approved",
            Self::Reject => "rejected",
            Self::Requeue => "requeued",
        }
    }

    /// The state that a task in `from` has afterwards; none where the act is not possible.
    ///
    /// The same table stands in `decide.sql`; `tests/db` walks every pair against the server.
    pub const fn leads_to(self, from: Status) -> Option<Status> {
        match (self, from) {
            (Self::Cancel, Status::Submitted | Status::Queued) => Some(Status::Canceled),
            (Self::Cancel, Status::Running) => Some(Status::Running),
            (Self::Reject, Status::Submitted) => Some(Status::Rejected),
            (Self::Approve, Status::Submitted)
            | (Self::Requeue, Status::Failed | Status::Canceled | Status::Rejected) => Some(Status::Queued),
            _ => None,
        }
    }
}

impl fmt::Display for DecisionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.verb())
    }
}

impl Serialize for DecisionKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.verb())
    }
}

/// Who may approve a held task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Approval {
    /// Anybody who may approve at all.
    #[default]
    Anybody,
    /// Anybody but whoever submitted it (`four_eyes`); nor may they requeue it while nobody else has let it run.
    Another,
}

/// A row as the operator saw it when they decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Seen {
    /// The task.
    pub id: TaskId,
    /// The version that was on screen.
    pub version: i64,
}

/// One decision about one or several rows: all of them take effect or none does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// What is decided.
    pub kind: DecisionKind,
    /// About which rows, each as it was seen. Ids are distinct.
    pub rows: Vec<Seen>,
    /// Only rows of this tenant, if set; another tenant's row is not found.
    pub tenant: Option<String>,
    /// Who decides.
    pub operator: String,
    /// Who may approve where this program is set up; a task can demand [`Approval::Another`] by itself.
    pub approval: Approval,
    /// Why, as the operator put it.
    pub reason: Option<String>,
    /// Names this decision, so that sending it again is harmless.
    pub operation: OperationId,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_requeue_leaves_a_final_state_and_success_is_never_left() {
        for kind in DecisionKind::ALL {
            for from in Status::ALL.into_iter().filter(|status| status.is_final()) {
                assert!(kind.leads_to(from).is_none() || kind == DecisionKind::Requeue, "{kind} {from}");
            }
            assert_eq!(kind.leads_to(Status::Succeeded), None);
        }
    }
}
