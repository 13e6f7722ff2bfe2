//! Decisions about all that match: what is asked for, what a look beforehand found, and what became of it, chunk by
//! chunk.
//!
//! Invariant: a row is decided about with the version with which it was read as matching, or not at all; each row that
//! was read and not decided about is told with its reason.

use std::collections::BTreeMap;
use std::fmt;

use jiff::Timestamp;

use super::figure::thousands;
use super::observed::Filter;
use super::outcome::{DecisionOutcome, Verdict};
use super::{Approval, DecisionKind, Seen, Status, TaskId};

/// The most rows of one decision of several.
pub const CHUNK: i64 = 500;

/// Which tasks are decided about, as a look beforehand found them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Matching {
    /// What is decided.
    pub kind: DecisionKind,
    /// Which tasks; of their states those from which the decision leads somewhere.
    pub filter: Filter,
    /// Only tasks that were created before this, by the database's clock.
    pub created_before: Option<Timestamp>,
    /// The newest task when it was looked: what comes later is not swept in.
    pub up_to: TaskId,
}

impl Matching {
    /// The states that the filter has and from which the decision leads somewhere.
    pub fn states(&self) -> Vec<Status> {
        self.wanted().filter(|status| self.kind.leads_to(*status).is_some()).collect()
    }

    /// The states that the filter has and in which a task stays as it is.
    pub fn states_left_out(&self) -> Vec<Status> {
        self.wanted().filter(|status| self.kind.leads_to(*status).is_none()).collect()
    }

    /// Whether nothing but the decision itself narrows it: it is about every task of every tenant.
    pub fn is_everything(&self) -> bool {
        self.filter == Filter::default() && self.created_before.is_none()
    }

    fn wanted(&self) -> impl Iterator<Item = Status> {
        let statuses = &self.filter.statuses;
        Status::ALL.into_iter().filter(|status| statuses.is_empty() || statuses.contains(status))
    }
}

/// How many there are, as far as it was looked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Count {
    /// Rows that were found.
    pub rows: i64,
    /// Whether all were looked at; if not, there may be more.
    pub complete: bool,
}

impl fmt::Display for Count {
    /// `1,204`, or `at least 1,204`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows = thousands(self.rows);
        f.pad(&if self.complete { rows } else { format!("at least {rows}") })
    }
}

/// What a look beforehand found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preview {
    /// What a decision that follows is about: exactly this is to be agreed to.
    pub matching: Matching,
    /// The tasks that it is possible for, by their state; only states in which there are some.
    pub ready: BTreeMap<Status, i64>,
    /// Whether all of those were found; if not, each count is "at least".
    pub complete: bool,
    /// The tasks that match and stay as they are, because of their state or as they were asked to stop already; only
    /// states in which there are some. Each is looked for by itself.
    pub left_out: BTreeMap<Status, Count>,
    /// How many rows were looked at to find what is ready.
    pub looked_at: i64,
    /// The database's clock when it was looked.
    pub read_at: Timestamp,
}

impl Preview {
    /// How many the decision is possible for.
    pub fn total(&self) -> Count {
        Count { rows: self.ready.values().sum(), complete: self.complete }
    }
}

/// A decision about all that match, as an operator agreed to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bulk {
    /// What is decided, and about what.
    pub matching: Matching,
    /// Who decides.
    pub operator: String,
    /// Who may approve where this program is set up.
    pub approval: Approval,
    /// Why, as the operator put it.
    pub reason: Option<String>,
}

/// A row that matched when it was read and was not decided about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Left {
    /// The row as it was read.
    pub seen: Seen,
    /// Why not, and the row as it is now. Never [`Verdict::Committed`].
    pub verdict: Verdict,
}

/// What became of the rows of one chunk.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Chunk {
    /// How many the decision changed.
    pub committed: i64,
    /// How many of those ran and were asked to stop; they run until they have.
    pub asked: i64,
    /// Those that it did not.
    pub left: Vec<Left>,
    /// How many rows were looked at to find them.
    pub looked_at: i64,
    /// Where to go on; none: everything was looked at.
    pub next_after: Option<TaskId>,
    /// An answer was lost and its outcome was established afterwards.
    pub resolved_from_unknown: bool,
    /// How often a whole decision was decided again after a deadlock or serialization failure.
    pub retries: u32,
}

impl Chunk {
    /// How many rows were decided about, whatever became of them.
    pub fn rows(&self) -> i64 {
        self.committed.saturating_add(counted(self.left.len()))
    }
}

/// Rows of one decision whose answer was lost and could not be established: all of them were changed or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Uncertain {
    /// The first of them.
    pub from: TaskId,
    /// The last of them.
    pub to: TaskId,
    /// How many they are.
    pub rows: i64,
}

/// What became of all chunks so far.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sum {
    /// Rows that were changed.
    pub committed: i64,
    /// Those of them that ran and were asked to stop; they run until they have.
    pub asked: i64,
    /// Rows that had moved on.
    pub conflicts: i64,
    /// Rows that a rule leaves to another operator or to another day.
    pub refused: i64,
    /// Rows that are not there any more.
    pub not_found: i64,
    /// How many chunks had rows in them.
    pub chunks: i64,
    /// How many rows were looked at.
    pub looked_at: i64,
    /// Where to go on; none: everything was looked at, or nothing yet.
    pub next_after: Option<TaskId>,
    /// Some answer was lost and its outcome was established afterwards.
    pub resolved_from_unknown: bool,
    /// How often a whole decision was decided again after a deadlock or serialization failure.
    pub retries: u32,
    /// The first of those that were left as they are, at most [`Sum::EXAMPLES`].
    pub examples: Vec<Left>,
}

impl Sum {
    /// How many rows that were left are kept with their reasons.
    pub const EXAMPLES: usize = 5;

    /// Adds what became of a chunk.
    pub fn take(&mut self, chunk: Chunk) {
        let rows = chunk.rows();
        let Chunk { committed, asked, left, looked_at, next_after, resolved_from_unknown, retries } = chunk;
        self.committed += committed;
        self.asked += asked;
        self.chunks += i64::from(rows > 0);
        self.looked_at += looked_at;
        self.next_after = next_after;
        self.resolved_from_unknown |= resolved_from_unknown;
        self.retries += retries;
        for left in left {
            match &left.verdict {
                Verdict::Refused { .. } | Verdict::OverLimit { .. } => self.refused += 1,
                Verdict::NotFound => self.not_found += 1,
                // What another row kept from being decided about stands alone at last, so this is not there.
                Verdict::Conflict { .. } | Verdict::Held { .. } | Verdict::Committed { .. } => {
                    self.conflicts += 1;
                }
            }
            if self.examples.len() < Self::EXAMPLES {
                self.examples.push(left);
            }
        }
    }

    /// `12 canceled, 3 asked to stop`: what was done, and no more than was done.
    pub fn done(&self, kind: DecisionKind) -> String {
        let ended = self.committed - self.asked;
        let done = format!("{} {}", thousands(ended), kind.past());
        match (self.asked, ended) {
            (0, _) => done,
            (asked, 0) => format!("{} asked to stop", thousands(asked)),
            (asked, _) => format!("{done}, {} asked to stop", thousands(asked)),
        }
    }

    /// How many rows were read as matching and left as they are.
    pub fn left(&self) -> i64 {
        self.conflicts + self.refused + self.not_found
    }

    /// One word for all of it: whether everything that was read as matching was changed.
    pub fn outcome(&self) -> DecisionOutcome {
        if self.conflicts > 0 || self.not_found > 0 {
            DecisionOutcome::Conflict
        } else if self.refused > 0 {
            DecisionOutcome::Refused
        } else {
            DecisionOutcome::Committed
        }
    }
}

fn counted(rows: usize) -> i64 {
    i64::try_from(rows).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matching(kind: DecisionKind, statuses: &[Status]) -> Matching {
        let filter = Filter { statuses: statuses.to_vec(), ..Filter::default() };
        Matching { kind, filter, created_before: None, up_to: TaskId(9) }
    }

    #[test]
    fn states_are_divided_by_the_table_of_moves() {
        let all = matching(DecisionKind::Requeue, &[]);
        assert_eq!(all.states(), [Status::Failed, Status::Canceled, Status::Rejected]);
        assert_eq!(
            all.states_left_out(),
            [Status::Submitted, Status::Queued, Status::Running, Status::Succeeded]
        );
        let some = matching(DecisionKind::Cancel, &[Status::Failed, Status::Queued]);
        assert_eq!((some.states(), some.states_left_out()), (vec![Status::Queued], vec![Status::Failed]));
        assert!(all.is_everything() && !some.is_everything());
    }

    #[test]
    fn a_sum_keeps_counts_of_all_and_few_examples() {
        let left = |id: i64, verdict: Verdict| Left { seen: Seen { id: TaskId(id), version: 0 }, verdict };
        let mut sum = Sum::default();
        sum.take(Chunk { committed: 500, next_after: Some(TaskId(500)), ..Chunk::default() });
        assert_eq!(
            (sum.outcome(), sum.chunks, sum.next_after),
            (DecisionOutcome::Committed, 1, Some(TaskId(500)))
        );
        sum.take(Chunk { looked_at: 5_000, next_after: Some(TaskId(5_500)), ..Chunk::default() });
        assert_eq!((sum.chunks, sum.looked_at), (1, 5_000), "nothing matched there");
        let gone = (0..9).map(|id| left(id, Verdict::NotFound)).collect();
        sum.take(Chunk {
            committed: 3,
            left: gone,
            retries: 2,
            resolved_from_unknown: true,
            ..Chunk::default()
        });
        sum.take(Chunk { committed: 1, ..Chunk::default() });
        assert_eq!(
            (sum.committed, sum.not_found, sum.left(), sum.examples.len()),
            (504, 9, 9, Sum::EXAMPLES)
        );
        assert_eq!((sum.chunks, sum.retries, sum.resolved_from_unknown), (3, 2, true));
        assert_eq!((sum.outcome(), sum.next_after), (DecisionOutcome::Conflict, None));
    }

    #[test]
    fn what_was_not_looked_at_to_the_end_is_at_least() {
        assert_eq!(Count { rows: 1_204, complete: true }.to_string(), "1,204");
        assert_eq!(Count { rows: 1_204, complete: false }.to_string(), "at least 1,204");
    }
}
