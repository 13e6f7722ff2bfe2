//! Connections with a deadline at every step: waiting for a slot and connecting here, each statement in `session`.
//!
//! Invariant: a slot that a call took is free again after the call, whether it returned, failed half-way,
//! timed out or was dropped.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use deadpool_postgres::{Manager, ManagerConfig, Object, PoolError, RecyclingMethod};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout_at;
use tokio_postgres::Row;
use tokio_postgres::types::{ToSql, Type};

use super::connect::Connector;
use super::error::{DbError, Retry, Trouble, describe};
use super::measure::{Durations, StatementTallies};
use super::session::Session;
use super::sql::{Statement, Texts};
use crate::domain::observed::PoolFigures;

/// Deadlines and sizes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Connections for the operator's reads and decisions.
    pub operator_pool: usize,
    /// Connections for the workers.
    pub workers_pool: usize,
    /// Waiting for a connection, and making one where needed.
    pub acquire: Duration,
    /// One statement.
    pub statement: Duration,
    /// Waiting for a row lock.
    pub lock: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            operator_pool: 3,
            workers_pool: 4,
            acquire: Duration::from_secs(5),
            statement: Duration::from_secs(10),
            lock: Duration::from_secs(2),
        }
    }
}

/// A parameter and its type.
pub type Param<'a> = (&'a (dyn ToSql + Sync), Type);

/// Some connections for one purpose.
#[derive(Debug, Clone)]
pub struct Pool {
    name: &'static str,
    inner: deadpool_postgres::Pool,
    /// As many as the pool may have connections.
    places: Arc<Semaphore>,
    pub(super) connector: Connector,
    pub(super) limits: Limits,
    pub(super) texts: Texts,
    pub(super) measured: Arc<Measured>,
}

#[derive(Debug, Default)]
pub(super) struct Measured {
    waits: Mutex<Durations>,
    waiting: AtomicUsize,
    timed_out: AtomicU64,
    /// Rung when a session ends.
    pub(super) returned: Notify,
    pub(super) statements: Arc<StatementTallies>,
}

impl Pool {
    pub(crate) fn new(
        name: &'static str,
        size: usize,
        connector: Connector,
        limits: &Limits,
        texts: Texts,
        statements: Arc<StatementTallies>,
    ) -> Self {
        let size = size.max(1);
        let manager = Manager::from_connect(
            connector.named().clone(),
            connector.clone(),
            // A connection that ended is noticed without a round trip; one on a silent network by its deadline.
            ManagerConfig { recycling_method: RecyclingMethod::Fast },
        );
        let inner = deadpool_postgres::Pool::builder(manager)
            .max_size(size)
            .build()
            .expect("a pool without timeouts of its own needs no runtime");
        let measured = Arc::new(Measured { statements, ..Measured::default() });
        let places = Arc::new(Semaphore::new(size));
        Self { name, inner, places, connector, limits: limits.clone(), texts, measured }
    }

    /// Takes a connection.
    ///
    /// # Errors
    /// `Unavailable` if none is free and none can be made within [`Limits::acquire`].
    pub async fn acquire(&self) -> Result<Session, DbError> {
        let started = Instant::now();
        let waiting = Waiting::begin(&self.measured);
        let taken = self.take(tokio::time::Instant::now() + self.limits.acquire).await;
        drop(waiting);
        lock(&self.measured.waits).add(started.elapsed());
        let (object, place) = taken?;
        Ok(Session::new(self.clone(), object, place))
    }

    /// A place first, in the order of coming, then what fills it: who waits for a place makes no connection and has no
    /// business at the gate.
    async fn take(&self, deadline: tokio::time::Instant) -> Result<(Object, OwnedSemaphorePermit), DbError> {
        match timeout_at(deadline, Arc::clone(&self.places).acquire_owned()).await {
            Ok(Ok(place)) => Ok((self.connection(deadline).await?, place)),
            Ok(Err(_)) => Err(DbError::not_sent("the pool is closed")),
            Err(_) => Err(self.all_in_use()),
        }
    }

    /// An idle connection, or a new one as far as the gate allows; while the server has no connection left, one of
    /// this pool's own that comes back will do.
    async fn connection(&self, deadline: tokio::time::Instant) -> Result<Object, DbError> {
        let gate = self.connector.gate();
        let mut full = None;
        self.forget_outdated();
        loop {
            let mut returned = std::pin::pin!(self.measured.returned.notified());
            returned.as_mut().enable();
            let turn = if self.inner.status().available > 0 {
                Ok(Ok(None))
            } else {
                tokio::select! {
                    turn = timeout_at(deadline, gate.turn()) => turn,
                    () = &mut returned => continue,
                }
            };
            let began = Instant::now();
            let error = match turn {
                Ok(Ok(trial)) => {
                    match timeout_at(deadline, self.inner.get()).await {
                        Ok(Ok(object)) => return Ok(object),
                        Ok(Err(PoolError::Backend(error))) => {
                            let error = self.connector.explain(&error);
                            gate.failed(error.clone(), trial.as_ref());
                            error
                        }
                        Ok(Err(error)) => return Err(DbError::not_sent(describe(&error))),
                        // Whose place became free just before the deadline has not waited for the server.
                        Err(_) if began.elapsed() < self.limits.acquire / 2 => return Err(self.all_in_use()),
                        Err(_) => {
                            self.measured.timed_out.fetch_add(1, Ordering::Relaxed);
                            gate.failed(self.silent(), trial.as_ref());
                            return Err(self.silent());
                        }
                    }
                }
                Ok(Err(error)) => error,
                Err(_) => {
                    self.measured.timed_out.fetch_add(1, Ordering::Relaxed);
                    return Err(gate.latest().or(full).unwrap_or_else(|| self.silent()));
                }
            };
            let status = self.inner.status();
            if !error.is_full() || status.size == 0 {
                return Err(error);
            }
            if gate.is_news() {
                let (pool, size, max) = (self.name, status.size, status.max_size);
                tracing::warn!(
                    pool,
                    hint = error.hint(),
                    "{error}: going on with {size} of {max} connections"
                );
            }
            full = Some(error);
        }
    }

    /// No place in the pool became free.
    fn all_in_use(&self) -> DbError {
        self.measured.timed_out.fetch_add(1, Ordering::Relaxed);
        let trouble = Trouble::new(format!(
            "no free connection in the {} pool within {:?}: all {} are in use",
            self.name,
            self.limits.acquire,
            self.inner.status().max_size
        ));
        DbError::Unavailable(trouble.hint("raise --pool-size, or see on screen 3 what holds them"))
    }

    fn silent(&self) -> DbError {
        let within = self.limits.acquire;
        let message = format!("{} did not answer within {within:?}", self.connector.host());
        let trouble = Trouble { retry: Retry::Later, ..Trouble::new(message) };
        DbError::Unavailable(trouble.hint("is the address right, and the network up?"))
    }

    /// Takes a connection, runs one statement on it and gives it back.
    pub(crate) async fn query(
        &self,
        statement: Statement,
        params: &[Param<'_>],
    ) -> Result<Vec<Row>, DbError> {
        self.acquire().await?.query(statement, params).await
    }

    /// How the pool does.
    pub fn figures(&self) -> PoolFigures {
        let status = self.inner.status();
        let (wait_p50, wait_p99) = lock(&self.measured.waits).percentiles();
        PoolFigures {
            name: self.name,
            max: status.max_size,
            size: status.size,
            in_use: status.size.saturating_sub(status.available),
            waiting: self.measured.waiting.load(Ordering::Relaxed),
            wait_p50,
            wait_p99,
            timed_out: self.measured.timed_out.load(Ordering::Relaxed),
        }
    }

    /// Throws the idle connections away that may lead to a server which was found to refuse writes: what can be read
    /// there is out of date too.
    pub(super) fn forget_outdated(&self) {
        self.inner.retain(|_, metrics| !self.connector.is_outdated(metrics.created));
    }

    pub(crate) fn close(&self) {
        self.places.close();
        self.inner.close();
    }
}

/// Counts a call as waiting for as long as it lives.
struct Waiting<'a>(&'a AtomicUsize);

impl<'a> Waiting<'a> {
    fn begin(measured: &'a Measured) -> Self {
        measured.waiting.fetch_add(1, Ordering::Relaxed);
        Self(&measured.waiting)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A lock that outlives a panic of whoever held it: what it guards are figures.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
