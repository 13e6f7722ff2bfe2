//! The parts that look at what others did: cancel requests, dead instances, wake-ups; and the one that shows
//! what this process does.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::time::sleep;

use super::event::{Part, WorkerEvent};
use super::hearing::{self, Sound};
use super::shared::{Core, Standing};
use crate::domain::Status;
use crate::domain::backoff::{Backoff, jittered};
use crate::domain::observed::LocalWorkers;

/// How often cancel requests are looked for while something runs.
const CANCELS_EVERY: Duration = Duration::from_secs(1);

/// The least time between two views: whoever watches sees changes at once, and work does not pay for each.
const VIEW_EVERY: Duration = Duration::from_millis(50);

/// How often old instances are forgotten, in turns of the recovery.
const PRUNE_EVERY: u32 = 100;

/// Looks which of the running tasks were asked to stop, and hands that on to their analysers.
pub(super) async fn cancels(core: Arc<Core>) {
    loop {
        let (instance, busy) = {
            let ledger = core.ledger();
            (ledger.instance(), ledger.running() + ledger.buffered() > 0)
        };
        if !busy {
            core.bells.busy.notified().await;
            continue;
        }
        match core.db.cancel_requests(instance).await {
            Ok(requests) => {
                core.got_through(Part::Cancels);
                for claim in requests {
                    let token = core.ledger().request(claim);
                    // What was only waiting is given back.
                    core.bells.releases.notify_one();
                    if let Some(token) = token {
                        token.request();
                        let (id, claim_no) = claim;
                        core.events.tell(|| WorkerEvent::CancelRequested { id, claim_no });
                        core.bells.view.notify_one();
                    }
                }
            }
            Err(error) => core.failed(Part::Cancels, &error),
        }
        // Wake-ups announce submits too, and come far more often than anybody cancels.
        sleep(CANCELS_EVERY / 20).await;
        tokio::select! {
            () = core.bells.cancels.notified() => {}
            () = sleep(CANCELS_EVERY) => {}
        }
    }
}

/// Takes tasks back from instances that no longer live, at the start and several times a lease.
pub(super) async fn recovery(core: Arc<Core>) {
    let mut failures = 0;
    for turn in 0_u32.. {
        let wait = match core.db.recover(&core.actor).await {
            Ok(tasks) => {
                failures = 0;
                core.got_through(Part::Recovery);
                if tasks.iter().any(|task| task.status == Status::Queued) {
                    core.bells.work.notify_one();
                    core.db.wake();
                }
                if !tasks.is_empty() {
                    core.events.tell(|| WorkerEvent::Recovered { tasks });
                }
                if turn % PRUNE_EVERY == 0
                    && let Err(error) = core.db.prune_instances().await
                {
                    // Old rows do no harm; the next turn tries again.
                    tracing::debug!(%error, "old instances were not forgotten");
                }
                if let Err(error) = core.db.prune_outbox().await {
                    // The table would grow unseen.
                    core.failed(Part::Recovery, &error);
                }
                core.config.lease / 3
            }
            Err(error) => {
                core.failed(Part::Recovery, &error);
                failures += 1;
                Backoff::CALLS.after(failures)
            }
        };
        sleep(jittered(wait)).await;
        // A live instance too may hold what it does not know of.
        core.bells.unsure.notify_one();
    }
}

/// Listens for wake-ups. Polling is the net, and the only means behind a pooler.
pub(super) async fn listener(core: Arc<Core>) {
    hearing::listen(&core.db, &core.heard, |sound| match sound {
        Sound::Begun => {
            core.got_through(Part::Listener);
            ring(&core);
        }
        Sound::Rung => ring(&core),
        // The heartbeat's answer says what was asked.
        Sound::Called => core.bells.heart.notify_one(),
        Sound::Pooler => core.events.tell(|| WorkerEvent::PollingOnly),
        Sound::Failed(error) => core.failed(Part::Listener, error),
    })
    .await;
}

fn ring(core: &Core) {
    core.bells.work.notify_one();
    core.bells.cancels.notify_one();
    core.bells.deliveries.notify_one();
}

/// Publishes what this process does when it changes, and every second while something runs.
pub(super) async fn view(core: Arc<Core>) {
    loop {
        publish(&core);
        sleep(VIEW_EVERY).await;
        let busy = core.ledger().running() > 0;
        tokio::select! {
            () = core.bells.view.notified() => {}
            () = sleep(Duration::from_secs(1)), if busy => {}
        }
    }
}

/// Publishes what this process does.
pub(super) fn publish(core: &Core) {
    let now = Instant::now();
    let life = core.life();
    let (running, buffered) = {
        let ledger = core.ledger();
        (ledger.slots(now), ledger.buffered())
    };
    core.local.send_replace(LocalWorkers {
        instance: life.instance,
        state: core.state(),
        slots: core.config.workers,
        running,
        buffered,
        asked_to_stop: core.asked_to_stop(),
        lease_left: match life.standing {
            Standing::Until(until) => until.saturating_duration_since(now),
            Standing::Unregistered | Standing::Asked | Standing::Ended => Duration::ZERO,
        },
        trouble: core.trouble(),
        lost: core.lost(now),
    });
}
