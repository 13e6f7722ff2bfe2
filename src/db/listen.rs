//! LISTEN on a connection of its own: it only wakes, the truth is always read.

use std::future::poll_fn;
use std::time::{Duration, Instant};

use tokio::sync::watch;
use tokio::time::{timeout, timeout_at};
use tokio_postgres::{AsyncMessage, Client};

use super::Db;
use super::connect::{Connection, Connector};
use super::error::{DbError, classify, describe};
use super::pool::Limits;
use super::sql::Effect;

/// How often the connection is asked whether it still lives: a dead peer says nothing by itself.
const PING_EVERY: Duration = Duration::from_secs(30);

/// Why a wait ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wake {
    /// Something may be there to do.
    Work,
    /// Some process was asked to stop.
    Fleet,
    /// Nothing came within the time.
    TimedOut,
}

/// A connection that listens.
pub struct Listener {
    client: Client,
    connection: Connection,
    limits: Limits,
    fleet: String,
    /// Changes when a server is found to refuse writes.
    refusals: watch::Receiver<Option<Instant>>,
}

impl std::fmt::Debug for Listener {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Listener").finish_non_exhaustive()
    }
}

impl Db {
    /// Opens a connection that listens for this schema's wake-ups. After it was opened the tables are read once:
    /// what was announced before is not announced again.
    ///
    /// # Errors
    /// As [`DbError`] says; behind a pooler it is not even tried, since nothing would be delivered.
    pub async fn listen(&self) -> Result<Listener, DbError> {
        let connector: &Connector = &self.inner.listener;
        let limits = self.inner.limits.clone();
        if connector.behind_pooler() {
            return Err(DbError::not_sent(
                "a pooler in transaction mode delivers no notifications: polling instead",
            ));
        }
        let deadline = tokio::time::Instant::now() + limits.acquire;
        let silent = || DbError::away(format!("{} did not answer", connector.host()));
        let gate = connector.gate();
        let Ok(turn) = timeout_at(deadline, gate.turn()).await else {
            return Err(gate.latest().unwrap_or_else(silent));
        };
        let trial = turn?;
        let refusals = connector.refusals();
        let opened = match timeout_at(deadline, Box::pin(connector.open())).await {
            Ok(opened) => opened.map_err(|error| connector.explain(&error)),
            Err(_) => Err(silent()),
        };
        let (client, connection) = match opened {
            Ok(opened) => opened,
            Err(error) => {
                gate.failed(error.clone(), trial.as_ref());
                return Err(error);
            }
        };
        drop(trial);
        let fleet = self.inner.schema.fleet_channel();
        let listen = format!("LISTEN \"{}\"; LISTEN \"{fleet}\"", self.inner.schema.channel());
        let mut listener = Listener { client, connection, limits, fleet, refusals };
        listener.call(|client| async move { client.batch_execute(&listen).await }).await?;
        Ok(listener)
    }
}

impl Listener {
    /// Waits for a wake-up, at most `within`.
    ///
    /// # Errors
    /// The connection was lost, or may lead to a server where nothing is announced any more since it takes no writes:
    /// open another, then read the tables.
    pub async fn wait(&mut self, within: Duration) -> Result<Wake, DbError> {
        match timeout(within.min(PING_EVERY), self.next()).await {
            Ok(heard) => heard,
            Err(_) if within < PING_EVERY => Ok(Wake::TimedOut),
            Err(_) => {
                self.call(|client| async move { client.check_connection().await }).await?;
                Ok(Wake::TimedOut)
            }
        }
    }

    /// Reads until a notification comes.
    async fn next(&mut self) -> Result<Wake, DbError> {
        loop {
            let Self { connection, refusals, .. } = self;
            let message = tokio::select! {
                message = poll_fn(|context| connection.poll_message(context)) => message,
                Ok(()) = refusals.changed() => {
                    return Err(DbError::away("the server that was listened to takes no writes now"));
                }
            };
            match message {
                Some(Ok(AsyncMessage::Notification(heard))) => {
                    return Ok(if heard.channel() == self.fleet { Wake::Fleet } else { Wake::Work });
                }
                Some(Ok(_)) => {}
                Some(Err(error)) => return Err(classify(&error, Effect::Read)),
                None => return Err(DbError::away("the listening connection was closed")),
            }
        }
    }

    /// Makes a call on the client while the connection's messages are read.
    async fn call<'a, F>(&'a mut self, call: impl FnOnce(&'a Client) -> F) -> Result<(), DbError>
    where
        F: Future<Output = Result<(), tokio_postgres::Error>> + 'a,
    {
        let Self { client, connection, limits, .. } = self;
        let answer = call(client);
        let drive = async {
            loop {
                match poll_fn(|context| connection.poll_message(context)).await {
                    Some(Ok(_)) => {}
                    Some(Err(error)) => return describe(&error),
                    None => return "closed".to_owned(),
                }
            }
        };
        let both = async {
            tokio::select! {
                answer = answer => answer.map_err(|error| classify(&error, Effect::Read)),
                ended = drive => Err(DbError::away(format!("the listening connection was lost: {ended}"))),
            }
        };
        timeout(limits.statement, both)
            .await
            .unwrap_or_else(|_| Err(DbError::away("the listening connection does not answer")))
    }
}
