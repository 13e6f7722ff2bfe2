//! What the statements in `src/db/sql` do to the tables, as pure functions over an abstract state.
//!
//! Each condition of a WHERE clause is a [`Guard`], so that a statement without one of them is data.
//! `conformance.rs` holds these functions against the real statements.
//!
//! Time is abstract: a task is due or is not, a lease is valid or has passed; that time passes is an act of the
//! surroundings.

use taskdeck::domain::{DecisionKind, Status};

use crate::guards::{Guard, Guards};

/// Tasks of the abstract tables.
pub(crate) const TASKS: usize = 2;
/// Instances that there can ever be.
pub(crate) const INSTANCES: usize = 4;

/// A row of `tasks`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Task {
    pub(crate) status: Status,
    pub(crate) version: u8,
    pub(crate) claim_no: u8,
    pub(crate) owner: Option<u8>,
    pub(crate) attempt: u8,
    pub(crate) cancel_requested: bool,
    pub(crate) due: bool,
    /// What its counts say; zero is none.
    pub(crate) result: u8,
}

impl Task {
    /// As a submit makes it.
    pub(crate) const fn new(status: Status) -> Self {
        let (version, claim_no, attempt, result) = (0, 0, 0, 0);
        Self { status, version, claim_no, owner: None, attempt, cancel_requested: false, due: true, result }
    }

    fn end(&mut self, guards: Guards, status: Status) {
        self.status = status;
        self.version = guards.raised(Guard::RaisesVersion, self.version);
        if status == Status::Queued {
            self.owner = None;
        }
        self.cancel_requested = false;
    }
}

/// What an instance's row says of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum State {
    Working,
    Draining,
    Stopped,
    Lost,
}

impl State {
    pub(crate) const fn is_alive(self) -> bool {
        matches!(self, Self::Working | Self::Draining)
    }
}

/// A row of `instances`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Instance {
    pub(crate) state: State,
    /// Whether its lease lasts by the database's clock.
    pub(crate) lease: bool,
}

/// How an analyser ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum End {
    /// With counts that say this; never zero.
    Success(u8),
    /// Without.
    Failure,
}

/// The claim that a recoverer read before it writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Seen {
    pub(crate) task: u8,
    owner: Option<u8>,
    claim_no: u8,
}

/// What `finish.sql` answers about a row that is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ended {
    /// It ended the claim.
    pub(crate) changed: bool,
    /// This same success had been committed before.
    pub(crate) own: bool,
    /// The row's state now.
    pub(crate) status: Status,
    /// The row's claim number.
    pub(crate) claim_no: u8,
}

impl Ended {
    /// What `Db::finish` says of it, where `noted` is what `finished.sql` finds: the end that was committed, or nothing
    /// where the lease is lost.
    pub(crate) fn committed(self, guards: Guards, noted: Option<Status>) -> Option<Status> {
        let known = noted.filter(|_| guards.stands(Guard::FinishNoted));
        if self.changed || self.own { Some(self.status) } else { known }
    }
}

/// The table `events`, as far as a statement's outcome depends on it.
pub(crate) trait Events {
    /// The state that the operation left the task in.
    fn of(&self, operation: u8, task: u8) -> Option<Status>;
    /// Notes it.
    fn note(&mut self, operation: u8, task: u8, after: Status);
}

/// The tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Tables<E> {
    pub(crate) tasks: [Option<Task>; TASKS],
    pub(crate) instances: [Option<Instance>; INSTANCES],
    pub(crate) max_attempts: u8,
    pub(crate) events: E,
}

impl<E: Events> Tables<E> {
    fn task(&mut self, task: u8) -> Option<&mut Task> {
        self.tasks[usize::from(task)].as_mut()
    }

    fn instance(&mut self, id: u8) -> Option<&mut Instance> {
        self.instances[usize::from(id)].as_mut()
    }

    /// `submit.sql`: makes a row in `place` unless the submission is known. Returns whether it did.
    pub(crate) fn submit(&mut self, guards: Guards, place: u8, known: bool, status: Status) -> bool {
        let makes = guards.pass(Guard::SubmissionKey, !known);
        if makes {
            self.tasks[usize::from(place)] = Some(Task::new(status));
        }
        makes
    }

    /// `register.sql`.
    pub(crate) fn register(&mut self, id: u8) {
        self.instances[usize::from(id)].get_or_insert(Instance { state: State::Working, lease: true });
    }

    /// What a claim's snapshot says of who claims: sub-queries over other rows are not run again after the lock.
    pub(crate) fn may_claim(&self, guards: Guards, id: u8) -> bool {
        self.instances[usize::from(id)].is_some_and(|row| {
            guards.pass(Guard::ClaimWorking, row.state == State::Working)
                && guards.pass(Guard::ClaimLease, row.lease)
        })
    }

    /// What a claim's snapshot says of a task.
    pub(crate) fn is_claimable(&self, guards: Guards, task: u8) -> bool {
        self.tasks[usize::from(task)].is_some_and(|row| {
            // Without its condition a claim takes any row that is not final, as one by id alone would.
            (row.status == Status::Queued
                || !guards.stands(Guard::ClaimStatus) && row.status == Status::Running)
                && guards.pass(Guard::ClaimDue, row.due)
        })
    }

    /// `claim_next.sql`, `claim_by_id.sql` once the row is locked. Returns the claim number that was won.
    pub(crate) fn claim(&mut self, guards: Guards, id: u8, task: u8) -> Option<u8> {
        let row = self.task(task)?;
        if !guards.pass(Guard::ClaimStatus, row.status == Status::Queued) {
            return None;
        }
        row.status = Status::Running;
        row.version = guards.raised(Guard::RaisesVersion, row.version);
        row.claim_no = guards.raised(Guard::ClaimRaisesToken, row.claim_no);
        row.attempt += 1;
        row.owner = Some(id);
        Some(row.claim_no)
    }

    /// `finish_success.sql` for one claim. Returns whether it ended it.
    pub(crate) fn finish_success(&mut self, guards: Guards, id: u8, claim: (u8, u8), result: u8) -> bool {
        let Some(row) = self.task(claim.0) else { return false };
        let may = guards.pass(Guard::FinishStatus, row.status == Status::Running)
            && guards.pass(Guard::FinishOwner, row.owner == Some(id))
            && guards.pass(Guard::FinishToken, row.claim_no == claim.1)
            && guards.pass(Guard::FinishCancel, !row.cancel_requested);
        if may {
            row.end(guards, Status::Succeeded);
            row.result = result;
        }
        may
    }

    /// `finish.sql`.
    pub(crate) fn finish(
        &mut self,
        guards: Guards,
        id: u8,
        claim: (u8, u8),
        end: End,
        operation: u8,
    ) -> Option<Ended> {
        let most = self.max_attempts;
        let row = self.task(claim.0)?;
        let result = if let End::Success(result) = end { result } else { 0 };
        let own = guards.stands(Guard::FinishOwn)
            && row.status == Status::Succeeded
            && row.owner == Some(id)
            && row.claim_no == claim.1
            && row.result == result;
        let changed = guards.pass(Guard::FinishStatus, row.status == Status::Running)
            && guards.pass(Guard::FinishOwner, row.owner == Some(id))
            && guards.pass(Guard::FinishToken, row.claim_no == claim.1);
        if changed {
            let status = match end {
                _ if row.cancel_requested && guards.stands(Guard::FinishCancel) => Status::Canceled,
                End::Success(_) => Status::Succeeded,
                End::Failure if row.attempt < most => Status::Queued,
                End::Failure => Status::Failed,
            };
            row.end(guards, status);
            let kept = guards.pass(Guard::FinishCounts, status == Status::Succeeded);
            row.result = if kept { result } else { 0 };
            if status == Status::Queued {
                row.due = false;
            }
            if status != Status::Succeeded {
                self.events.note(operation, claim.0, status);
            }
        }
        let row = self.tasks[usize::from(claim.0)]?;
        Some(Ended { changed, own, status: row.status, claim_no: row.claim_no })
    }

    /// `release.sql` for one claim. Returns the state that it left.
    pub(crate) fn release(&mut self, guards: Guards, id: u8, claim: (u8, u8)) -> Option<Status> {
        let row = self.task(claim.0)?;
        let may = guards.pass(Guard::ReleaseStatus, row.status == Status::Running)
            && guards.pass(Guard::ReleaseOwner, row.owner == Some(id))
            && guards.pass(Guard::ReleaseToken, row.claim_no == claim.1);
        if !may {
            return None;
        }
        let cancel = row.cancel_requested && guards.stands(Guard::ReleaseCancel);
        row.end(guards, if cancel { Status::Canceled } else { Status::Queued });
        row.owner = None;
        row.attempt = row.attempt.saturating_sub(1);
        Some(row.status)
    }

    /// What `decide.sql` would make of a row that was seen at `version`.
    pub(crate) fn judged(
        &self,
        guards: Guards,
        kind: DecisionKind,
        (task, version): (u8, u8),
    ) -> Option<Status> {
        let row = self.tasks[usize::from(task)]?;
        if !guards.pass(Guard::DecideVersion, row.version == version) {
            return None;
        }
        if kind == DecisionKind::Cancel && row.status == Status::Running {
            return (!row.cancel_requested).then_some(Status::Running);
        }
        kind.leads_to(row.status).or_else(|| {
            let anyhow = match kind {
                DecisionKind::Cancel => Status::Canceled,
                DecisionKind::Reject => Status::Rejected,
                DecisionKind::Approve | DecisionKind::Requeue => Status::Queued,
            };
            (!guards.stands(Guard::DecideStatus)).then_some(anyhow)
        })
    }

    /// `decide.sql`: all rows or none. Returns whether it changed them.
    pub(crate) fn decide(
        &mut self,
        guards: Guards,
        kind: DecisionKind,
        seen: &[(u8, u8)],
        operation: u8,
    ) -> bool {
        let known = |(task, _): &(u8, u8)| self.events.of(operation, *task).is_some();
        let may = seen.iter().all(|seen| self.judged(guards, kind, *seen).is_some())
            && guards.pass(Guard::OperationKey, !seen.iter().any(known));
        if !may {
            return false;
        }
        for (task, version) in seen {
            let Some(target) = self.judged(guards, kind, (*task, *version)) else { continue };
            let Some(row) = self.task(*task) else { continue };
            row.status = target;
            row.version = guards.raised(Guard::RaisesVersion, row.version);
            row.cancel_requested = target == Status::Running;
            if kind == DecisionKind::Requeue {
                (row.attempt, row.owner, row.due) = (0, None, true);
            }
            // The table's own CHECK would refuse counts in any other state; a wrong model must not crash for it.
            row.result = 0;
            self.events.note(operation, *task, target);
        }
        true
    }

    /// `heartbeat.sql`. Returns whether the lease was renewed.
    pub(crate) fn heartbeat(&mut self, guards: Guards, id: u8, state: State) -> bool {
        let Some(row) = self.instance(id) else { return false };
        let may = guards.pass(Guard::HeartbeatAlive, row.state.is_alive());
        if may {
            *row = Instance { state, lease: true };
        }
        may
    }

    /// `declare_lost.sql` for one instance. Returns whether it declared it.
    pub(crate) fn declare_lost(&mut self, guards: Guards, id: u8) -> bool {
        let Some(row) = self.instance(id) else { return false };
        let may = guards.pass(Guard::DeclareLostAlive, row.state.is_alive())
            && guards.pass(Guard::DeclareLostLease, !row.lease);
        if may {
            row.state = State::Lost;
        }
        may
    }

    /// The first half of `recover.sql`, by its snapshot: whether the owner of a RUNNING task is dead.
    pub(crate) fn recover_sees(&self, guards: Guards, task: u8) -> Option<Seen> {
        let row = self.tasks[usize::from(task)]?;
        guards.pass(Guard::RecoverStatus, row.status == Status::Running).then_some(())?;
        let dead = match row.owner.and_then(|id| self.instances[usize::from(id)]) {
            None => true,
            Some(Instance { state, lease }) => {
                let stopped = state == State::Stopped && guards.stands(Guard::RecoverStopped);
                guards.pass(Guard::RecoverDead, state == State::Lost || stopped)
                    && guards.pass(Guard::RecoverLease, !lease)
            }
        };
        dead.then_some(Seen { task, owner: row.owner, claim_no: row.claim_no })
    }

    /// The second half, once the row is locked. Returns the state that it left.
    pub(crate) fn recover_takes(&mut self, guards: Guards, seen: Seen) -> Option<Status> {
        let most = self.max_attempts;
        let row = self.task(seen.task)?;
        let may = guards.pass(Guard::RecoverStatus, row.status == Status::Running)
            // No owner is equal to none: that is `NULL`.
            && guards.pass(Guard::RecoverOwner, row.owner.is_some() && row.owner == seen.owner)
            && guards.pass(Guard::RecoverToken, row.claim_no == seen.claim_no);
        if !may {
            return None;
        }
        let status = if row.cancel_requested && guards.stands(Guard::RecoverCancel) {
            Status::Canceled
        } else if row.attempt < most {
            Status::Queued
        } else {
            Status::Failed
        };
        row.end(guards, status);
        (row.owner, row.result) = (None, 0);
        if status == Status::Queued {
            row.due = true;
        }
        Some(status)
    }

    /// `end_instance.sql`. Returns whether it ended.
    pub(crate) fn end_instance(&mut self, guards: Guards, id: u8) -> bool {
        let holds = |row: &Task| row.status == Status::Running && row.owner == Some(id);
        let nothing = !self.tasks.iter().flatten().any(holds);
        let Some(row) = self.instance(id) else { return false };
        let may = guards.pass(Guard::EndAlive, row.state.is_alive())
            && guards.pass(Guard::EndHoldsNothing, nothing);
        if may {
            *row = Instance { state: State::Stopped, lease: false };
        }
        may
    }
}
