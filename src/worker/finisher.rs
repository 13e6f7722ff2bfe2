//! Tells the database how claims ended: successes in batches, other ends one statement each, and what is given
//! back.
//!
//! Invariant: an end stays in the ledger until the database has said what became of it; it is sent again with the
//! same token until then, or until the lease is lost. So nothing that ran is forgotten by a failed call, and
//! nothing is committed twice.

use std::sync::Arc;
use std::time::Instant;

use tokio::sync::Notify;

use super::event::{Part, WorkerEvent};
use super::ledger::Claim;
use super::rates::Count;
use super::shared::{Core, Phase};
use crate::db::{DbError, Finish, FinishEnd, Release};
use crate::domain::Backoff;
use crate::domain::outcome::Finished;
use crate::domain::{InstanceId, Status, TaskId};

/// The most ends that are no successes in one turn: each is a statement of its own.
const OTHERS_AT_ONCE: usize = 16;

/// Which ends a lane tells. Each lane has one call under way at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lane {
    /// In one statement.
    Successes,
    /// Failures and what was canceled.
    Others,
    /// Claims that are given back.
    Releases,
}

impl Lane {
    pub(super) const fn part(self) -> Part {
        match self {
            Self::Successes | Self::Others => Part::Finishes,
            Self::Releases => Part::Releases,
        }
    }

    fn bell(self, core: &Core) -> &Notify {
        match self {
            Self::Successes => &core.bells.successes,
            Self::Others => &core.bells.others,
            Self::Releases => &core.bells.releases,
        }
    }

    fn most(self, core: &Core) -> usize {
        match self {
            Self::Successes | Self::Releases => core.config.batch.max(1),
            Self::Others => OTHERS_AT_ONCE,
        }
    }
}

/// What one call tells.
enum Batch {
    Finishes(Vec<Finish>),
    Releases(Vec<Release>),
}

impl Batch {
    fn take(core: &Core, lane: Lane, most: usize) -> (InstanceId, Self) {
        let ledger = core.ledger();
        let batch = match lane {
            Lane::Successes => Self::Finishes(ledger.successes(most)),
            Lane::Others => Self::Finishes(ledger.others(most)),
            Lane::Releases => Self::Releases(ledger.releases(most)),
        };
        (ledger.instance(), batch)
    }

    fn claims(&self) -> Vec<Claim> {
        match self {
            Self::Finishes(finishes) => finishes.iter().map(|finish| (finish.id, finish.claim_no)).collect(),
            Self::Releases(releases) => releases.iter().map(named).collect(),
        }
    }
}

/// Tells what waits in `lane`.
pub(super) async fn run(core: Arc<Core>, lane: Lane) {
    let mut most = lane.most(&core);
    let mut failures = 0;
    loop {
        let (instance, batch) = Batch::take(&core, lane, most);
        let claims = batch.claims();
        if claims.is_empty() {
            lane.bell(&core).notified().await;
            continue;
        }
        match send(&core, instance, batch).await {
            Ok(()) => {
                core.got_through(lane.part());
                failures = 0;
                most = (most * 2).min(lane.most(&core));
            }
            Err(error) => {
                core.failed(lane.part(), &error);
                failures += 1;
                // One row that somebody has locked fails its whole batch: smaller batches part it from the
                // others, and alone it goes behind them.
                most = (claims.len() / 2).max(1);
                if claims.len() == 1 {
                    core.ledger().put_back(&claims);
                }
                // A lost lease empties the ledger meanwhile, and then there is nothing to send.
                tokio::time::sleep(Backoff::CALLS.after(failures)).await;
            }
        }
    }
}

async fn send(core: &Core, instance: InstanceId, batch: Batch) -> Result<(), DbError> {
    match batch {
        Batch::Finishes(finishes) => {
            let answers = core.db.finish(instance, &core.actor, &finishes).await?;
            settle(core, finishes.iter().map(|finish| (finish.id, finish.claim_no)));
            account(core, finishes, answers);
        }
        Batch::Releases(releases) => {
            let reason =
                if core.phase() > Phase::Open { "shutting down" } else { "no slot was free in time" };
            let tasks = core.db.release(instance, &core.actor, reason, &releases).await?;
            settle(core, releases.iter().map(named));
            if !tasks.is_empty() {
                core.events.tell(|| WorkerEvent::Released { tasks, reason });
                // Others may have a free slot for them.
                core.db.wake();
            }
        }
    }
    Ok(())
}

fn named(release: &Release) -> Claim {
    (release.id, release.claim_no)
}

/// The answers are in: these claims are over.
fn settle(core: &Core, claims: impl IntoIterator<Item = Claim>) {
    let empty = {
        let mut ledger = core.ledger();
        ledger.settle(claims);
        ledger.is_empty()
    };
    core.bells.room.notify_one();
    core.bells.view.notify_one();
    if empty {
        core.bells.settled.notify_one();
    }
}

/// Counts and tells what became of each.
fn account(core: &Core, finishes: Vec<Finish>, answers: Vec<Finished>) {
    let mut succeeded: Vec<TaskId> = Vec::new();
    let mut failed = 0;
    for (finish, answer) in finishes.into_iter().zip(answers) {
        let Finish { id, claim_no, end, .. } = finish;
        match answer {
            Finished::Committed { status: Status::Succeeded } => succeeded.push(id),
            Finished::Committed { status: Status::Canceled } => {
                core.events.tell(|| WorkerEvent::Canceled { id, claim_no });
            }
            Finished::Committed { status } => {
                failed += 1;
                let (error, after) = match end {
                    FinishEnd::Failure { error, retry_after } => (error, retry_after),
                    FinishEnd::Success { .. } => Default::default(),
                };
                core.events.tell(|| match status {
                    Status::Failed => WorkerEvent::Failed { id, claim_no, error },
                    _ => WorkerEvent::Retrying { id, claim_no, after, error },
                });
            }
            Finished::LeaseLost { status, claim_no: current } => {
                core.events.tell(|| WorkerEvent::Superseded { id, claim_no, status, current });
            }
            Finished::NotFound => core.events.tell(|| WorkerEvent::Vanished { id, claim_no }),
        }
    }
    let now = Instant::now();
    let mut rates = core.rates();
    rates.add(Count::Done, succeeded.len(), now);
    rates.add(Count::Failed, failed, now);
    drop(rates);
    if !succeeded.is_empty() {
        core.events.tell(|| WorkerEvent::Succeeded { tasks: succeeded });
    }
}
