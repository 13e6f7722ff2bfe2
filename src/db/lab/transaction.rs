//! Transactions of the lab's own. The product has none but its migrations: these hold rows, form circles and fail.

use tokio_postgres::types::Type;

use super::Lab;
use super::sql::{BACKEND, BEGIN, COMMIT, FAIL, HALF_FINISH, HOLD, ROLLBACK, TOUCH};
use crate::db::Session;
use crate::db::error::DbError;
use crate::db::row::get;
use crate::domain::TaskId;

/// An open transaction. Dropped without an end it is rolled back, with its connection.
#[derive(Debug)]
pub struct Transaction {
    session: Session,
    pid: i32,
    /// The first error in it: from then on the server rolls it back whatever is sent.
    failed: Option<DbError>,
}

/// How a transaction ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    /// It was committed.
    Committed,
    /// It was rolled back, though the driver said "done" to the COMMIT (rust-postgres#1334).
    RolledBack {
        /// The error that made it so.
        error: DbError,
    },
}

impl Lab<'_> {
    /// Begins a transaction on a connection of the operator's pool.
    ///
    /// # Errors
    /// As [`DbError`] says.
    pub async fn transaction(self) -> Result<Transaction, DbError> {
        let mut session = self.db.inner.operator.acquire().await?;
        session.client();
        session.query(BEGIN, &[]).await?;
        let rows = session.query(BACKEND, &[]).await?;
        let pid = rows.first().map_or(Ok(0), |row| get(row, "pid", "a session"))?;
        Ok(Transaction { session, pid, failed: None })
    }
}

impl Transaction {
    /// The server's process, while the transaction lasts.
    pub fn pid(&self) -> i32 {
        self.pid
    }

    async fn run(
        &mut self,
        statement: crate::db::sql::Statement,
        params: &[crate::db::Param<'_>],
    ) -> Result<usize, DbError> {
        let answer = self.session.query(statement, params).await;
        if let Err(error) = &answer {
            self.failed.get_or_insert_with(|| error.clone());
        }
        answer.map(|rows| rows.len())
    }

    /// Locks `ids` one after the other, in their order.
    ///
    /// # Errors
    /// As [`DbError`] says; the transaction can then only be rolled back.
    pub async fn lock(&mut self, ids: &[TaskId]) -> Result<usize, DbError> {
        let mut locked = 0;
        for id in ids {
            locked += self.run(HOLD, &[(&vec![id.0], Type::INT8_ARRAY)]).await?;
        }
        Ok(locked)
    }

    /// Changes a row as somebody else would; returns how many rows were changed.
    ///
    /// # Errors
    /// As [`Transaction::lock`].
    pub async fn touch(&mut self, id: TaskId) -> Result<usize, DbError> {
        self.run(TOUCH, &[(&id.0, Type::INT8)]).await
    }

    /// Writes a result into a RUNNING row; returns how many rows were changed.
    ///
    /// # Errors
    /// As [`Transaction::lock`].
    pub async fn write_result(&mut self, id: TaskId) -> Result<usize, DbError> {
        self.run(HALF_FINISH, &[(&id.0, Type::INT8)]).await
    }

    /// Fails.
    ///
    /// # Errors
    /// Always.
    pub async fn fail(&mut self) -> Result<(), DbError> {
        self.run(FAIL, &[(&0_i32, Type::INT4)]).await.map(drop)
    }

    /// Ends it by COMMIT.
    ///
    /// # Errors
    /// `Unknown` if no answer came.
    pub async fn commit(mut self) -> Result<Ended, DbError> {
        self.session.query(COMMIT, &[]).await?;
        self.session.settled();
        Ok(self.failed.map_or(Ended::Committed, |error| Ended::RolledBack { error }))
    }

    /// Ends it without effect.
    ///
    /// # Errors
    /// As [`DbError`] says; it ends with its connection then.
    pub async fn roll_back(mut self) -> Result<(), DbError> {
        self.session.query(ROLLBACK, &[]).await?;
        self.session.settled();
        Ok(())
    }
}
