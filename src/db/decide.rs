//! An operator's decision: one statement, all rows or none, each with the version that was seen.

use std::time::Duration;

use tokio::time::timeout;
use tokio_postgres::Row;
use tokio_postgres::types::Type;

use super::Db;
use super::error::DbError;
use super::resolve::{OnUnknown, resolve};
use super::row::{get, task};
use super::sql::{DECIDE, DECIDED};
use super::tasks::Preview;
use crate::domain::input::storable;
use crate::domain::limit::OverLimit;
use crate::domain::outcome::{Decided, Verdict};
use crate::domain::{Approval, Decision, Seen, TaskId};

/// How long finding out who won a conflict may hold up its answer.
pub(super) const NAMED_WITHIN: Duration = Duration::from_secs(1);

impl Db {
    /// Decides; sending the same decision (the same operation id) again gives the same answer.
    ///
    /// # Errors
    /// `Unavailable`: nothing was changed. `Unknown`: not even asking again told. `Refused`: the role or session
    /// may not.
    pub async fn decide(&self, decision: &Decision, on_unknown: OnUnknown<'_>) -> Result<Decided, DbError> {
        let mut asked = decision.rows.clone();
        asked.sort_by_key(|seen| seen.id);
        asked.dedup_by_key(|seen| seen.id);
        let attempt = || self.decide_once(decision, &asked);
        let resolved = resolve(on_unknown, attempt, || self.decided_before(decision, &asked)).await?;
        let mut rows = resolved.answer;
        // It may concern those who run the task, and those who tell of it.
        if rows.iter().any(|(_, verdict)| matches!(verdict, Verdict::Committed { .. })) {
            self.wake_deliverers();
        }
        // That nobody can be named in time is no reason to hold the answer back.
        let _ = timeout(NAMED_WITHIN, self.name_winners(&mut rows)).await;
        Ok(Decided {
            kind: decision.kind,
            rows,
            resolved_from_unknown: resolved.from_unknown,
            retries: resolved.retries,
        })
    }

    /// Sends a decision once; `asked` are its rows in ascending order of id.
    pub(super) async fn send_decision(
        &self,
        decision: &Decision,
        asked: &[Seen],
        text: Preview,
    ) -> Result<Vec<Row>, DbError> {
        let ids: Vec<i64> = asked.iter().map(|seen| seen.id.0).collect();
        let versions: Vec<i64> = asked.iter().map(|seen| seen.version).collect();
        let reason = decision.reason.as_deref().map(storable);
        let characters = text.characters();
        self.inner
            .operator
            .query(
                DECIDE,
                &[
                    (&decision.kind.verb(), Type::TEXT),
                    (&ids, Type::INT8_ARRAY),
                    (&versions, Type::INT8_ARRAY),
                    (&decision.tenant, Type::TEXT),
                    (&storable(&decision.operator), Type::TEXT),
                    (&reason, Type::TEXT),
                    (&decision.operation.0, Type::UUID),
                    (&characters, Type::INT4),
                    (&(decision.approval == Approval::Another), Type::BOOL),
                ],
            )
            .await
    }

    async fn decide_once(
        &self,
        decision: &Decision,
        asked: &[Seen],
    ) -> Result<Vec<(TaskId, Verdict)>, DbError> {
        let rows = self.send_decision(decision, asked, Preview::Whole).await?;
        let mut changed = false;
        for row in &rows {
            changed |= get::<bool>(row, "changed", "a decision")?;
        }
        // The row moved on: perhaps by this very decision, sent before. That is found out first, so that of a row that
        // cannot be read it is not said that nothing was changed.
        let before = if changed { None } else { self.decided_before(decision, asked).await? };
        let mut verdicts = match before {
            Some(before) => before,
            None => rows.iter().map(|row| verdict(row, asked)).collect::<Result<_, _>>()?,
        };
        for seen in asked {
            if !verdicts.iter().any(|(id, _)| *id == seen.id) {
                verdicts.push((seen.id, Verdict::NotFound));
            }
        }
        verdicts.sort_by_key(|(id, _)| *id);
        Ok(verdicts)
    }

    /// The rows as they are now, if this very decision has changed them all: its events say so. `None` does not tell
    /// that it never will.
    async fn decided_before(
        &self,
        decision: &Decision,
        asked: &[Seen],
    ) -> Result<Option<Vec<(TaskId, Verdict)>>, DbError> {
        let rows = self.decided_rows(decision, asked, Preview::Whole).await?;
        if rows.len() != asked.len() {
            return Ok(None);
        }
        let verdict = |row: &Row| {
            let task = task(row).map_err(|error| told_whether(error, true))?;
            let version_before = get(row, "version_before", "a decision")?;
            Ok((task.id, Verdict::Committed { task, version_before }))
        };
        rows.iter().map(verdict).collect::<Result<_, DbError>>().map(Some)
    }

    /// Those of the rows that this very decision has changed, as they are now.
    pub(super) async fn decided_rows(
        &self,
        decision: &Decision,
        asked: &[Seen],
        text: Preview,
    ) -> Result<Vec<Row>, DbError> {
        let ids: Vec<i64> = asked.iter().map(|seen| seen.id.0).collect();
        self.inner
            .operator
            .query(
                DECIDED,
                &[
                    (&decision.operation.0, Type::UUID),
                    (&text.characters(), Type::INT4),
                    (&ids, Type::INT8_ARRAY),
                    (&decision.kind.verb(), Type::TEXT),
                    (&decision.tenant, Type::TEXT),
                ],
            )
            .await
    }

    /// Adds to each conflict who changed the row and when.
    pub(super) async fn name_winners(&self, rows: &mut [(TaskId, Verdict)]) {
        let ids: Vec<TaskId> = rows
            .iter()
            .filter(|(_, verdict)| matches!(verdict, Verdict::Conflict { .. }))
            .map(|(id, _)| *id)
            .collect();
        if ids.is_empty() {
            return;
        }
        let Ok(changes) = self.last_changes(&ids).await else { return };
        for (id, verdict) in rows {
            if let Verdict::Conflict { task, last } = verdict {
                *last = changes
                    .iter()
                    .find(|(changed, change)| changed == id && change.version_after == task.version)
                    .map(|(_, change)| change.clone());
            }
        }
    }
}

/// What became of one row.
pub(super) fn verdict(row: &Row, asked: &[Seen]) -> Result<(TaskId, Verdict), DbError> {
    let changed: bool = get(row, "changed", "a decision")?;
    let task = task(row).map_err(|error| told_whether(error, changed))?;
    let id = task.id;
    let may: bool = get(row, "may", "a decision")?;
    let refused: bool = get(row, "refused", "a decision")?;
    let over = over_limit(row)?;
    let version_before = asked.iter().find(|seen| seen.id == id).map_or(0, |seen| seen.version);
    let verdict = match (changed, may, over) {
        (true, ..) => Verdict::Committed { task, version_before },
        (false, true, Some(over)) => Verdict::OverLimit { task, over },
        (false, true, None) => Verdict::Held { task },
        (false, false, _) if refused => Verdict::Refused { task },
        (false, false, _) => Verdict::Conflict { task, last: None },
    };
    Ok((id, verdict))
}

/// That the row's tenant has no room left today, if so.
fn over_limit(row: &Row) -> Result<Option<OverLimit>, DbError> {
    let what = "a decision";
    let Some(most) = get(row, "most_a_day", what)? else { return Ok(None) };
    Ok(Some(OverLimit { used: get(row, "used_today", what)?, most, asked: get(row, "asked_now", what)? }))
}

/// A row that cannot be read says at least whether the decision changed it.
fn told_whether(error: DbError, changed: bool) -> DbError {
    match error {
        DbError::BadRow { what, problem } => {
            let applied = if changed { "the decision was applied" } else { "nothing was changed" };
            DbError::BadRow { what: format!("{applied}, but {what} cannot be read"), problem }
        }
        other => other,
    }
}
