//! Operators and submitters: each sends its one operation again until it is answered.

use taskdeck::domain::{DecisionKind, Status};

use crate::guards::{Guard, Guards};
use crate::protocol::{Events, TASKS};
use crate::world::{Decided, Told, World};

impl World {
    /// Somebody decides about the row as it is now; the statement comes when it comes.
    pub(crate) fn decides(&mut self, kind: DecisionKind, task: u8) -> Option<()> {
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
    pub(crate) fn is_answered(&mut self, guards: Guards, operation: u8) -> Option<()> {
        let decided = self.decisions[usize::from(operation)]?;
        (decided.told == Told::Nothing).then_some(())?;
        let changed = self.decide(guards, operation);
        let noted = self.tables.events.of(operation, decided.task).is_some();
        let told = if changed || noted && guards.stands(Guard::DecideNoted) {
            Told::Committed
        } else {
            Told::Conflict
        };
        self.decisions[usize::from(operation)].as_mut()?.told = told;
        Some(())
    }

    pub(crate) fn decide(&mut self, guards: Guards, operation: u8) -> bool {
        let Some(decided) = &mut self.decisions[usize::from(operation)] else { return false };
        let seen = [(decided.task, decided.version)];
        let changed = self.tables.decide(guards, decided.kind, &seen, operation);
        decided.applied += u8::from(changed);
        changed
    }

    pub(crate) fn submit(&mut self, guards: Guards) -> Option<()> {
        let known = self.tables.tasks.iter().flatten().count();
        let place = u8::try_from(known).ok()?;
        if usize::from(place) < TASKS {
            self.tables.submit(guards, place, known > 0, Status::Queued);
        }
        Some(())
    }
}
