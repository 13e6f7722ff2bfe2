//! Instances: their leases, and taking back what a dead one held.

use std::time::Duration;

use tokio_postgres::types::Type;
use uuid::Uuid;

use super::Db;
use super::error::DbError;
use super::row::{get, status};
use super::sql::{
    CANCEL_REQUESTS, DECLARE_LOST, END_INSTANCE, HEARTBEAT, INSTANCES, PRUNE_INSTANCES, RECOVER, REGISTER,
};
use super::stop::{request, state};
use crate::domain::instance::{InFlight, TakenBack};
use crate::domain::{Instance, InstanceId, InstanceState, Name, Status, StopRequest, TaskId};

/// The most tasks that one statement takes back, so that several recoverers share the work.
const RECOVERED_AT_ONCE: i64 = 100;

/// A process that begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewInstance {
    /// Its id, new at each start.
    pub id: InstanceId,
    /// The host's name.
    pub host: String,
    /// The process id.
    pub pid: i32,
    /// `console` or `headless`.
    pub kind: &'static str,
    /// Who started it.
    pub operator: String,
    /// The queues it claims from.
    pub queues: Vec<Name>,
    /// How many tasks it runs at once.
    pub slots: i32,
    /// Working or watching.
    pub state: InstanceState,
    /// How long its lease lasts without a heartbeat.
    pub lease: Duration,
}

/// What a heartbeat publishes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Heartbeat {
    /// How long the lease lasts from now.
    pub lease: Duration,
    /// What the instance does.
    pub state: InstanceState,
    /// Tasks finished since it started.
    pub done_total: i64,
    /// Attempts failed since it started.
    pub failed_total: i64,
    /// Tasks finished per second lately.
    pub done_per_s: f64,
    /// Attempts failed per minute lately.
    pub failed_per_min: f64,
    /// Tasks claimed per second lately.
    pub claims_per_s: f64,
}

/// The answer to a heartbeat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Renewal {
    /// The lease lasts on.
    Renewed {
        /// What somebody asked of the instance.
        stop: Option<StopRequest>,
    },
    /// The instance was declared lost: what it held is or will be recovered.
    Lost,
}

/// The answer to an instance that ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignedOff {
    /// Its row says that it has stopped.
    Yes,
    /// It still held tasks or was declared lost before.
    No,
}

/// A task that was taken back from an instance that no longer lives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recovered {
    /// The task.
    pub id: TaskId,
    /// The state that it has now.
    pub status: Status,
    /// The claim that was ended.
    pub claim_no: i64,
    /// Why, in words.
    pub reason: String,
}

impl Db {
    /// Begins an instance. Sending it again does nothing.
    ///
    /// # Errors
    /// As [`DbError`] says.
    pub async fn register(&self, new: &NewInstance) -> Result<(), DbError> {
        let queues: Vec<&str> = new.queues.iter().map(Name::as_str).collect();
        self.inner
            .workers
            .query(
                REGISTER,
                &[
                    (&new.id.0, Type::UUID),
                    (&new.host, Type::TEXT),
                    (&new.pid, Type::INT4),
                    (&env!("CARGO_PKG_VERSION"), Type::TEXT),
                    (&new.kind, Type::TEXT),
                    (&new.operator, Type::TEXT),
                    (&queues, Type::TEXT_ARRAY),
                    (&new.slots, Type::INT4),
                    (&new.state.as_str(), Type::TEXT),
                    (&new.lease.as_secs_f64(), Type::FLOAT8),
                ],
            )
            .await?;
        Ok(())
    }

    /// Renews an instance's lease.
    ///
    /// # Errors
    /// As [`DbError`] says; sending it again is harmless.
    pub async fn heartbeat(&self, id: InstanceId, beat: &Heartbeat) -> Result<Renewal, DbError> {
        let rows = self
            .inner
            .workers
            .query(
                HEARTBEAT,
                &[
                    (&id.0, Type::UUID),
                    (&beat.lease.as_secs_f64(), Type::FLOAT8),
                    (&beat.state.as_str(), Type::TEXT),
                    (&beat.done_total, Type::INT8),
                    (&beat.failed_total, Type::INT8),
                    (&beat.done_per_s, Type::FLOAT8),
                    (&beat.failed_per_min, Type::FLOAT8),
                    (&beat.claims_per_s, Type::FLOAT8),
                ],
            )
            .await?;
        rows.first()
            .map_or(Ok(Renewal::Lost), |row| Ok(Renewal::Renewed { stop: request(row, "a heartbeat")? }))
    }

    /// Ends an instance in good order, if nothing of it is RUNNING any more.
    ///
    /// # Errors
    /// As [`DbError`] says; sending it again is harmless.
    pub async fn end_instance(&self, id: InstanceId, done: i64, failed: i64) -> Result<SignedOff, DbError> {
        let rows = self
            .inner
            .workers
            .query(END_INSTANCE, &[(&id.0, Type::UUID), (&done, Type::INT8), (&failed, Type::INT8)])
            .await?;
        Ok(if rows.is_empty() { SignedOff::No } else { SignedOff::Yes })
    }

    /// Which of an instance's tasks were asked to stop, with their claim numbers.
    ///
    /// # Errors
    /// As [`DbError`] says.
    pub async fn cancel_requests(&self, id: InstanceId) -> Result<Vec<(TaskId, i64)>, DbError> {
        let rows = self.inner.workers.query(CANCEL_REQUESTS, &[(&id.0, Type::UUID)]).await?;
        rows.iter()
            .map(|row| {
                let what = "a cancel request";
                Ok((TaskId(get(row, "id", what)?), get(row, "claim_no", what)?))
            })
            .collect()
    }

    /// Declares instances lost whose lease has passed and takes back what dead instances hold.
    ///
    /// # Errors
    /// As [`DbError`] says; what was taken back before the error stays so, and the next call goes on.
    pub async fn recover(&self, actor: &str) -> Result<Vec<Recovered>, DbError> {
        let workers = &self.inner.workers;
        for row in &workers.query(DECLARE_LOST, &[]).await? {
            let (id, host, pid): (Uuid, String, i32) = (
                get(row, "id", "an instance")?,
                get(row, "host", "an instance")?,
                get(row, "pid", "an instance")?,
            );
            tracing::warn!(instance = %id, %host, pid, "an instance's lease has passed: declared lost");
        }
        let mut recovered = Vec::new();
        loop {
            let operation = Uuid::now_v7();
            let rows = workers
                .query(
                    RECOVER,
                    &[(&RECOVERED_AT_ONCE, Type::INT8), (&actor, Type::TEXT), (&operation, Type::UUID)],
                )
                .await?;
            self.tell_of_new(&rows, "told", "a recovered task")?;
            for row in &rows {
                let what = "a recovered task";
                recovered.push(Recovered {
                    id: TaskId(get(row, "id", what)?),
                    status: status(row, "status", what)?,
                    claim_no: get(row, "claim_no", what)?,
                    reason: get(row, "reason", what)?,
                });
            }
            if i64::try_from(rows.len()).is_ok_and(|taken| taken < RECOVERED_AT_ONCE) {
                return Ok(recovered);
            }
        }
    }

    /// Forgets instances that ended long ago.
    ///
    /// # Errors
    /// As [`DbError`] says.
    pub async fn prune_instances(&self) -> Result<(), DbError> {
        self.inner.workers.query(PRUNE_INSTANCES, &[]).await?;
        Ok(())
    }

    /// Instances that live, and those that ended within the last hour. Of other tenants' tasks only the number is
    /// told, if `tenant` is set.
    ///
    /// # Errors
    /// As [`DbError`] says.
    pub async fn instances(&self, tenant: Option<&str>) -> Result<Vec<Instance>, DbError> {
        let rows = self.inner.operator.query(INSTANCES, &[(&tenant, Type::TEXT)]).await?;
        let mut instances: Vec<Instance> = Vec::new();
        for row in &rows {
            let what = "an instance";
            let id = InstanceId(get(row, "id", what)?);
            if instances.last().is_none_or(|last| last.id != id) {
                instances.push(instance(row, id)?);
            }
            if let Some(task) = get::<Option<i64>>(row, "task_id", what)? {
                let flight = InFlight {
                    id: TaskId(task),
                    claim_no: get(row, "claim_no", what)?,
                    cancel_requested: get(row, "cancel_requested", what)?,
                    status: status(row, "status", what)?,
                };
                if let Some(last) = instances.last_mut() {
                    last.in_flight.push(flight);
                }
            }
        }
        Ok(instances)
    }
}

fn instance(row: &tokio_postgres::Row, id: InstanceId) -> Result<Instance, DbError> {
    let what = format!("instance {id}");
    let what = what.as_str();
    Ok(Instance {
        id,
        host: get(row, "host", what)?,
        pid: get(row, "pid", what)?,
        version: get(row, "version", what)?,
        kind: get(row, "kind", what)?,
        operator: get(row, "operator", what)?,
        queues: get(row, "queues", what)?,
        slots: get(row, "slots", what)?,
        state: state(row, what)?,
        started_at: get(row, "started_at", what)?,
        heartbeat_at: get(row, "heartbeat_at", what)?,
        lease_left_s: get(row, "lease_left_s", what)?,
        done_total: get(row, "done_total", what)?,
        failed_total: get(row, "failed_total", what)?,
        done_per_s: get(row, "done_per_s", what)?,
        failed_per_min: get(row, "failed_per_min", what)?,
        claims_per_s: get(row, "claims_per_s", what)?,
        recovered: get(row, "recovered", what)?,
        recovered_tasks: taken_back(row, what)?,
        stop_version: get(row, "stop_version", what)?,
        stop: request(row, what)?,
        in_flight: Vec::new(),
        running: get(row, "running", what)?,
        of_other_tenants: get(row, "of_other_tenants", what)?,
    })
}

fn taken_back(row: &tokio_postgres::Row, what: &str) -> Result<Vec<TakenBack>, DbError> {
    let ids: Option<Vec<i64>> = get(row, "recovered_ids", what)?;
    let states: Option<Vec<String>> = get(row, "recovered_states", what)?;
    ids.into_iter()
        .flatten()
        .zip(states.into_iter().flatten())
        .map(|(id, state)| {
            let status = state.parse().map_err(|error| DbError::BadRow {
                what: what.to_owned(),
                problem: format!("column recovered_states: {error}"),
            })?;
            Ok(TakenBack { id: TaskId(id), status })
        })
        .collect()
}
