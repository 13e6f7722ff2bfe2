//! Reading the audit trail.

use jiff::{SignedDuration, Timestamp};
use tokio_postgres::types::Type;

use super::Db;
use super::error::DbError;
use super::row::{audit_event, get};
use super::sql::AUDIT;
use crate::domain::audit::{AuditEvent, AuditPage, AuditQuery};

/// By how much the order of events' numbers may differ from that of their times. A statement takes both at once.
const DISORDER: SignedDuration = SignedDuration::from_mins(1);

impl Db {
    /// Reads events, the newest first; the answer says where to go on.
    ///
    /// # Errors
    /// As [`DbError`] says.
    pub async fn audit(&self, query: &AuditQuery) -> Result<AuditPage, DbError> {
        let task = query.task.map(|id| id.0);
        let (limit, window) = (query.limit.max(1), query.window.max(1));
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
                    (&limit, Type::INT8),
                    (&window, Type::INT8),
                ],
            )
            .await?;
        let what = "an event";
        let first = rows.first().ok_or_else(|| DbError::BadRow {
            what: what.to_owned(),
            problem: "the server returned no row".to_owned(),
        })?;
        let found = rows.iter().filter(|row| !matches!(row.try_get::<_, Option<i64>>("id"), Ok(None)));
        let events = found.map(audit_event).collect::<Result<Vec<_>, _>>()?;
        let counted = |events: &[AuditEvent]| i64::try_from(events.len()).unwrap_or(i64::MAX);
        let next_before = if counted(&events) >= limit {
            events.last().map(|event| event.id)
        } else {
            // Not full: it is all there is, or it was looked no further.
            let narrows = query.since.is_some() || query.tenant.is_some();
            let looked_at_all = get::<i64>(first, "scanned_rows", what)? >= window;
            let oldest: Option<Timestamp> = get(first, "scanned_at", what)?;
            let past = query
                .since
                .zip(oldest)
                .is_some_and(|(since, oldest)| since.duration_since(oldest) > DISORDER);
            if narrows && looked_at_all && !past { get(first, "scanned_to", what)? } else { None }
        };
        Ok(AuditPage { events, next_before })
    }
}
