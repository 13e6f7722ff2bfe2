//! Counts per state, rates, and what has waited longest: in one look. The work grows with what waits and runs, not
//! with what is finished.

use tokio_postgres::types::{ToSql, Type};

use super::Db;
use super::error::DbError;
use super::pool::Param;
use super::row::{get, status};
use super::sql::{OLDEST_DUE, OVERVIEW, Statement, TALLIES, TALLIES_LIVE, TALLY_ESTIMATE, TOTAL_ESTIMATE};
use crate::domain::limit::AtLimit;
use crate::domain::observed::{OldestDue, Overview, Tallies, Tally};
use crate::domain::{Status, TaskId};

/// Below this size of `tasks` all states are counted exactly (about 100,000 rows, some 15 ms).
const SMALL_TABLE_BYTES: i64 = 16 * 1024 * 1024;

/// Up to this many rows the rarer final states are counted exactly in a large table too.
const COUNTED_UP_TO: i64 = 10_000;

impl Db {
    /// Reads the state of everything, or of `tenant`'s tasks.
    ///
    /// # Errors
    /// As [`DbError`] says.
    pub async fn overview(&self, tenant: Option<&str>) -> Result<Overview, DbError> {
        let operator = &self.inner.operator;
        let rows = operator.query(OVERVIEW, &[]).await?;
        let what = "the overview";
        let row = rows.first().ok_or_else(|| DbError::BadRow {
            what: what.to_owned(),
            problem: "the server returned no row for it".to_owned(),
        })?;
        let table_bytes: i64 = get(row, "table_bytes", what)?;
        let tallies = if table_bytes < SMALL_TABLE_BYTES {
            self.exact_tallies(tenant).await?
        } else {
            self.large_tallies(tenant).await?
        };
        Ok(Overview {
            read_at: get(row, "read_at", what)?,
            tallies,
            oldest_due: self.oldest_due(tenant).await?,
            outbox: self.outbox_tally(tenant).await?,
            done_per_s: get(row, "done_per_s", what)?,
            failed_per_min: get(row, "failed_per_min", what)?,
            alive_instances: get(row, "alive_instances", what)?,
            lost_instances: get(row, "lost_instances", what)?,
        })
    }

    async fn exact_tallies(&self, tenant: Option<&str>) -> Result<Tallies, DbError> {
        let mut tallies = Tallies::default();
        for row in &self.inner.operator.query(TALLIES, &[(&tenant, Type::TEXT)]).await? {
            let tally = Tally { count: get(row, "rows", "a count")?, estimated: false };
            tallies.set(status(row, "status", "a count")?, tally);
        }
        Ok(tallies)
    }

    async fn large_tallies(&self, tenant: Option<&str>) -> Result<Tallies, DbError> {
        let mut tallies = Tallies::default();
        let cap = COUNTED_UP_TO + 1;
        let rows =
            self.inner.operator.query(TALLIES_LIVE, &[(&tenant, Type::TEXT), (&cap, Type::INT8)]).await?;
        for row in &rows {
            let status = status(row, "status", "a count")?;
            let count: i64 = get(row, "rows", "a count")?;
            let tally = if status.is_final() && count > COUNTED_UP_TO {
                let asked = [(&status.as_str() as &(dyn ToSql + Sync), Type::TEXT), (&tenant, Type::TEXT)];
                Tally { count: self.estimate(TALLY_ESTIMATE, &asked).await?.max(count), estimated: true }
            } else {
                Tally { count, estimated: false }
            };
            tallies.set(status, tally);
        }
        // All there are, less those that are known: the rest have succeeded.
        let all = self.estimate(TOTAL_ESTIMATE, &[(&tenant, Type::TEXT)]).await?;
        let others: i64 = Status::ALL.into_iter().map(|status| tallies.of(status).count).sum();
        tallies.set(Status::Succeeded, Tally { count: (all - others).max(0), estimated: true });
        Ok(tallies)
    }

    async fn estimate(&self, statement: Statement, params: &[Param<'_>]) -> Result<i64, DbError> {
        let rows = self.inner.operator.query(statement, params).await?;
        let plan: Option<serde_json::Value> = rows.first().and_then(|row| row.try_get(0).ok());
        let estimate = plan.as_ref().and_then(|plan| plan.pointer("/0/Plan/Plan Rows")?.as_f64());
        estimate.map(|rows| format!("{rows:.0}").parse().unwrap_or(i64::MAX)).ok_or_else(|| DbError::BadRow {
            what: "an estimate".to_owned(),
            problem: "the server's plan has no number of rows".to_owned(),
        })
    }

    async fn oldest_due(&self, tenant: Option<&str>) -> Result<Option<OldestDue>, DbError> {
        let rows = self.inner.operator.query(OLDEST_DUE, &[(&tenant, Type::TEXT)]).await?;
        let what = "the oldest due task";
        rows.first()
            .map(|row| {
                let (running, most) =
                    (get(row, "running", what)?, get::<Option<i64>>(row, "max_running", what)?);
                let tenant = get(row, "tenant", what)?;
                let at_limit = most.filter(|most| running >= *most);
                Ok(OldestDue {
                    id: TaskId(get(row, "id", what)?),
                    queue: get(row, "queue", what)?,
                    waiting_ms: get(row, "waiting_ms", what)?,
                    takers: get(row, "takers", what)?,
                    free_slots: get(row, "free_slots", what)?,
                    paused_by: get(row, "paused_by", what)?,
                    at_limit: at_limit.map(|max_running| AtLimit { tenant, running, max_running }),
                })
            })
            .transpose()
    }
}
