//! Keeps the parts alive: one that panics is told of and begins again.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use tokio::task::JoinSet;

use super::event::{Part, WorkerEvent};
use super::shared::Core;
use super::slots::message;
use crate::domain::Backoff;

/// The wait before a part that panicked begins again.
const AGAIN: Backoff = Backoff { base: Duration::from_millis(50), cap: Duration::from_secs(5) };

/// Runs `part` in `parts` until it returns. Everything that a part must not lose stands in [`Core`], so that it can
/// begin again at any time.
pub(super) fn keep<F, Part_>(parts: &mut JoinSet<Part>, core: &Arc<Core>, part: Part, begin: F)
where
    F: Fn(Arc<Core>) -> Part_ + Send + 'static,
    Part_: Future<Output = ()> + Send + 'static,
{
    let core = Arc::clone(core);
    parts.spawn(async move {
        let mut panics = 0;
        while let Err(panic) = AssertUnwindSafe(begin(Arc::clone(&core))).catch_unwind().await {
            let message = message(&*panic);
            core.events.tell(|| WorkerEvent::Panicked { part, message });
            panics += 1;
            tokio::time::sleep(AGAIN.after(panics)).await;
        }
        part
    });
}
