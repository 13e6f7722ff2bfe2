//! The look beforehand: how many tasks a decision about all that match would be about.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use tokio_postgres::types::Type;

use super::super::Db;
use super::super::error::DbError;
use super::super::pool::Param;
use super::super::row::{get, status};
use super::super::sql::{NEWEST, PREVIEW};
use super::{WINDOW, nothing};
use crate::domain::bulk::{Count, Matching, Preview};
use crate::domain::observed::Filter;
use crate::domain::{DecisionKind, Status, TaskId};

/// The most windows that a look beforehand goes through.
const WINDOWS: u32 = 40;

/// How long a look beforehand goes on from window to window.
const LOOK_FOR: Duration = Duration::from_secs(2);

/// Which of the tasks that run are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asked {
    /// Those that were not asked to stop: the others stay as they are.
    NotYet,
    /// Those that were.
    Already,
    /// All.
    Either,
}

impl Asked {
    fn parameter(self) -> Option<bool> {
        match self {
            Self::NotYet => Some(false),
            Self::Already => Some(true),
            Self::Either => None,
        }
    }
}

impl Db {
    /// Looks how many tasks a decision about all that match would be about: at most [`WINDOWS`] windows of [`WINDOW`]
    /// rows, no new one after [`LOOK_FOR`].
    ///
    /// # Errors
    /// `Unavailable` if the database could not be asked.
    pub async fn preview(
        &self,
        kind: DecisionKind,
        filter: &Filter,
        created_before: Option<Timestamp>,
    ) -> Result<Preview, DbError> {
        let began = Instant::now();
        let what = "the newest task";
        let newest = self.inner.operator.query(NEWEST, &[]).await?;
        let row = newest.first().ok_or_else(|| nothing(what))?;
        let up_to = TaskId(get::<Option<i64>>(row, "newest", what)?.unwrap_or(0));
        let read_at = get(row, "read_at", what)?;
        let matching = Matching { kind, filter: filter.clone(), created_before, up_to };
        let mut found = Preview {
            ready: BTreeMap::new(),
            complete: false,
            left_out: BTreeMap::new(),
            looked_at: 0,
            read_at,
            matching,
        };
        let states = found.matching.states();
        let mut after = None;
        for window in 0..WINDOWS {
            if window > 0 && began.elapsed() > LOOK_FOR {
                break;
            }
            let looked = self.count(&found.matching, &states, after, Asked::NotYet).await?;
            for (status, rows) in looked.counts {
                *found.ready.entry(status).or_default() += rows;
            }
            found.looked_at += looked.looked_at;
            after = looked.next_after;
            if after.is_none() {
                found.complete = true;
                break;
            }
        }
        let asked = states.contains(&Status::Running).then_some((Status::Running, Asked::Already));
        let others = found.matching.states_left_out().into_iter().map(|status| (status, Asked::Either));
        for (status, asked) in asked.into_iter().chain(others) {
            let looked = self.count(&found.matching, &[status], None, asked).await?;
            let rows = looked.counts.iter().map(|(_, rows)| rows).sum();
            let complete = looked.next_after.is_none();
            if rows > 0 {
                found.left_out.insert(status, Count { rows, complete });
            }
        }
        Ok(found)
    }

    /// Counts what matches in the next window.
    async fn count(
        &self,
        matching: &Matching,
        states: &[Status],
        after: Option<TaskId>,
        asked: Asked,
    ) -> Result<Window, DbError> {
        let what = "a count";
        let parameters = Parameters::of(matching, states, after, WINDOW, asked);
        let rows = self.inner.operator.query(PREVIEW, &parameters.all(None)).await?;
        let first = rows.first().ok_or_else(|| nothing(what))?;
        let reaches = TaskId(get(first, "reaches", what)?);
        let mut counts = Vec::new();
        for row in &rows {
            if get::<Option<&str>>(row, "status", what)?.is_some() {
                counts.push((status(row, "status", what)?, get(row, "rows", what)?));
            }
        }
        let next_after = (reaches < matching.up_to).then_some(reaches);
        Ok(Window { counts, looked_at: get(first, "looked", what)?, next_after })
    }
}

/// What a window of a look beforehand holds.
#[derive(Debug)]
struct Window {
    counts: Vec<(Status, i64)>,
    looked_at: i64,
    next_after: Option<TaskId>,
}

/// The parameters that `matches.sql` and `preview.sql` have in common.
#[derive(Debug)]
pub(super) struct Parameters<'a> {
    matching: &'a Matching,
    states: Vec<&'static str>,
    after: i64,
    window: i64,
    asked: Option<bool>,
}

impl<'a> Parameters<'a> {
    pub(super) fn of(
        matching: &'a Matching,
        states: &[Status],
        after: Option<TaskId>,
        window: i64,
        asked: Asked,
    ) -> Self {
        let states = states.iter().copied().map(Status::as_str).collect();
        // Ids are given out from 1 on, and who chooses their own may choose 0 or less.
        let after = after.map_or(i64::MIN, |id| id.0);
        Self { matching, states, after, window, asked: asked.parameter() }
    }

    pub(super) fn all<'b>(&'b self, page: Option<&'b i64>) -> Vec<Param<'b>> {
        let Filter { tenant, queue, search, .. } = &self.matching.filter;
        let mut all: Vec<Param<'b>> = vec![
            (&self.states, Type::TEXT_ARRAY),
            (tenant, Type::TEXT),
            (queue, Type::TEXT),
            (search, Type::TEXT),
            (&self.matching.created_before, Type::TIMESTAMPTZ),
            (&self.after, Type::INT8),
            (&self.matching.up_to.0, Type::INT8),
            (&self.window, Type::INT8),
            (&self.asked, Type::BOOL),
        ];
        if let Some(page) = page {
            all.push((page, Type::INT8));
        }
        all
    }
}
