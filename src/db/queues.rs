//! Queues: pausing, resuming, and what is in each.

use tokio_postgres::Row;
use tokio_postgres::types::Type;
use uuid::Uuid;

use super::Db;
use super::error::DbError;
use super::resolve::{OnUnknown, resolve};
use super::row::get;
use super::sql::{DECIDE_QUEUE, QUEUE, QUEUES};
use crate::domain::Name;
use crate::domain::input::storable;
use crate::domain::queue::{Queue, QueueChange, QueueDecided, QueueDecision, QueueOutcome, QueueState};

impl Db {
    /// Pauses or resumes a queue; sending the same decision (the same operation id) again gives the same answer. A
    /// claim that was under way when a pause was committed may still have won; no later one does.
    ///
    /// # Errors
    /// `Unavailable`: nothing was changed. `Unknown`: not even asking again told. `Refused`: the role or session may not.
    pub async fn decide_queue(
        &self,
        decision: &QueueDecision,
        on_unknown: OnUnknown<'_>,
    ) -> Result<QueueDecided, DbError> {
        let trace = || async {
            let (outcome, state) = self.queue_after(decision).await?;
            Ok((outcome == QueueOutcome::Committed).then_some((outcome, state)))
        };
        let resolved = resolve(on_unknown, || self.decide_queue_once(decision), trace).await?;
        let (outcome, state) = resolved.answer;
        if outcome == QueueOutcome::Committed {
            self.wake();
        }
        Ok(QueueDecided {
            outcome,
            state,
            resolved_from_unknown: resolved.from_unknown,
            retries: resolved.retries,
        })
    }

    async fn decide_queue_once(
        &self,
        decision: &QueueDecision,
    ) -> Result<(QueueOutcome, QueueState), DbError> {
        let operator = &self.inner.operator;
        let reason = decision.reason.as_deref().map(storable);
        let changed = operator
            .query(
                DECIDE_QUEUE,
                &[
                    (&decision.queue.as_str(), Type::TEXT),
                    (&decision.act.pauses(), Type::BOOL),
                    (&decision.version, Type::INT8),
                    (&storable(&decision.operator), Type::TEXT),
                    (&reason, Type::TEXT),
                    (&decision.operation.0, Type::UUID),
                ],
            )
            .await?;
        if let Some(row) = changed.first() {
            return Ok((QueueOutcome::Committed, state(row)?));
        }
        // It had moved on: perhaps by this very decision, sent before.
        self.queue_after(decision).await
    }

    /// The queue as it is now, and whether this very decision has changed it.
    async fn queue_after(&self, decision: &QueueDecision) -> Result<(QueueOutcome, QueueState), DbError> {
        let now = self
            .inner
            .operator
            .query(QUEUE, &[(&decision.queue.as_str(), Type::TEXT), (&decision.operation.0, Type::UUID)])
            .await?;
        let row = now.first().ok_or_else(|| DbError::BadRow {
            what: "a queue".to_owned(),
            problem: "the server returned no row for it".to_owned(),
        })?;
        let outcome =
            if get(row, "own", "a queue")? { QueueOutcome::Committed } else { QueueOutcome::Conflict };
        Ok((outcome, state(row)?))
    }

    /// What operators said of one queue.
    ///
    /// # Errors
    /// As [`DbError`] says.
    pub async fn queue_state(&self, queue: &Name) -> Result<QueueState, DbError> {
        let nobody = Uuid::nil();
        let rows =
            self.inner.operator.query(QUEUE, &[(&queue.as_str(), Type::TEXT), (&nobody, Type::UUID)]).await?;
        rows.first().map_or(Ok(QueueState::OPEN), state)
    }

    /// Every queue that holds something or that somebody has paused or resumed, by name. With a tenant only its tasks
    /// are counted.
    ///
    /// # Errors
    /// As [`DbError`] says.
    pub async fn queues(&self, tenant: Option<&str>) -> Result<Vec<Queue>, DbError> {
        let rows = self.inner.operator.query(QUEUES, &[(&tenant, Type::TEXT)]).await?;
        rows.iter()
            .map(|row| {
                let what = "a queue";
                Ok(Queue {
                    name: get(row, "name", what)?,
                    state: state(row)?,
                    waiting: get(row, "waiting", what)?,
                    later: get(row, "later", what)?,
                    running: get(row, "running", what)?,
                    held: get(row, "held", what)?,
                    oldest_waiting_ms: get(row, "waiting_ms", what)?,
                    takers: get(row, "takers", what)?,
                })
            })
            .collect()
    }
}

fn state(row: &Row) -> Result<QueueState, DbError> {
    let what = "a queue";
    let Some(version) = get::<Option<i64>>(row, "version", what)? else { return Ok(QueueState::OPEN) };
    Ok(QueueState {
        paused: get(row, "paused", what)?,
        version,
        changed: Some(QueueChange {
            by: get(row, "changed_by", what)?,
            at: get(row, "changed_at", what)?,
            reason: get(row, "reason", what)?,
        }),
    })
}
