//! What the experiments read over their third connection, and what they do that no command of the product does.

use futures_util::StreamExt as _;
use jiff::Timestamp;
use tokio_postgres::types::Type;
use uuid::Uuid;

use super::Lab;
use super::sql::{
    APPROVE_BY_COUNT, CLAIM_WITHOUT_STATUS, HALF_READ, LEASE_PAST, MADE_BY, ROWS, SPOIL, WAITS,
};
use crate::db::error::{DbError, classify};
use crate::db::row::{get, status, task};
use crate::db::sql::{Effect, render};
use crate::db::{Preview, Session};
use crate::domain::lab::RowSeen;
use crate::domain::outcome::ClaimById;
use crate::domain::{InstanceId, Name, TaskId};

/// Who waited for a lock when it was looked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Looked {
    /// When, by the database's clock.
    pub at: Timestamp,
    /// Who.
    pub waits: Vec<WaitSeen>,
}

/// A session that waits for a lock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitSeen {
    /// The server's process.
    pub pid: i32,
    /// What the session calls itself.
    pub application: String,
    /// The kind of lock.
    pub lock: String,
    /// Since when, by the database's clock.
    pub since: Option<Timestamp>,
    /// The processes that it waits for.
    pub blocked_by: Vec<i32>,
}

/// A result of which the rest is unread; it holds its connection until it is dropped.
pub struct HalfRead {
    /// How many rows were read.
    pub read: i64,
    _stream: std::pin::Pin<Box<tokio_postgres::RowStream>>,
    _session: Session,
}

impl std::fmt::Debug for HalfRead {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HalfRead").field("read", &self.read).finish_non_exhaustive()
    }
}

impl Lab<'_> {
    /// The rows `ids` as they are. `claimed_by` is the instance's id.
    ///
    /// # Errors
    /// As [`DbError`] says.
    pub async fn rows(self, ids: &[TaskId]) -> Result<Vec<RowSeen>, DbError> {
        let ids: Vec<i64> = ids.iter().map(|id| id.0).collect();
        let rows = self.db.inner.operator.query(ROWS, &[(&ids, Type::INT8_ARRAY)]).await?;
        let what = "a task of the lab";
        rows.iter()
            .map(|row| {
                Ok(RowSeen {
                    id: get(row, "id", what)?,
                    status: status(row, "status", what)?,
                    version: get(row, "version", what)?,
                    claim_no: get(row, "claim_no", what)?,
                    claimed_by: get::<Option<Uuid>>(row, "claimed_by", what)?.map(|id| id.to_string()),
                    cancel_requested: get(row, "cancel_requested", what)?,
                    words: get(row, "words", what)?,
                    events: Some(get(row, "events", what)?),
                })
            })
            .collect()
    }

    /// Who of those whose application's name begins with `prefix`, and of the processes `pids`, waits for a lock now.
    ///
    /// # Errors
    /// As [`DbError`] says.
    pub async fn waits(self, prefix: &str, pids: &[i32]) -> Result<Looked, DbError> {
        let rows =
            self.db.inner.operator.query(WAITS, &[(&prefix, Type::TEXT), (&pids, Type::INT4_ARRAY)]).await?;
        let what = "a look at who waits";
        let at = rows.first().map(|row| get(row, "at", what)).transpose()?;
        let at = at.ok_or_else(|| DbError::BadRow {
            what: what.to_owned(),
            problem: "the server returned no row for it".to_owned(),
        })?;
        let mut waits = Vec::new();
        for row in &rows {
            if let Some(pid) = get(row, "pid", what)? {
                waits.push(WaitSeen {
                    pid,
                    application: get(row, "application", what)?,
                    lock: get(row, "lock", what)?,
                    since: get(row, "since", what)?,
                    blocked_by: get(row, "blocked_by", what)?,
                });
            }
        }
        Ok(Looked { at, waits })
    }

    /// Claims as [`crate::db::Db::claim_by_id`] would if its statement did not look at the state: broken on purpose.
    ///
    /// # Errors
    /// As [`DbError`] says.
    pub async fn claim_without_status(self, instance: InstanceId, id: TaskId) -> Result<ClaimById, DbError> {
        let characters = Preview::Whole.characters();
        let params =
            [(&instance.0 as _, Type::UUID), (&id.0 as _, Type::INT8), (&characters as _, Type::INT4)];
        let rows = self.db.inner.workers.query(CLAIM_WITHOUT_STATUS, &params).await?;
        let Some(row) = rows.first() else { return Ok(ClaimById::NotFound) };
        let task = task(row)?;
        Ok(if get(row, "won", "a claim")? { ClaimById::Won { task } } else { ClaimById::Lost { task } })
    }

    /// Approves one task of `tenant` if fewer than `limit` are approved as the statement itself counts them: broken on
    /// purpose. Returns how many rows were changed.
    ///
    /// # Errors
    /// As [`DbError`] says.
    pub async fn approve_by_count(
        self,
        id: TaskId,
        version: i64,
        tenant: &Name,
        limit: i64,
    ) -> Result<usize, DbError> {
        let params = [
            (&id.0 as _, Type::INT8),
            (&version as _, Type::INT8),
            (&tenant.as_str() as _, Type::TEXT),
            (&limit as _, Type::INT8),
        ];
        Ok(self.db.inner.operator.query(APPROVE_BY_COUNT, &params).await?.len())
    }

    /// Asks for `rows` rows and reads the first of them.
    ///
    /// # Errors
    /// As [`DbError`] says.
    pub async fn half_read(self, rows: i64) -> Result<HalfRead, DbError> {
        let mut session = self.db.inner.operator.acquire().await?;
        let text = render(HALF_READ.text, self.db.schema());
        let sent = |error: tokio_postgres::Error| classify(&error, Effect::Read);
        let stream = session.client().query_typed_raw(&text, [(rows, Type::INT8)]).await.map_err(sent)?;
        let mut stream = Box::pin(stream);
        let read = match stream.next().await {
            Some(Ok(_)) => 1,
            Some(Err(error)) => return Err(sent(error)),
            None => 0,
        };
        Ok(HalfRead { read, _stream: stream, _session: session })
    }

    /// Gives a row a value that cannot be read; returns how many rows were changed.
    ///
    /// # Errors
    /// As [`DbError`] says.
    pub async fn spoil(self, id: TaskId) -> Result<usize, DbError> {
        Ok(self.db.inner.operator.query(SPOIL, &[(&id.0, Type::INT8)]).await?.len())
    }

    /// Whether an instance's lease has passed by the database's clock.
    ///
    /// # Errors
    /// As [`DbError`] says.
    pub async fn lease_is_past(self, instance: InstanceId) -> Result<bool, DbError> {
        let rows = self.db.inner.operator.query(LEASE_PAST, &[(&instance.0, Type::UUID)]).await?;
        rows.first().map_or(Ok(false), |row| get(row, "past", "a lease"))
    }

    /// The tasks that a submission has made.
    ///
    /// # Errors
    /// As [`DbError`] says.
    pub async fn made_by(self, submission: Uuid) -> Result<Vec<TaskId>, DbError> {
        let rows = self.db.inner.operator.query(MADE_BY, &[(&submission, Type::UUID)]).await?;
        rows.iter().map(|row| get(row, "id", "a submission").map(TaskId)).collect()
    }
}
