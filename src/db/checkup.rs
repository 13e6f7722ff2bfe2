//! What `taskdeck doctor` asks that nothing else needs.

use tokio_postgres::types::Type;

use super::Db;
use super::error::DbError;
use super::row::get;
use super::sql::{PRIVILEGES, SERVER_FACTS};

/// What a right on a table is needed for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NeededTo {
    /// See tasks, instances and history.
    Look,
    /// Submit and decide.
    Operate,
    /// Pause queues, set limits and ask workers to stop, whoever's tasks they are.
    Direct,
    /// Run tasks.
    Work,
}

/// The rights that the statements of this program need.
const NEEDS: &[(&str, &str, NeededTo)] = &[
    ("migrations", "SELECT", NeededTo::Look),
    ("tasks", "SELECT", NeededTo::Look),
    ("task_inputs", "SELECT", NeededTo::Look),
    ("instances", "SELECT", NeededTo::Look),
    ("events", "SELECT", NeededTo::Look),
    ("queues", "SELECT", NeededTo::Look),
    ("limits", "SELECT", NeededTo::Look),
    ("outbox", "SELECT", NeededTo::Look),
    ("tasks", "INSERT", NeededTo::Operate),
    ("task_inputs", "INSERT", NeededTo::Operate),
    ("tasks", "UPDATE", NeededTo::Operate),
    ("events", "INSERT", NeededTo::Operate),
    ("limits", "UPDATE", NeededTo::Operate),
    ("outbox", "INSERT", NeededTo::Operate),
    ("queues", "INSERT", NeededTo::Direct),
    ("queues", "UPDATE", NeededTo::Direct),
    ("limits", "INSERT", NeededTo::Direct),
    ("instances", "UPDATE", NeededTo::Direct),
    ("tasks", "UPDATE", NeededTo::Work),
    ("events", "INSERT", NeededTo::Work),
    ("limits", "UPDATE", NeededTo::Work),
    ("outbox", "INSERT", NeededTo::Work),
    ("outbox", "UPDATE", NeededTo::Work),
    ("outbox", "DELETE", NeededTo::Work),
    ("instances", "INSERT", NeededTo::Work),
    ("instances", "UPDATE", NeededTo::Work),
    ("instances", "DELETE", NeededTo::Work),
];

/// A right that the role has or lacks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Privilege {
    /// The table.
    pub table: &'static str,
    /// `SELECT`, `INSERT`, …
    pub privilege: &'static str,
    /// What it is needed for.
    pub needed_to: NeededTo,
    /// Whether the role has it; none where the table is missing.
    pub granted: Option<bool>,
}

/// What does not change while the server runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerFacts {
    /// For example 150018.
    pub version_num: i32,
    /// For example `UTF8`.
    pub encoding: String,
}

impl Db {
    /// Which of the rights that this program needs the role has.
    ///
    /// # Errors
    /// As [`DbError`] says.
    pub async fn privileges(&self) -> Result<Vec<Privilege>, DbError> {
        let schema = self.inner.schema.name();
        let tables: Vec<&str> = NEEDS.iter().map(|(table, ..)| *table).collect();
        let privileges: Vec<&str> = NEEDS.iter().map(|(_, privilege, _)| *privilege).collect();
        let rows = self
            .inner
            .operator
            .query(
                PRIVILEGES,
                &[(&schema, Type::TEXT), (&tables, Type::TEXT_ARRAY), (&privileges, Type::TEXT_ARRAY)],
            )
            .await?;
        rows.iter()
            .zip(NEEDS)
            .map(|(row, &(table, privilege, needed_to))| {
                Ok(Privilege { table, privilege, needed_to, granted: get(row, "granted", "a privilege")? })
            })
            .collect()
    }

    /// The server's version and encoding.
    ///
    /// # Errors
    /// As [`DbError`] says.
    pub async fn server_facts(&self) -> Result<ServerFacts, DbError> {
        let rows = self.inner.operator.query(SERVER_FACTS, &[]).await?;
        let what = "the server's facts";
        let row = rows.first().ok_or_else(|| DbError::BadRow {
            what: what.to_owned(),
            problem: "the server returned no row for it".to_owned(),
        })?;
        Ok(ServerFacts { version_num: get(row, "version_num", what)?, encoding: get(row, "encoding", what)? })
    }

    /// The database's clock.
    ///
    /// # Errors
    /// As [`DbError`] says.
    pub async fn clock(&self) -> Result<jiff::Timestamp, DbError> {
        let rows = self.inner.operator.query(super::sql::CLOCK, &[]).await?;
        rows.first().map_or_else(
            || {
                Err(DbError::BadRow {
                    what: "the clock".to_owned(),
                    problem: "the server returned no row for it".to_owned(),
                })
            },
            |row| get(row, "read_at", "the clock"),
        )
    }
}
