//! `text-stats`, and the two wrappers for trying things out: simulated work, and not looking at the token.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use tokio::runtime::{Handle, RuntimeFlavor};

use super::analyser::{Analyser, Analysis, Cancel, Doing, Job};
use crate::domain::{TextCounts, figure};

/// From this size a text is counted where it cannot hold up other runs (64 KiB take some 0.2 ms).
const LARGE_BYTES: usize = 64 * 1024;

/// Counts words, bytes and runes.
#[derive(Debug, Clone, Copy, Default)]
pub struct TextStats;

impl Analyser for TextStats {
    fn analyse<'a>(&'a self, job: &'a Job, _: &'a Cancel, doing: &'a Doing) -> BoxFuture<'a, Analysis> {
        async move {
            doing.now("counting");
            Analysis::Success { counts: count(&job.text), output: None }
        }
        .boxed()
    }
}

/// Counts `text`, a long one without holding up what else runs on this thread.
pub(super) fn count(text: &str) -> TextCounts {
    let may_block =
        || Handle::try_current().is_ok_and(|handle| handle.runtime_flavor() == RuntimeFlavor::MultiThread);
    if text.len() >= LARGE_BYTES && may_block() {
        tokio::task::block_in_place(|| TextCounts::of(text))
    } else {
        TextCounts::of(text)
    }
}

/// Waits before another analyser begins: `--work-delay`. A cancel ends the wait.
#[derive(Debug, Clone)]
pub struct Delayed {
    /// How long.
    pub delay: Duration,
    /// What is done then.
    pub then: Arc<dyn Analyser>,
}

impl Analyser for Delayed {
    fn analyse<'a>(&'a self, job: &'a Job, cancel: &'a Cancel, doing: &'a Doing) -> BoxFuture<'a, Analysis> {
        async move {
            doing.now(format!("waiting {}", figure::wait(self.delay)));
            tokio::select! {
                () = tokio::time::sleep(self.delay) => self.then.analyse(job, cancel, doing).await,
                () = cancel.requested() => Analysis::Stopped { said: String::new() },
            }
        }
        .boxed()
    }
}

/// Keeps the token from another analyser: `--ignore-cancel`, to see what a shutdown does with one that does not
/// co-operate.
#[derive(Debug, Clone)]
pub struct Deaf(pub Arc<dyn Analyser>);

impl Analyser for Deaf {
    fn analyse<'a>(&'a self, job: &'a Job, _: &'a Cancel, doing: &'a Doing) -> BoxFuture<'a, Analysis> {
        async move { self.0.analyse(job, &Cancel::new(), doing).await }.boxed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(text: &str) -> Job {
        Job {
            id: crate::domain::TaskId(1),
            claim_no: 1,
            tenant: "default".to_owned(),
            attempt: 1,
            text: text.to_owned(),
        }
    }

    #[tokio::test]
    async fn a_cancel_ends_the_wait_and_a_deaf_analyser_does_not_notice() {
        let forever: Arc<dyn Analyser> =
            Arc::new(Delayed { delay: Duration::from_hours(1), then: Arc::new(TextStats) });
        let (cancel, doing) = (Cancel::new(), Doing::default());
        cancel.request();
        let stopped = forever.analyse(&job("a"), &cancel, &doing).await;
        assert_eq!(stopped, Analysis::Stopped { said: String::new() });
        let deaf = Deaf(Arc::new(Delayed { delay: Duration::ZERO, then: Arc::new(TextStats) }));
        let counted = deaf.analyse(&job("a b"), &cancel, &doing).await;
        assert_eq!(counted, Analysis::Success { counts: TextCounts::of("a b"), output: None });
        assert_eq!(doing.text(), "counting");
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn a_large_text_is_counted_like_a_small_one() {
        let text = "word ".repeat(LARGE_BYTES);
        assert_eq!(count(&text), TextCounts::of(&text));
    }
}
