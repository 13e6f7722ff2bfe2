//! Claims: QUEUED to RUNNING, each with the next claim number as its fencing token.
//!
//! A claim of a limited tenant's tasks that finds that another came first has claimed nothing of them and is asked again
//! at once: that it was contended is no answer. Each time somebody's claim has got through.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use tokio_postgres::Row;
use tokio_postgres::types::Type;

use super::Db;
use super::error::{DbError, Trouble};
use super::pool::lock;
use super::row::{get, task};
use super::sql::{CLAIM_BY_ID, CLAIM_LIMITED, CLAIM_NEXT, CLAIMED, HELD, Statement};
use super::tasks::Preview;
use crate::domain::limit::AtLimit;
use crate::domain::outcome::ClaimById;
use crate::domain::{InstanceId, Name, TaskId};

/// The most times that a contended claim is asked again.
const AGAIN: u32 = 8;

/// For how long a limit's row that somebody holds is left alone, so that it does not hold up everybody's claims each time.
const HELD_FOR: Duration = Duration::from_secs(5);

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

/// What a claim won.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claims {
    /// The tasks.
    pub claimed: Vec<Claimed>,
    /// What a tenant's limit kept back.
    pub kept_back: KeptBack,
}

/// Whether tasks were left because of their tenants' limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum KeptBack {
    /// No limit was in the way.
    Nothing,
    /// There is a tenant of which nothing more may run until something of it has ended. Whether something of it waits is
    /// not looked for.
    Full,
    /// Others claimed tasks of a limited tenant at the same moment; it is worth asking again at once.
    Contended,
}

/// What one statement answered.
#[derive(Debug)]
struct Told {
    claimed: Vec<Claimed>,
    kept_back: KeptBack,
    /// Whether tenants have limits of what runs, where the statement tells.
    limits: Option<bool>,
}

impl Db {
    /// Claims up to `limit` due tasks.
    ///
    /// # Errors
    /// As [`Db::claim`].
    pub async fn claim_next(&self, request: &ClaimRequest) -> Result<Vec<Claimed>, DbError> {
        Ok(self.claim(request).await?.claimed)
    }

    /// Claims up to `limit` due tasks, and tells whether limits kept some back. While somebody else holds the row of a
    /// tenant's limit, nothing of limited tenants is claimed and what others have is, after --lock-timeout.
    ///
    /// # Errors
    /// `Unknown`: some may have been claimed; [`Db::claimed`] tells which.
    pub async fn claim(&self, request: &ClaimRequest) -> Result<Claims, DbError> {
        // Either statement is right whatever is true now: what is remembered only spares the longer one.
        let limits = &self.inner.has_limits;
        let held = *lock(&self.inner.limit_held);
        if held.is_some_and(|at| at.elapsed() < HELD_FOR) {
            let Told { claimed, .. } = self.claim_once(request, CLAIM_NEXT).await?;
            return Ok(Claims { claimed, kept_back: KeptBack::Full });
        }
        let mut tries = 0;
        loop {
            let statement = if limits.load(Ordering::Relaxed) { CLAIM_LIMITED } else { CLAIM_NEXT };
            let told = match self.claim_once(request, statement).await {
                // Rows of tasks are passed over where somebody holds them, so it is the row of a limit.
                Err(error) if error.is_lock_timeout() && statement == CLAIM_LIMITED => {
                    *lock(&self.inner.limit_held) = Some(Instant::now());
                    let Told { claimed, .. } = self.claim_once(request, CLAIM_NEXT).await?;
                    return Ok(Claims { claimed, kept_back: KeptBack::Full });
                }
                other => other?,
            };
            if let Some(there_are) = told.limits {
                limits.store(there_are, Ordering::Relaxed);
            }
            tries += 1;
            let Told { claimed, kept_back, .. } = told;
            if !claimed.is_empty() || kept_back != KeptBack::Contended || tries > AGAIN {
                return Ok(Claims { claimed, kept_back });
            }
        }
    }

    async fn claim_once(&self, request: &ClaimRequest, statement: Statement) -> Result<Told, DbError> {
        let queues: Vec<&str> = request.queues.iter().map(Name::as_str).collect();
        let tenant = request.tenant.as_ref().map(Name::as_str);
        let rows = self
            .inner
            .workers
            .query(
                statement,
                &[
                    (&request.instance.0, Type::UUID),
                    (&queues, Type::TEXT_ARRAY),
                    (&request.limit.max(1), Type::INT8),
                    (&tenant, Type::TEXT),
                ],
            )
            .await?;
        let claimed = Vec::with_capacity(rows.len());
        let mut told = Told { claimed, kept_back: KeptBack::Nothing, limits: None };
        for row in &rows {
            let (kept_back, limits) = match get::<Option<&str>>(row, "kept_back", "a claim")? {
                None => {
                    told.claimed.push(claimed_task(row)?);
                    continue;
                }
                Some("none") => (KeptBack::Nothing, false),
                // `limited`: the other statement is to be asked.
                Some("limited" | "contended") => (KeptBack::Contended, true),
                Some(_) => (KeptBack::Full, true),
            };
            told.kept_back = told.kept_back.max(kept_back);
            told.limits = Some(limits);
        }
        Ok(told)
    }

    /// Claims one given task if it is QUEUED and due, and its tenant has room.
    ///
    /// # Errors
    /// `Unknown`: [`Db::claimed`] tells whether it was won. `Unavailable` also where others claimed the tenant's tasks
    /// each time at the same moment.
    pub async fn claim_by_id(&self, instance: InstanceId, id: TaskId) -> Result<ClaimById, DbError> {
        let mut full_before = false;
        for _ in 0..=AGAIN {
            match self.claim_by_id_once(instance, id).await? {
                // It was counted before the statement waited for the row: what ran then may have ended.
                Some(ClaimById::AtLimit { .. }) if !full_before => full_before = true,
                Some(answer) => return Ok(answer),
                None => {}
            }
        }
        Err(DbError::Unavailable(
            Trouble::new(
                "others claimed this tenant's tasks at the same moment each time; nothing was changed",
            )
            .hint("try again"),
        ))
    }

    /// No answer: it was contended.
    async fn claim_by_id_once(&self, instance: InstanceId, id: TaskId) -> Result<Option<ClaimById>, DbError> {
        let characters = Preview::Whole.characters();
        let rows = self
            .inner
            .workers
            .query(CLAIM_BY_ID, &[(&instance.0, Type::UUID), (&id.0, Type::INT8), (&characters, Type::INT4)])
            .await?;
        let Some(row) = rows.first() else { return Ok(Some(ClaimById::NotFound)) };
        let what = "a claim";
        let task = task(row)?;
        if get(row, "won", what)? {
            return Ok(Some(ClaimById::Won { task }));
        }
        let Some(max_running) = get::<Option<i64>>(row, "max_running", what)? else {
            return Ok(Some(ClaimById::Lost { task }));
        };
        let running = get(row, "running", what)?;
        let at = AtLimit { tenant: task.tenant.clone(), running, max_running };
        Ok((running >= max_running).then_some(ClaimById::AtLimit { task, at }))
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
        rows.iter().map(claimed_task).collect()
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

fn claimed_task(row: &Row) -> Result<Claimed, DbError> {
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
