//! Migrations: in the binary, applied in one transaction under an advisory lock of that transaction, so that
//! any number of processes may start at once, also through a pooler.

use std::time::Duration;

use tokio::time::timeout;
use tokio_postgres::Transaction;
use tokio_postgres::error::SqlState;

use super::Db;
use super::error::{DbError, Trouble, classify};
use super::sql::{Effect, SCHEMA_VERSION, Schema, render};

/// The migrations in order; the first has version 1.
const MIGRATIONS: &[&str] = &[
    include_str!("sql/migrations/0001_tasks.sql"),
    include_str!("sql/migrations/0002_fleet.sql"),
    include_str!("sql/migrations/0003_queues.sql"),
    include_str!("sql/migrations/0004_audit.sql"),
    include_str!("sql/migrations/0005_submitters.sql"),
    include_str!("sql/migrations/0006_limits.sql"),
    include_str!("sql/migrations/0007_outbox.sql"),
    include_str!("sql/migrations/0008_processes.sql"),
];

/// The schema's version that this program works with.
const VERSION: i32 = 8;
const _: () = assert!(MIGRATIONS.len() == 8, "VERSION is the number of migrations");

/// The advisory lock of migrations (the bytes of "taskdeck").
const LOCK: i64 = 0x7461_736b_6465_636b;

/// How long another process's migration is waited for, in seconds.
const LOCKED_WITHIN_S: u32 = 60;

/// The bound of a whole run, for a server that stops answering; each statement has the server's bound of ten minutes.
const MIGRATED_WITHIN: Duration = Duration::from_mins(30);

/// What a migration run did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Migrated {
    /// The version found; 0 if there was no schema.
    pub from: i32,
    /// The version now.
    pub to: i32,
}

impl Db {
    /// Brings the schema to the version that this program expects.
    ///
    /// # Errors
    /// `Schema` if it is newer than this program; `Refused` if the role may not; else as [`DbError`] says. After an
    /// error nothing was changed, but where it is `Unknown`: then running it again finds out.
    pub async fn migrate(&self) -> Result<Migrated, DbError> {
        // Read first: a role that may only use the tables must be able to start when there is nothing to do.
        if let Ok(version) = self.schema_version().await
            && version == VERSION
        {
            return Ok(Migrated { from: version, to: version });
        }
        timeout(MIGRATED_WITHIN, self.migrate_locked()).await.unwrap_or_else(|_| {
            Err(DbError::Unknown(
                Trouble::new(format!("the migration had no answer within {MIGRATED_WITHIN:?}"))
                    .hint("run it again: it finds out what was done"),
            ))
        })
    }

    /// Migrates under the lock that lets one process do it at a time.
    async fn migrate_locked(&self) -> Result<Migrated, DbError> {
        // Taken only now: a pool of one would wait for itself.
        let mut session = self.inner.operator.acquire().await?;
        let schema = &self.inner.schema;
        let sent = |error: tokio_postgres::Error| classify(&error, Effect::Read);
        let transaction = session.client().transaction().await.map_err(sent)?;
        transaction
            .batch_execute(&format!(
                "SET LOCAL statement_timeout = '10min'; SET LOCAL lock_timeout = '{LOCKED_WITHIN_S}s'; \
                 SELECT pg_advisory_xact_lock({LOCK})"
            ))
            .await
            .map_err(|error| while_another_migrates(classify(&error, Effect::Read)))?;
        let from = prepare(&transaction, schema).await?;
        if from > VERSION {
            return Err(newer(from));
        }
        if from == VERSION {
            // Without a commit nothing can be unknown; a lost answer to one would have a start end without need.
            return Ok(Migrated { from, to: VERSION });
        }
        for (version, migration) in (1..).zip(MIGRATIONS).skip(usize::try_from(from).unwrap_or(0)) {
            transaction.batch_execute(&render(migration, schema)).await.map_err(sent)?;
            let insert = format!("INSERT INTO {}.migrations (version) VALUES ({version})", schema.quoted());
            transaction.batch_execute(&insert).await.map_err(sent)?;
        }
        // The driver's commit says "done" also where the server answered ROLLBACK (rust-postgres#1334); a statement
        // in an aborted transaction fails, so this one is the proof that the commit can only be a commit.
        transaction.batch_execute("SELECT 1").await.map_err(sent)?;
        transaction.commit().await.map_err(|error| classify(&error, Effect::Write))?;
        session.settled();
        Ok(Migrated { from, to: VERSION })
    }

    /// Checks that the schema is the one that this program expects, without changing anything.
    ///
    /// # Errors
    /// `Schema` if it is missing, older or newer.
    pub async fn check_schema(&self) -> Result<(), DbError> {
        match self.schema_version().await? {
            VERSION => Ok(()),
            0 => Err(DbError::Schema(
                Trouble::new(format!("there is no schema `{}` in this database", self.inner.schema.name()))
                    .hint("run `taskdeck migrate` as a role that may create it, or check --schema"),
            )),
            older if older < VERSION => Err(DbError::Schema(
                Trouble::new(format!("the schema has version {older}, this program needs {VERSION}"))
                    .hint("run `taskdeck migrate`"),
            )),
            version => Err(newer(version)),
        }
    }

    /// The schema's version; 0 if there is none.
    async fn schema_version(&self) -> Result<i32, DbError> {
        let answer = self.inner.operator.query(SCHEMA_VERSION, &[]).await;
        match answer {
            Ok(rows) => Ok(rows.first().and_then(|row| row.try_get(0).ok()).unwrap_or(0)),
            Err(DbError::Schema(_)) => Ok(0),
            Err(other) => Err(other),
        }
    }
}

/// Makes the schema and the table of versions where they are missing; returns the version.
async fn prepare(transaction: &Transaction<'_>, schema: &Schema) -> Result<i32, DbError> {
    let sent = |error: tokio_postgres::Error| classify(&error, Effect::Read);
    let quoted = schema.quoted();
    let exists = transaction
        .query_typed(
            "SELECT FROM pg_namespace WHERE nspname = $1",
            &[(&schema.name(), tokio_postgres::types::Type::TEXT)],
        )
        .await
        .map_err(sent)?;
    if exists.is_empty() {
        transaction.batch_execute(&format!("CREATE SCHEMA {quoted}")).await.map_err(|error| {
            let refused = error.code() == Some(&SqlState::INSUFFICIENT_PRIVILEGE);
            let error = classify(&error, Effect::Read);
            match error {
                DbError::Refused(trouble) if refused => DbError::Refused(
                    trouble.hint("let a role that may create schemas run `taskdeck migrate` once"),
                ),
                other => other,
            }
        })?;
    }
    transaction
        .batch_execute(&format!(
            "CREATE TABLE IF NOT EXISTS {quoted}.migrations \
             (version integer PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())"
        ))
        .await
        .map_err(sent)?;
    let rows = transaction
        .query_typed(&format!("SELECT coalesce(max(version), 0) FROM {quoted}.migrations"), &[])
        .await
        .map_err(sent)?;
    Ok(rows.first().map_or(0, |row| row.get(0)))
}

/// The lock was not had: somebody else has migrated for a long time.
fn while_another_migrates(error: DbError) -> DbError {
    match error {
        DbError::Unavailable(mut trouble) if trouble.sqlstate.as_deref() == Some("55P03") => {
            trouble.message =
                format!("another process has migrated this database for over {LOCKED_WITHIN_S} s");
            trouble.hint = Some("wait for it, or see in pg_stat_activity what holds it up".to_owned());
            DbError::Unavailable(trouble)
        }
        other => other,
    }
}

fn newer(version: i32) -> DbError {
    DbError::Schema(
        Trouble::new(format!("the schema has version {version}, newer than this program's {VERSION}"))
            .hint("use a newer taskdeck"),
    )
}
