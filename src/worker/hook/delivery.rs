//! One delivery, from its claim to the answer of the database.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use tokio::time::sleep;

use super::Hook;
use crate::db::{Confirmed, HeldDelivery};
use crate::domain::outbox::Delivery;
use crate::domain::{Backoff, InstanceId, json};
use crate::worker::analyser::{Cancel, Doing};
use crate::worker::event::{Part, WorkerEvent};
use crate::worker::program::{self, Ended, Given, Output};
use crate::worker::shared::{Core, Phase};
use crate::worker::slots::message;

/// What is told to the database.
#[derive(Debug, Clone, PartialEq, Eq)]
enum End {
    Delivered,
    Failed { error: String, after: Duration },
}

/// Why a hook was asked to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asked {
    /// It took too long.
    TimedOut,
    /// The process is on its way out.
    Closing,
    /// The lease is lost: whatever it says is worth nothing.
    LeaseLost,
}

/// Runs the hook and tells how it ended.
pub(super) async fn deliver(core: Arc<Core>, hook: Arc<Hook>, instance: InstanceId, held: HeldDelivery) {
    let retry = hook.retry.after(u32::try_from(held.claim_no).unwrap_or(u32::MAX));
    let ran = AssertUnwindSafe(run(&core, &hook, instance, &held)).catch_unwind().await;
    let end = match ran {
        Ok(Some(end)) => end,
        Ok(None) => return discard(&core, &held, "the lease was lost while the hook ran"),
        Err(panic) => {
            let error = format!("the delivery panicked: {}", message(&*panic));
            End::Failed { error, after: retry }
        }
    };
    tell(&core, instance, &held, end).await;
}

/// Gives a notification back whose hook was not begun.
pub(super) async fn give_back(core: Arc<Core>, instance: InstanceId, held: HeldDelivery) {
    let error = "given back: its process was shutting down".to_owned();
    tell(&core, instance, &held, End::Failed { error, after: Duration::ZERO }).await;
}

/// Runs the hook to its end; nothing where the lease was lost.
async fn run(core: &Core, hook: &Hook, instance: InstanceId, held: &HeldDelivery) -> Option<End> {
    let after = hook.retry.after(u32::try_from(held.claim_no).unwrap_or(u32::MAX));
    let failed = |error: String| Some(End::Failed { error, after });
    let written = match &held.delivery {
        Ok(delivery) => json::document::<Delivery>(delivery).map_err(|error| error.to_string()),
        Err(problem) => Err(format!("the task cannot be read: {problem}")),
    };
    let stdin = match written {
        Ok(stdin) => stdin,
        Err(error) => return failed(error),
    };
    let told = &held.notification;
    let variables = [
        ("TASKDECK_TASK_ID", told.task_id.to_string()),
        ("TASKDECK_VERSION", told.version.to_string()),
        ("TASKDECK_TENANT", told.tenant.clone()),
        ("TASKDECK_DELIVERY", held.claim_no.to_string()),
    ];
    let given = Given { stdin: &stdin, variables: &variables, output: Output::Discarded };
    let (cancel, doing) = (Cancel::new(), Doing::default());
    let mut running = std::pin::pin!(hook.program.run(&given, &cancel, &doing));
    let (asked, ended) = tokio::select! {
        biased;
        ended = &mut running => (None, ended),
        asked = ask_to_end(core, hook.timeout, instance) => {
            cancel.request();
            (Some(asked), running.await)
        }
    };
    if asked == Some(Asked::LeaseLost) {
        return None;
    }
    match ended {
        Ended::Well { .. } => Some(End::Delivered),
        Ended::Badly { error } => failed(error),
        Ended::Stopped { .. } if asked == Some(Asked::Closing) => {
            let error = "stopped: its process was shutting down".to_owned();
            Some(End::Failed { error, after: Duration::ZERO })
        }
        Ended::Stopped { said } => failed(program::timed_out(hook.timeout, &said)),
    }
}

/// Waits for a reason to end a hook that runs.
async fn ask_to_end(core: &Core, timeout: Duration, instance: InstanceId) -> Asked {
    tokio::select! {
        () = sleep(timeout) => Asked::TimedOut,
        () = core.reached(Phase::Canceling) => Asked::Closing,
        () = core.lost_lease_of(instance) => Asked::LeaseLost,
    }
}

/// Tells the database until it has answered, or until this instance has nothing to say any more.
async fn tell(core: &Core, instance: InstanceId, held: &HeldDelivery, end: End) {
    let (number, claim_no) = (held.number, held.claim_no);
    let mut failures = 0;
    loop {
        if core.life().instance != instance {
            return discard(core, held, "the lease was lost before the end of the delivery was confirmed");
        }
        let sent = async {
            match &end {
                End::Delivered => core.db.delivered(instance, number, claim_no).await,
                End::Failed { error, after } => {
                    core.db.not_delivered(instance, number, claim_no, error, *after).await
                }
            }
        };
        match sent.await {
            Ok(confirmed) => {
                core.got_through(Part::Deliveries);
                settle(core, number);
                match confirmed {
                    Confirmed::Yes => report(core, held, end),
                    Confirmed::ClaimLost => {
                        let why = "somebody else had claimed it";
                        core.events.tell(|| discarded(held, why));
                    }
                }
                return;
            }
            Err(error) => {
                core.failed(Part::Deliveries, &error);
                failures += 1;
                tokio::select! {
                    () = sleep(Backoff::CALLS.after(failures)) => {}
                    () = core.lost_lease_of(instance) => {}
                }
            }
        }
    }
}

/// The lease is lost: another may deliver it. On the way out it stays among what is left.
fn discard(core: &Core, held: &HeldDelivery, why: &'static str) {
    if core.phase() == Phase::Open {
        settle(core, held.number);
    }
    core.events.tell(|| discarded(held, why));
}

/// It is over here: its place is free, and the next one of its task may be due.
fn settle(core: &Core, number: i64) {
    core.in_flight().remove(&number);
    core.bells.deliveries.notify_one();
}

fn report(core: &Core, held: &HeldDelivery, end: End) {
    let (id, version, delivery) = (held.notification.task_id, held.notification.version, held.claim_no);
    core.events.tell(|| match end {
        End::Delivered => WorkerEvent::Delivered { id, version, delivery },
        End::Failed { error, after } => WorkerEvent::NotDelivered { id, version, delivery, after, error },
    });
}

fn discarded(held: &HeldDelivery, why: &'static str) -> WorkerEvent {
    let (id, version, delivery) = (held.notification.task_id, held.notification.version, held.claim_no);
    WorkerEvent::DeliveryDiscarded { id, version, delivery, why }
}
