//! The server as a session sees it.

use tokio_postgres::types::Type;

use super::Db;
use super::error::DbError;
use super::row::get;
use super::sql::{HEALTH, LOCK_WAITS};
use crate::domain::observed::{Health, LockWait, OldTransaction};
use crate::domain::process::APPLICATION;

impl Db {
    /// Reads the server's version, role, connections, oldest transaction and lock waits.
    ///
    /// # Errors
    /// As [`DbError`] says.
    pub async fn health(&self) -> Result<Health, DbError> {
        let operator = &self.inner.operator;
        let rows = operator.query(HEALTH, &[(&APPLICATION, Type::TEXT)]).await?;
        let what = "the server's state";
        let row = rows.first().ok_or_else(|| DbError::BadRow {
            what: what.to_owned(),
            problem: "the server returned no row for it".to_owned(),
        })?;
        let oldest_transaction = match get::<Option<i32>>(row, "old_pid", what)? {
            Some(pid) => Some(OldTransaction {
                pid,
                open_ms: get(row, "open_ms", what)?,
                role: get(row, "old_role", what)?,
                application: get(row, "old_application", what)?,
                state: get(row, "old_state", what)?,
            }),
            None => None,
        };
        let mut waits = Vec::new();
        for row in &operator.query(LOCK_WAITS, &[]).await? {
            let what = "a lock wait";
            waits.push(LockWait {
                pid: get(row, "pid", what)?,
                application: get(row, "application", what)?,
                waiting_ms: get(row, "waiting_ms", what)?,
                blocked_by: get(row, "blocked_by", what)?,
                blocker_application: get(row, "blocker_application", what)?,
                lock: get(row, "lock", what)?,
            });
        }
        Ok(Health {
            read_at: get(row, "read_at", what)?,
            server_version: get(row, "server_version", what)?,
            database: get(row, "database", what)?,
            role: get(row, "role", what)?,
            is_replica: get(row, "is_replica", what)?,
            is_read_only: get(row, "is_read_only", what)?,
            isolation: get(row, "isolation", what)?,
            connections: get(row, "connections", what)?,
            max_connections: get(row, "max_connections", what)?,
            ours: get(row, "ours", what)?,
            oldest_transaction,
            dead_rows: get(row, "dead_rows", what)?,
            waits,
        })
    }
}
