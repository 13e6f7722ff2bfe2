//! What each act does to the world.

use taskdeck::domain::Status;

use crate::act::Act;
use crate::guards::Guards;
use crate::protocol::{End, Instance, State, TASKS};
use crate::world::{Budget, Finish, Late, Life, Process, Stage, Told, World};

impl World {
    fn process(&mut self, process: u8) -> &mut Process {
        &mut self.processes[usize::from(process)]
    }

    /// Which process works under `instance`.
    fn user(&self, instance: u8) -> Option<u8> {
        (0..).zip(&self.processes).find(|(_, it)| it.lives() && it.instance == instance).map(|(p, _)| p)
    }

    /// Leaves a statement under way. Where too many are already, none can be left: one of them is executed first.
    pub(crate) fn leave(&mut self, late: Late) -> Option<()> {
        *self.late.iter_mut().find(|place| place.is_none())? = Some(late);
        // One order for each set, so that states are not told apart by it.
        self.late.sort_unstable_by(|one, two| two.cmp(one));
        Some(())
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

    /// This world without what nothing can ever ask for again, so that states are not told apart by it: an instance
    /// that nobody uses, whose tasks are all taken back and which has no statement under way; a finish that is answered
    /// and not under way either.
    pub(crate) fn settled(mut self) -> Self {
        for (id, row) in (0..).zip(self.tables.instances) {
            if row.is_some() && !self.is_asked_for(id) {
                self.tables.instances[usize::from(id)] = Some(Instance { state: State::Lost, lease: false });
            }
        }
        for it in &mut self.processes {
            if !it.lives() {
                it.instance = 0;
            }
        }
        self.settle_finishes();
        self
    }

    fn is_asked_for(&self, instance: u8) -> bool {
        let late = |late: &Late| match *late {
            Late::Claim { instance: it }
            | Late::ClaimOf { instance: it, .. }
            | Late::FinishSuccess(Finish { instance: it, .. })
            | Late::Finish(Finish { instance: it, .. })
            | Late::Release { instance: it, .. }
            | Late::Heartbeat { instance: it } => it == instance,
            Late::Decision { .. } | Late::Submit => false,
        };
        self.user(instance).is_some()
            || self.tables.tasks.iter().flatten().any(|row| row.owner == Some(instance))
            || self.late.iter().flatten().any(late)
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
        self.claims(act, guards)
            .or_else(|| self.tells(act, guards))
            .or_else(|| self.lives(act, guards))
            .or_else(|| self.others(act, guards))
    }

    /// A claimer's and a slot's steps.
    fn claims(&mut self, act: Act, guards: Guards) -> Option<()> {
        match act {
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
                self.leave(late)?;
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
            _ => return None,
        }
        Some(())
    }

    /// A finisher's steps.
    fn tells(&mut self, act: Act, guards: Guards) -> Option<()> {
        match act {
            Act::Finishes { process, task } => self.finishes(guards, process, task)?,
            Act::LosesAnswerOfFinish { process, task } => self.loses_answer_of_finish(process, task)?,
            Act::Releases { process, task } => {
                let (instance, claim) = self.releasing(process, task)?;
                self.tables.release(guards, instance, claim);
                self.process(process).ledger[usize::from(task)] = Stage::Free;
            }
            Act::LosesAnswerOfRelease { process, task } => {
                let (instance, claim) = self.releasing(process, task)?;
                self.spend(|budget| &mut budget.lost_answers)?;
                self.leave(Late::Release { instance, claim })?;
            }
            _ => return None,
        }
        Some(())
    }

    /// A process's beginning, beats and end.
    fn lives(&mut self, act: Act, guards: Guards) -> Option<()> {
        match act {
            Act::Starts { process } => {
                let id =
                    (0..).zip(&self.tables.instances).find(|(_, row)| row.is_none()).map(|(id, _)| id)?;
                (self.processes[usize::from(process)].life == Life::Down).then_some(())?;
                self.tables.register(id);
                *self.process(process) = Process::new(id);
            }
            Act::Beats { process } => {
                let it = *self.process(process);
                it.lives().then_some(())?;
                let state = if it.life == Life::Closing { State::Draining } else { State::Working };
                if !self.tables.heartbeat(guards, it.instance, state) {
                    self.forgets(process)?;
                }
            }
            Act::LosesAnswerOfBeat { process } => {
                let it = *self.process(process);
                it.lives().then_some(())?;
                self.spend(|budget| &mut budget.lost_answers)?;
                self.leave(Late::Heartbeat { instance: it.instance })?;
            }
            Act::GivesUpLease { process } => {
                let it = *self.process(process);
                it.lives().then_some(())?;
                if self.tables.instances[usize::from(it.instance)].is_some_and(|row| row.lease) {
                    self.spend(|budget| &mut budget.losses)?;
                }
                self.forgets(process)?;
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
                self.forgets(process)?;
            }
            _ => return None,
        }
        Some(())
    }

    /// What time, recoverers, operators and the network do.
    fn others(&mut self, act: Act, guards: Guards) -> Option<()> {
        match act {
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
                self.leave(Late::Decision { operation })?;
            }
            Act::Submits => {
                (!self.told_submitted && self.budget.submits > 0).then_some(())?;
                self.submit(guards)?;
                self.told_submitted = true;
            }
            Act::LosesAnswerOfSubmit => {
                (!self.told_submitted && self.budget.submits > 0).then_some(())?;
                self.spend(|budget| &mut budget.lost_answers)?;
                self.leave(Late::Submit)?;
            }
            Act::ArrivesLate { place, task } => self.arrives_late(guards, place, task)?,
            _ => return None,
        }
        Some(())
    }

    /// The end of what a process knew; a claim that it had under way goes on without it.
    fn forgets(&mut self, process: u8) -> Option<()> {
        let it = *self.process(process);
        if let Some(task) = it.claiming {
            self.leave(Late::ClaimOf { instance: it.instance, task })?;
        }
        let life = if it.life == Life::Closing { Life::Ended } else { Life::Down };
        *self.process(process) = Process { life, ..Process::new(it.instance) };
        Some(())
    }

    pub(crate) fn spend(&mut self, of: impl Fn(&mut Budget) -> &mut u8) -> Option<()> {
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

    fn releasing(&self, process: u8, task: u8) -> Option<(u8, (u8, u8))> {
        let it = &self.processes[usize::from(process)];
        match it.ledger[usize::from(task)] {
            Stage::Releasing(claim_no) => Some((it.instance, (task, claim_no))),
            _ => None,
        }
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
            Late::FinishSuccess(finish) => {
                self.finish_success(guards, finish)?;
            }
            Late::Finish(finish) => {
                self.finish(guards, finish)?;
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
}
