//! A signal that is given once and stays given.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;

/// Set once; whoever waits for it, before or after, goes on.
#[derive(Debug, Clone, Default)]
pub(super) struct Latch(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    set: AtomicBool,
    waiters: Notify,
}

impl Latch {
    pub(super) fn set(&self) {
        self.0.set.store(true, Ordering::SeqCst);
        self.0.waiters.notify_waiters();
    }

    pub(super) fn is_set(&self) -> bool {
        self.0.set.load(Ordering::SeqCst)
    }

    pub(super) async fn wait(&self) {
        let mut woken = std::pin::pin!(self.0.waiters.notified());
        // Registered before the flag is read, so that a signal between the two is not missed.
        woken.as_mut().enable();
        if !self.is_set() {
            woken.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_signal_before_and_after_the_wait_is_seen() {
        let latch = Latch::default();
        let waiting = tokio::spawn({
            let latch = latch.clone();
            async move { latch.wait().await }
        });
        latch.set();
        waiting.await.expect("the waiter ends");
        latch.wait().await;
        assert!(latch.is_set());
    }
}
