//! The slots: each runs one task at a time. A panic in an analyser is a failed attempt, nothing more.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Instant;

use futures_util::FutureExt as _;

use super::analyser::{Analysis, Job};
use super::ledger::{Claim, End, Returned, Started};
use super::program;
use super::shared::Core;
use crate::db::FinishEnd;

/// Runs what waits, one after the other.
pub(super) async fn run(core: Arc<Core>, slot: usize) {
    // A slot that begins again after a panic of its own still has its claim.
    let abandoned = core.ledger().occupant(slot);
    if let Some(claim) = abandoned {
        let end = failure(&core, 1, "the slot panicked".to_owned());
        returned(&core, claim, End::Finish(end));
    }
    loop {
        let mut rung = std::pin::pin!(core.bells.slots.notified());
        // Registered before the ledger is read, so that a claim between the two is not missed.
        rung.as_mut().enable();
        // What waits under a lease that has passed (a process that stood still finds it so) may be another's by now:
        // the heart is about to discard it.
        let started = core.life().stands().then(|| core.ledger().start(slot, Instant::now())).flatten();
        let Some((claim, started)) = started else {
            rung.await;
            continue;
        };
        core.bells.room.notify_one();
        core.bells.view.notify_one();
        let began = Instant::now();
        let end = execute(&core, started).await;
        core.rates().ran(began.elapsed(), Instant::now());
        returned(&core, claim, end);
        // Analysers that never wait must not keep the thread from the others.
        tokio::task::coop::consume_budget().await;
    }
}

/// Runs the analyser to its return.
async fn execute(core: &Core, started: Started) -> End {
    let Started { job, cancel, doing } = started;
    let job = match job {
        Ok(job) => job,
        Err(problem) => {
            return End::Finish(failure(core, 1, format!("the text cannot be read: {problem}")));
        }
    };
    let analysis = AssertUnwindSafe(core.analyser.analyse(&job, &cancel, &doing)).catch_unwind();
    let Some(limit) = core.config.task_timeout else {
        return end(core, &job, analysis.await, Limit::Within);
    };
    let mut analysis = std::pin::pin!(analysis);
    let ended = tokio::select! {
        biased;
        ended = &mut analysis => return end(core, &job, ended, Limit::Within),
        () = tokio::time::sleep(limit) => {
            if cancel.is_requested() {
                // It was on its way out before its time was over.
                return end(core, &job, analysis.await, Limit::Within);
            }
            cancel.request();
            analysis.await
        }
    };
    end(core, &job, ended, Limit::Passed)
}

/// Whether the attempt kept its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Limit {
    Within,
    Passed,
}

fn end(core: &Core, job: &Job, ended: std::thread::Result<Analysis>, limit: Limit) -> End {
    match ended {
        Ok(Analysis::Success { counts, output }) => End::Finish(FinishEnd::Success { counts, output }),
        Ok(Analysis::Failure { error }) => End::Finish(failure(core, job.attempt, error)),
        Ok(Analysis::Stopped { said }) if limit == Limit::Passed => {
            let within = core.config.task_timeout.unwrap_or_default();
            End::Finish(failure(core, job.attempt, program::timed_out(within, &said)))
        }
        Ok(Analysis::Stopped { .. }) => End::Stopped,
        Err(panic) => {
            let message = format!("the analyser panicked: {}", message(&*panic));
            End::Finish(failure(core, job.attempt, message))
        }
    }
}

fn failure(core: &Core, attempt: i32, error: String) -> FinishEnd {
    let failures = u32::try_from(attempt).unwrap_or(1);
    FinishEnd::Failure { error, retry_after: core.config.retry.after(failures) }
}

fn returned(core: &Core, claim: Claim, end: End) {
    let now = Instant::now();
    let bells = &core.bells;
    let returned = core.ledger().returned(claim, end, now);
    match returned {
        Returned::Success => bells.successes.notify_one(),
        Returned::Other => bells.others.notify_one(),
        Returned::Release => bells.releases.notify_one(),
        // Its slot is free for the instance that came after.
        Returned::Discarded => {
            bells.slots.notify_waiters();
            bells.settled.notify_one();
        }
    }
    bells.room.notify_one();
    bells.view.notify_one();
}

/// What a panic said.
pub(super) fn message(panic: &(dyn std::any::Any + Send)) -> String {
    panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "without a message".to_owned())
}
