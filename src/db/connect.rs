//! How one connection is made: settings, TLS, session parameters, and what a pooler in between refuses.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use tokio::task::JoinHandle;
use tokio_postgres::config::TargetSessionAttrs;
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Config, Error};

use super::conninfo::{ConnInfo, TlsConnector};
use super::error::{DbError, Retry, Trouble, describe};
use super::pool::Limits;

/// Which planner settings a connection gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Plans {
    /// The server's own.
    Default,
    /// Rows are always found by index: on a small table the planner prefers a sequential scan for the arrays of
    /// a finish, and that scan grows with the dead rows (14k instead of 76k tasks a second).
    ByIndex,
}

/// Whether the server is asked to refuse every write of this program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Reads and writes.
    ReadWrite,
    /// The session itself is read-only, so that the server enforces it.
    ReadOnly,
}

/// Makes connections for one pool.
#[derive(Clone)]
pub(crate) struct Connector {
    info: Arc<ConnInfo>,
    /// As the settings say, with this program's name.
    plain: Config,
    /// With this program's session parameters too.
    config: Config,
    tls: TlsConnector,
    access: Access,
    shared: Arc<Shared>,
}

impl std::fmt::Debug for Connector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connector")
            .field("host", &self.host())
            .field("shared", &self.shared)
            .finish_non_exhaustive()
    }
}

/// What one connection learns for all the others.
#[derive(Debug, Default)]
struct Shared {
    /// Something in between refuses session parameters: a pooler in transaction mode.
    pooler: AtomicBool,
    /// The server was found to refuse writes: new connections go to a writable host, if there are several.
    not_writable: AtomicBool,
}

impl Connector {
    pub(crate) fn new(
        info: &Arc<ConnInfo>,
        tls: TlsConnector,
        application: &str,
        limits: &Limits,
        plans: Plans,
        access: Access,
    ) -> Self {
        let mut plain = info.config().clone();
        if plain.get_application_name().is_none() {
            plain.application_name(application);
        }
        let mut config = plain.clone();
        let own = info.config().get_options().unwrap_or_default();
        config.options(format!("{own} {}", session_parameters(limits, plans, access)).trim());
        Self { info: Arc::clone(info), plain, config, tls, access, shared: Arc::default() }
    }

    /// Another connector that learns with this one.
    pub(crate) fn sibling(&self, application: &str, limits: &Limits, plans: Plans) -> Self {
        let sibling = Self::new(&self.info, self.tls.clone(), application, limits, plans, self.access);
        Self { shared: Arc::clone(&self.shared), ..sibling }
    }

    pub(crate) fn config(&self) -> &Config {
        &self.config
    }

    pub(crate) fn tls(&self) -> TlsConnector {
        self.tls.clone()
    }

    pub(crate) fn host(&self) -> String {
        self.info.host_label()
    }

    pub(super) fn expects_writable(&self) -> bool {
        self.access == Access::ReadWrite
    }

    pub(crate) fn mark_not_writable(&self) {
        self.shared.not_writable.store(true, Ordering::Relaxed);
    }

    /// Whether a pooler in transaction mode stands in between: no session parameters, no LISTEN.
    pub(crate) fn behind_pooler(&self) -> bool {
        self.shared.pooler.load(Ordering::Relaxed)
    }

    /// Learns that what was asked for at a session's start did not arrive.
    pub(crate) fn mark_behind_pooler(&self) {
        self.shared.pooler.store(true, Ordering::Relaxed);
    }

    /// The configuration for the next connection.
    fn current(&self) -> Config {
        let mut config = if self.behind_pooler() { self.plain.clone() } else { self.config.clone() };
        if self.shared.not_writable.load(Ordering::Relaxed) && config.get_hosts().len() > 1 {
            config.target_session_attrs(TargetSessionAttrs::ReadWrite);
        }
        config
    }

    /// Connects once; a refusal of the session parameters is learned and answered by connecting without them.
    pub(crate) async fn open(&self) -> Result<(Client, Connection), Error> {
        match self.current().connect(self.tls.clone()).await {
            Err(error) if !self.behind_pooler() && refuses_parameters(&error) => {
                self.mark_behind_pooler();
                self.current().connect(self.tls.clone()).await
            }
            other => other,
        }
    }

    /// A failure to connect in words, with what to do.
    pub(crate) fn explain(&self, error: &Error) -> DbError {
        let code = error.code().map(|code| code.code().to_owned());
        let message = error.as_db_error().map_or_else(
            || format!("cannot connect to {}: {}", self.host(), describe(error)),
            |db| format!("{} refused the connection: {}", self.host(), db.message()),
        );
        let hint = self.info.connect_hint(error);
        DbError::Unavailable(Trouble {
            sqlstate: code,
            hint,
            retry: Retry::of_connecting(error),
            ..Trouble::new(message)
        })
    }
}

/// The driver's half of a connection that moves its bytes.
pub(crate) type Connection = tokio_postgres::Connection<
    tokio_postgres::Socket,
    <TlsConnector as tokio_postgres::tls::MakeTlsConnect<tokio_postgres::Socket>>::Stream,
>;

impl deadpool_postgres::Connect for Connector {
    fn connect(&self, _: &Config) -> BoxFuture<'_, Result<(Client, JoinHandle<()>), Error>> {
        async move {
            let (client, connection) = self.open().await?;
            let task = tokio::spawn(async move {
                // How it ended is told to the calls that were on it, and to the next that finds it closed.
                if let Err(error) = connection.await {
                    tracing::debug!(error = %describe(&error), "a connection ended");
                }
            });
            Ok((client, task))
        }
        .boxed()
    }
}

/// What each session is told at its start, so that the server keeps the deadlines too.
fn session_parameters(limits: &Limits, plans: Plans, access: Access) -> String {
    let ms = |duration: std::time::Duration| duration.as_millis().max(1);
    // Statements are short. And a plan that has to read a small table in sequence though that is discouraged
    // (`Plans::ByIndex`) has such a cost on paper that the server compiled it first: 92 ms for 0.1 ms of work.
    let mut text = format!(
        "-c jit=off -c statement_timeout={} -c lock_timeout={} -c idle_in_transaction_session_timeout=60000 \
         -c default_transaction_isolation=read\\ committed",
        ms(limits.statement),
        ms(limits.lock),
    );
    if plans == Plans::ByIndex {
        text.push_str(" -c enable_seqscan=off -c enable_hashjoin=off -c enable_mergejoin=off");
    }
    if access == Access::ReadOnly {
        text.push_str(" -c default_transaction_read_only=on");
    }
    text
}

/// Whether a pooler said that it takes no `options` (`PgBouncer`: "unsupported startup parameter").
fn refuses_parameters(error: &Error) -> bool {
    error.as_db_error().is_some_and(|db| {
        *db.code() == SqlState::PROTOCOL_VIOLATION && db.message().contains("startup parameter")
    })
}
