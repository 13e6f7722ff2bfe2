//! The deliverer: claims notifications, runs the hook for each, and says in the outbox how that ended.
//!
//! Invariants: what is told was committed before, since it is read from the outbox; a notification is run at most once
//! for each claim, and its end is told to the database until it has answered or the lease is lost; nothing is said to be
//! delivered but by a hook that ended well. Who may deliver is decided by the database: `outbox_claim.sql`. What a
//! process holds when it dies is claimed by another once its lease has passed, and then told a second time.

mod delivery;

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::task::JoinSet;
use tokio::time::sleep;

use super::event::Part;
use super::program::Program;
use super::shared::{Core, Life, Phase};
use crate::db::{DbError, HeldDelivery};
use crate::domain::backoff::{Backoff, jittered};
use crate::domain::{InstanceId, Refusal};

/// How many deliveries run at once, of different tasks each.
const PLACES: usize = 4;

/// The least time between a claim that found nothing and the next: wake-ups announce submits too, and come far more
/// often than there is anything to tell.
const CLAIM_EVERY: Duration = Duration::from_millis(50);

/// The program that gets each notification, and how it is dealt with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hook {
    program: Program,
    timeout: Duration,
    retry: Backoff,
}

impl Hook {
    /// Splits `line` in the shell's quoting; no shell runs it. One run may take `timeout`, and `grace` is the time
    /// between SIGTERM and SIGKILL.
    ///
    /// # Errors
    /// Refuses an empty line, an open quote, and a NUL.
    pub fn parse(line: &str, timeout: Duration, grace: Duration) -> Result<Self, Refusal> {
        let retry = Backoff { base: Duration::from_millis(500), cap: Duration::from_mins(5) };
        Ok(Self { program: Program::parse("hook", line, grace)?, timeout, retry })
    }

    /// With other waits after deliveries that failed.
    #[must_use]
    pub fn with_retry(self, retry: Backoff) -> Self {
        Self { retry, ..self }
    }
}

/// Delivers until the process is on its way out and what was begun has ended.
pub(super) async fn run(core: Arc<Core>, hook: Hook) {
    // After a panic of this part: what it had begun was killed with it, and is asked for again.
    core.in_flight().clear();
    let deliverer = Deliverer {
        sure: Sure::No,
        more: More::Maybe,
        looked: Instant::now(),
        failures: 0,
        running: JoinSet::new(),
        hook: Arc::new(hook),
        core: Arc::clone(&core),
    };
    deliverer.run().await;
    core.deliveries_ended.set();
    core.bells.settled.notify_one();
}

struct Deliverer {
    core: Arc<Core>,
    hook: Arc<Hook>,
    sure: Sure,
    more: More,
    /// When it was last asked what is held.
    looked: Instant,
    failures: u32,
    running: JoinSet<()>,
}

/// Whether everything that this instance has claimed is known here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sure {
    Yes,
    /// Something was claimed, a claim's answer was lost, or it is time to look.
    No,
}

/// Whether another claim may find something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum More {
    Maybe,
    No,
}

impl Deliverer {
    async fn run(mut self) {
        while self.core.phase() == Phase::Open {
            while self.running.try_join_next().is_some() {}
            self.step().await;
        }
        self.give_back_unbegun().await;
        while self.running.join_next().await.is_some() {}
    }

    async fn step(&mut self) {
        let core = Arc::clone(&self.core);
        let life = core.life();
        if !life.stands() {
            self.wait_for_life(life).await;
            return;
        }
        let called = if self.sure == Sure::No {
            self.ask_what_is_held(life.instance).await
        } else {
            let places = PLACES.saturating_sub(core.in_flight().len());
            if self.more == More::No || places == 0 {
                self.rest().await;
                return;
            }
            self.claim(life.instance, places).await
        };
        match called {
            Ok(()) => {
                self.failures = 0;
                core.got_through(Part::Deliveries);
            }
            Err(error) => {
                // What was claimed without an answer is found by asking.
                self.sure = Sure::No;
                self.failures += 1;
                core.failed(Part::Deliveries, &error);
                tokio::select! {
                    () = sleep(Backoff::CALLS.after(self.failures)) => {}
                    () = core.closing() => {}
                }
            }
        }
    }

    async fn claim(&mut self, instance: InstanceId, places: usize) -> Result<(), DbError> {
        let (config, limit) = (&self.core.config, i64::try_from(places).unwrap_or(1));
        let claimed = self.core.db.claim_deliveries(instance, config.tenant.as_ref(), limit).await?;
        if claimed == 0 {
            self.more = More::No;
        } else {
            self.sure = Sure::No;
        }
        Ok(())
    }

    /// Begins what this instance has claimed and what is not known here.
    async fn ask_what_is_held(&mut self, instance: InstanceId) -> Result<(), DbError> {
        let known: Vec<i64> = self.core.in_flight().keys().copied().collect();
        let held = self.core.db.deliveries_held(instance, &known).await?;
        self.sure = Sure::Yes;
        self.looked = Instant::now();
        // A process that stood still may get an answer long after its lease has passed.
        let life = self.core.life();
        if life.instance == instance && life.stands() && self.core.phase() == Phase::Open {
            for held in held {
                self.begin(instance, held);
            }
        } else {
            self.sure = Sure::No;
        }
        Ok(())
    }

    fn begin(&mut self, instance: InstanceId, held: HeldDelivery) {
        let told = &held.notification;
        self.core.in_flight().insert(held.number, (told.task_id, told.version));
        let (core, hook) = (Arc::clone(&self.core), Arc::clone(&self.hook));
        self.running.spawn(delivery::deliver(core, hook, instance, held));
    }

    /// Waits for something to claim, a place for it, or a reason to end.
    async fn rest(&mut self) {
        let core = &self.core;
        if self.more == More::No {
            sleep(CLAIM_EVERY).await;
        }
        tokio::select! {
            () = core.bells.deliveries.notified() => {}
            () = core.db.notification_written() => {}
            () = sleep(jittered(core.config.poll)) => {}
            () = core.closing() => {}
        }
        self.more = More::Maybe;
        // A claim that was given up on may have been executed since.
        if self.looked.elapsed() > core.config.lease / 3 {
            self.sure = Sure::No;
        }
    }

    /// Waits until there is an instance to claim for. What the one before held is not this deliverer's any more.
    async fn wait_for_life(&mut self, life: Life) {
        self.sure = Sure::No;
        self.more = More::Maybe;
        let mut lives = self.core.life.subscribe();
        tokio::select! {
            _ = lives.wait_for(|next| next.stands() || *next != life) => {}
            () = self.core.closing() => {}
        }
    }

    /// What was claimed and not begun when the process was told to end is for others. Should that fail, they have it
    /// once this instance has ended.
    async fn give_back_unbegun(&mut self) {
        let life = self.core.life();
        if self.sure == Sure::Yes || !life.stands() {
            return;
        }
        let known: Vec<i64> = self.core.in_flight().keys().copied().collect();
        match self.core.db.deliveries_held(life.instance, &known).await {
            Ok(unbegun) => {
                for held in unbegun {
                    self.running.spawn(delivery::give_back(Arc::clone(&self.core), life.instance, held));
                }
            }
            Err(error) => self.core.failed(Part::Deliveries, &error),
        }
    }
}
