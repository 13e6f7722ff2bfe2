//! A connection while a call holds it: each statement with its deadline, and what becomes of the connection afterwards.
//!
//! Invariant: a connection with something unfinished on it never goes back to the pool.

use std::time::{Duration, Instant};

use deadpool_postgres::Object;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::timeout;
use tokio_postgres::Row;

use super::error::{DbError, Retry, Trouble, classify, lost};
use super::measure::Call;
use super::pool::{Param, Pool};
use super::sql::Statement;

/// How long a statement may take at the client beyond what the server allows it. The server is asked to stop
/// first, because only its answer says that nothing was applied.
const GRACE: Duration = Duration::from_secs(1);

/// The most time that asking the server to cancel may take.
const CANCEL_WITHIN: Duration = Duration::from_secs(2);

/// A connection that a call holds.
#[derive(Debug)]
pub struct Session {
    /// Present until the session is dropped.
    object: Option<Object>,
    pool: Pool,
    /// Something was, or may have been, sent whose answer has not been read to its end.
    unfinished: bool,
    /// Free again after the connection went back or was thrown away.
    _place: OwnedSemaphorePermit,
}

impl Session {
    /// Lends `object` of `pool`, which fills `place`, to a call.
    pub(super) fn new(pool: Pool, object: Object, place: OwnedSemaphorePermit) -> Self {
        Self { object: Some(object), pool, unfinished: false, _place: place }
    }

    /// The driver's client, for what has no statement file: migrations, the lab, tests. What was done with it is
    /// not known here, so its connection is thrown away with the session unless [`Self::settled`] was said
    /// afterwards: a stream may outlive the session with rows still unread, a transaction may be open.
    ///
    /// # Panics
    /// Never: the connection is there until the session is dropped.
    pub fn client(&mut self) -> &mut deadpool_postgres::ClientWrapper {
        self.unfinished = true;
        self.wrapper()
    }

    /// Says that every answer on [`Self::client`] was read to its end and no transaction is open, so that the
    /// connection may go back to the pool.
    pub fn settled(&mut self) {
        self.unfinished = false;
    }

    fn wrapper(&mut self) -> &mut deadpool_postgres::ClientWrapper {
        self.object.as_mut().expect("present until dropped")
    }

    /// Runs one statement and reads its whole answer.
    ///
    /// # Errors
    /// As [`DbError`] says; a deadline that passes cancels the statement at the server and throws the
    /// connection away.
    pub(crate) async fn query(
        &mut self,
        statement: Statement,
        params: &[Param<'_>],
    ) -> Result<Vec<Row>, DbError> {
        if self.wrapper().is_closed() {
            return Err(DbError::away("the connection was lost before the statement was sent"));
        }
        let started = Instant::now();
        let within = self.pool.limits.statement + GRACE;
        let texts = self.pool.texts.clone();
        let settled = !std::mem::replace(&mut self.unfinished, true);
        let answer = timeout(within, self.wrapper().query_typed(texts.of(statement), params)).await;
        let took = started.elapsed();
        let result = match answer {
            Ok(Ok(rows)) => {
                self.unfinished = !settled;
                Ok(rows)
            }
            Ok(Err(error)) => {
                self.unfinished =
                    !settled || error.as_db_error().is_none() || self.leads_to_a_standby(&error);
                Err(classify(&error, statement.effect))
            }
            Err(_) => {
                self.cancel_at_server().await;
                Err(lost(
                    Trouble {
                        retry: Retry::Later,
                        ..Trouble::new(format!("no answer to `{}` within {within:?}", statement.name))
                    }
                    .hint("the statement was canceled and its connection thrown away"),
                    statement.effect,
                ))
            }
        };
        let call = result.as_ref().map_or(Call::Failed, |rows| Call::Answered { rows: rows.len() });
        self.pool.measured.statements.add(statement.name, took, call);
        result
    }

    /// Whether the server refuses writes although this program expects to write there. A demoted primary keeps its
    /// sessions and answers pings, so neither the pool nor this session notices by itself (gpustack#6105): every
    /// connection that was made before is used no more, by this pool, the other and the listener, and this one is
    /// thrown away by the caller.
    fn leads_to_a_standby(&self, error: &tokio_postgres::Error) -> bool {
        let refuses = error.code() == Some(&tokio_postgres::error::SqlState::READ_ONLY_SQL_TRANSACTION);
        let noticed = refuses && self.pool.connector.expects_writable();
        if noticed {
            self.pool.connector.mark_not_writable(self.made());
            self.pool.forget_outdated();
        }
        noticed
    }

    /// When its connection was made.
    fn made(&self) -> Instant {
        let object = self.object.as_ref().expect("present until dropped");
        Object::metrics(object).created
    }

    async fn cancel_at_server(&mut self) {
        let token = self.wrapper().cancel_token();
        // If the server cannot be reached there is nothing else to do: its own statement_timeout ends it.
        let _ = timeout(CANCEL_WITHIN, token.cancel_query(self.pool.connector.tls())).await;
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let Some(object) = self.object.take() else { return };
        if self.unfinished {
            self.throw_away(object);
        } else if self.pool.connector.is_outdated(Object::metrics(&object).created) {
            drop(Object::take(object));
        } else {
            drop(object);
        }
        self.pool.measured.returned.notify_one();
    }
}

impl Session {
    fn throw_away(&self, object: Object) {
        // The call was dropped, timed out or lost its connection: whatever is still on the wire must not meet the
        // next borrower (sqlx#4393). Taking the object out of the pool frees its slot at once.
        let token = object.cancel_token();
        drop(Object::take(object));
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let tls = self.pool.connector.tls();
            runtime.spawn(async move {
                let _ = timeout(CANCEL_WITHIN, token.cancel_query(tls)).await;
            });
        }
    }
}
