//! What the parts of one worker share.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{Notify, watch};
use uuid::Uuid;

use super::analyser::Analyser;
use super::closing::LastClaim;
use super::config::Config;
use super::event::{Events, Part, Shutdown, WorkerEvent};
use super::hearing::Heard;
use super::latch::Latch;
use super::ledger::Ledger;
use super::rates::Rates;
use super::trouble::Troubles;
use crate::db::{Db, DbError};
use crate::domain::observed::{LocalWorkers, LostLease};
use crate::domain::{InstanceId, InstanceState, StopMode, StopRequest, TaskId};

/// How far the worker is on its way out. It only ever moves on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Phase {
    /// Claims and runs (or only watches).
    Open,
    /// Claims nothing more, waits for what runs.
    Draining,
    /// Claims nothing more, has asked what runs to stop.
    Canceling,
    /// Ends without waiting.
    Leaving,
}

impl From<Shutdown> for Phase {
    fn from(mode: Shutdown) -> Self {
        match mode {
            Shutdown::Drain => Self::Draining,
            Shutdown::Cancel => Self::Canceling,
        }
    }
}

/// The instance under which this process works now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Life {
    pub(super) instance: InstanceId,
    pub(super) standing: Standing,
}

/// Whether an instance may claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// The database does not know it yet, as far as is known.
    Unregistered,
    /// It has been asked to, and its row may be written.
    Asked,
    /// Its lease lasts until then by the local monotonic clock, counted from before the renewal was sent: the
    /// database's own clock lets it last a little longer.
    Until(Instant),
    /// Its lease is lost and the worker is on its way out, so no other begins.
    Ended,
}

impl Life {
    fn new() -> Self {
        Self { instance: InstanceId(Uuid::now_v7()), standing: Standing::Unregistered }
    }

    /// Whether its lease lasts, for all that is known here.
    pub(super) fn stands(&self) -> bool {
        matches!(self.standing, Standing::Until(until) if Instant::now() < until)
    }
}

/// Wake-ups between the parts. They carry nothing: the ledger is always read.
#[derive(Debug, Default)]
pub(super) struct Bells {
    /// There may be something to claim.
    pub(super) work: Notify,
    /// There may be room for a claim.
    pub(super) room: Notify,
    /// Something waits for a slot (rung for all).
    pub(super) slots: Notify,
    /// A success waits to be committed.
    pub(super) successes: Notify,
    /// Another end waits.
    pub(super) others: Notify,
    /// Something is to be given back.
    pub(super) releases: Notify,
    /// Something is in flight that may be canceled.
    pub(super) busy: Notify,
    /// There may be a cancel request.
    pub(super) cancels: Notify,
    /// What a heartbeat publishes has changed.
    pub(super) heart: Notify,
    /// Rows may have been won that this process does not know.
    pub(super) unsure: Notify,
    /// Something that is shown has changed.
    pub(super) view: Notify,
    /// There may be something to deliver, or a place for it.
    pub(super) deliveries: Notify,
    /// The ledger may have become empty.
    pub(super) settled: Notify,
}

/// See the module.
#[derive(Debug)]
pub(super) struct Core {
    pub(super) db: Db,
    pub(super) config: Config,
    pub(super) actor: String,
    pub(super) analyser: Arc<dyn Analyser>,
    pub(super) events: Events,
    pub(super) bells: Bells,
    pub(super) phase: watch::Sender<Phase>,
    pub(super) life: watch::Sender<Life>,
    pub(super) local: watch::Sender<LocalWorkers>,
    /// The claimer has ended: nothing more comes in.
    pub(super) claims_ended: Latch,
    /// Nothing is delivered any more, nor was ever if nothing is to be.
    pub(super) deliveries_ended: Latch,
    /// Notifications whose delivery was begun and whose end is not confirmed: by number, with task and version.
    in_flight: Mutex<BTreeMap<i64, (TaskId, i64)>>,
    /// The parts that go on until the last finish is committed may end.
    pub(super) stop: Latch,
    /// The worker has ended; what it still holds is left.
    pub(super) over: Latch,
    /// What the listening connection hears.
    pub(super) heard: watch::Sender<Heard>,
    /// What somebody asked of the present instance.
    asked_to_stop: Mutex<Option<StopRequest>>,
    ledger: Mutex<Ledger>,
    rates: Mutex<Rates>,
    troubles: Mutex<Troubles>,
    /// A claim was sent and what it won is not in the ledger yet.
    pub(super) claiming: AtomicBool,
    /// When the latest lease was lost, and how many tasks with it.
    lost: Mutex<Option<(Instant, usize)>>,
}

impl Core {
    pub(super) fn new(db: Db, config: Config, analyser: Arc<dyn Analyser>, events: Events) -> Self {
        let life = Life::new();
        let state = if config.workers == 0 { InstanceState::Watching } else { InstanceState::Working };
        let local = LocalWorkers {
            instance: life.instance,
            state,
            slots: config.workers,
            running: Vec::new(),
            buffered: 0,
            asked_to_stop: None,
            lease_left: Duration::ZERO,
            trouble: None,
            lost: None,
        };
        Self {
            ledger: Mutex::new(Ledger::new(life.instance, config.workers)),
            rates: Mutex::new(Rates::new(Instant::now())),
            troubles: Mutex::default(),
            asked_to_stop: Mutex::default(),
            claiming: AtomicBool::new(false),
            lost: Mutex::default(),
            bells: Bells::default(),
            phase: watch::Sender::new(Phase::Open),
            life: watch::Sender::new(life),
            local: watch::Sender::new(local),
            claims_ended: Latch::default(),
            deliveries_ended: Latch::default(),
            in_flight: Mutex::default(),
            stop: Latch::default(),
            over: Latch::default(),
            heard: watch::Sender::default(),
            actor: config.actor(),
            db,
            config,
            analyser,
            events,
        }
    }

    pub(super) fn ledger(&self) -> MutexGuard<'_, Ledger> {
        lock(&self.ledger)
    }

    /// Notifications whose delivery was begun and whose end is not confirmed.
    pub(super) fn in_flight(&self) -> MutexGuard<'_, BTreeMap<i64, (TaskId, i64)>> {
        lock(&self.in_flight)
    }

    pub(super) fn rates(&self) -> MutexGuard<'_, Rates> {
        lock(&self.rates)
    }

    pub(super) fn phase(&self) -> Phase {
        *self.phase.borrow()
    }

    pub(super) fn life(&self) -> Life {
        *self.life.borrow()
    }

    /// What this instance says of itself.
    pub(super) fn state(&self) -> InstanceState {
        match self.phase() {
            _ if self.over.is_set() => InstanceState::Stopped,
            Phase::Open if self.config.workers == 0 => InstanceState::Watching,
            Phase::Open => InstanceState::Working,
            Phase::Draining => InstanceState::Draining,
            Phase::Canceling | Phase::Leaving => InstanceState::Canceling,
        }
    }

    /// What somebody asked of the present instance.
    pub(super) fn asked_to_stop(&self) -> Option<StopRequest> {
        lock(&self.asked_to_stop).clone()
    }

    /// Does what somebody asked; every heartbeat repeats it, and only the first time does anything.
    pub(super) fn obey(&self, stop: StopRequest) {
        let known = lock(&self.asked_to_stop).replace(stop.clone());
        if known.as_ref() == Some(&stop) {
            return;
        }
        let StopRequest { mode, by, reason, .. } = stop;
        self.events.tell(|| WorkerEvent::AskedToStop { mode, by, reason });
        self.advance(match mode {
            StopMode::Drain => Phase::Draining,
            StopMode::Cancel => Phase::Canceling,
        });
    }

    /// Moves on to `phase`, never back. Returns whether that changed anything.
    pub(super) fn advance(&self, phase: Phase) -> bool {
        let changed = self.phase.send_if_modified(|current| {
            let further = phase > *current;
            if further {
                *current = phase;
            }
            further
        });
        if changed {
            self.bells.heart.notify_one();
            self.bells.view.notify_one();
        }
        changed
    }

    /// Forgets the instance whose lease is lost: stops its analysers, discards their results; the next instance gets
    /// a new id. On the way out there is no next one.
    pub(super) fn lose_lease(&self, reason: String) {
        let before = self.life().instance;
        let mut next = Life::new();
        if self.phase() > Phase::Open {
            next.standing = Standing::Ended;
        }
        let loss = self.ledger().lose_lease(next.instance);
        for cancel in &loss.running {
            cancel.request();
        }
        *self.rates() = Rates::new(Instant::now());
        *lock(&self.asked_to_stop) = None;
        *lock(&self.lost) = Some((Instant::now(), loss.discarded.len()));
        self.life.send_replace(next);
        self.events.tell(|| WorkerEvent::LeaseLost { instance: before, reason, discarded: loss.discarded });
        self.bells.settled.notify_one();
        self.bells.view.notify_one();
    }

    /// A call of `part` failed.
    pub(super) fn failed(&self, part: Part, error: &DbError) {
        lock(&self.troubles).failed(part, error, &self.events, Instant::now());
        self.bells.view.notify_one();
    }

    /// A call of `part` got through.
    pub(super) fn got_through(&self, part: Part) {
        if lock(&self.troubles).over(part, &self.events, Instant::now()) {
            self.bells.view.notify_one();
        }
    }

    /// Whether a claim's answer has not come.
    pub(super) fn last_claim(&self) -> LastClaim {
        if self.claiming.load(Ordering::SeqCst) { LastClaim::Unheard } else { LastClaim::Heard }
    }

    /// The latest loss of a lease.
    pub(super) fn lost(&self, now: Instant) -> Option<LostLease> {
        let lost = *lock(&self.lost);
        lost.map(|(at, discarded)| LostLease { ago: now.saturating_duration_since(at), discarded })
    }

    pub(super) fn trouble(&self) -> Option<String> {
        lock(&self.troubles).shown()
    }

    /// Waits until the lease of `instance` is lost.
    pub(super) async fn lost_lease_of(&self, instance: InstanceId) {
        let lost = |life: &Life| life.instance != instance || life.standing == Standing::Ended;
        let _ = self.life.subscribe().wait_for(lost).await;
    }

    /// Waits until the process is on its way out.
    pub(super) async fn closing(&self) {
        self.reached(Phase::Draining).await;
    }

    /// Waits until the process has come to `phase`.
    pub(super) async fn reached(&self, phase: Phase) {
        // The sender is a field of this very value, so the channel is open for as long as this is called.
        let _ = self.phase.subscribe().wait_for(|current| *current >= phase).await;
    }
}

/// A lock that outlives a panic of whoever held it: the part that panicked begins again and reads what is there.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
