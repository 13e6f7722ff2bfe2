//! The processes, the network between them and the database, and what can befall either.
//!
//! A process is what `src/worker` keeps: its instance, its ledger (what is buffered, running, finishing, to be given
//! back), whether it is sure that it knows everything it holds. A call that is answered is one step: that its
//! answer comes late is the process being slow, and every process may be slow at any time, so a frozen one is one
//! that takes no step. A call that its client has given up on stays in [`World::late`] and may be executed at any
//! later time or never; the client asks again or sends the same again meanwhile. That one list covers a request
//! that is lost, an answer that is lost and a statement that still waits in its backend.
//!
//! Two statements are two steps each, since their sub-queries over other rows are not run again after the wait for
//! a lock: a claim (it reads its instance, then locks the task) and a recovery (it reads who is dead, then locks).
//!
//! What befalls is rationed by [`Budget`], which bounds the space; everything else is always allowed.

use taskdeck::domain::{DecisionKind, Status};

use crate::act::Act;
use crate::protocol::{End, Events, INSTANCES, Seen, TASKS, Tables, Task};

/// Processes.
pub(crate) const PROCESSES: usize = 2;
/// Decisions of operators.
pub(crate) const DECISIONS: usize = 3;
/// Statements that may be under way though nobody waits for them.
pub(crate) const LATE: usize = 3;

/// Finishes that have taken effect or are under way, and are not settled: one for each lost answer, and one more.
pub(crate) const FINISHES: usize = 3;

/// How much may still befall.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct Budget {
    /// Calls whose answer never comes.
    pub(crate) lost_answers: u8,
    /// Processes killed, and leases that pass though their process lives.
    pub(crate) losses: u8,
    /// Claims given back because no slot is free in time.
    pub(crate) give_backs: u8,
    /// Recoveries that stand still between reading and writing.
    pub(crate) slow_recoveries: u8,
    /// Decisions of operators who see the row and press a key that it offers.
    pub(crate) decisions: u8,
    /// Decisions of scripts that name a version and do not look at the state.
    pub(crate) blind_decisions: u8,
    /// Processes that close down.
    pub(crate) closes: u8,
    /// Submits, each of the same key.
    pub(crate) submits: u8,
}

/// What a process does as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Life {
    /// No instance: killed, or its lease is lost.
    Down,
    Open,
    Closing,
    /// Ended in good order.
    Ended,
}

/// What a process knows of a task's claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Stage {
    Free,
    Buffered(u8),
    Running(u8),
    Finishing(u8, End),
    /// `finish_success` has not ended the claim; `finish` will tell why.
    Asking(u8, End),
    Releasing(u8),
}

/// A process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Process {
    pub(crate) life: Life,
    pub(crate) instance: u8,
    /// Whether everything that it holds is known to it.
    pub(crate) sure: bool,
    /// The task for which its claim waits.
    pub(crate) claiming: Option<u8>,
    pub(crate) ledger: [Stage; TASKS],
}

impl Process {
    pub(crate) const fn new(instance: u8) -> Self {
        Self { life: Life::Open, instance, sure: true, claiming: None, ledger: [Stage::Free; TASKS] }
    }

    pub(crate) fn lives(&self) -> bool {
        matches!(self.life, Life::Open | Life::Closing)
    }
}

/// A statement that nobody waits for any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Late {
    /// It has not reached the server.
    Claim {
        instance: u8,
    },
    /// It has read its instance and waits for the row.
    ClaimOf {
        instance: u8,
        task: u8,
    },
    FinishSuccess(Finish),
    Finish(Finish),
    Release {
        instance: u8,
        claim: (u8, u8),
    },
    Heartbeat {
        instance: u8,
    },
    Decision {
        operation: u8,
    },
    Submit,
}

/// One finish: what its claimer sends until it is answered, whatever it is that is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Finish {
    pub(crate) instance: u8,
    pub(crate) claim: (u8, u8),
    pub(crate) end: End,
}

/// What became of a finish.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Sent {
    pub(crate) finish: Finish,
    pub(crate) told: Told,
    /// How often it took effect.
    pub(crate) applied: u8,
    /// The state in its event.
    pub(crate) noted: Option<Status>,
}

/// What an operator or a finisher was told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Told {
    Nothing,
    Committed,
    /// Or that the lease is lost.
    Conflict,
}

/// An operator's decision, and what became of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Decided {
    pub(crate) kind: DecisionKind,
    pub(crate) task: u8,
    pub(crate) version: u8,
    pub(crate) told: Told,
    /// How often it took effect.
    pub(crate) applied: u8,
}

/// The operations of decisions; a worker's own are not asked about here, as no step depends on that answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct Noted([Option<Status>; DECISIONS]);

impl Events for Noted {
    fn of(&self, operation: u8, _task: u8) -> Option<Status> {
        self.0.get(usize::from(operation)).copied().flatten()
    }

    fn note(&mut self, operation: u8, _task: u8, after: Status) {
        if let Some(place) = self.0.get_mut(usize::from(operation)) {
            *place = Some(after);
        }
    }
}

/// Everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct World {
    pub(crate) tables: Tables<Noted>,
    pub(crate) processes: [Process; PROCESSES],
    pub(crate) late: [Option<Late>; LATE],
    /// A recovery that has read and not yet written.
    pub(crate) recovery: Option<Seen>,
    pub(crate) decisions: [Option<Decided>; DECISIONS],
    /// The finishes that were sent, for as long as they may be sent again or executed.
    pub(crate) finishes: [Option<Sent>; FINISHES],
    /// Whether the submitter was told that its text is in the table.
    pub(crate) told_submitted: bool,
    /// How often each task was claimed: no statement can see this.
    pub(crate) claims: [u8; TASKS],
    pub(crate) budget: Budget,
}

impl World {
    /// Two processes that have begun, and tasks in these states.
    pub(crate) fn new(tasks: &[Status], max_attempts: u8, budget: Budget) -> Self {
        let mut tables = Tables {
            tasks: [None; TASKS],
            instances: [None; INSTANCES],
            max_attempts,
            events: Noted::default(),
        };
        for (place, status) in tables.tasks.iter_mut().zip(tasks) {
            *place = Some(Task::new(*status));
        }
        tables.register(0);
        tables.register(1);
        Self {
            tables,
            processes: [Process::new(0), Process::new(1)],
            late: [None; LATE],
            recovery: None,
            decisions: [None; DECISIONS],
            finishes: [None; FINISHES],
            told_submitted: false,
            claims: [0; TASKS],
            budget,
        }
    }

    pub(crate) fn task(&self, task: u8) -> Option<Task> {
        self.tables.tasks[usize::from(task)]
    }

    /// What `act` is here, in words.
    pub(crate) fn told(&self, act: Act) -> String {
        let (place, task) = match act {
            Act::ArrivesLate { place, task } => (place, task),
            Act::Finishes { process, task } if self.asks(process, task) => {
                return format!("P{process} finishes T{task} whatever its end, is answered");
            }
            Act::LosesAnswerOfFinish { process, task } if self.asks(process, task) => {
                return format!("P{process} finishes T{task} whatever its end and gives up on the answer");
            }
            _ => return act.to_string(),
        };
        match self.late[usize::from(place)] {
            None => "nothing arrives".to_owned(),
            Some(Late::Claim { instance }) => format!("late: I{instance}'s claim takes T{task}"),
            Some(Late::ClaimOf { instance, task }) => format!("late: I{instance}'s claim of T{task}"),
            Some(Late::FinishSuccess(Finish { instance, claim: (task, claim_no), .. })) => {
                format!("late: I{instance}'s success of T{task} under claim {claim_no}")
            }
            Some(Late::Finish(Finish { instance, claim: (task, claim_no), end })) => {
                let end = if end == End::Failure { "failure" } else { "success or whatever end" };
                format!("late: I{instance}'s {end} of T{task} under claim {claim_no}")
            }
            Some(Late::Release { instance, claim: (task, claim_no) }) => {
                format!("late: I{instance}'s release of T{task} under claim {claim_no}")
            }
            Some(Late::Heartbeat { instance }) => format!("late: I{instance}'s heartbeat"),
            Some(Late::Decision { operation }) => format!("late: decision {operation}"),
            Some(Late::Submit) => "late: the submit".to_owned(),
        }
    }

    fn asks(&self, process: u8, task: u8) -> bool {
        matches!(self.processes[usize::from(process)].ledger[usize::from(task)], Stage::Asking(..))
    }

    /// Whether `act` is one that the surroundings do and the budget rations: without these, work must still end.
    pub(crate) fn is_rationed(&self, next: &Self) -> bool {
        self.budget != next.budget
    }
}
