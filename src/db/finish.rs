//! Ends of claims: finish and release, each guarded by the claim's token.

use std::time::Duration;

use tokio_postgres::Row;
use tokio_postgres::types::Type;
use uuid::Uuid;

use super::Db;
use super::error::DbError;
use super::pool::Param;
use super::row::{self, get};
use super::sql::{FINISH, FINISH_SUCCESS, FINISH_TOLD, FINISHED, RELEASE, RELEASED, SUCCEEDED, Statement};
use crate::domain::input::storable;
use crate::domain::outcome::Finished;
use crate::domain::{InstanceId, OperationId, TaskId, TextCounts};

/// The end of one claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finish {
    /// The task.
    pub id: TaskId,
    /// The claim.
    pub claim_no: i64,
    /// How the analyser ended.
    pub end: FinishEnd,
    /// Names this finish, so that sending it again is harmless.
    pub operation: OperationId,
}

/// How an analyser ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FinishEnd {
    /// With its result.
    Success {
        /// The counts of the input.
        counts: TextCounts,
        /// What its command wrote.
        output: Option<String>,
    },
    /// Without one; nothing of a partial result is kept.
    Failure {
        /// Why.
        error: String,
        /// When it may be tried again, if attempts are left, counted from the commit.
        retry_after: Duration,
    },
}

/// A claim that is given back, as its analyser did not run to the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Release {
    /// The task.
    pub id: TaskId,
    /// The claim.
    pub claim_no: i64,
    /// Names this release, so that sending it again finds what it did.
    pub operation: OperationId,
}

impl Release {
    /// Gives `claim_no` of the task `id` back, under a new operation id.
    pub fn new(id: TaskId, claim_no: i64) -> Self {
        Self { id, claim_no, operation: OperationId(Uuid::now_v7()) }
    }
}

/// A finish with its result.
#[derive(Debug, Clone)]
struct Success<'a> {
    finish: &'a Finish,
    counts: &'a TextCounts,
    output: Option<String>,
}

impl Success<'_> {
    fn claim(&self) -> (TaskId, i64) {
        (self.finish.id, self.finish.claim_no)
    }
}

/// Those that succeeded, in ascending order, as every statement that takes several rows has them, so that none waits in a
/// circle.
fn successes(finishes: &[Finish]) -> Vec<Success<'_>> {
    let mut successes: Vec<Success<'_>> = finishes
        .iter()
        .filter_map(|finish| match &finish.end {
            FinishEnd::Success { counts, output } => {
                Some(Success { finish, counts, output: output.as_deref().map(storable) })
            }
            FinishEnd::Failure { .. } => None,
        })
        .collect();
    successes.sort_by_key(|success| success.finish.id);
    successes
}

impl Db {
    /// Commits the successes among `finishes` in one statement and each of the others in one of its own, which
    /// also tells what became of those that were canceled or lost meanwhile. Answers are in the given order.
    ///
    /// # Errors
    /// `Unknown`: send the same again, the token tells what was applied. On any error every one of them may be
    /// sent again.
    pub async fn finish(
        &self,
        instance: InstanceId,
        actor: &str,
        finishes: &[Finish],
    ) -> Result<Vec<Finished>, DbError> {
        let mut missing = successes(finishes);
        let mut committed = Vec::with_capacity(missing.len());
        // Those that nobody is to be told of; those that somebody is; and perhaps these very successes, sent before: a
        // lost answer must not cost a statement a task.
        for statement in [FINISH_SUCCESS, FINISH_TOLD, SUCCEEDED] {
            if missing.is_empty() {
                break;
            }
            committed.append(&mut self.successes(statement, instance, actor, &missing).await?);
            committed.sort_unstable();
            missing.retain(|success| committed.binary_search(&success.claim()).is_err());
        }
        let mut answers = Vec::with_capacity(finishes.len());
        for finish in finishes {
            answers.push(if committed.binary_search(&(finish.id, finish.claim_no)).is_ok() {
                Finished::Committed { status: crate::domain::Status::Succeeded }
            } else {
                self.finish_one(instance, actor, finish).await?
            });
        }
        Ok(answers)
    }

    /// Returns the claims that `statement` says are committed. By claim and not by id alone: a batch may hold an old
    /// claim of a task beside its current one.
    async fn successes(
        &self,
        statement: Statement,
        instance: InstanceId,
        actor: &str,
        successes: &[Success<'_>],
    ) -> Result<Vec<(TaskId, i64)>, DbError> {
        let ids: Vec<i64> = successes.iter().map(|success| success.finish.id.0).collect();
        let claims: Vec<i64> = successes.iter().map(|success| success.finish.claim_no).collect();
        let words: Vec<i64> = successes.iter().map(|success| success.counts.words).collect();
        let bytes: Vec<i64> = successes.iter().map(|success| success.counts.bytes).collect();
        let runes: Vec<i64> = successes.iter().map(|success| success.counts.runes).collect();
        let outputs: Vec<&Option<String>> = successes.iter().map(|success| &success.output).collect();
        let params: [Param<'_>; 8] = [
            (&instance.0, Type::UUID),
            (&ids, Type::INT8_ARRAY),
            (&claims, Type::INT8_ARRAY),
            (&words, Type::INT8_ARRAY),
            (&bytes, Type::INT8_ARRAY),
            (&runes, Type::INT8_ARRAY),
            (&outputs, Type::TEXT_ARRAY),
            (&actor, Type::TEXT),
        ];
        let told = statement == FINISH_TOLD;
        let rows = self.inner.workers.query(statement, &params[..if told { 8 } else { 7 }]).await?;
        if told && !rows.is_empty() {
            self.wake_deliverers();
        }
        let what = "a finish";
        rows.iter().map(|row| Ok((TaskId(get(row, "id", what)?), get(row, "claim_no", what)?))).collect()
    }

    async fn finish_one(
        &self,
        instance: InstanceId,
        actor: &str,
        finish: &Finish,
    ) -> Result<Finished, DbError> {
        let none = TextCounts::default();
        let (succeeded, counts, output, error, retry_after) = match &finish.end {
            FinishEnd::Success { counts, output } => {
                (true, counts, output.as_deref().map(storable), None, Duration::ZERO)
            }
            FinishEnd::Failure { error, retry_after } => {
                (false, &none, None, Some(storable(error)), *retry_after)
            }
        };
        let rows = self
            .inner
            .workers
            .query(
                FINISH,
                &[
                    (&instance.0, Type::UUID),
                    (&finish.id.0, Type::INT8),
                    (&finish.claim_no, Type::INT8),
                    (&succeeded, Type::BOOL),
                    (&counts.words, Type::INT8),
                    (&counts.bytes, Type::INT8),
                    (&counts.runes, Type::INT8),
                    (&output, Type::TEXT),
                    (&error, Type::TEXT),
                    (&retry_after.as_secs_f64(), Type::FLOAT8),
                    (&actor, Type::TEXT),
                    (&finish.operation.0, Type::UUID),
                ],
            )
            .await?;
        let Some(row) = rows.first() else { return Ok(Finished::NotFound) };
        let what = format!("task {}", finish.id);
        self.tell_of_new(&rows, "told", &what)?;
        let changed: bool = get(row, "changed", &what)?;
        let own: Option<bool> = get(row, "own", &what)?;
        let status = row::status(row, "status", &what)?;
        if changed || own == Some(true) {
            return Ok(Finished::Committed { status });
        }
        // Perhaps this very finish, sent before, ended the claim while this one waited for the row.
        let before = self
            .inner
            .workers
            .query(FINISHED, &[(&finish.operation.0, Type::UUID), (&finish.id.0, Type::INT8)])
            .await?;
        Ok(match before.first() {
            Some(event) => Finished::Committed { status: row::status(event, "status_after", &what)? },
            None => Finished::LeaseLost { status, claim_no: get(row, "claim_no", &what)? },
        })
    }

    /// Gives claims back whose analysers did not run to the end. Returns the ids that these releases gave back, now or
    /// when they were sent before, in ascending order; the others were no longer under that claim.
    ///
    /// # Errors
    /// `Unknown`: send the same again. On any error every one of them may be sent again, also together with others.
    pub async fn release(
        &self,
        instance: InstanceId,
        actor: &str,
        reason: &str,
        releases: &[Release],
    ) -> Result<Vec<TaskId>, DbError> {
        if releases.is_empty() {
            return Ok(Vec::new());
        }
        let mut releases = releases.to_vec();
        releases.sort_unstable_by_key(|release| (release.id, release.claim_no));
        let ids: Vec<i64> = releases.iter().map(|release| release.id.0).collect();
        let claims: Vec<i64> = releases.iter().map(|release| release.claim_no).collect();
        let operations: Vec<Uuid> = releases.iter().map(|release| release.operation.0).collect();
        let rows = self
            .inner
            .workers
            .query(
                RELEASE,
                &[
                    (&instance.0, Type::UUID),
                    (&ids, Type::INT8_ARRAY),
                    (&claims, Type::INT8_ARRAY),
                    (&actor, Type::TEXT),
                    (&reason, Type::TEXT),
                    (&operations, Type::UUID_ARRAY),
                ],
            )
            .await?;
        self.tell_of_new(&rows, "told", "a release")?;
        let mut released = released_ids(&rows)?;
        if released.len() < releases.len() {
            // Perhaps these very releases, sent before.
            let params: &[Param<'_>] = &[(&ids, Type::INT8_ARRAY), (&operations, Type::UUID_ARRAY)];
            released.append(&mut released_ids(&self.inner.workers.query(RELEASED, params).await?)?);
        }
        released.sort_unstable();
        released.dedup();
        Ok(released)
    }

    /// Wakes whoever delivers notifications if one of `rows` says in `column` that one was written with it.
    pub(super) fn tell_of_new(&self, rows: &[Row], column: &str, what: &str) -> Result<(), DbError> {
        for row in rows {
            if get(row, column, what)? {
                self.wake_deliverers();
                break;
            }
        }
        Ok(())
    }
}

fn released_ids(rows: &[Row]) -> Result<Vec<TaskId>, DbError> {
    rows.iter().map(|row| get(row, "id", "a release").map(TaskId)).collect()
}
