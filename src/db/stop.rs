//! Asking processes to stop: a conditional update of each one's row, which its next heartbeat reads.

use std::collections::HashSet;

use tokio_postgres::Row;
use tokio_postgres::types::Type;
use uuid::Uuid;

use super::Db;
use super::error::DbError;
use super::resolve::{OnUnknown, resolve};
use super::row::get;
use super::sql::{STOP, STOPS_ASKED};
use crate::domain::input::storable;
use crate::domain::instance::{SeenInstance, Stop};
use crate::domain::outcome::{StopAnswer, StopVerdict, Stopping};
use crate::domain::{InstanceId, InstanceState, StopMode, StopRequest};

impl Db {
    /// Asks instances to stop; sending the same request (the same operation id) again gives the same answer. That it
    /// was asked is all that the answer says: an instance obeys at its next heartbeat, and its state tells.
    ///
    /// # Errors
    /// `Unavailable`: nobody was asked. `Unknown`: not even asking again told. `Refused`: the role or session may not.
    pub async fn stop(&self, stop: &Stop, on_unknown: OnUnknown<'_>) -> Result<StopAnswer, DbError> {
        let mut seen = stop.instances.clone();
        seen.sort_by_key(|seen| seen.id);
        seen.dedup_by_key(|seen| seen.id);
        // An instance whose answer to this cannot be had is there to be looked at, so nothing is read in its place.
        let no_trace = || async { Ok(None) };
        let resolved = resolve(on_unknown, || self.stop_once(stop, &seen), no_trace).await?;
        // Whoever misses the wake-up reads the request at its next heartbeat.
        if resolved.answer.iter().any(|(_, verdict)| matches!(verdict, StopVerdict::Committed { .. })) {
            self.wake_fleet();
        }
        Ok(StopAnswer {
            mode: stop.mode,
            instances: resolved.answer,
            resolved_from_unknown: resolved.from_unknown,
            retries: resolved.retries,
        })
    }

    async fn stop_once(
        &self,
        stop: &Stop,
        seen: &[SeenInstance],
    ) -> Result<Vec<(InstanceId, StopVerdict)>, DbError> {
        let ids: Vec<Uuid> = seen.iter().map(|seen| seen.id.0).collect();
        let versions: Vec<i64> = seen.iter().map(|seen| seen.stop_version).collect();
        let reason = stop.reason.as_deref().map(storable);
        let operator = &self.inner.operator;
        let rows = operator
            .query(
                STOP,
                &[
                    (&stop.mode.as_str(), Type::TEXT),
                    (&ids, Type::UUID_ARRAY),
                    (&versions, Type::INT8_ARRAY),
                    (&storable(&stop.operator), Type::TEXT),
                    (&reason, Type::TEXT),
                    (&stop.operation.0, Type::UUID),
                ],
            )
            .await?;
        let what = "a request to stop";
        let mut found = Vec::with_capacity(rows.len());
        for row in &rows {
            found.push((stopping(row)?, get::<bool>(row, "changed", what)?));
        }
        // One that was not asked now was perhaps asked by this very request, sent before.
        let unchanged: Vec<Uuid> =
            found.iter().filter(|(_, changed)| !changed).map(|(instance, _)| instance.id.0).collect();
        let mut before = HashSet::new();
        if !unchanged.is_empty() {
            let rows = operator
                .query(STOPS_ASKED, &[(&stop.operation.0, Type::UUID), (&unchanged, Type::UUID_ARRAY)])
                .await?;
            for row in &rows {
                before.insert(InstanceId(get(row, "instance", what)?));
            }
        }
        let mut verdicts: Vec<(InstanceId, StopVerdict)> = found
            .into_iter()
            .map(|(instance, changed)| {
                let verdict = if changed || before.contains(&instance.id) {
                    StopVerdict::Committed { instance: instance.clone() }
                } else {
                    StopVerdict::Conflict { instance: instance.clone() }
                };
                (instance.id, verdict)
            })
            .collect();
        for seen in seen {
            if !verdicts.iter().any(|(id, _)| *id == seen.id) {
                verdicts.push((seen.id, StopVerdict::NotFound));
            }
        }
        verdicts.sort_by_key(|(id, _)| *id);
        Ok(verdicts)
    }
}

fn stopping(row: &Row) -> Result<Stopping, DbError> {
    let id = InstanceId(get(row, "id", "an instance")?);
    let what = format!("instance {id}");
    let (host, pid): (String, i32) = (get(row, "host", &what)?, get(row, "pid", &what)?);
    Ok(Stopping {
        id,
        label: format!("{host}:{pid}"),
        state: state(row, &what)?,
        lease_past: get(row, "lease_past", &what)?,
        stop_version: get(row, "stop_version", &what)?,
        stop: request(row, &what)?,
    })
}

/// The state of an instance's row.
pub(super) fn state(row: &Row, what: &str) -> Result<InstanceState, DbError> {
    let state: String = get(row, "state", what)?;
    InstanceState::ALL.into_iter().find(|known| known.as_str() == state).ok_or_else(|| DbError::BadRow {
        what: what.to_owned(),
        problem: format!("column state: `{state}` is not a state"),
    })
}

/// What an instance's row says that was asked of it.
pub(super) fn request(row: &Row, what: &str) -> Result<Option<StopRequest>, DbError> {
    let Some(mode) = get::<Option<String>>(row, "stop_mode", what)? else { return Ok(None) };
    let mode =
        StopMode::ALL.into_iter().find(|known| known.as_str() == mode).ok_or_else(|| DbError::BadRow {
            what: what.to_owned(),
            problem: format!("column stop_mode: `{mode}` is not a mode"),
        })?;
    Ok(Some(StopRequest {
        mode,
        by: get(row, "stop_by", what)?,
        at: get(row, "stop_at", what)?,
        reason: get(row, "stop_reason", what)?,
    }))
}
