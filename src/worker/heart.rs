//! The lease: one row renewed at each beat, from the first claim until the last finish is committed.
//!
//! Invariant: once the lease may have passed by the local clock, nothing of this instance is claimed, run for a
//! result or committed any more, whatever the database would say; the next beat begins a new instance.
//!
//! The answer to a beat is also how an instance learns that somebody asked it to stop.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::event::{Part, WorkerEvent};
use super::shared::{Core, Life, Phase, Standing};
use crate::db::{DbError, NewInstance, Renewal};
use crate::domain::backoff::{Backoff, jittered};

/// How often a beat comes, whatever the lease.
const BEAT: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(5));

/// The wait before a failed beat is tried again: it must not wait for the next.
const AGAIN: Backoff = Backoff { base: Duration::from_millis(25), cap: Duration::from_millis(500) };

/// Registers, beats, and begins anew when the lease is lost.
pub(super) async fn run(core: Arc<Core>) {
    loop {
        // A part that begins again after a panic finds its instance registered.
        let unregistered = matches!(core.life().standing, Standing::Unregistered | Standing::Asked);
        if unregistered && !register(&core).await {
            return;
        }
        match beat(&core).await {
            Beaten::Stopped => return,
            Beaten::Lost(reason) => {
                core.lose_lease(reason);
                if core.phase() > Phase::Open {
                    return;
                }
            }
        }
    }
}

enum Beaten {
    /// Nothing is in flight any more.
    Stopped,
    /// The lease is lost, and how that was noticed.
    Lost(String),
}

/// Returns false where the process is on its way out before it was registered.
async fn register(core: &Core) -> bool {
    let Life { instance, .. } = core.life();
    let new = NewInstance {
        id: instance,
        host: core.config.host.clone(),
        pid: core.config.pid,
        kind: core.config.kind,
        operator: core.config.operator.clone(),
        queues: core.config.queues.clone(),
        slots: i32::try_from(core.config.workers).unwrap_or(i32::MAX),
        state: core.state(),
        lease: core.config.lease,
    };
    let mut failures = 0;
    // When the row may have been written first: sending it again does not renew the lease.
    let mut first: Option<Instant> = None;
    while core.phase() == Phase::Open || first.is_some() {
        let sent = Instant::now();
        core.life.send_replace(Life { instance, standing: Standing::Asked });
        match core.db.register(&new).await {
            Ok(()) => {
                core.got_through(Part::Heart);
                let until = first.unwrap_or(sent) + core.config.lease;
                core.life.send_replace(Life { instance, standing: Standing::Until(until) });
                core.events.tell(|| WorkerEvent::Began { instance, state: new.state });
                core.bells.work.notify_one();
                core.bells.view.notify_one();
                return true;
            }
            Err(error) => {
                if matches!(error, DbError::Unknown(_)) {
                    first.get_or_insert(sent);
                }
                if first.is_none() {
                    core.life.send_replace(Life { instance, standing: Standing::Unregistered });
                }
                core.failed(Part::Heart, &error);
                failures += 1;
                tokio::select! {
                    () = tokio::time::sleep(Backoff::CALLS.after(failures)) => {}
                    () = core.stop.wait() => return false,
                    () = core.closing(), if first.is_none() => return false,
                }
            }
        }
    }
    false
}

/// Renews the lease until it is lost or nothing needs it any more.
async fn beat(core: &Core) -> Beaten {
    let every = (core.config.lease / 6).clamp(BEAT.0, BEAT.1).min(core.config.lease / 3);
    let mut failures = 0;
    let mut wait = Duration::ZERO;
    loop {
        let Life { instance, standing: Standing::Until(until) } = core.life() else {
            return Beaten::Lost("it was never registered".to_owned());
        };
        let passed = || Beaten::Lost("no heartbeat got through before the lease passed".to_owned());
        tokio::select! {
            biased;
            () = core.stop.wait() => return Beaten::Stopped,
            () = tokio::time::sleep_until(until.into()) => return passed(),
            () = core.bells.heart.notified() => {}
            () = tokio::time::sleep(wait) => {}
        }
        let now = Instant::now();
        let beat = core.rates().beat(core.state(), core.config.lease, now);
        let renewed = tokio::select! {
            renewed = core.db.heartbeat(instance, &beat) => renewed,
            () = tokio::time::sleep_until(until.into()) => return passed(),
        };
        match renewed {
            Ok(Renewal::Renewed { stop }) => {
                // A process that stood still may get an answer long after it was sent.
                let until = now + core.config.lease;
                if Instant::now() >= until {
                    return passed();
                }
                core.life.send_replace(Life { instance, standing: Standing::Until(until) });
                core.got_through(Part::Heart);
                if let Some(stop) = stop {
                    core.obey(stop);
                }
                core.bells.view.notify_one();
                failures = 0;
                wait = jittered(every);
            }
            Ok(Renewal::Lost) => return Beaten::Lost("another instance declared it lost".to_owned()),
            Err(error) => {
                core.failed(Part::Heart, &error);
                failures += 1;
                wait = AGAIN.after(failures);
            }
        }
    }
}
