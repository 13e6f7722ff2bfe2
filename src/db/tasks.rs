//! Reading tasks: one, its history, and lists by key.

use jiff::Timestamp;
use tokio_postgres::types::Type;

use super::Db;
use super::error::DbError;
use super::row::{event, get, last_change, listed, task};
use super::sql::{EVENTS, LAST_CHANGE, LIST, TASK};
use crate::domain::observed::{Filter, Page};
use crate::domain::outcome::TaskHistory;
use crate::domain::{LastChange, Status, Task, TaskId};

/// How many rows a search, or the list of one queue, looks at before it gives back what it found and where to go on.
const SEARCH_WINDOW: i64 = 5_000;

/// The most events that a history shows; a task that has more shows its newest.
const EVENTS_SHOWN: i64 = 200;

/// How much of a task's text a read returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Preview {
    /// Its first characters, for a list.
    Beginning,
    /// All of it.
    Whole,
}

impl Preview {
    pub(crate) fn characters(self) -> i32 {
        match self {
            Self::Beginning => 200,
            Self::Whole => i32::MAX,
        }
    }
}

/// Which page of which list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListQuery {
    /// Which tasks.
    pub filter: Filter,
    /// Only ids below this.
    pub before: Option<TaskId>,
    /// The most rows; at least 1.
    pub limit: i64,
    /// How much of each text.
    pub preview: Preview,
}

impl Db {
    /// Looks one task up, of `tenant` only if it is given.
    ///
    /// # Errors
    /// `Unavailable` if the database could not be asked, which is not the same as `None`.
    pub async fn task(
        &self,
        id: TaskId,
        tenant: Option<&str>,
        preview: Preview,
    ) -> Result<Option<Task>, DbError> {
        let characters = preview.characters();
        let rows = self
            .inner
            .operator
            .query(TASK, &[(&id.0, Type::INT8), (&tenant, Type::TEXT), (&characters, Type::INT4)])
            .await?;
        rows.first().map(task).transpose()
    }

    /// Looks one task up with its events, oldest first, and says what the database's clock was.
    ///
    /// # Errors
    /// As [`Db::task`].
    pub async fn history(
        &self,
        id: TaskId,
        tenant: Option<&str>,
    ) -> Result<(Option<TaskHistory>, Timestamp), DbError> {
        let read_at = self.clock().await?;
        let Some(task) = self.task(id, tenant, Preview::Whole).await? else { return Ok((None, read_at)) };
        let rows =
            self.inner.operator.query(EVENTS, &[(&id.0, Type::INT8), (&EVENTS_SHOWN, Type::INT8)]).await?;
        let mut events = rows.iter().rev().map(event).collect::<Result<Vec<_>, _>>()?;
        // What happened between the two reads is not part of the row that was read.
        events.retain(|event| event.version_after <= task.version);
        Ok((Some(TaskHistory { task, events }), read_at))
    }

    /// Who changed each of these tasks last.
    ///
    /// # Errors
    /// As [`Db::task`].
    pub async fn last_changes(&self, ids: &[TaskId]) -> Result<Vec<(TaskId, LastChange)>, DbError> {
        let ids: Vec<i64> = ids.iter().map(|id| id.0).collect();
        let rows = self.inner.operator.query(LAST_CHANGE, &[(&ids, Type::INT8_ARRAY)]).await?;
        rows.iter().map(last_change).collect()
    }

    /// Reads a page of a list.
    ///
    /// # Errors
    /// As [`Db::task`]; a row that cannot be read is no error but a [`crate::domain::observed::Listed::Bad`].
    pub async fn list(&self, query: &ListQuery) -> Result<Page, DbError> {
        let Filter { statuses, tenant, queue, search } = &query.filter;
        let names: Vec<&str> = statuses.iter().copied().map(Status::as_str).collect();
        let statuses = (!names.is_empty()).then_some(names);
        let before = query.before.map(|id| id.0);
        let limit = query.limit.max(1);
        // One more than is shown, so that the last page knows that it is the last.
        let asked = limit.saturating_add(1);
        let window = SEARCH_WINDOW.max(asked);
        let characters = query.preview.characters();
        let rows = self
            .inner
            .operator
            .query(
                LIST,
                &[
                    (&statuses, Type::TEXT_ARRAY),
                    (tenant, Type::TEXT),
                    (queue, Type::TEXT),
                    (search, Type::TEXT),
                    (&before, Type::INT8),
                    (&asked, Type::INT8),
                    (&window, Type::INT8),
                    (&characters, Type::INT4),
                ],
            )
            .await?;
        let first = rows.first().ok_or_else(|| DbError::BadRow {
            what: "a page".to_owned(),
            problem: "the server returned no row for it".to_owned(),
        })?;
        let read_at = get(first, "read_at", "a page")?;
        let scanned: i64 = get(first, "scanned_rows", "a page")?;
        let scanned_to: Option<i64> = get(first, "scanned_to", "a page")?;
        let mut tasks = Vec::with_capacity(rows.len());
        for row in &rows {
            if get::<Option<i64>>(row, "id", "a page")?.is_some() {
                tasks.push(listed(row)?);
            }
        }
        let shown = usize::try_from(limit).unwrap_or(usize::MAX);
        let next_before = if tasks.len() > shown {
            tasks.truncate(shown);
            tasks.last().map(crate::domain::observed::Listed::id)
        } else if (search.is_some() || queue.is_some()) && scanned >= window {
            scanned_to.map(TaskId)
        } else {
            None
        };
        Ok(Page { rows: tasks, next_before, read_at })
    }
}
