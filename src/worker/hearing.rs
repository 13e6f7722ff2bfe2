//! The connection that listens: it only wakes, the truth is always read.

use std::convert::Infallible;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::sleep;

use crate::db::{Db, DbError, Wake};
use crate::domain::Backoff;

/// How long one wait for a wake-up takes; the connection is pinged when it is over.
const LISTEN_FOR: Duration = Duration::from_secs(30);

/// How often a pooler in between is looked for again.
const POOLER_AGAIN: Duration = Duration::from_mins(1);

/// What was heard so far, and whether anything can be heard now.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Heard {
    /// Whether wake-ups come.
    pub how: How,
    /// How many came; it counts up when the connection begins to listen too, since what was announced before that
    /// is not announced again.
    pub wakes: u64,
}

/// Whether wake-ups come.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum How {
    /// It is not known yet.
    #[default]
    Unknown,
    /// The connection listens.
    Listening,
    /// They do not: changes are found by reading again.
    Polling {
        /// Why.
        reason: String,
    },
}

/// What [`listen`] tells as it happens.
#[derive(Debug)]
pub enum Sound<'a> {
    /// The connection listens from now on; what came before is to be read.
    Begun,
    /// A wake-up came: there may be something to do.
    Rung,
    /// Some process was asked to stop.
    Called,
    /// A pooler in transaction mode stands in between, so nothing will come; told once.
    Pooler,
    /// The connection could not be made or was lost; it is tried again.
    Failed(&'a DbError),
}

/// Listens for ever, on a connection of its own; `heard` says what came of it.
pub async fn listen(db: &Db, heard: &watch::Sender<Heard>, mut tell: impl FnMut(Sound<'_>)) -> Infallible {
    let mut failures = 0;
    let mut told = false;
    loop {
        if db.behind_pooler() {
            if !std::mem::replace(&mut told, true) {
                let reason = "a pooler in transaction mode delivers no notifications".to_owned();
                heard.send_modify(|heard| heard.how = How::Polling { reason });
                tell(Sound::Pooler);
            }
            sleep(POOLER_AGAIN).await;
            continue;
        }
        let error = match db.listen().await {
            Ok(mut listener) => {
                failures = 0;
                heard.send_modify(|heard| {
                    heard.how = How::Listening;
                    heard.wakes += 1;
                });
                tell(Sound::Begun);
                loop {
                    match listener.wait(LISTEN_FOR).await {
                        Ok(wake @ (Wake::Work | Wake::Fleet)) => {
                            heard.send_modify(|heard| heard.wakes += 1);
                            tell(if wake == Wake::Work { Sound::Rung } else { Sound::Called });
                        }
                        Ok(Wake::TimedOut) => {}
                        Err(error) => break error,
                    }
                }
            }
            Err(error) => error,
        };
        if !db.behind_pooler() {
            heard.send_modify(|heard| heard.how = How::Polling { reason: error.to_string() });
            tell(Sound::Failed(&error));
            failures += 1;
            sleep(Backoff::CALLS.after(failures)).await;
        }
    }
}
