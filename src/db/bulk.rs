//! Decisions about all that match: a look beforehand, then chunk by chunk, each of them decided as one decision.
//!
//! A row that moved on between being read and being decided about is left as it is and told: it is never decided about
//! with its new version. The others of its chunk, still as they were read, are decided again without it.

mod look;

use std::collections::HashMap;

use tokio::time::timeout;
use tokio_postgres::Row;
use uuid::Uuid;

use super::Db;
use super::decide::{NAMED_WITHIN, verdict};
use super::error::DbError;
use super::resolve::{OnUnknown, Resolved, resolve};
use super::row::get;
use super::sql::MATCHES;
use super::tasks::Preview as Text;
use crate::domain::bulk::{Bulk, CHUNK, Chunk, Left, Matching, Uncertain};
use crate::domain::observed::Filter;
use crate::domain::outcome::Verdict;
use crate::domain::{Decision, OperationId, Seen, Status, TaskId};
use look::{Asked, Parameters};

/// How many rows are looked at to find those of one chunk.
const WINDOW: i64 = 5_000;

/// Why a chunk was not decided to its end.
#[derive(Debug)]
pub struct Interrupted {
    /// What became of the part of it that was decided.
    pub chunk: Chunk,
    /// What the database said.
    pub error: DbError,
    /// Where the error is [`DbError::Unknown`]: what may have been changed or not. Nothing after it was sent.
    pub uncertain: Option<Uncertain>,
}

/// Some rows of a chunk that are decided about together.
#[derive(Debug)]
struct Piece {
    rows: Vec<Seen>,
    /// How often a decision about them was kept from taking effect.
    failures: u32,
}

/// What one decision came to.
#[derive(Debug)]
enum Came {
    /// All rows were changed; so many of them run and were asked to stop.
    Committed { asked: i64 },
    /// None was: these stood in the way, the others did not.
    Not { left: Vec<Left>, others: Vec<Seen> },
}

impl Db {
    /// Reads the next tasks that match, at most [`CHUNK`] of them with an id above `after`, and decides about them as one
    /// decision. Whatever is in the way of it drops out with its reason, and the others are decided without it: together
    /// once more, and where that fails too by halves.
    ///
    /// A chunk without rows only tells how far it was looked.
    ///
    /// # Errors
    /// What ended it, with what was decided before; nothing after that was sent.
    pub async fn decide_chunk(
        &self,
        bulk: &Bulk,
        after: Option<TaskId>,
        on_unknown: OnUnknown<'_>,
    ) -> Result<Chunk, Box<Interrupted>> {
        let mut chunk = Chunk::default();
        let ended = match self.next_matches(&bulk.matching, after, &mut chunk).await {
            Ok(rows) => self.decide_rows(bulk, rows, &mut chunk, on_unknown).await,
            Err(error) => Err((error, None)),
        };
        if chunk.committed > 0 {
            self.wake_deliverers();
        }
        chunk.left.sort_by_key(|left| left.seen.id);
        // That nobody can be named in time is no reason to hold the answer back.
        let _ = timeout(NAMED_WITHIN, self.name_who_was_first(&mut chunk.left)).await;
        ended.map_err(|(error, uncertain)| {
            // What is done does not match any more, so the chunk may be begun anew.
            let chunk = Chunk { next_after: after, ..std::mem::take(&mut chunk) };
            Box::new(Interrupted { chunk, error, uncertain })
        })?;
        Ok(chunk)
    }

    /// Decides about the rows of one chunk and tells in `chunk` what became of them.
    async fn decide_rows(
        &self,
        bulk: &Bulk,
        rows: Vec<Seen>,
        chunk: &mut Chunk,
        on_unknown: OnUnknown<'_>,
    ) -> Result<(), (DbError, Option<Uncertain>)> {
        let mut pieces = vec![Piece { rows, failures: 0 }];
        while let Some(Piece { rows, failures }) = pieces.pop() {
            let Some((first, last)) = rows.first().zip(rows.last()) else { continue };
            let (from, to) = (first.id, last.id);
            let count = i64::try_from(rows.len()).unwrap_or(i64::MAX);
            let decision = Decision {
                kind: bulk.matching.kind,
                rows,
                tenant: bulk.matching.filter.tenant.clone(),
                operator: bulk.operator.clone(),
                approval: bulk.approval,
                reason: bulk.reason.clone(),
                operation: OperationId(Uuid::now_v7()),
            };
            let resolved = self.decide_matches(&decision, on_unknown).await.map_err(|error| {
                chunk.retries += error.trouble().map_or(0, |trouble| trouble.retries);
                let is_unknown = matches!(error, DbError::Unknown(_));
                (error, is_unknown.then_some(Uncertain { from, to, rows: count }))
            })?;
            chunk.resolved_from_unknown |= resolved.from_unknown;
            chunk.retries += resolved.retries;
            match resolved.answer {
                Came::Committed { asked } => {
                    chunk.committed += count;
                    chunk.asked += asked;
                }
                Came::Not { left, others } => {
                    chunk.left.extend(left);
                    pieces.extend(again(others, failures + 1));
                }
            }
        }
        Ok(())
    }

    async fn name_who_was_first(&self, left: &mut [Left]) {
        let mut rows: Vec<_> = left.iter().map(|left| (left.seen.id, left.verdict.clone())).collect();
        self.name_winners(&mut rows).await;
        for (left, (_, verdict)) in left.iter_mut().zip(rows) {
            left.verdict = verdict;
        }
    }

    /// Reads the rows of the next chunk and tells in `chunk` how far it was looked.
    async fn next_matches(
        &self,
        matching: &Matching,
        after: Option<TaskId>,
        chunk: &mut Chunk,
    ) -> Result<Vec<Seen>, DbError> {
        let states = matching.states();
        let Filter { tenant, queue, search, .. } = &matching.filter;
        // What only its state narrows matches as soon as it is looked at.
        let narrows =
            tenant.is_some() || queue.is_some() || search.is_some() || matching.created_before.is_some();
        let window = if narrows { WINDOW } else { CHUNK };
        let what = "a chunk";
        let parameters = Parameters::of(matching, &states, after, window, Asked::NotYet);
        let rows = self.inner.operator.query(MATCHES, &parameters.all(Some(&CHUNK))).await?;
        let first = rows.first().ok_or_else(|| nothing(what))?;
        chunk.looked_at = get(first, "looked", what)?;
        let mut seen = Vec::with_capacity(rows.len());
        for row in &rows {
            if let Some(id) = get::<Option<i64>>(row, "id", what)? {
                seen.push(Seen { id: TaskId(id), version: get(row, "version", what)? });
            }
        }
        let full = i64::try_from(seen.len()).is_ok_and(|rows| rows >= CHUNK);
        let reaches = match seen.last() {
            Some(last) if full => last.id,
            _ => TaskId(get(first, "reaches", what)?),
        };
        chunk.next_after = (reaches < matching.up_to).then_some(reaches);
        Ok(seen)
    }

    /// One decision about rows of a chunk.
    async fn decide_matches(
        &self,
        decision: &Decision,
        on_unknown: OnUnknown<'_>,
    ) -> Result<Resolved<Came>, DbError> {
        let attempt = || self.decide_matches_once(decision);
        let trace = || async {
            let asked = self.all_decided(decision).await?;
            Ok(asked.map(|asked| Came::Committed { asked }))
        };
        resolve(on_unknown, attempt, trace).await
    }

    async fn decide_matches_once(&self, decision: &Decision) -> Result<Came, DbError> {
        let rows = self.send_decision(decision, &decision.rows, Text::Beginning).await?;
        let mut changed = false;
        for row in &rows {
            changed |= get::<bool>(row, "changed", "a decision")?;
        }
        // What was changed is not read any further, so that no text and no row that cannot be read is in the way of
        // saying so. The rows may have moved on by this very decision, sent before.
        if changed {
            return Ok(Came::Committed { asked: running(&rows, "status")? });
        }
        if let Some(asked) = self.all_decided(decision).await? {
            return Ok(Came::Committed { asked });
        }
        let mut now = HashMap::with_capacity(rows.len());
        for row in &rows {
            now.insert(get::<i64>(row, "id", "a decision")?, row);
        }
        let (mut left, mut others) = (Vec::new(), Vec::new());
        // What a tenant's limit has left of today, while it is dealt out to the first of its rows.
        let mut room = HashMap::new();
        for seen in &decision.rows {
            match now.get(&seen.id.0) {
                None => left.push(Left { seen: *seen, verdict: Verdict::NotFound }),
                Some(row) => match verdict(row, &decision.rows)?.1 {
                    // A row that stands alone has nothing in its way but itself: it is not asked for ever.
                    Verdict::Held { .. } if decision.rows.len() > 1 => others.push(*seen),
                    Verdict::OverLimit { task, over } => {
                        let room = room.entry(task.tenant.clone()).or_insert(over.most - over.used);
                        *room -= 1;
                        if *room >= 0 {
                            others.push(*seen);
                        } else {
                            left.push(Left { seen: *seen, verdict: Verdict::OverLimit { task, over } });
                        }
                    }
                    verdict => left.push(Left { seen: *seen, verdict }),
                },
            }
        }
        Ok(Came::Not { left, others })
    }

    /// If this very decision has changed all of its rows, how many of them it asked to stop. That it has not does not tell
    /// that it never will.
    async fn all_decided(&self, decision: &Decision) -> Result<Option<i64>, DbError> {
        let rows = self.decided_rows(decision, &decision.rows, Text::Beginning).await?;
        (rows.len() == decision.rows.len()).then(|| running(&rows, "status_after")).transpose()
    }
}

/// How many rows say that they run.
fn running(rows: &[Row], column: &str) -> Result<i64, DbError> {
    let mut running = 0;
    for row in rows {
        running += i64::from(get::<&str>(row, column, "a decision")? == Status::Running.as_str());
    }
    Ok(running)
}

/// What is decided next about rows that did not stand in the way: all of them once more, later by halves, so that rows
/// that move on as fast as they are read hold up only their neighbours.
fn again(mut rows: Vec<Seen>, failures: u32) -> Vec<Piece> {
    if failures < 2 || rows.len() < 2 {
        return vec![Piece { rows, failures }];
    }
    let later = rows.split_off(rows.len() / 2);
    // What is pushed last is decided first: in ascending ids, as far as that goes.
    vec![Piece { rows: later, failures }, Piece { rows, failures }]
}

fn nothing(what: &str) -> DbError {
    DbError::BadRow { what: what.to_owned(), problem: "the server returned no row for it".to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(count: i64) -> Vec<Seen> {
        (1..=count).map(|id| Seen { id: TaskId(id), version: 0 }).collect()
    }

    #[test]
    fn what_is_decided_again_is_divided_only_where_that_helps() {
        let sizes =
            |pieces: Vec<Piece>| -> Vec<usize> { pieces.iter().map(|piece| piece.rows.len()).collect() };
        assert_eq!(sizes(again(rows(499), 1)), [499], "one row in the way costs one more decision");
        assert_eq!(sizes(again(rows(499), 2)), [250, 249]);
        assert_eq!(sizes(again(rows(1), 9)), [1]);
        let mut pieces = again(rows(9), 2);
        assert_eq!(pieces.pop().map(|piece| piece.rows[0].id), Some(TaskId(1)), "the lower ids first");
    }
}
