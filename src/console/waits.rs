//! What the root's loop waits for.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant as Deadline, sleep_until};

use crate::domain::observed::LocalWorkers;
use crate::worker::{Ended, WorkerHandle};

/// The console hears of its workers at most this often, however fast they are…
const LOCAL_AT_MOST: Duration = Duration::from_millis(100);

/// … and at least this often, since ages move on.
const LOCAL_AT_LEAST: Duration = Duration::from_secs(1);

/// Waits until there is something new to say of this process's workers, or it is time to say it again.
pub(super) async fn moved(local: &mut Option<watch::Receiver<LocalWorkers>>, said: Deadline) {
    let again = sleep_until(said + LOCAL_AT_LEAST);
    match local {
        None => again.await,
        Some(local) => {
            sleep_until(said + LOCAL_AT_MOST).await;
            tokio::select! {
                changed = local.changed() => if changed.is_err() { again.await },
                () = sleep_until(said + LOCAL_AT_LEAST) => {}
            }
        }
    }
}

/// Waits until the workers have ended; for ever where there are none.
pub(super) async fn ended(workers: Option<&WorkerHandle>) -> Ended {
    match workers {
        Some(workers) => workers.ended().await,
        None => std::future::pending().await,
    }
}

/// Waits until then; for ever where there is no such time.
pub(super) async fn at(time: Option<Deadline>) {
    match time {
        Some(time) => sleep_until(time).await,
        None => std::future::pending().await,
    }
}
