//! Calls of the `db` floor that are more than one statement.

use std::collections::HashMap;

use taskdeck::domain::outcome::Finished;
use taskdeck::domain::{DecisionKind, Status};

use crate::guards::Guards;
use crate::protocol::{End, Events, Tables};
use crate::walk::{Did, OneFinish};

/// The events of a walk.
#[derive(Debug, Clone, Default)]
pub(crate) struct Log(HashMap<(u8, u8), Status>);

impl Events for Log {
    fn of(&self, operation: u8, task: u8) -> Option<Status> {
        self.0.get(&(operation, task)).copied()
    }

    fn note(&mut self, operation: u8, task: u8, after: Status) {
        self.0.insert((operation, task), after);
    }
}

impl Tables<Log> {
    /// `Db::finish`: the successes in one statement, then each of the others, then whether it was this same finish.
    pub(crate) fn finish_all(&mut self, id: u8, finishes: &[OneFinish]) -> Vec<Finished> {
        let guards = Guards::ALL;
        let mut committed = Vec::new();
        for one in finishes {
            if let End::Success(result) = one.end {
                committed.push(self.finish_success(guards, id, (one.task, one.claim_no), result));
            } else {
                committed.push(false);
            }
        }
        let answers = finishes.iter().zip(committed).map(|(one, committed)| {
            if committed {
                return Finished::Committed { status: Status::Succeeded };
            }
            let Some(ended) = self.finish(guards, id, (one.task, one.claim_no), one.end, one.operation)
            else {
                return Finished::NotFound;
            };
            match ended.committed(guards, self.events.of(one.operation, one.task)) {
                Some(status) => Finished::Committed { status },
                None => Finished::LeaseLost { status: ended.status, claim_no: ended.claim_no.into() },
            }
        });
        answers.collect()
    }

    /// `Db::decide`: the decision, then, where it changed nothing, whether it had before.
    pub(crate) fn decide_and_ask(
        &mut self,
        kind: DecisionKind,
        seen: &[(u8, u8)],
        operation: u8,
    ) -> Vec<(u8, Did)> {
        let guards = Guards::ALL;
        let may: Vec<bool> = seen.iter().map(|seen| self.judged(guards, kind, *seen).is_some()).collect();
        let changed = self.decide(guards, kind, seen, operation);
        let before = seen.iter().all(|(task, _)| self.events.of(operation, *task).is_some());
        let did = seen.iter().zip(may).map(|((task, _), may)| {
            let did = match self.tables_row(*task) {
                None => Did::NotFound,
                Some((status, version)) if changed || before => Did::Committed(status, version),
                Some((status, version)) if may => Did::Held(status, version),
                Some((status, version)) => Did::Conflict(status, version),
            };
            (*task, did)
        });
        did.collect()
    }

    fn tables_row(&self, task: u8) -> Option<(Status, u8)> {
        self.tasks[usize::from(task)].map(|row| (row.status, row.version))
    }

    pub(crate) fn take_back(&mut self) -> Vec<(u8, Status, u8)> {
        let guards = Guards::ALL;
        let seen: Vec<_> = (0..2).filter_map(|task| self.recover_sees(guards, task)).collect();
        seen.into_iter()
            .filter_map(|seen| {
                let status = self.recover_takes(guards, seen)?;
                Some((seen.task, status, self.tasks[usize::from(seen.task)]?.claim_no))
            })
            .collect()
    }
}
