//! Rows made into domain values. A value that cannot be read is an error of its own that names the column; it is
//! never taken for "no such row".

use std::error::Error as StdError;

use jiff::Timestamp;
use tokio_postgres::Row;
use tokio_postgres::types::FromSql;

use super::error::DbError;
use crate::domain::audit::AuditEvent;
use crate::domain::observed::Listed;
use crate::domain::{
    Approval, Event, InstanceId, LastChange, OperationId, Process, Status, Task, TaskId, TextCounts,
};

/// Reads one column of `row`; `what` names the row for the error.
pub(crate) fn get<'a, T: FromSql<'a>>(row: &'a Row, column: &str, what: &str) -> Result<T, DbError> {
    row.try_get(column).map_err(|error| DbError::BadRow {
        what: what.to_owned(),
        problem: format!("column {column}: {}", cause(&error)),
    })
}

/// The innermost cause, which is the one that says what is wrong with the value.
fn cause(error: &dyn StdError) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}

pub(crate) fn status(row: &Row, column: &str, what: &str) -> Result<Status, DbError> {
    get::<String>(row, column, what)?.parse().map_err(|error| DbError::BadRow {
        what: what.to_owned(),
        problem: format!("column {column}: {error}"),
    })
}

/// The task of a row with the columns of `sql::COLUMNS`.
pub(crate) fn task(row: &Row) -> Result<Task, DbError> {
    let id: i64 = get(row, "id", "a task")?;
    let what = format!("task {id}");
    let what = what.as_str();
    Ok(Task {
        id: TaskId(id),
        tenant: get(row, "tenant", what)?,
        queue: get(row, "queue", what)?,
        status: status(row, "status", what)?,
        version: get(row, "version", what)?,
        attempt: get(row, "attempt", what)?,
        max_attempts: get(row, "max_attempts", what)?,
        claim_no: get(row, "claim_no", what)?,
        claimed_by: get::<Option<_>>(row, "claimed_by", what)?.map(InstanceId),
        worker: get(row, "worker", what)?,
        cancel_requested: get(row, "cancel_requested", what)?,
        priority: get(row, "priority", what)?,
        input: get(row, "input", what)?,
        input_bytes: get(row, "input_bytes", what)?,
        submitted_by: get(row, "submitted_by", what)?,
        approval: match get::<Option<bool>>(row, "four_eyes", what)? {
            Some(true) => Approval::Another,
            _ => Approval::Anybody,
        },
        counts: TextCounts {
            words: get(row, "words", what)?,
            bytes: get(row, "bytes", what)?,
            runes: get(row, "runes", what)?,
        },
        output: get(row, "output", what)?,
        error: get(row, "error", what)?,
        created_at: get(row, "created_at", what)?,
        scheduled_at: get(row, "scheduled_at", what)?,
        started_at: get(row, "started_at", what)?,
        finished_at: get(row, "finished_at", what)?,
    })
}

/// A list's row: one that cannot be read is shown as such, the rest of the page still works.
pub(crate) fn listed(row: &Row) -> Result<Listed, DbError> {
    match task(row) {
        Ok(task) => Ok(Listed::Task(Box::new(task))),
        Err(DbError::BadRow { problem, .. }) => {
            Ok(Listed::Bad { id: TaskId(get(row, "id", "a task in the list")?), problem })
        }
        Err(other) => Err(other),
    }
}

/// The process of an event; none where its session had no name, or it is older than the column.
fn process(row: &Row, what: &str) -> Result<Option<Process>, DbError> {
    Ok(get::<Option<String>>(row, "process", what)?.map(Process))
}

/// What happened to a task: the states are a task's.
pub(crate) fn event(row: &Row) -> Result<Event, DbError> {
    let what = "an event";
    let Recorded { at, actor, process, movement, version_before, version_after, reason, operation_id } =
        recorded(row, what)?;
    Ok(Event {
        at,
        actor,
        process,
        movement,
        from: status(row, "status_before", what)?,
        to: status(row, "status_after", what)?,
        version_before,
        version_after,
        reason,
        operation_id,
    })
}

/// What happened to a task, a queue or a process: the states are whatever its kind has.
pub(crate) fn audit_event(row: &Row) -> Result<AuditEvent, DbError> {
    let what = "an event";
    let Recorded { at, actor, process, movement, version_before, version_after, reason, operation_id } =
        recorded(row, what)?;
    Ok(AuditEvent {
        id: get(row, "id", what)?,
        at,
        actor,
        role: get(row, "session_role", what)?,
        process,
        movement,
        task: get::<Option<i64>>(row, "task_id", what)?.map(TaskId),
        queue: get(row, "queue", what)?,
        tenant: get(row, "tenant", what)?,
        instance: get::<Option<uuid::Uuid>>(row, "instance", what)?.map(InstanceId),
        from: get(row, "status_before", what)?,
        to: get(row, "status_after", what)?,
        version_before,
        version_after,
        reason,
        operation_id,
    })
}

/// What every event has, whatever it is about.
struct Recorded {
    at: Timestamp,
    actor: String,
    process: Option<Process>,
    movement: String,
    version_before: i64,
    version_after: i64,
    reason: Option<String>,
    operation_id: OperationId,
}

fn recorded(row: &Row, what: &str) -> Result<Recorded, DbError> {
    Ok(Recorded {
        at: get(row, "at", what)?,
        actor: get(row, "actor", what)?,
        process: process(row, what)?,
        movement: get(row, "move", what)?,
        version_before: get(row, "version_before", what)?,
        version_after: get(row, "version_after", what)?,
        reason: get(row, "reason", what)?,
        operation_id: OperationId(get(row, "operation_id", what)?),
    })
}

pub(crate) fn last_change(row: &Row) -> Result<(TaskId, LastChange), DbError> {
    let what = "a task's last change";
    let change = LastChange {
        actor: get(row, "actor", what)?,
        process: process(row, what)?,
        movement: get(row, "move", what)?,
        at: get(row, "at", what)?,
        ago_ms: get(row, "ago_ms", what)?,
        version_after: get(row, "version_after", what)?,
        reason: get(row, "reason", what)?,
    };
    Ok((TaskId(get(row, "id", what)?), change))
}
