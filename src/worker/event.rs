//! What a worker tells whoever watches: plain data through a bounded channel, never awaited.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::mpsc;

use crate::db::Recovered;
use crate::domain::{InstanceId, InstanceState, Status, StopMode, TaskId};

/// Something that happened to this process's workers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkerEvent {
    /// The instance is registered and works or watches.
    Began {
        /// Its id, new at each start and after a lost lease.
        instance: InstanceId,
        /// Working or watching.
        state: InstanceState,
    },
    /// Tasks were claimed.
    Claimed {
        /// Each with its claim number.
        claims: Vec<(TaskId, i64)>,
    },
    /// Tasks that a claim had won whose answer was lost: found by asking, and taken over.
    Adopted {
        /// Each with its claim number.
        claims: Vec<(TaskId, i64)>,
    },
    /// Tasks were committed as SUCCEEDED.
    Succeeded {
        /// Which.
        tasks: Vec<TaskId>,
    },
    /// An attempt failed and another will follow.
    Retrying {
        /// The task.
        id: TaskId,
        /// The claim that ended.
        claim_no: i64,
        /// How long until it is due again, by the database's clock.
        after: Duration,
        /// Why it failed.
        error: String,
    },
    /// The last attempt failed: FAILED.
    Failed {
        /// The task.
        id: TaskId,
        /// The claim that ended.
        claim_no: i64,
        /// Why.
        error: String,
    },
    /// The analyser has returned and the task is CANCELED.
    Canceled {
        /// The task.
        id: TaskId,
        /// The claim that ended.
        claim_no: i64,
    },
    /// A run was asked to stop.
    CancelRequested {
        /// The task.
        id: TaskId,
        /// The claim under which it runs.
        claim_no: i64,
    },
    /// Claims were given back before their analysers ran to the end; the attempts are not spent.
    Released {
        /// Which.
        tasks: Vec<TaskId>,
        /// Why.
        reason: &'static str,
    },
    /// A finish changed nothing, as its claim is no longer the row's current one.
    Superseded {
        /// The task.
        id: TaskId,
        /// The claim that is no longer current.
        claim_no: i64,
        /// The row's state.
        status: Status,
        /// The row's current claim number.
        current: i64,
    },
    /// A finish found no row: it was removed meanwhile.
    Vanished {
        /// The task.
        id: TaskId,
        /// The claim.
        claim_no: i64,
    },
    /// Tasks were taken back from instances that no longer live.
    Recovered {
        /// Which, and what became of them.
        tasks: Vec<Recovered>,
    },
    /// A notification was delivered.
    Delivered {
        /// The task.
        id: TaskId,
        /// The version that the change made.
        version: i64,
        /// Which delivery it was, from 1.
        delivery: i64,
    },
    /// A delivery failed and another will follow.
    NotDelivered {
        /// The task.
        id: TaskId,
        /// The version that the change made.
        version: i64,
        /// Which delivery it was, from 1.
        delivery: i64,
        /// How long until it is due again, by the database's clock.
        after: Duration,
        /// Why.
        error: String,
    },
    /// How a delivery ended is not this process's to say any more: another delivers it, perhaps a second time.
    DeliveryDiscarded {
        /// The task.
        id: TaskId,
        /// The version that the change made.
        version: i64,
        /// Which delivery it was, from 1.
        delivery: i64,
        /// Why.
        why: &'static str,
    },
    /// The lease was lost: analysers are stopped, their results discarded, and a new instance begins.
    LeaseLost {
        /// The instance that is lost.
        instance: InstanceId,
        /// How it was noticed.
        reason: String,
        /// Tasks whose results are discarded.
        discarded: Vec<TaskId>,
    },
    /// Somebody asked this process to stop, and it does.
    AskedToStop {
        /// How.
        mode: StopMode,
        /// Who.
        by: String,
        /// Why, as they put it.
        reason: Option<String>,
    },
    /// A part of the worker does not get through to the database. Told once, not at each try.
    Trouble {
        /// Which part.
        part: Part,
        /// What went wrong.
        message: String,
        /// What to do about it, where that is known.
        hint: Option<String>,
    },
    /// A part of the worker gets through again.
    TroubleOver {
        /// Which part.
        part: Part,
        /// How many tries had failed.
        failures: u64,
        /// For how long.
        lasted: Duration,
    },
    /// No notifications come through a pooler: the tables are polled.
    PollingOnly,
    /// A part of the worker panicked; it begins again.
    Panicked {
        /// Which part.
        part: Part,
        /// The panic's message.
        message: String,
    },
    /// A shutdown began, or became a graver one.
    ShuttingDown {
        /// How.
        mode: Shutdown,
        /// Why, where nobody asked for it now: the grace time has passed.
        reason: Option<&'static str>,
        /// How many tasks are in flight.
        in_flight: usize,
    },
}

/// How a worker is shut down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Shutdown {
    /// Claims nothing more and waits for what runs.
    Drain,
    /// Claims nothing more, asks what runs to stop, and waits for it.
    Cancel,
}

/// A part of a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Part {
    /// Claims tasks.
    Claims,
    /// Runs them.
    Slots,
    /// Commits their ends.
    Finishes,
    /// Gives claims back.
    Releases,
    /// Renews the lease.
    Heart,
    /// Looks which tasks were asked to stop.
    Cancels,
    /// Takes tasks back from dead instances.
    Recovery,
    /// Listens for wake-ups.
    Listener,
    /// Publishes what is seen of the worker.
    View,
    /// Delivers notifications.
    Deliveries,
    /// Shuts it down.
    Closing,
}

impl Part {
    /// Whether work stops while it does not get through; the others only help.
    pub(super) const fn works(self) -> bool {
        matches!(
            self,
            Self::Heart | Self::Claims | Self::Finishes | Self::Releases | Self::Deliveries | Self::Closing
        )
    }

    /// Its name in a log line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Claims => "claims",
            Self::Slots => "slots",
            Self::Finishes => "finishes",
            Self::Releases => "releases",
            Self::Heart => "heartbeat",
            Self::Cancels => "cancel requests",
            Self::Recovery => "recovery",
            Self::Listener => "listener",
            Self::View => "view",
            Self::Deliveries => "deliveries",
            Self::Closing => "shutdown",
        }
    }
}

/// Where events go. A full channel loses the event and counts it: work never awaits the screen.
#[derive(Debug, Clone)]
pub struct Events {
    to: Option<mpsc::Sender<WorkerEvent>>,
    missed: Arc<AtomicU64>,
}

impl Events {
    /// A channel that holds up to `capacity` events.
    pub fn channel(capacity: usize) -> (Self, mpsc::Receiver<WorkerEvent>) {
        let (to, from) = mpsc::channel(capacity.max(1));
        (Self { to: Some(to), missed: Arc::default() }, from)
    }

    /// For a worker that nobody watches.
    pub fn nowhere() -> Self {
        Self { to: None, missed: Arc::default() }
    }

    /// How many events were lost because nobody took them in time.
    pub fn missed(&self) -> u64 {
        self.missed.load(Ordering::Relaxed)
    }

    /// Tells it, if there is room. The event is only made where somebody is there to take it.
    pub(super) fn tell(&self, event: impl FnOnce() -> WorkerEvent) {
        let Some(to) = &self.to else { return };
        match to.try_reserve() {
            Ok(place) => place.send(event()),
            Err(mpsc::error::TrySendError::Full(())) => {
                self.missed.fetch_add(1, Ordering::Relaxed);
            }
            Err(mpsc::error::TrySendError::Closed(())) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_channel_loses_events_and_counts_them() {
        let (events, mut from) = Events::channel(1);
        events.tell(|| WorkerEvent::PollingOnly);
        events.tell(|| WorkerEvent::PollingOnly);
        assert_eq!(events.missed(), 1);
        assert_eq!(from.try_recv(), Ok(WorkerEvent::PollingOnly));
        drop(from);
        events.tell(|| WorkerEvent::PollingOnly);
        assert_eq!(events.missed(), 1);
    }
}
