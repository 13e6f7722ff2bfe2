//! The outbox: what the statements that change tasks have left there to be told, and the protocol of its delivery.

use std::time::Duration;

use tokio_postgres::Row;
use tokio_postgres::types::Type;

use super::Db;
use super::error::DbError;
use super::row::{get, status, task};
use super::sql::{OUTBOX, OUTBOX_CLAIM, OUTBOX_DONE, OUTBOX_HELD, OUTBOX_PRUNE, OUTBOX_RETRY, OUTBOX_TALLY};
use super::tasks::Preview;
use crate::domain::input::storable;
use crate::domain::outbox::{Delivery, Notification, OutboxEntry, OutboxPage, OutboxQuery, OutboxTally};
use crate::domain::{InstanceId, Name, TaskId};

/// How many delivered notifications are forgotten in one statement.
const PRUNED_AT_ONCE: i64 = 1_000;

/// How many such statements there are in one turn: what is left waits for the next.
const PRUNES_A_TURN: usize = 10;

/// A notification that an instance has claimed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldDelivery {
    /// The row's number.
    pub number: i64,
    /// The claim: done and failed carry it. It counts the deliveries that were begun, this one included.
    pub claim_no: i64,
    /// What is told.
    pub notification: Notification,
    /// What is given to the hook, or why the task cannot be read.
    pub delivery: Result<Box<Delivery>, String>,
}

/// What became of a delivery's end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Confirmed {
    /// It stands in the row.
    Yes,
    /// Somebody else has claimed the notification since, or it is gone: nothing was changed.
    ClaimLost,
}

impl Db {
    /// Claims up to `limit` notifications, the first of its task each; [`Db::deliveries_held`] tells which. Returns how
    /// many.
    ///
    /// # Errors
    /// `Unknown`: some may have been claimed; [`Db::deliveries_held`] tells.
    pub async fn claim_deliveries(
        &self,
        instance: InstanceId,
        tenant: Option<&Name>,
        limit: i64,
    ) -> Result<usize, DbError> {
        let tenant = tenant.map(Name::as_str);
        let rows = self
            .inner
            .workers
            .query(
                OUTBOX_CLAIM,
                &[(&instance.0, Type::UUID), (&limit.max(1), Type::INT8), (&tenant, Type::TEXT)],
            )
            .await?;
        Ok(rows.len())
    }

    /// What `instance` has claimed and not delivered, besides the numbers in `known`.
    ///
    /// # Errors
    /// `Unavailable` if the database could not be asked.
    pub async fn deliveries_held(
        &self,
        instance: InstanceId,
        known: &[i64],
    ) -> Result<Vec<HeldDelivery>, DbError> {
        let rows = self
            .inner
            .workers
            .query(
                OUTBOX_HELD,
                &[
                    (&instance.0, Type::UUID),
                    (&known, Type::INT8_ARRAY),
                    (&Preview::Whole.characters(), Type::INT4),
                ],
            )
            .await?;
        rows.iter().map(held).collect()
    }

    /// Says that a notification was delivered under this claim.
    ///
    /// # Errors
    /// `Unknown`: send the same again, the claim number tells what was applied.
    pub async fn delivered(
        &self,
        instance: InstanceId,
        number: i64,
        claim_no: i64,
    ) -> Result<Confirmed, DbError> {
        let rows = self
            .inner
            .workers
            .query(OUTBOX_DONE, &[(&instance.0, Type::UUID), (&number, Type::INT8), (&claim_no, Type::INT8)])
            .await?;
        Ok(confirmed(&rows))
    }

    /// Says that it was not, and why; whoever comes first tries again `after` this time.
    ///
    /// # Errors
    /// `Unknown`: send the same again, the claim number tells what was applied.
    pub async fn not_delivered(
        &self,
        instance: InstanceId,
        number: i64,
        claim_no: i64,
        error: &str,
        after: Duration,
    ) -> Result<Confirmed, DbError> {
        let rows = self
            .inner
            .workers
            .query(
                OUTBOX_RETRY,
                &[
                    (&instance.0, Type::UUID),
                    (&number, Type::INT8),
                    (&claim_no, Type::INT8),
                    (&storable(error), Type::TEXT),
                    (&after.as_secs_f64(), Type::FLOAT8),
                ],
            )
            .await?;
        Ok(confirmed(&rows))
    }

    /// Forgets what was delivered more than a day ago, in small batches.
    ///
    /// # Errors
    /// As [`DbError`] says.
    pub async fn prune_outbox(&self) -> Result<(), DbError> {
        for _ in 0..PRUNES_A_TURN {
            let gone = self.inner.workers.query(OUTBOX_PRUNE, &[(&PRUNED_AT_ONCE, Type::INT8)]).await?;
            if i64::try_from(gone.len()).is_ok_and(|gone| gone < PRUNED_AT_ONCE) {
                break;
            }
        }
        Ok(())
    }

    /// Reads a page of the outbox, the oldest first.
    ///
    /// # Errors
    /// As [`DbError`] says.
    pub async fn outbox(&self, query: &OutboxQuery) -> Result<OutboxPage, DbError> {
        let task = query.task.map(|id| id.0);
        let limit = query.limit.max(1);
        let rows = self
            .inner
            .operator
            .query(
                OUTBOX,
                &[
                    (&task, Type::INT8),
                    (&query.tenant, Type::TEXT),
                    (&query.after, Type::INT8),
                    (&limit, Type::INT8),
                ],
            )
            .await?;
        let rows = rows.iter().map(entry).collect::<Result<Vec<_>, _>>()?;
        let full = i64::try_from(rows.len()).is_ok_and(|found| found >= limit);
        let next_after = if full { rows.last().map(|row| row.id) } else { None };
        Ok(OutboxPage { rows, next_after })
    }

    /// What waits to be told; none if nothing does.
    pub(super) async fn outbox_tally(&self, tenant: Option<&str>) -> Result<Option<OutboxTally>, DbError> {
        let counted = OutboxTally::COUNTED;
        let rows =
            self.inner.operator.query(OUTBOX_TALLY, &[(&tenant, Type::TEXT), (&counted, Type::INT8)]).await?;
        let what = "what waits in the outbox";
        let Some(row) = rows.first() else { return Ok(None) };
        let tally = OutboxTally {
            waiting: get(row, "waiting", what)?,
            failing: get(row, "failing", what)?,
            oldest_ms: get(row, "oldest_ms", what)?,
            error: get(row, "error", what)?,
        };
        Ok((tally.waiting > 0).then_some(tally))
    }
}

fn confirmed(rows: &[Row]) -> Confirmed {
    if rows.is_empty() { Confirmed::ClaimLost } else { Confirmed::Yes }
}

fn held(row: &Row) -> Result<HeldDelivery, DbError> {
    let what = "a notification";
    let notification = notification(row, "told_version", "told_tenant", "told_queue")?;
    let claim_no = get(row, "delivery", what)?;
    // A task that cannot be read is not one that is gone: its delivery fails and says why.
    let told = match get::<Option<i64>>(row, "id", what)? {
        None => Ok(None),
        Some(_) => task(row).map(Some).map_err(|error| error.to_string()),
    };
    let delivery =
        told.map(|task| Box::new(Delivery { notification: notification.clone(), delivery: claim_no, task }));
    Ok(HeldDelivery { number: get(row, "number", what)?, claim_no, notification, delivery })
}

fn entry(row: &Row) -> Result<OutboxEntry, DbError> {
    let what = "a notification";
    Ok(OutboxEntry {
        id: get(row, "id", what)?,
        notification: notification(row, "version", "tenant", "queue")?,
        deliveries: get(row, "claim_no", what)?,
        due_at: get(row, "due_at", what)?,
        error: get(row, "error", what)?,
        claimed_by: get::<Option<_>>(row, "claimed_by", what)?.map(InstanceId),
        owner: get(row, "owner", what)?,
        delivered_at: get(row, "delivered_at", what)?,
    })
}

/// What a row tells; where it stands beside a task's row, three columns have other names.
fn notification(row: &Row, version: &str, tenant: &str, queue: &str) -> Result<Notification, DbError> {
    let what = "a notification";
    Ok(Notification {
        task_id: TaskId(get(row, "task_id", what)?),
        version: get(row, version, what)?,
        movement: get(row, "move", what)?,
        from: status(row, "status_before", what)?,
        to: status(row, "status_after", what)?,
        actor: get(row, "actor", what)?,
        reason: get(row, "reason", what)?,
        at: get(row, "at", what)?,
        tenant: get(row, tenant, what)?,
        queue: get(row, queue, what)?,
    })
}
