//! What a decision came to, row by row, in words.

use std::time::Duration;

use crate::domain::figure::age;
use crate::domain::outcome::Verdict;
use crate::domain::{Decision, DecisionKind, LastChange, Seen, Status, Task, TaskId};

/// What became of one row of `decision`.
pub(super) fn sentence(decision: &Decision, id: TaskId, verdict: &Verdict) -> String {
    let seen = decision.rows.iter().copied().find(|seen| seen.id == id);
    sentence_of(decision.kind, &decision.operator, decision.tenant.as_deref(), seen, id, verdict)
}

/// What became of the row `id` that a decision of this kind was about, as it was `seen`.
pub(super) fn sentence_of(
    kind: DecisionKind,
    operator: &str,
    tenant: Option<&str>,
    seen: Option<Seen>,
    id: TaskId,
    verdict: &Verdict,
) -> String {
    match verdict {
        Verdict::Committed { task, version_before } => committed(kind, task, *version_before),
        Verdict::Conflict { task, last } => {
            let seen = seen.map_or(task.version, |seen| seen.version);
            conflict(kind, operator, task, seen, last.as_ref())
        }
        Verdict::NotFound => format!("task {id}: there is no such task{}", of_tenant(tenant)),
        Verdict::Refused { task } => {
            format!(
                "task {id}: left {}: you submitted it, so another must let it run (four eyes)",
                task.status
            )
        }
        Verdict::OverLimit { task, over } => {
            format!("task {id}: left {}: {}", task.status, over.words(&task.tenant))
        }
        Verdict::Held { task } => {
            format!("task {id}: left {}, because another row stood in the way", task.status)
        }
    }
}

fn of_tenant(tenant: Option<&str>) -> String {
    tenant.map(|tenant| format!(" of tenant {tenant}")).unwrap_or_default()
}

fn committed(kind: DecisionKind, task: &Task, before: i64) -> String {
    let versions = format!("(v{before} → v{})", task.version);
    let id = task.id;
    if kind == DecisionKind::Cancel && task.cancel_requested {
        return format!("task {id}: asked to stop {versions}; it is RUNNING until it has");
    }
    format!("task {id}: {}, now {} {versions}", kind.past(), task.status)
}

fn conflict(kind: DecisionKind, operator: &str, task: &Task, seen: i64, last: Option<&LastChange>) -> String {
    let id = task.id;
    if task.version == seen {
        return format!("task {id}: it is {}; {}", state(task), needs(kind));
    }
    if seen < 0 || seen > task.version {
        // Named with a version that it never had, or made after it was looked for.
        return format!(
            "task {id}: it has version {}, not the one that was named, and is {}",
            task.version,
            state(task)
        );
    }
    let versions = format!("(v{seen} → v{})", task.version);
    match last {
        Some(last) => {
            let when = age(Duration::from_millis(u64::try_from(last.ago_ms).unwrap_or(0)));
            let reason = last.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
            let elsewhere = last.elsewhere(operator);
            format!("task {id}: {} {} {when} ago{elsewhere} {versions}{reason}", last.actor, last.did())
        }
        None => format!("task {id}: it has changed {versions} and is {}", state(task)),
    }
}

fn state(task: &Task) -> String {
    if task.cancel_requested {
        "RUNNING and was asked to stop already".to_owned()
    } else {
        task.status.to_string()
    }
}

/// From which states a decision is possible.
pub(super) fn needs(kind: DecisionKind) -> String {
    let from: Vec<&str> = Status::ALL
        .into_iter()
        .filter(|status| kind.leads_to(*status).is_some())
        .map(Status::as_str)
        .collect();
    format!("only {} can be {}", from.join(", "), kind.past())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_decision_needs_follows_the_table_of_moves() {
        assert_eq!(needs(DecisionKind::Approve), "only SUBMITTED can be approved");
        assert_eq!(needs(DecisionKind::Requeue), "only FAILED, CANCELED, REJECTED can be requeued");
        assert_eq!(needs(DecisionKind::Cancel), "only SUBMITTED, QUEUED, RUNNING can be canceled");
    }
}
