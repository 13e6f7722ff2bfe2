//! The finisher: what `Db::finish` sends for one claim, and what it makes of the answers.

use taskdeck::domain::Status;

use crate::guards::Guards;
use crate::protocol::End;
use crate::world::{Finish, Late, Process, Sent, Stage, Told, World};

/// An operation whose event is kept with its finish.
const ELSEWHERE: u8 = u8::MAX;

impl Process {
    /// What it is to finish of `task`, and whether `finish_success` has failed to.
    fn finishing(&self, task: u8) -> Option<(Finish, Late)> {
        let finish = |claim_no, end| Finish { instance: self.instance, claim: (task, claim_no), end };
        match self.ledger[usize::from(task)] {
            Stage::Finishing(claim_no, end @ End::Success(_)) => {
                let finish = finish(claim_no, end);
                Some((finish, Late::FinishSuccess(finish)))
            }
            Stage::Finishing(claim_no, end) | Stage::Asking(claim_no, end) => {
                let finish = finish(claim_no, end);
                Some((finish, Late::Finish(finish)))
            }
            _ => None,
        }
    }
}

impl World {
    /// The next statement of a finish: a success is first sent as `finish_success`, and as `finish` where that has
    /// not ended the claim.
    pub(crate) fn finishes(&mut self, guards: Guards, process: u8, task: u8) -> Option<()> {
        let (finish, statement) = self.processes[usize::from(process)].finishing(task)?;
        let told = match statement {
            Late::FinishSuccess(_) => self.finish_success(guards, finish)?.then_some(Told::Committed),
            _ => Some(self.finish(guards, finish)?),
        };
        let stage = &mut self.processes[usize::from(process)].ledger[usize::from(task)];
        match told {
            Some(told) => {
                *stage = Stage::Free;
                self.sent(finish)?.told = told;
            }
            None => *stage = Stage::Asking(finish.claim.1, finish.end),
        }
        Some(())
    }

    /// The same, and all of it is sent again.
    pub(crate) fn loses_answer_of_finish(&mut self, process: u8, task: u8) -> Option<()> {
        let (finish, statement) = self.processes[usize::from(process)].finishing(task)?;
        self.spend(|budget| &mut budget.lost_answers)?;
        self.processes[usize::from(process)].ledger[usize::from(task)] =
            Stage::Finishing(finish.claim.1, finish.end);
        self.leave(statement)
    }

    /// `finish_success.sql`. Returns whether it ended the claim.
    pub(crate) fn finish_success(&mut self, guards: Guards, finish: Finish) -> Option<bool> {
        let End::Success(result) = finish.end else { return None };
        let ended = self.tables.finish_success(guards, finish.instance, finish.claim, result);
        self.sent(finish)?.applied += u8::from(ended);
        Some(ended)
    }

    /// `finish.sql`, and `finished.sql` where it changed nothing. Returns what the finisher is told.
    pub(crate) fn finish(&mut self, guards: Guards, finish: Finish) -> Option<Told> {
        let Finish { instance, claim, end } = finish;
        let ended = self.tables.finish(guards, instance, claim, end, ELSEWHERE)?;
        let sent = self.sent(finish)?;
        let committed = ended.committed(guards, sent.noted).is_some();
        if ended.changed {
            sent.applied += 1;
            sent.noted = Some(ended.status).filter(|status| *status != Status::Succeeded);
        }
        Some(if committed { Told::Committed } else { Told::Conflict })
    }

    fn sent(&mut self, finish: Finish) -> Option<&mut Sent> {
        let known = self.finishes.iter().position(|it| it.is_some_and(|it| it.finish == finish));
        let place = known.or_else(|| self.finishes.iter().position(Option::is_none))?;
        let none = Sent { finish, told: Told::Nothing, applied: 0, noted: None };
        Some(self.finishes[place].get_or_insert(none))
    }

    /// Without the finishes that nobody sends again and no statement under way can still apply, or that have done
    /// nothing yet.
    pub(crate) fn settle_finishes(&mut self) {
        for place in 0..self.finishes.len() {
            let settled = self.finishes[place].is_some_and(|it| {
                it.told == Told::Nothing && it.applied == 0 || !self.is_unsettled(it.finish)
            });
            if settled {
                self.finishes[place] = None;
            }
        }
        // One order for each set, so that states are not told apart by it.
        self.finishes.sort_unstable_by_key(|it| it.map(|it| it.finish));
    }

    fn is_unsettled(&self, finish: Finish) -> bool {
        let late = |late: &Late| matches!(*late, Late::FinishSuccess(it) | Late::Finish(it) if it == finish);
        let again = |it: &Process| {
            it.lives() && it.finishing(finish.claim.0).is_some_and(|(again, _)| again == finish)
        };
        self.late.iter().flatten().any(late) || self.processes.iter().any(again)
    }
}
