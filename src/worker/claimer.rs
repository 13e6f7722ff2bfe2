//! The one claimer of a process.
//!
//! Invariants: one claim at a time (more claimers are slower, and two of them would deadlock with finishes); what
//! a claim won is in the ledger before the next begins; after a lost answer nothing is claimed before it was asked
//! what was won.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use tokio::time::sleep;

use super::event::{Part, WorkerEvent};
use super::rates::Count;
use super::shared::{Core, Life, Phase, Standing};
use crate::db::{ClaimRequest, Claimed, DbError, KeptBack};
use crate::domain::InstanceId;
use crate::domain::backoff::{Backoff, jittered};

/// How long a claimed task may wait behind busy slots before it is given back for others to take.
const WAITS_AT_MOST: Duration = Duration::from_secs(1);

/// Claims until the process is on its way out and it is known what was won.
pub(super) async fn run(core: Arc<Core>) {
    let mut claimer = Claimer { sure: Sure::No, more: More::Maybe, failures: 0, core };
    while claimer.step().await == Next::Step {}
    claimer.core.claims_ended.set();
    claimer.core.bells.settled.notify_one();
}

struct Claimer {
    core: Arc<Core>,
    sure: Sure,
    more: More,
    failures: u32,
}

/// Whether everything that this instance holds is known here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sure {
    Yes,
    /// A claim's answer was lost, or it is time to look: it is asked before the next claim.
    No,
}

/// Whether another claim may find something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum More {
    Maybe,
    /// The last one found nothing: a wake-up or the next poll tells.
    No,
    /// The last one found nothing but a tenant of which as much runs as may: an end here may have made room, too.
    AfterAnEnd,
}

#[derive(Debug, PartialEq, Eq)]
enum Next {
    Step,
    End,
}

impl Claimer {
    async fn step(&mut self) -> Next {
        let core = Arc::clone(&self.core);
        let life = core.life();
        let closing = core.phase() > Phase::Open;
        if !life.stands() {
            return self.wait_for_life(closing, life).await;
        }
        if self.sure == Sure::No {
            let asked = self.ask_what_was_won(life.instance).await;
            return self.after(asked).await;
        }
        if closing {
            return Next::End;
        }
        if core.ledger().give_back_stale(WAITS_AT_MOST, Instant::now()) {
            core.bells.releases.notify_one();
        }
        let now = Instant::now();
        let ahead = core.rates().ahead(now).min(core.config.batch);
        let room = core.ledger().room(ahead, core.config.batch.max(1));
        if self.more != More::Maybe || room == 0 {
            self.rest().await;
            return Next::Step;
        }
        let request = ClaimRequest {
            instance: life.instance,
            queues: core.config.queues.clone(),
            tenant: core.config.tenant.clone(),
            limit: i64::try_from(room).unwrap_or(i64::MAX),
        };
        core.claiming.store(true, Ordering::SeqCst);
        let claimed = core.db.claim(&request).await;
        let claimed = claimed.map(|won| {
            self.more = match won.kept_back {
                _ if !won.claimed.is_empty() => More::Maybe,
                KeptBack::Contended => More::Maybe,
                KeptBack::Full => More::AfterAnEnd,
                KeptBack::Nothing => More::No,
            };
            let claims = self.admit(won.claimed, life.instance);
            if !claims.is_empty() {
                core.events.tell(|| WorkerEvent::Claimed { claims });
            }
        });
        self.after(claimed).await
    }

    /// Takes in what was won under `instance`; what was won under one whose lease is lost is recovered.
    fn admit(&self, claimed: Vec<Claimed>, instance: InstanceId) -> Vec<(crate::domain::TaskId, i64)> {
        let core = &self.core;
        let now = Instant::now();
        let new = {
            let mut ledger = core.ledger();
            if ledger.instance() == instance { ledger.admit(claimed, now) } else { Vec::new() }
        };
        if !new.is_empty() {
            core.rates().add(Count::Claimed, new.len(), now);
            core.bells.slots.notify_waiters();
            core.bells.releases.notify_one();
            core.bells.busy.notify_one();
            core.bells.view.notify_one();
        }
        new
    }

    /// Asks the database what this instance holds, and takes over what is not known here. No claim is under way, so
    /// what is not known now was won by a claim whose answer was lost.
    async fn ask_what_was_won(&mut self, instance: InstanceId) -> Result<(), DbError> {
        let core = Arc::clone(&self.core);
        let known = core.ledger().known();
        let unknown = core.db.claimed_besides(instance, &known).await?;
        self.sure = Sure::Yes;
        let claims = self.admit(unknown, instance);
        if !claims.is_empty() {
            core.events.tell(|| WorkerEvent::Adopted { claims });
        }
        Ok(())
    }

    /// Goes on after a call, or waits after one that failed.
    async fn after(&mut self, called: Result<(), DbError>) -> Next {
        let core = Arc::clone(&self.core);
        match called {
            Ok(()) => {
                core.claiming.store(false, Ordering::SeqCst);
                if self.failures > 0 {
                    self.failures = 0;
                    core.got_through(Part::Claims);
                }
            }
            Err(error) => {
                // A row that cannot be read was claimed all the same.
                if matches!(error, DbError::Unknown(_) | DbError::BadRow { .. }) {
                    self.sure = Sure::No;
                }
                if self.sure == Sure::Yes {
                    core.claiming.store(false, Ordering::SeqCst);
                }
                self.more = More::Maybe;
                self.failures += 1;
                core.failed(Part::Claims, &error);
                tokio::select! {
                    () = sleep(Backoff::CALLS.after(self.failures)) => {}
                    () = core.closing(), if core.phase() == Phase::Open => {}
                    () = lost(&core) => {}
                }
            }
        }
        Next::Step
    }

    /// Waits for something to claim, room for it, or a reason to end.
    async fn rest(&mut self) {
        let bells = &self.core.bells;
        let stale_look = self.core.ledger().buffered() > 0;
        tokio::select! {
            () = bells.work.notified() => self.more = More::Maybe,
            () = sleep(jittered(self.core.config.poll)) => self.more = More::Maybe,
            () = bells.room.notified(), if self.more != More::No => self.more = More::Maybe,
            () = bells.unsure.notified() => self.sure = Sure::No,
            () = sleep(WAITS_AT_MOST / 2), if stale_look => {}
            () = self.core.closing() => {}
            () = lost(&self.core) => {}
        }
    }

    /// Waits until there is an instance to claim for. What the one before held is not this claimer's any more.
    async fn wait_for_life(&mut self, closing: bool, life: Life) -> Next {
        let unregistered = matches!(life.standing, Standing::Unregistered | Standing::Asked);
        if closing && unregistered || life.standing == Standing::Ended {
            return Next::End;
        }
        self.sure = Sure::Yes;
        self.core.claiming.store(false, Ordering::SeqCst);
        self.more = More::Maybe;
        let mut lives = self.core.life.subscribe();
        tokio::select! {
            _ = lives.wait_for(|next| next.stands() || *next != life) => {}
            () = self.core.closing(), if !closing => {}
            () = self.core.stop.wait() => return Next::End,
        }
        Next::Step
    }
}

/// Waits until the present lease has passed or was lost.
async fn lost(core: &Core) {
    let mut lives = core.life.subscribe();
    let present = lives.borrow_and_update().instance;
    let _ = lives.wait_for(|life| life.instance != present).await;
}
