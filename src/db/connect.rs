//! How one connection is made: settings, TLS, session parameters, and what a pooler in between refuses.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_postgres::config::{LoadBalanceHosts, TargetSessionAttrs};
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Config, Error};

use super::conninfo::{ConnInfo, TlsConnector};
use super::error::{DbError, Retry, Trouble, describe, is_not_the_one_wanted};
use super::gate::Gate;
use super::pool::{Limits, lock};

/// For how long a standby is gone to straight where no host was found that takes writes.
const STANDBY_FOR: Duration = Duration::from_secs(10);

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
    application: String,
    /// This program's session parameters.
    parameters: String,
    /// For a connection to any of the hosts.
    within: Duration,
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
    /// A server was found to refuse writes: until one takes them again only such a host will do.
    not_writable: AtomicBool,
    /// When that was found out last. Connections that were made before may lead to that server.
    refused: watch::Sender<Option<Instant>>,
    /// The host, of several, that will do though it takes no writes, and when it was found that no other does.
    standby: Mutex<Option<(usize, Instant)>>,
    /// The host, of several, that answered last.
    answered: AtomicUsize,
    gate: Gate,
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
        Self {
            info: Arc::clone(info),
            application: application.to_owned(),
            parameters: session_parameters(limits, plans, access),
            within: limits.acquire,
            tls,
            access,
            shared: Arc::default(),
        }
    }

    /// Another connector that learns with this one.
    pub(crate) fn sibling(&self, application: &str, limits: &Limits, plans: Plans) -> Self {
        let sibling = Self::new(&self.info, self.tls.clone(), application, limits, plans, self.access);
        Self { shared: Arc::clone(&self.shared), ..sibling }
    }

    /// The driver's configuration as it was named; what a connection is really made with is this connector's own.
    pub(crate) fn named(&self) -> &Config {
        self.info.config()
    }

    /// The door through which every new connection goes.
    pub(super) fn gate(&self) -> &Gate {
        &self.shared.gate
    }

    pub(crate) fn tls(&self) -> TlsConnector {
        self.tls.clone()
    }

    pub(crate) fn host(&self) -> String {
        self.info.host_label()
    }

    /// Where and how to connect, as it was named.
    pub(super) fn info(&self) -> &ConnInfo {
        &self.info
    }

    /// The settings of the host, of several, that answered last.
    pub(super) fn host_that_answered(&self) -> Config {
        let hosts = self.info.each_host();
        let place = self.shared.answered.load(Ordering::Relaxed);
        hosts.get(place).unwrap_or_else(|| self.named()).clone()
    }

    pub(super) fn expects_writable(&self) -> bool {
        self.access == Access::ReadWrite
    }

    /// A connection that was made at `made` leads to a server that refuses writes. Of several that find it out one after
    /// the other the first is enough.
    pub(super) fn mark_not_writable(&self, made: Instant) {
        self.shared.not_writable.store(true, Ordering::Relaxed);
        self.shared.refused.send_if_modified(|latest| {
            let news = latest.is_none_or(|latest| made > latest);
            if news {
                *latest = Some(Instant::now());
            }
            news
        });
    }

    /// When a server was last found to refuse writes: whatever was made before that is not to be used again, by either
    /// pool or the listener.
    pub(super) fn refusals(&self) -> watch::Receiver<Option<Instant>> {
        self.shared.refused.subscribe()
    }

    /// Whether a connection that was made at `made` may lead to a server that was found to refuse writes.
    pub(super) fn is_outdated(&self, made: Instant) -> bool {
        self.shared.refused.borrow().is_some_and(|refused| made <= refused)
    }

    /// Whether a pooler in transaction mode stands in between: no session parameters, no LISTEN.
    pub(crate) fn behind_pooler(&self) -> bool {
        self.shared.pooler.load(Ordering::Relaxed)
    }

    /// Learns that what was asked for at a session's start did not arrive.
    pub(crate) fn mark_behind_pooler(&self) {
        self.shared.pooler.store(true, Ordering::Relaxed);
    }

    /// Connects once, to the first host that will do. A success opens the gate; who called tells it of a failure, with
    /// the trial that this was.
    pub(crate) async fn open(&self) -> Result<(Client, Connection), Error> {
        let refusals = self.refusals();
        let opened = match self.reach().await {
            // A refusal of the session parameters is learned and answered by connecting without them.
            Err(error) if !self.behind_pooler() && refuses_parameters(&error) => {
                self.mark_behind_pooler();
                self.reach().await
            }
            // It may lead to the server of which was found out meanwhile that it refuses writes.
            Ok(_) if refusals.has_changed().unwrap_or(false) => self.reach().await,
            other => other,
        };
        if opened.is_ok() {
            self.gate().opened();
        }
        opened
    }

    /// Asks the hosts in turn. One that is silent must not use up the time of the others: each but the last has an
    /// equal part of it.
    ///
    /// Where nothing was said about what a host must be, one that takes writes is preferred to a standby: an address
    /// that names several is made for a failover, and this program writes.
    async fn reach(&self) -> Result<(Client, Connection), Error> {
        let hosts = self.info.each_host();
        let prefers = hosts.len() > 1
            && self.expects_writable()
            && self.named().get_target_session_attrs() == TargetSessionAttrs::Any;
        if prefers
            && let Some(place) = self.standby_of_late()
            && let Ok(Ok(opened)) =
                timeout(self.within / 2, self.with_parameters(&hosts[place]).connect(self.tls.clone())).await
        {
            return Ok(opened);
        }
        let share = self.within / u32::try_from(hosts.len()).unwrap_or(u32::MAX).max(1);
        let (mut standby, mut takes_none, mut refused) = (None, None, None);
        for (left, place) in (0..hosts.len()).rev().zip(self.order(hosts.len())) {
            let mut config = self.with_parameters(&hosts[place]);
            if prefers {
                config.target_session_attrs(TargetSessionAttrs::ReadWrite);
            }
            let connecting = config.connect(self.tls.clone());
            let answer = if left == 0 && takes_none.is_none() {
                connecting.await
            } else if let Ok(answer) = timeout(share, connecting).await {
                answer
            } else {
                continue;
            };
            match answer {
                Ok(opened) => {
                    self.shared.answered.store(place, Ordering::Relaxed);
                    self.shared.not_writable.fetch_and(!prefers, Ordering::Relaxed);
                    return Ok(opened);
                }
                Err(error) if takes_no_writes(&error) => {
                    standby = standby.or(prefers.then_some(place));
                    takes_none = Some(error);
                }
                Err(error) => refused = Some(error),
            }
        }
        match standby {
            Some(place) if !self.shared.not_writable.load(Ordering::Relaxed) => {
                let opened = self.with_parameters(&hosts[place]).connect(self.tls.clone()).await?;
                *lock(&self.shared.standby) = Some((place, Instant::now()));
                Ok(opened)
            }
            // That one of them answers and takes no writes says more than that another is away.
            _ => Err(takes_none.or(refused).expect("the last host has answered, or a standby has before it")),
        }
    }

    /// The standby that was found instead of a host that takes writes, for a while: to look for a better one at every
    /// connection would cost the time of a silent host at every connection. Who meets a write that it refuses looks.
    fn standby_of_late(&self) -> Option<usize> {
        let found = lock(&self.shared.standby).filter(|(_, at)| at.elapsed() < STANDBY_FOR);
        found.map(|(place, _)| place).filter(|_| !self.shared.not_writable.load(Ordering::Relaxed))
    }

    /// The places of the hosts in the order in which they are asked: the one first that answered last, so that one
    /// that has gone silent costs its time once.
    fn order(&self, hosts: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..hosts).collect();
        if self.named().get_load_balance_hosts() == LoadBalanceHosts::Random {
            fastrand::shuffle(&mut order);
        } else {
            order.rotate_left(self.shared.answered.load(Ordering::Relaxed).min(hosts.saturating_sub(1)));
        }
        order
    }

    /// `host` with this connector's name, in which what the address calls itself stands already, and, where nothing in
    /// between refuses them, its session parameters.
    fn with_parameters(&self, host: &Config) -> Config {
        let mut config = host.clone();
        config.application_name(&self.application);
        if !self.behind_pooler() {
            let own = host.get_options().unwrap_or_default();
            config.options(format!("{own} {}", self.parameters).trim());
        }
        config
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

/// Whether the driver found that the host is a standby, or read-only, though one was wanted that takes writes.
fn takes_no_writes(error: &Error) -> bool {
    std::error::Error::source(error)
        .and_then(|source| source.downcast_ref::<std::io::Error>())
        .is_some_and(is_not_the_one_wanted)
}

/// Whether a pooler said that it takes no `options` (`PgBouncer`: "unsupported startup parameter").
fn refuses_parameters(error: &Error) -> bool {
    error.as_db_error().is_some_and(|db| {
        *db.code() == SqlState::PROTOCOL_VIOLATION && db.message().contains("startup parameter")
    })
}
