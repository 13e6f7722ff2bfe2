//! The lab's schema: whose it is, made, removed.

use tokio_postgres::types::Type;

use super::Lab;
use super::sql::{BEGIN, COMMIT, CREATE, FOUND, GUARD, GUARD_OWNER, MARK, REMOVE, SERVER, SESSIONS};
use crate::db::error::{DbError, Trouble};
use crate::db::row::get;
use crate::db::{Db, Options, Schema, Session};
use crate::domain::Refusal;
use crate::domain::lab::Server;

/// What `mark.sql` writes. A schema without it is somebody's own, whatever it is called.
const LAB_MARK: &str = "taskdeck lab: ";

/// The right to the lab's schema, for as long as it lives: an open transaction that holds an advisory lock and nothing
/// else. It ends with its connection however this process ends.
#[derive(Debug)]
pub struct Guard {
    _session: Session,
}

/// Whether the right was had.
#[derive(Debug)]
pub enum Guarded {
    /// It was.
    Mine(Box<Guard>),
    /// Another lab has it.
    Taken {
        /// The process at the server that holds it, and what it calls itself, where that can be seen.
        by: Option<(i32, String)>,
    },
}

impl Schema {
    /// The schema of the experiments beside this one.
    ///
    /// # Errors
    /// This name is too long for another behind it.
    pub fn of_lab(&self) -> Result<Self, Refusal> {
        Self::new(&format!("{}_lab", self.name()))
    }
}

impl Lab<'_> {
    /// Opens the same database once more, with pools of its own.
    ///
    /// # Errors
    /// As [`Db::open`].
    pub async fn another(self, options: Options) -> Result<Db, DbError> {
        Db::open(self.db.inner.listener.info().clone(), options).await
    }

    /// The server as experiments in `schema` find it.
    ///
    /// # Errors
    /// As [`DbError`] says.
    pub async fn server(self, schema: &Schema) -> Result<Server, DbError> {
        let rows = self.db.inner.operator.query(SERVER, &[]).await?;
        let what = "the server's settings";
        let row = rows.first().ok_or_else(|| DbError::BadRow {
            what: what.to_owned(),
            problem: "the server returned no row for them".to_owned(),
        })?;
        Ok(Server {
            version: get(row, "server_version", what)?,
            isolation: get(row, "isolation", what)?,
            isolation_set: get(row, "isolation_set", what)?,
            pooler: self.db.behind_pooler(),
            role: get(row, "role", what)?,
            recovery: get(row, "recovery", what)?,
            read_only: get(row, "read_only", what)?,
            may_create: get(row, "may_create", what)?,
            deadlock_timeout_ms: get(row, "deadlock_timeout_ms", what)?,
            schema: schema.name().to_owned(),
        })
    }

    /// Takes the right to `schema`, if nobody has it.
    ///
    /// # Errors
    /// As [`DbError`] says.
    pub async fn guard(self, schema: &Schema) -> Result<Guarded, DbError> {
        let mut session = self.db.inner.operator.acquire().await?;
        // From here on the connection is thrown away with the guard.
        session.client();
        session.query(BEGIN, &[]).await?;
        let rows = session.query(GUARD, &[(&schema.name(), Type::TEXT)]).await?;
        let owned = rows.first().map_or(Ok(false), |row| get(row, "owned", "the lab's lock"))?;
        if owned {
            return Ok(Guarded::Mine(Box::new(Guard { _session: session })));
        }
        drop(session);
        let rows = self.db.inner.operator.query(GUARD_OWNER, &[(&schema.name(), Type::TEXT)]).await?;
        let by = match rows.first() {
            Some(row) => {
                Some((get(row, "pid", "the lab's lock")?, get(row, "application", "the lab's lock")?))
            }
            None => None,
        };
        Ok(Guarded::Taken { by })
    }

    /// Makes the schema anew: one that an earlier run left behind is removed first.
    ///
    /// # Errors
    /// `Refused` if a schema of that name is there that no lab made; else as [`DbError`] says.
    pub async fn make(self) -> Result<(), DbError> {
        self.remove().await?;
        let mut session = self.db.inner.operator.acquire().await?;
        session.client();
        for statement in [BEGIN, CREATE, MARK, COMMIT] {
            session.query(statement, &[]).await?;
        }
        session.settled();
        Ok(())
    }

    /// Removes the schema, if it is there.
    ///
    /// # Errors
    /// As [`Lab::make`].
    pub async fn remove(self) -> Result<(), DbError> {
        let name = self.db.schema().name();
        let operator = &self.db.inner.operator;
        let rows = operator.query(FOUND, &[(&name, Type::TEXT)]).await?;
        let Some(row) = rows.first() else { return Ok(()) };
        if !get::<String>(row, "mark", "the lab's schema")?.starts_with(LAB_MARK) {
            return Err(DbError::Refused(
                Trouble::new(format!("there is a schema `{name}` that no lab made; it was not touched"))
                    .hint("the experiments need that name: rename it, or use another --schema"),
            ));
        }
        operator.query(REMOVE, &[]).await?;
        Ok(())
    }

    /// The sessions that call themselves something that begins with `prefix`: the server's process of each, and what it
    /// calls itself.
    ///
    /// # Errors
    /// As [`DbError`] says.
    pub async fn sessions(self, prefix: &str) -> Result<Vec<(i32, String)>, DbError> {
        let rows = self.db.inner.operator.query(SESSIONS, &[(&prefix, Type::TEXT)]).await?;
        let what = "a session";
        rows.iter().map(|row| Ok((get(row, "pid", what)?, get(row, "application", what)?))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_what_is_looked_for() {
        assert!(MARK.text.contains(&format!("'{LAB_MARK}")), "{}", MARK.text);
    }

    #[test]
    fn a_name_that_leaves_no_room_is_refused() {
        assert_eq!(
            Schema::new("work").and_then(|schema| schema.of_lab()).map(|lab| lab.name().to_owned()),
            Ok("work_lab".to_owned())
        );
        assert!(Schema::new(&"x".repeat(46)).and_then(|schema| schema.of_lab()).is_err());
    }
}
