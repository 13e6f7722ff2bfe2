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
use crate::protocol::{End, Events, Guards, INSTANCES, Seen, State, TASKS, Tables, Task};

/// Processes.
pub(crate) const PROCESSES: usize = 2;
/// Decisions of operators.
pub(crate) const DECISIONS: usize = 3;
/// Statements that may be under way though nobody waits for them.
pub(crate) const LATE: usize = 2;

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
    const fn new(instance: u8) -> Self {
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
    Finish {
        instance: u8,
        claim: (u8, u8),
        end: End,
    },
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

/// What an operator was told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Told {
    Nothing,
    Committed,
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

/// An operation that nobody asks about.
const NOBODY: u8 = u8::MAX;

/// Everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct World {
    pub(crate) tables: Tables<Noted>,
    pub(crate) processes: [Process; PROCESSES],
    pub(crate) late: [Option<Late>; LATE],
    /// A recovery that has read and not yet written.
    pub(crate) recovery: Option<Seen>,
    pub(crate) decisions: [Option<Decided>; DECISIONS],
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
            told_submitted: false,
            claims: [0; TASKS],
            budget,
        }
    }

    pub(crate) fn task(&self, task: u8) -> Option<Task> {
        self.tables.tasks[usize::from(task)]
    }

    fn process(&mut self, process: u8) -> &mut Process {
        &mut self.processes[usize::from(process)]
    }

    /// Which process works under `instance`.
    fn user(&self, instance: u8) -> Option<u8> {
        (0..).zip(&self.processes).find(|(_, it)| it.lives() && it.instance == instance).map(|(p, _)| p)
    }

    /// Leaves a statement under way; false if too many are.
    fn leave(&mut self, late: Late) -> bool {
        let Some(place) = self.late.iter_mut().find(|place| place.is_none()) else { return false };
        *place = Some(late);
        // One order for each set, so that states are not told apart by it.
        self.late.sort_unstable_by(|one, two| two.cmp(one));
        true
    }

    /// What this process holds and does not know of.
    fn unknown_to(&self, process: u8) -> impl Iterator<Item = (u8, u8)> + '_ {
        let it = self.processes[usize::from(process)];
        (0_u8..).zip(&self.tables.tasks).filter_map(move |(task, row)| {
            let row = row.as_ref().filter(|row| row.status == Status::Running)?;
            (row.owner == Some(it.instance) && it.ledger[usize::from(task)] == Stage::Free)
                .then_some((task, row.claim_no))
        })
    }

    /// The world after `act`, or nothing where it cannot happen or changes nothing.
    pub(crate) fn after(&self, act: Act, guards: Guards) -> Option<Self> {
        let mut next = *self;
        next.happens(act, guards)?;
        for task in 0..TASKS {
            let attempts = |world: &Self| world.tables.tasks[task].map_or(0, |row| row.attempt);
            next.claims[task] += u8::from(attempts(&next) > attempts(self));
        }
        (next != *self).then_some(next)
    }

    fn happens(&mut self, act: Act, guards: Guards) -> Option<()> {
        match act {
            Act::Starts { process } => {
                let id =
                    (0..).zip(&self.tables.instances).find(|(_, row)| row.is_none()).map(|(id, _)| id)?;
                (self.processes[usize::from(process)].life == Life::Down).then_some(())?;
                self.tables.register(id);
                *self.process(process) = Process::new(id);
            }
            Act::BeginsClaim { process, task } => {
                let it = *self.process(process);
                let may = it.life == Life::Open && it.sure && it.claiming.is_none();
                (may && it.ledger[usize::from(task)] == Stage::Free).then_some(())?;
                self.tables.is_claimable(guards, task).then_some(())?;
                self.tables.may_claim(guards, it.instance).then_some(())?;
                self.process(process).claiming = Some(task);
            }
            Act::EndsClaim { process } => {
                let task = self.process(process).claiming.take()?;
                let instance = self.process(process).instance;
                if let Some(claim_no) = self.tables.claim(guards, instance, task) {
                    self.adopt(process, &[(task, claim_no)]);
                }
            }
            Act::LosesAnswerOfClaim { process } => {
                let it = *self.process(process);
                let may = it.life == Life::Open && it.sure;
                may.then_some(())?;
                self.spend(|budget| &mut budget.lost_answers)?;
                let instance = it.instance;
                let late =
                    it.claiming.map_or(Late::Claim { instance }, |task| Late::ClaimOf { instance, task });
                self.leave(late).then_some(())?;
                (self.process(process).claiming, self.process(process).sure) = (None, false);
            }
            Act::Asks { process } => {
                let it = *self.process(process);
                (it.lives() && it.claiming.is_none()).then_some(())?;
                let unknown: Vec<(u8, u8)> = self.unknown_to(process).collect();
                self.adopt(process, &unknown);
                self.process(process).sure = true;
            }
            Act::Runs { process, task } => self.moves(process, task, |it, stage| match stage {
                Stage::Buffered(claim_no) if it.life == Life::Open => Some(Stage::Running(claim_no)),
                _ => None,
            })?,
            Act::Returns { process, task, success } => self.moves(process, task, |_, stage| {
                let Stage::Running(claim_no) = stage else { return None };
                let end = if success { End::Success(claim_no + 1) } else { End::Failure };
                Some(Stage::Finishing(claim_no, end))
            })?,
            Act::GivesBack { process, task } => self.gives_back(process, task)?,
            Act::Finishes { process, task } => {
                let (instance, claim, end) = self.finishing(process, task)?;
                self.tables.finish(guards, instance, claim, end, NOBODY);
                self.process(process).ledger[usize::from(task)] = Stage::Free;
            }
            Act::LosesAnswerOfFinish { process, task } => {
                let (instance, claim, end) = self.finishing(process, task)?;
                self.spend(|budget| &mut budget.lost_answers)?;
                self.leave(Late::Finish { instance, claim, end }).then_some(())?;
            }
            Act::Releases { process, task } => {
                let (instance, claim) = self.releasing(process, task)?;
                self.tables.release(guards, instance, claim);
                self.process(process).ledger[usize::from(task)] = Stage::Free;
            }
            Act::LosesAnswerOfRelease { process, task } => {
                let (instance, claim) = self.releasing(process, task)?;
                self.spend(|budget| &mut budget.lost_answers)?;
                self.leave(Late::Release { instance, claim }).then_some(())?;
            }
            Act::Beats { process } => {
                let it = *self.process(process);
                it.lives().then_some(())?;
                let state = if it.life == Life::Closing { State::Draining } else { State::Working };
                if !self.tables.heartbeat(guards, it.instance, state) {
                    self.forgets(process);
                }
            }
            Act::LosesAnswerOfBeat { process } => {
                let it = *self.process(process);
                it.lives().then_some(())?;
                self.spend(|budget| &mut budget.lost_answers)?;
                self.leave(Late::Heartbeat { instance: it.instance }).then_some(())?;
            }
            Act::GivesUpLease { process } => {
                let it = *self.process(process);
                it.lives().then_some(())?;
                if self.tables.instances[usize::from(it.instance)].is_some_and(|row| row.lease) {
                    self.spend(|budget| &mut budget.losses)?;
                }
                self.forgets(process);
            }
            Act::Closes { process } => {
                (self.process(process).life == Life::Open).then_some(())?;
                self.spend(|budget| &mut budget.closes)?;
                let it = self.process(process);
                it.life = Life::Closing;
                for stage in &mut it.ledger {
                    if let Stage::Buffered(claim_no) = *stage {
                        *stage = Stage::Releasing(claim_no);
                    }
                }
            }
            Act::Ends { process } => {
                let it = *self.process(process);
                let empty = it.ledger == [Stage::Free; TASKS] && it.sure && it.claiming.is_none();
                (it.life == Life::Closing && empty).then_some(())?;
                let ended = self.tables.end_instance(guards, it.instance);
                let unknown: Vec<(u8, u8)> = self.unknown_to(process).collect();
                if ended || unknown.is_empty() {
                    self.process(process).life = Life::Ended;
                } else {
                    self.adopt(process, &unknown);
                }
            }
            Act::IsKilled { process } => {
                let it = *self.process(process);
                it.lives().then_some(())?;
                self.spend(|budget| &mut budget.losses)?;
                self.forgets(process);
            }
            Act::LeasePasses { instance } => {
                let valid = self.tables.instances[usize::from(instance)].is_some_and(|row| row.lease);
                valid.then_some(())?;
                if self.user(instance).is_some() {
                    self.spend(|budget| &mut budget.losses)?;
                }
                if let Some(row) = &mut self.tables.instances[usize::from(instance)] {
                    row.lease = false;
                }
            }
            Act::DeclaresLost { instance } => {
                let valid = self.tables.instances[usize::from(instance)].is_some_and(|row| row.lease);
                self.tables.declare_lost(guards, instance).then_some(())?;
                if valid && self.user(instance).is_some() {
                    self.spend(|budget| &mut budget.losses)?;
                }
            }
            Act::Recovers { task } => {
                let seen = self.tables.recover_sees(guards, task)?;
                self.tables.recover_takes(guards, seen)?;
            }
            Act::BeginsRecovery { task } => {
                let seen = self.tables.recover_sees(guards, task)?;
                self.recovery.is_none().then_some(())?;
                self.spend(|budget| &mut budget.slow_recoveries)?;
                self.recovery = Some(seen);
            }
            Act::EndsRecovery => {
                let seen = self.recovery.take()?;
                self.tables.recover_takes(guards, seen);
            }
            Act::ComesDue { task } => self.tables.tasks[usize::from(task)].as_mut()?.due = true,
            Act::Decides { kind, task } => self.decides(kind, task)?,
            Act::IsAnswered { operation } => self.is_answered(guards, operation)?,
            Act::LosesAnswerOfDecision { operation } => {
                let decided = self.decisions[usize::from(operation)]?;
                (decided.told == Told::Nothing).then_some(())?;
                self.spend(|budget| &mut budget.lost_answers)?;
                self.leave(Late::Decision { operation }).then_some(())?;
            }
            Act::Submits => {
                (!self.told_submitted && self.budget.submits > 0).then_some(())?;
                self.submit(guards)?;
                self.told_submitted = true;
            }
            Act::LosesAnswerOfSubmit => {
                (!self.told_submitted && self.budget.submits > 0).then_some(())?;
                self.spend(|budget| &mut budget.lost_answers)?;
                self.leave(Late::Submit).then_some(())?;
            }
            Act::ArrivesLate { place, task } => self.arrives_late(guards, place, task)?,
        }
        Some(())
    }

    /// The end of what a process knew; a claim that it had under way goes on without it.
    fn forgets(&mut self, process: u8) {
        let it = *self.process(process);
        if let Some(task) = it.claiming {
            self.leave(Late::ClaimOf { instance: it.instance, task });
        }
        let life = if it.life == Life::Closing { Life::Ended } else { Life::Down };
        *self.process(process) = Process { life, ..Process::new(it.instance) };
    }

    fn spend(&mut self, of: impl Fn(&mut Budget) -> &mut u8) -> Option<()> {
        let left = of(&mut self.budget);
        *left = left.checked_sub(1)?;
        Some(())
    }

    fn moves(&mut self, process: u8, task: u8, to: impl Fn(Process, Stage) -> Option<Stage>) -> Option<()> {
        let it = *self.process(process);
        let stage = &mut self.process(process).ledger[usize::from(task)];
        *stage = to(it, *stage)?;
        Some(())
    }

    /// Takes in what was claimed; a process that closes gives it back.
    fn adopt(&mut self, process: u8, claims: &[(u8, u8)]) {
        let it = self.process(process);
        for (task, claim_no) in claims {
            it.ledger[usize::from(*task)] = match it.life {
                Life::Open => Stage::Buffered(*claim_no),
                _ => Stage::Releasing(*claim_no),
            };
        }
    }

    /// What has not begun is given back when its row asks for that, or by a full process; what runs is stopped
    /// by a process that closes.
    fn gives_back(&mut self, process: u8, task: u8) -> Option<()> {
        let it = *self.process(process);
        let asked = self.task(task).is_some_and(|row| row.cancel_requested && row.owner == Some(it.instance));
        let claim_no = match it.ledger[usize::from(task)] {
            Stage::Buffered(claim_no) if asked => claim_no,
            Stage::Buffered(claim_no) => {
                self.spend(|budget| &mut budget.give_backs)?;
                claim_no
            }
            Stage::Running(claim_no) if it.life == Life::Closing => claim_no,
            _ => return None,
        };
        self.process(process).ledger[usize::from(task)] = Stage::Releasing(claim_no);
        Some(())
    }

    fn finishing(&self, process: u8, task: u8) -> Option<(u8, (u8, u8), End)> {
        let it = &self.processes[usize::from(process)];
        match it.ledger[usize::from(task)] {
            Stage::Finishing(claim_no, end) => Some((it.instance, (task, claim_no), end)),
            _ => None,
        }
    }

    fn releasing(&self, process: u8, task: u8) -> Option<(u8, (u8, u8))> {
        let it = &self.processes[usize::from(process)];
        match it.ledger[usize::from(task)] {
            Stage::Releasing(claim_no) => Some((it.instance, (task, claim_no))),
            _ => None,
        }
    }

    /// Somebody decides about the row as it is now; the statement comes when it comes.
    fn decides(&mut self, kind: DecisionKind, task: u8) -> Option<()> {
        let row = self.task(task)?;
        if kind.leads_to(row.status).is_some() {
            self.spend(|budget| &mut budget.decisions)?;
        } else {
            self.spend(|budget| &mut budget.blind_decisions)?;
        }
        let place = self.decisions.iter_mut().find(|place| place.is_none())?;
        *place = Some(Decided { kind, task, version: row.version, told: Told::Nothing, applied: 0 });
        Some(())
    }

    /// The decision's statement, and, where it changed nothing, the question whether it had before.
    fn is_answered(&mut self, guards: Guards, operation: u8) -> Option<()> {
        let decided = self.decisions[usize::from(operation)]?;
        (decided.told == Told::Nothing).then_some(())?;
        let changed = self.decide(guards, operation);
        let told = if changed || self.tables.events.of(operation, decided.task).is_some() {
            Told::Committed
        } else {
            Told::Conflict
        };
        self.decisions[usize::from(operation)].as_mut()?.told = told;
        Some(())
    }

    fn decide(&mut self, guards: Guards, operation: u8) -> bool {
        let Some(decided) = &mut self.decisions[usize::from(operation)] else { return false };
        let seen = [(decided.task, decided.version)];
        let changed = self.tables.decide(guards, decided.kind, &seen, operation);
        decided.applied += u8::from(changed);
        changed
    }

    fn submit(&mut self, guards: Guards) -> Option<()> {
        let known = self.tables.tasks.iter().flatten().count();
        let place = u8::try_from(known).ok()?;
        if usize::from(place) < TASKS {
            self.tables.submit(guards, place, known > 0, Status::Queued);
        }
        Some(())
    }

    fn arrives_late(&mut self, guards: Guards, place: u8, task: u8) -> Option<()> {
        let late = self.late[usize::from(place)].take()?;
        self.late.sort_unstable_by(|one, two| two.cmp(one));
        // Only a claim that has not reached the server may take any task.
        (task == 0 || matches!(late, Late::Claim { .. })).then_some(())?;
        match late {
            Late::Claim { instance } => {
                self.tables.is_claimable(guards, task).then_some(())?;
                self.tables.may_claim(guards, instance).then_some(())?;
                self.tables.claim(guards, instance, task);
            }
            Late::ClaimOf { instance, task } => {
                self.tables.claim(guards, instance, task);
            }
            Late::Finish { instance, claim, end } => {
                self.tables.finish(guards, instance, claim, end, NOBODY);
            }
            Late::Release { instance, claim } => {
                self.tables.release(guards, instance, claim);
            }
            Late::Heartbeat { instance } => {
                self.tables.heartbeat(guards, instance, State::Working);
            }
            Late::Decision { operation } => {
                self.decide(guards, operation);
            }
            Late::Submit => self.submit(guards)?,
        }
        Some(())
    }

    /// What `act` is here, in words.
    pub(crate) fn told(&self, act: Act) -> String {
        let Act::ArrivesLate { place, task } = act else { return act.to_string() };
        match self.late[usize::from(place)] {
            None => "nothing arrives".to_owned(),
            Some(Late::Claim { instance }) => format!("late: I{instance}'s claim takes T{task}"),
            Some(Late::ClaimOf { instance, task }) => format!("late: I{instance}'s claim of T{task}"),
            Some(Late::Finish { instance, claim: (task, claim_no), end }) => {
                let end = if end == End::Failure { "failure" } else { "success" };
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

    /// Whether `act` is one that the surroundings do and the budget rations: without these, work must still end.
    pub(crate) fn is_rationed(&self, next: &Self) -> bool {
        self.budget != next.budget
    }
}
