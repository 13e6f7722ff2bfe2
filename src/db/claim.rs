//! Claims: QUEUED to RUNNING, each with the next claim number as its fencing token.

use tokio_postgres::Row;
use tokio_postgres::types::Type;

use super::Db;
use super::error::DbError;
use super::row::{get, task};
use super::sql::{CLAIM_BY_ID, CLAIM_NEXT, CLAIMED, HELD};
use super::tasks::Preview;
use crate::domain::outcome::ClaimById;
use crate::domain::{InstanceId, Name, TaskId};

/// Which tasks an instance asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimRequest {
    /// Who claims.
    pub instance: InstanceId,
    /// From which queues.
    pub queues: Vec<Name>,
    /// Only of this tenant.
    pub tenant: Option<Name>,
    /// The most tasks; at least 1.
    pub limit: i64,
}

/// What a worker needs to run a claimed task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claimed {
    /// The task.
    pub id: TaskId,
    /// Whose task it is.
    pub tenant: String,
    /// The fencing token: finish and release carry it.
    pub claim_no: i64,
    /// Attempts spent, this one included.
    pub attempt: i32,
    /// How many may fail before the task is FAILED.
    pub max_attempts: i32,
    /// The whole text, or why it cannot be read.
    pub input: Result<String, String>,
}

impl Db {
    /// Claims up to `limit` due tasks.
    ///
    /// # Errors
    /// `Unknown`: some may have been claimed; [`Db::claimed`] tells which.
    pub async fn claim_next(&self, request: &ClaimRequest) -> Result<Vec<Claimed>, DbError> {
        let queues: Vec<&str> = request.queues.iter().map(Name::as_str).collect();
        let tenant = request.tenant.as_ref().map(Name::as_str);
        let rows = self
            .inner
            .workers
            .query(
                CLAIM_NEXT,
                &[
                    (&request.instance.0, Type::UUID),
                    (&queues, Type::TEXT_ARRAY),
                    (&request.limit.max(1), Type::INT8),
                    (&tenant, Type::TEXT),
                ],
            )
            .await?;
        rows.iter().map(claimed).collect()
    }

    /// Claims one given task if it is QUEUED and due.
    ///
    /// # Errors
    /// `Unknown`: [`Db::claimed`] tells whether it was won.
    pub async fn claim_by_id(&self, instance: InstanceId, id: TaskId) -> Result<ClaimById, DbError> {
        let characters = Preview::Whole.characters();
        let rows = self
            .inner
            .workers
            .query(CLAIM_BY_ID, &[(&instance.0, Type::UUID), (&id.0, Type::INT8), (&characters, Type::INT4)])
            .await?;
        let Some(row) = rows.first() else { return Ok(ClaimById::NotFound) };
        let task = task(row)?;
        Ok(if get(row, "won", "a claim")? { ClaimById::Won { task } } else { ClaimById::Lost { task } })
    }

    /// What `instance` holds: every RUNNING task whose claim it won.
    ///
    /// # Errors
    /// `Unavailable` if the database could not be asked.
    pub async fn claimed(&self, instance: InstanceId) -> Result<Vec<Claimed>, DbError> {
        self.claimed_besides(instance, &[]).await
    }

    /// What `instance` holds besides the tasks in `known`.
    ///
    /// # Errors
    /// `Unavailable` if the database could not be asked.
    pub async fn claimed_besides(
        &self,
        instance: InstanceId,
        known: &[TaskId],
    ) -> Result<Vec<Claimed>, DbError> {
        let known: Vec<i64> = known.iter().map(|id| id.0).collect();
        let rows = self
            .inner
            .workers
            .query(CLAIMED, &[(&instance.0, Type::UUID), (&known, Type::INT8_ARRAY)])
            .await?;
        rows.iter().map(claimed).collect()
    }

    /// The tasks and claim numbers that `instance` holds, in ascending order.
    ///
    /// # Errors
    /// `Unavailable` if the database could not be asked.
    pub async fn held(&self, instance: InstanceId) -> Result<Vec<(TaskId, i64)>, DbError> {
        let rows = self.inner.workers.query(HELD, &[(&instance.0, Type::UUID)]).await?;
        let what = "a task that is held";
        rows.iter().map(|row| Ok((TaskId(get(row, "id", what)?), get(row, "claim_no", what)?))).collect()
    }
}

fn claimed(row: &Row) -> Result<Claimed, DbError> {
    let what = "a claimed task";
    Ok(Claimed {
        id: TaskId(get(row, "id", what)?),
        tenant: get(row, "tenant", what)?,
        claim_no: get(row, "claim_no", what)?,
        attempt: get(row, "attempt", what)?,
        max_attempts: get(row, "max_attempts", what)?,
        // A task whose text cannot be read is claimed all the same: its attempt fails and says why.
        input: get::<String>(row, "input", what).map_err(|error| error.to_string()),
    })
}
