//! Limits that span a tenant's tasks: setting them, and their use.

use tokio_postgres::Row;
use tokio_postgres::types::Type;
use uuid::Uuid;

use super::Db;
use super::error::DbError;
use super::resolve::{OnUnknown, resolve};
use super::row::get;
use super::sql::{DECIDE_LIMIT, LIMIT, LIMITS};
use crate::domain::Name;
use crate::domain::input::storable;
use crate::domain::limit::{
    LimitChange, LimitDecided, LimitDecision, LimitOutcome, LimitState, TenantLimits,
};

impl Db {
    /// Sets a tenant's limits; sending the same decision (the same operation id) again gives the same answer. A claim or
    /// an approval that was under way when a tenant got such a limit may still have won; no later one does.
    /// What runs goes on, also where a lower limit is set.
    ///
    /// # Errors
    /// `Unavailable`: nothing was changed. `Unknown`: not even asking again told. `Refused`: the role or session may not.
    pub async fn decide_limit(
        &self,
        decision: &LimitDecision,
        on_unknown: OnUnknown<'_>,
    ) -> Result<LimitDecided, DbError> {
        let trace = || async {
            let (outcome, state) = self.limit_after(decision).await?;
            Ok((outcome == LimitOutcome::Committed).then_some((outcome, state)))
        };
        let resolved = resolve(on_unknown, || self.decide_limit_once(decision), trace).await?;
        let (outcome, state) = resolved.answer;
        if outcome == LimitOutcome::Committed {
            // There may be more to claim.
            self.wake();
        }
        Ok(LimitDecided {
            outcome,
            state,
            resolved_from_unknown: resolved.from_unknown,
            retries: resolved.retries,
        })
    }

    async fn decide_limit_once(
        &self,
        decision: &LimitDecision,
    ) -> Result<(LimitOutcome, LimitState), DbError> {
        let reason = decision.reason.as_deref().map(storable);
        let changed = self
            .inner
            .operator
            .query(
                DECIDE_LIMIT,
                &[
                    (&decision.tenant.as_str(), Type::TEXT),
                    (&decision.max_running, Type::INT8),
                    (&decision.max_approved_per_day, Type::INT8),
                    (&decision.version, Type::INT8),
                    (&storable(&decision.operator), Type::TEXT),
                    (&reason, Type::TEXT),
                    (&decision.operation.0, Type::UUID),
                ],
            )
            .await?;
        if let Some(row) = changed.first() {
            return Ok((LimitOutcome::Committed, state(row)?));
        }
        // It had moved on: perhaps by this very decision, sent before.
        self.limit_after(decision).await
    }

    /// The limits as they are now, and whether this very decision has changed them.
    async fn limit_after(&self, decision: &LimitDecision) -> Result<(LimitOutcome, LimitState), DbError> {
        let row = self.limit_row(&decision.tenant, decision.operation.0).await?;
        let own = get(&row, "own", "a limit")?;
        let outcome = if own { LimitOutcome::Committed } else { LimitOutcome::Conflict };
        Ok((outcome, state(&row)?))
    }

    /// What operators said of one tenant.
    ///
    /// # Errors
    /// As [`DbError`] says.
    pub async fn limit_state(&self, tenant: &Name) -> Result<LimitState, DbError> {
        state(&self.limit_row(tenant, Uuid::nil()).await?)
    }

    async fn limit_row(&self, tenant: &Name, operation: Uuid) -> Result<Row, DbError> {
        let rows = self
            .inner
            .operator
            .query(LIMIT, &[(&tenant.as_str(), Type::TEXT), (&operation, Type::UUID)])
            .await?;
        rows.into_iter().next().ok_or_else(|| DbError::BadRow {
            what: "a limit".to_owned(),
            problem: "the server returned no row for it".to_owned(),
        })
    }

    /// Every tenant for whom somebody has set a limit, by name, with its use; or `tenant` alone.
    ///
    /// # Errors
    /// As [`DbError`] says.
    pub async fn tenant_limits(&self, tenant: Option<&str>) -> Result<Vec<TenantLimits>, DbError> {
        let rows = self.inner.operator.query(LIMITS, &[(&tenant, Type::TEXT)]).await?;
        rows.iter()
            .map(|row| {
                let what = "a limit";
                Ok(TenantLimits {
                    tenant: get(row, "tenant", what)?,
                    state: state(row)?,
                    running: get(row, "running", what)?,
                    approved_today: get(row, "approved_today", what)?,
                })
            })
            .collect()
    }
}

fn state(row: &Row) -> Result<LimitState, DbError> {
    let what = "a limit";
    let Some(version) = get::<Option<i64>>(row, "version", what)? else { return Ok(LimitState::NONE) };
    Ok(LimitState {
        max_running: get(row, "max_running", what)?,
        max_approved_per_day: get(row, "max_approved_per_day", what)?,
        version,
        changed: Some(LimitChange {
            by: get(row, "changed_by", what)?,
            at: get(row, "changed_at", what)?,
            reason: get(row, "reason", what)?,
        }),
    })
}
