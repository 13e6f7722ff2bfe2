//! Wake-ups for whoever listens. They are sent beside the caller, so that no answer waits for one; a program that is
//! about to end waits for what is still owed.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use tokio_postgres::types::Type;

use super::Db;
use super::sql::WAKE;

/// The least time between two wake-ups by one process. A commit with a NOTIFY in it takes a lock of the whole
/// database, so a thousand submits make ten of them, not a thousand.
const WAKE_EVERY: Duration = Duration::from_millis(100);

/// Whom a wake-up is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Woken {
    /// Workers: there may be something to claim.
    Workers,
    /// Every process: its own row may say something new.
    Fleet,
}

impl Db {
    /// Tells workers that there may be something to do, at most every 100 ms; polling finds it otherwise. It is sent
    /// beside the caller: no answer waits for it.
    pub fn wake(&self) {
        self.wake_beside(Woken::Workers);
    }

    /// Tells whoever delivers notifications that one may have been written: this process at once, also where no wake-up
    /// comes through, and the others as [`Db::wake`] does.
    pub(super) fn wake_deliverers(&self) {
        self.inner.written.notify_one();
        self.wake();
    }

    /// Waits until a statement of this process may have written a notification. For one waiter.
    pub async fn notification_written(&self) {
        self.inner.written.notified().await;
    }

    /// Tells every process to read its own row now and not at its next heartbeat, as [`Db::wake`] does.
    pub(super) fn wake_fleet(&self) {
        self.wake_beside(Woken::Fleet);
    }

    fn wake_beside(&self, woken: Woken) {
        let Some(after) = self.wakes(woken).owe(Instant::now()) else { return };
        let db = self.clone();
        tokio::spawn(async move {
            tokio::time::sleep(after).await;
            db.settle(woken).await;
        });
    }

    /// Sends the wake-ups that are still owed, or waits for them to be sent; for a program that is about to end.
    pub async fn settle_wakes(&self) {
        tokio::join!(self.settle(Woken::Workers), self.settle(Woken::Fleet));
    }

    async fn settle(&self, woken: Woken) {
        let wakes = self.wakes(woken);
        let _sending = wakes.sending.lock().await;
        if !wakes.settle(Instant::now()) {
            return;
        }
        let schema = &self.inner.schema;
        let channel = match woken {
            Woken::Workers => schema.channel(),
            Woken::Fleet => schema.fleet_channel(),
        };
        // Whoever misses it finds it at the next poll or heartbeat, so a failure is nothing but a delay.
        if let Err(error) = self.inner.operator.query(WAKE, &[(&channel, Type::TEXT)]).await {
            tracing::debug!(%error, "no wake-up was sent");
        }
    }

    fn wakes(&self, woken: Woken) -> &Wakes {
        match woken {
            Woken::Workers => &self.inner.wakes,
            Woken::Fleet => &self.inner.fleet_wakes,
        }
    }
}

/// When wake-ups were and will be sent.
#[derive(Debug, Default)]
pub(crate) struct Wakes {
    state: Mutex<WakeState>,
    /// Held while one is sent, so that a program that ends can wait for it.
    sending: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct WakeState {
    last: Option<Instant>,
    owed: bool,
}

impl Wakes {
    /// Notes that a wake-up is owed; returns after what time to send it, unless somebody is to send one already.
    fn owe(&self, now: Instant) -> Option<Duration> {
        let mut state = self.lock();
        if state.owed {
            return None;
        }
        state.owed = true;
        let since = state.last.map_or(WAKE_EVERY, |last| now.duration_since(last));
        Some(WAKE_EVERY.saturating_sub(since))
    }

    /// Whether one was owed; it no longer is.
    fn settle(&self, now: Instant) -> bool {
        let mut state = self.lock();
        if state.owed {
            state.last = Some(now);
        }
        std::mem::take(&mut state.owed)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, WakeState> {
        self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thousand_submits_make_few_wake_ups_and_none_is_forgotten() {
        let wakes = Wakes::default();
        let start = Instant::now();
        assert_eq!(wakes.owe(start), Some(Duration::ZERO));
        assert_eq!(wakes.owe(start), None, "one is on its way");
        assert!(wakes.settle(start));
        assert!(!wakes.settle(start));
        assert_eq!(wakes.owe(start + Duration::from_millis(30)), Some(Duration::from_millis(70)));
        assert_eq!(wakes.owe(start + Duration::from_millis(40)), None);
        assert!(wakes.settle(start + Duration::from_millis(100)));
        assert_eq!(wakes.owe(start + Duration::from_secs(1)), Some(Duration::ZERO));
    }
}
