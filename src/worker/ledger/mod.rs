//! What this process knows of its claims: the state of the claim and finish protocol, without any I/O.
//!
//! Invariants: a claim, named by (task, claim number), is in here from the moment its row came back until the
//! database has said what became of it, or until the lease under which it was claimed was lost; it is handed to
//! a slot at most once; and nothing is handed to a slot after [`Ledger::close`] or a lost lease.

mod outbox;
mod view;

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use super::analyser::{Cancel, Doing, Job};
use crate::db::{Claimed, Finish, FinishEnd, Release};
use crate::domain::{InstanceId, OperationId, TaskId};

/// A claim's name: the task and its fencing token.
pub(super) type Claim = (TaskId, i64);

/// See the module.
#[derive(Debug)]
pub(super) struct Ledger {
    instance: InstanceId,
    intake: Intake,
    slots: Vec<Slot>,
    claims: HashMap<Claim, Stage>,
    /// In the order in which they are to run.
    buffered: VecDeque<(Claim, Instant)>,
    /// What waits to be told to the database, oldest first; entries stay until the answer is in.
    successes: VecDeque<Claim>,
    others: VecDeque<Claim>,
    releases: VecDeque<Claim>,
    /// Runs whose lease was lost: their results are worth nothing, but they still occupy their slots.
    orphans: HashMap<Claim, usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Intake {
    Open,
    /// What still comes in is given back.
    Closed,
}

#[derive(Debug, Default)]
struct Slot {
    run: Option<Run>,
    /// The claim that ran here last: shown as finishing until the database has answered.
    last: Option<(Claim, Instant)>,
}

#[derive(Debug)]
struct Run {
    claim: Claim,
    since: Instant,
    cancel: Cancel,
    doing: Doing,
}

#[derive(Debug)]
enum Stage {
    /// Waits for a slot.
    Buffered { claimed: Box<Claimed> },
    /// In a slot.
    Running { slot: usize, requested: Requested },
    /// The analyser has returned; this is to be committed.
    Finishing { finish: Box<Finish> },
    /// To be given back, as its analyser did not run to the end.
    Releasing { release: Release },
}

/// Whether the row says that its task is to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Requested {
    Yes,
    No,
}

/// A claim in its slot.
#[derive(Debug)]
pub(super) struct Started {
    pub(super) job: Result<Job, String>,
    pub(super) cancel: Cancel,
    pub(super) doing: Doing,
}

/// How a run ended.
#[derive(Debug)]
pub(super) enum End {
    /// With something to commit.
    Finish(FinishEnd),
    /// It stopped before its end.
    Stopped,
}

/// Which queue a returned run went to.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Returned {
    Success,
    Other,
    Release,
    /// Its lease was lost meanwhile: the result is discarded.
    Discarded,
}

/// What a lost lease leaves.
#[derive(Debug, Default)]
pub(super) struct Loss {
    /// Claims that this process no longer answers for.
    pub(super) discarded: Vec<TaskId>,
    /// The tokens of those that run.
    pub(super) running: Vec<Cancel>,
}

impl Ledger {
    pub(super) fn new(instance: InstanceId, slots: usize) -> Self {
        Self {
            instance,
            intake: Intake::Open,
            slots: std::iter::repeat_with(Slot::default).take(slots).collect(),
            claims: HashMap::new(),
            buffered: VecDeque::new(),
            successes: VecDeque::new(),
            others: VecDeque::new(),
            releases: VecDeque::new(),
            orphans: HashMap::new(),
        }
    }

    /// The instance under which everything in here (but orphans) was claimed.
    pub(super) fn instance(&self) -> InstanceId {
        self.instance
    }

    /// Nothing is claimed, running or waiting to be told to the database.
    pub(super) fn is_empty(&self) -> bool {
        self.claims.is_empty() && self.orphans.is_empty()
    }

    /// How many claims wait for a slot.
    pub(super) fn buffered(&self) -> usize {
        self.buffered.len()
    }

    /// How many runs there are, orphans included.
    pub(super) fn running(&self) -> usize {
        self.slots.iter().filter(|slot| slot.run.is_some()).count()
    }

    /// How many tasks to claim now: the free slots and `ahead`, less what waits already; zero while what waits
    /// is still more than half of `ahead`, so that claims stay few and large.
    pub(super) fn room(&self, ahead: usize, batch: usize) -> usize {
        if self.intake == Intake::Closed {
            return 0;
        }
        let free = self.slots.len() - self.running();
        let waiting = self.buffered.len();
        if waiting >= free && waiting * 2 > ahead {
            return 0;
        }
        // What is finished faster than the database takes it must not pile up.
        let bound = (self.slots.len() + batch * 4).saturating_sub(self.claims.len());
        (free + ahead).saturating_sub(waiting).min(batch).min(bound)
    }

    /// Takes claims in. What is known already stays as it is: the same claim is never run twice. Returns those that
    /// are new.
    pub(super) fn admit(&mut self, claimed: Vec<Claimed>, now: Instant) -> Vec<Claim> {
        let mut new = Vec::with_capacity(claimed.len());
        for claimed in claimed {
            let claim = (claimed.id, claimed.claim_no);
            if self.claims.contains_key(&claim) || self.orphans.contains_key(&claim) {
                continue;
            }
            new.push(claim);
            if self.intake == Intake::Open {
                self.claims.insert(claim, Stage::Buffered { claimed: Box::new(claimed) });
                self.buffered.push_back((claim, now));
            } else {
                self.release(claim);
            }
        }
        new
    }

    /// The tasks that are known under the current instance.
    pub(super) fn known(&self) -> Vec<TaskId> {
        self.claims.keys().map(|(id, _)| *id).collect()
    }

    /// The tasks that stay RUNNING if the process ends now.
    pub(super) fn held(&self) -> Vec<TaskId> {
        let mut held: Vec<TaskId> =
            self.claims.keys().chain(self.orphans.keys()).map(|(id, _)| *id).collect();
        held.sort_unstable();
        held.dedup();
        held
    }

    /// The tasks whose end is being told to the database.
    pub(super) fn ending(&self) -> Vec<TaskId> {
        let ending = |stage: &Stage| matches!(stage, Stage::Finishing { .. } | Stage::Releasing { .. });
        let mut ids: Vec<TaskId> =
            self.claims.iter().filter(|(_, stage)| ending(stage)).map(|((id, _), _)| *id).collect();
        ids.sort_unstable();
        ids
    }

    /// Hands the next waiting claim to the free `slot`.
    pub(super) fn start(&mut self, slot: usize, now: Instant) -> Option<(Claim, Started)> {
        let place = self.slots.get_mut(slot).filter(|place| place.run.is_none())?;
        let (claim, _) = self.buffered.pop_front()?;
        let stage = self.claims.get_mut(&claim)?;
        let running = Stage::Running { slot, requested: Requested::No };
        let Stage::Buffered { claimed } = std::mem::replace(stage, running) else {
            unreachable!("only what waits is in the queue of what waits")
        };
        let run = Run { claim, since: now, cancel: Cancel::new(), doing: Doing::default() };
        let Claimed { id, tenant, claim_no, attempt, input, .. } = *claimed;
        let started = Started {
            job: input.map(|text| Job { id, claim_no, tenant, attempt, text }),
            cancel: run.cancel.clone(),
            doing: run.doing.clone(),
        };
        place.run = Some(run);
        place.last = None;
        Some((claim, started))
    }

    /// What `slot` runs, for one that begins again after a panic of its own.
    pub(super) fn occupant(&self, slot: usize) -> Option<Claim> {
        self.slots.get(slot)?.run.as_ref().map(|run| run.claim)
    }

    /// The run of `claim` has returned: its slot is free, its end waits to be told to the database.
    pub(super) fn returned(&mut self, claim: Claim, end: End, now: Instant) -> Returned {
        if let Some(slot) = self.orphans.remove(&claim) {
            self.slots[slot].run = None;
            return Returned::Discarded;
        }
        let Some(Stage::Running { slot, requested }) = self.claims.get(&claim) else {
            return Returned::Discarded;
        };
        let (slot, requested) = (*slot, *requested);
        self.slots[slot].run = None;
        self.slots[slot].last = Some((claim, now));
        let end = match (end, requested) {
            (End::Finish(end), _) => end,
            // The row carries the request, so that whatever this says becomes CANCELED.
            (End::Stopped, Requested::Yes) => {
                FinishEnd::Failure { error: "canceled".to_owned(), retry_after: Duration::ZERO }
            }
            (End::Stopped, Requested::No) => {
                self.release(claim);
                return Returned::Release;
            }
        };
        let success = matches!(end, FinishEnd::Success { .. });
        let (id, claim_no) = claim;
        let finish = Finish { id, claim_no, end, operation: OperationId(uuid::Uuid::now_v7()) };
        self.claims.insert(claim, Stage::Finishing { finish: Box::new(finish) });
        if success {
            self.successes.push_back(claim);
            Returned::Success
        } else {
            self.others.push_back(claim);
            Returned::Other
        }
    }

    /// The row of `claim` says that it is to stop. Returns the token of its run, where it runs and was not asked
    /// before; what has not begun is given back, which the row turns into CANCELED.
    pub(super) fn request(&mut self, claim: Claim) -> Option<Cancel> {
        match self.claims.get_mut(&claim)? {
            Stage::Running { slot, requested } => {
                if std::mem::replace(requested, Requested::Yes) == Requested::Yes {
                    return None;
                }
                self.slots[*slot].run.as_ref().map(|run| run.cancel.clone())
            }
            Stage::Buffered { .. } => {
                self.buffered.retain(|(waiting, _)| *waiting != claim);
                self.release(claim);
                None
            }
            Stage::Finishing { .. } | Stage::Releasing { .. } => None,
        }
    }

    /// What runs under the current instance, with the tokens.
    pub(super) fn runs(&self) -> Vec<(Claim, Cancel)> {
        self.slots
            .iter()
            .filter_map(|slot| slot.run.as_ref())
            .filter(|run| !self.orphans.contains_key(&run.claim))
            .map(|run| (run.claim, run.cancel.clone()))
            .collect()
    }

    /// Takes nothing in any more and gives back what has not begun.
    pub(super) fn close(&mut self) {
        self.intake = Intake::Closed;
        self.give_back_waiting();
    }

    /// Gives back what waits for longer than `most`, if every slot is busy: others may have one free. Returns whether
    /// there was any.
    pub(super) fn give_back_stale(&mut self, most: Duration, now: Instant) -> bool {
        let waits = |at: Instant| now.saturating_duration_since(at);
        let stale = self.buffered.front().is_some_and(|(_, at)| waits(*at) > most)
            && self.running() == self.slots.len();
        if stale {
            self.give_back_waiting();
        }
        stale
    }

    fn give_back_waiting(&mut self) {
        for (claim, _) in std::mem::take(&mut self.buffered) {
            self.release(claim);
        }
    }

    fn release(&mut self, claim: Claim) {
        let (id, claim_no) = claim;
        self.claims.insert(claim, Stage::Releasing { release: Release::new(id, claim_no) });
        self.releases.push_back(claim);
    }

    /// The lease under which everything was claimed is lost: others may have it all. What runs goes on in its slot
    /// until it returns, for nothing. From now on claims are made under `next`.
    pub(super) fn lose_lease(&mut self, next: InstanceId) -> Loss {
        self.instance = next;
        let mut loss =
            Loss { discarded: self.claims.keys().map(|(id, _)| *id).collect(), running: Vec::new() };
        loss.discarded.sort_unstable();
        self.claims.clear();
        self.buffered.clear();
        self.successes.clear();
        self.others.clear();
        self.releases.clear();
        for (slot, place) in self.slots.iter_mut().enumerate() {
            place.last = None;
            if let Some(run) = &place.run {
                self.orphans.insert(run.claim, slot);
                loss.running.push(run.cancel.clone());
            }
        }
        loss
    }
}

#[cfg(test)]
mod tests;
