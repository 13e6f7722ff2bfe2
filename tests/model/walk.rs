//! A random walk over the statements: what to do next, and what the model answers.

use fastrand::Rng;
use taskdeck::domain::outcome::Finished;
use taskdeck::domain::{DecisionKind, Status};

use crate::calls::Log;
use crate::guards::Guards;
use crate::protocol::{End, INSTANCES, State, TASKS, Tables, Task};

/// Attempts before a task is FAILED.
pub(crate) const MAX_ATTEMPTS: u8 = 2;

/// One call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Call {
    /// A task in this place; once it is there, the same submit sent again.
    Submit {
        place: u8,
        status: Status,
    },
    Register {
        id: u8,
    },
    /// Of all that is due: which of several a limit would leave is not the protocol's business.
    ClaimNext {
        id: u8,
    },
    ClaimById {
        id: u8,
        task: u8,
    },
    Finish {
        id: u8,
        finishes: Vec<OneFinish>,
    },
    Release {
        id: u8,
        claims: Vec<(u8, u8)>,
    },
    Decide {
        kind: DecisionKind,
        seen: Vec<(u8, u8)>,
        operation: u8,
    },
    Heartbeat {
        id: u8,
        state: State,
    },
    /// `declare_lost.sql` alone.
    DeclareLost,
    /// `recover.sql` alone.
    TakeBack,
    /// Both, as the program calls them.
    Recover,
    EndInstance {
        id: u8,
    },
    /// Outside: the lease passes or comes back.
    SetLease {
        id: u8,
        lease: bool,
    },
    /// Outside: it ends or is lost whatever it holds, as one does whose claim is won meanwhile.
    SetState {
        id: u8,
        state: State,
    },
    /// Outside: the row is forgotten.
    Prune {
        id: u8,
    },
    /// Outside: the task comes due.
    ComesDue {
        task: u8,
    },
}

/// The end of one claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OneFinish {
    pub(crate) task: u8,
    pub(crate) claim_no: u8,
    pub(crate) end: End,
    pub(crate) operation: u8,
}

/// What a decision did to one row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Did {
    Committed(Status, u8),
    Conflict(Status, u8),
    Held(Status, u8),
    NotFound,
}

/// An answer, as far as the model knows of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Answer {
    /// The database refused, and what it said.
    Failed(String),
    Done,
    Created(bool),
    Claimed(Vec<(u8, u8)>),
    /// Whether it won, and the row's state and claim number now.
    ById(Option<(bool, Status, u8)>),
    Finished(Vec<Finished>),
    Released(Vec<u8>),
    Decided(Vec<(u8, Did)>),
    Renewed(bool),
    Lost(Vec<u8>),
    Recovered(Vec<(u8, Status, u8)>),
}

/// The model's side of a walk.
pub(crate) struct Walk {
    rng: Rng,
    pub(crate) tables: Tables<Log>,
    /// What was called, for those that are sent again.
    pub(crate) calls: Vec<Call>,
    operations: u8,
}

impl Walk {
    pub(crate) fn new(seed: u64) -> Self {
        let (tasks, instances) = ([None; TASKS], [None; INSTANCES]);
        let tables = Tables { tasks, instances, max_attempts: MAX_ATTEMPTS, events: Log::default() };
        Self { rng: Rng::with_seed(seed), tables, calls: Vec::new(), operations: 0 }
    }

    fn any(&mut self, count: usize) -> u8 {
        u8::try_from(self.rng.usize(..count)).expect("few")
    }

    fn often(&mut self) -> bool {
        self.rng.u8(..4) > 0
    }

    fn operation(&mut self) -> u8 {
        self.operations += 1;
        self.operations
    }

    /// Mostly the claim that the row bears, sometimes one beside it.
    fn claim(&mut self, task: u8) -> (u8, u8) {
        let current = self.tables.tasks[usize::from(task)].map_or(0, |row| row.claim_no);
        let beside = [current.saturating_sub(1), current + 1];
        (task, if self.often() { current } else { beside[self.rng.usize(..2)] })
    }

    /// A task that is RUNNING, if there is one.
    fn running(&mut self) -> u8 {
        let running = |row: &Option<Task>| row.is_some_and(|row| row.status == Status::Running);
        let place = self.tables.tasks.iter().position(running);
        place.map_or_else(|| self.any(TASKS), |place| u8::try_from(place).expect("few"))
    }

    /// Mostly who owns the task, sometimes anybody.
    fn owner(&mut self, task: u8) -> u8 {
        let anybody = self.any(INSTANCES);
        let owner = self.tables.tasks[usize::from(task)].and_then(|row| row.owner);
        owner.filter(|_| self.often()).unwrap_or(anybody)
    }

    fn tasks(&mut self) -> Vec<u8> {
        if self.rng.u8(..5) == 0 { vec![0, 1] } else { vec![self.any(TASKS)] }
    }

    fn finish(&mut self) -> Call {
        let tasks = self.tasks();
        let id = self.owner(tasks[0]);
        let finishes = tasks
            .into_iter()
            .map(|task| {
                let (task, claim_no) = self.claim(task);
                let end = if self.rng.bool() { End::Success(1 + self.any(2)) } else { End::Failure };
                OneFinish { task, claim_no, end, operation: self.operation() }
            })
            .collect();
        Call::Finish { id, finishes }
    }

    fn decide(&mut self) -> Call {
        let mut kind = DecisionKind::ALL[self.rng.usize(..4)];
        let tasks = self.tasks();
        if self.often()
            && let Some(row) = self.tables.tasks[usize::from(tasks[0])]
            && let Some(fits) = DecisionKind::ALL.into_iter().find(|kind| kind.leads_to(row.status).is_some())
        {
            kind = fits;
        }
        let seen = tasks
            .into_iter()
            .map(|task| {
                let version = self.tables.tasks[usize::from(task)].map_or(0, |row| row.version);
                (task, if self.often() { version } else { version.saturating_sub(1) })
            })
            .collect();
        Call::Decide { kind, seen, operation: self.operation() }
    }

    /// What comes next; a call in six is one of before, sent again as it was.
    pub(crate) fn next(&mut self) -> Call {
        let call = self.choose();
        self.calls.push(call.clone());
        call
    }

    fn choose(&mut self) -> Call {
        let again =
            |call: &&Call| matches!(call, Call::Finish { .. } | Call::Release { .. } | Call::Decide { .. });
        if self.rng.u8(..6) == 0
            && let Some(call) = self.calls.iter().rev().filter(again).nth(self.rng.usize(..4))
        {
            return call.clone();
        }
        if let Some(place) = self.tables.tasks.iter().position(Option::is_none)
            && self.rng.u8(..3) == 0
        {
            let status = if self.rng.bool() { Status::Queued } else { Status::Submitted };
            return Call::Submit { place: u8::try_from(place).expect("few"), status };
        }
        let (id, task) = (self.any(INSTANCES), self.any(TASKS));
        match self.rng.u8(..44) {
            0 => Call::Submit { place: task, status: Status::Queued },
            1..=3 => Call::Register { id },
            4..=7 => Call::ClaimNext { id },
            8..=11 => Call::ClaimById { id, task },
            12..=17 => self.finish(),
            18..=20 => {
                let tasks = self.tasks();
                let id = self.owner(tasks[0]);
                Call::Release { id, claims: tasks.into_iter().map(|task| self.claim(task)).collect() }
            }
            21..=26 => self.decide(),
            27..=29 => {
                Call::Heartbeat { id, state: if self.often() { State::Working } else { State::Draining } }
            }
            30 => Call::DeclareLost,
            31 | 32 | 41 | 42 => Call::TakeBack,
            33 => Call::Recover,
            34 => Call::EndInstance { id },
            35..=37 => {
                let task = self.running();
                Call::SetLease { id: self.owner(task), lease: self.rng.u8(..3) == 0 }
            }
            38 if self.rng.bool() => Call::Prune { id },
            39 | 40 => {
                let state = if self.rng.bool() { State::Lost } else { State::Stopped };
                let task = self.running();
                Call::SetState { id: self.owner(task), state }
            }
            _ => Call::ComesDue { task },
        }
    }

    /// What the model says that `call` answers, and does.
    pub(crate) fn answer(&mut self, call: &Call) -> Answer {
        let tables = &mut self.tables;
        let guards = Guards::ALL;
        match call {
            Call::Submit { place, status } => {
                let known = tables.tasks[usize::from(*place)].is_some();
                Answer::Created(tables.submit(guards, *place, known, *status))
            }
            Call::Register { id } => {
                tables.register(*id);
                Answer::Done
            }
            Call::ClaimNext { id } => {
                let may = tables.may_claim(guards, *id);
                let due: Vec<u8> = (0..2).filter(|task| may && tables.is_claimable(guards, *task)).collect();
                let won = due.into_iter().filter_map(|task| Some((task, tables.claim(guards, *id, task)?)));
                Answer::Claimed(won.collect())
            }
            Call::ClaimById { id, task } => {
                let may = tables.may_claim(guards, *id) && tables.is_claimable(guards, *task);
                let won = may && tables.claim(guards, *id, *task).is_some();
                let row = tables.tasks[usize::from(*task)];
                Answer::ById(row.map(|row| (won, row.status, row.claim_no)))
            }
            Call::Finish { id, finishes } => Answer::Finished(tables.finish_all(*id, finishes)),
            Call::Release { id, claims } => {
                let gone = claims.iter().filter(|claim| tables.release(guards, *id, **claim).is_some());
                Answer::Released(gone.map(|(task, _)| *task).collect())
            }
            Call::Decide { kind, seen, operation } => {
                Answer::Decided(tables.decide_and_ask(*kind, seen, *operation))
            }
            Call::Heartbeat { id, state } => Answer::Renewed(tables.heartbeat(guards, *id, *state)),
            Call::DeclareLost => Answer::Lost((0..4).filter(|id| tables.declare_lost(guards, *id)).collect()),
            Call::TakeBack => Answer::Recovered(tables.take_back()),
            Call::Recover => {
                for id in 0..4 {
                    tables.declare_lost(guards, id);
                }
                Answer::Recovered(tables.take_back())
            }
            Call::EndInstance { id } => Answer::Renewed(tables.end_instance(guards, *id)),
            Call::SetLease { id, lease } => {
                if let Some(row) = &mut tables.instances[usize::from(*id)] {
                    row.lease = *lease;
                }
                Answer::Done
            }
            Call::SetState { id, state } => {
                if let Some(row) = &mut tables.instances[usize::from(*id)] {
                    row.state = *state;
                    row.lease &= *state != State::Stopped;
                }
                Answer::Done
            }
            Call::Prune { id } => {
                tables.instances[usize::from(*id)] = None;
                Answer::Done
            }
            Call::ComesDue { task } => {
                if let Some(row) = &mut tables.tasks[usize::from(*task)] {
                    row.due = true;
                }
                Answer::Done
            }
        }
    }
}
