//! Reading the audit trail.

use tokio_postgres::Row;
use tokio_postgres::types::Type;

use super::Db;
use super::error::DbError;
use super::row::get;
use super::sql::AUDIT;
use crate::domain::audit::{AuditEvent, AuditQuery};
use crate::domain::{InstanceId, OperationId, TaskId};

impl Db {
    /// Reads events, the newest first.
    ///
    /// # Errors
    /// As [`DbError`] says.
    pub async fn audit(&self, query: &AuditQuery) -> Result<Vec<AuditEvent>, DbError> {
        let task = query.task.map(|id| id.0);
        let rows = self
            .inner
            .operator
            .query(
                AUDIT,
                &[
                    (&task, Type::INT8),
                    (&query.actor, Type::TEXT),
                    (&query.since, Type::TIMESTAMPTZ),
                    (&query.before, Type::INT8),
                    (&query.tenant, Type::TEXT),
                    (&query.limit.max(1), Type::INT8),
                ],
            )
            .await?;
        rows.iter().map(event).collect()
    }
}

fn event(row: &Row) -> Result<AuditEvent, DbError> {
    let what = "an event";
    Ok(AuditEvent {
        id: get(row, "id", what)?,
        at: get(row, "at", what)?,
        actor: get(row, "actor", what)?,
        role: get(row, "session_role", what)?,
        movement: get(row, "move", what)?,
        task: get::<Option<i64>>(row, "task_id", what)?.map(TaskId),
        queue: get(row, "queue", what)?,
        instance: get::<Option<uuid::Uuid>>(row, "instance", what)?.map(InstanceId),
        from: get(row, "status_before", what)?,
        to: get(row, "status_after", what)?,
        version_before: get(row, "version_before", what)?,
        version_after: get(row, "version_after", what)?,
        reason: get(row, "reason", what)?,
        operation_id: OperationId(get(row, "operation_id", what)?),
    })
}
