//! What became of a request to stop, and what is said where somebody else got there first.

use std::time::Duration;

use super::super::acts::{Phase, with_hint};
use super::super::effect::RequestId;
use super::super::fleet::{obeys, to, why};
use super::super::keys::{Action, Key};
use super::super::log::{Level, Source};
use super::super::message::WriteFailure;
use super::super::state::{Screen, State};
use super::{StopAct, named};
use crate::domain::instance::SeenInstance;
use crate::domain::outcome::{StopAnswer, StopVerdict, Stopping};
use crate::domain::{InstanceState, StopMode};

/// A request that did not reach every instance that it named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StopConflict {
    /// What was asked for.
    pub mode: StopMode,
    /// The instances that were not asked; there is at least one.
    pub rows: Vec<StopConflictRow>,
    /// How many others were.
    pub asked: usize,
    /// When the answer arrived, since the program's start.
    pub arrived: Duration,
    /// Which row the cursor is on.
    pub cursor: usize,
}

/// An instance that was not asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StopConflictRow {
    /// As it was seen.
    pub seen: SeenInstance,
    /// What it is called.
    pub name: String,
    /// As the database answered it; none: there is no such instance.
    pub now: Option<Stopping>,
}

impl StopConflict {
    /// `Nothing was changed`, `Not asked: 2 of 3`.
    pub fn title(&self) -> String {
        match self.asked {
            0 => "Nothing was changed".to_owned(),
            asked => format!("Not asked: {} of {}", self.rows.len(), self.rows.len() + asked),
        }
    }
}

impl StopConflictRow {
    /// What happened, in words. May hold text from the database.
    pub fn lines(&self, state: &State, mode: StopMode) -> Vec<String> {
        let asked = format!("You asked {} {}.", self.name, to(mode));
        let Some(now) = &self.now else {
            return vec![asked, "There is no such instance any more.".to_owned()];
        };
        let request = now.stop.as_ref();
        let said = request.map(|request| {
            let reason = why(request.reason.as_deref());
            format!("{} asked it {} {}{reason}", request.by, to(request.mode), state.ago(request.at))
        });
        let because = match (now.state, said) {
            (InstanceState::Stopped, _) => "It has stopped meanwhile: nothing of it runs.".to_owned(),
            (InstanceState::Lost, _) => {
                "It was declared lost meanwhile: others take back what it ran.".to_owned()
            }
            (InstanceState::Watching, _) => "It only watches: it runs nothing that could stop.".to_owned(),
            (_, Some(said)) => format!("{said}. Nothing was changed."),
            (_, None) => "It could not be asked. Nothing was changed.".to_owned(),
        };
        let mut lines = vec![asked, because];
        if now.state.is_alive() {
            let seen = request.filter(|request| !obeys(now.state, request.mode));
            let unseen = if seen.is_some() { "; it has not seen that yet" } else { "" };
            lines.push(format!("It is now {}{unseen}.", now.state.as_str()));
            if now.lease_past {
                lines.push("Its lease has passed: it may be dead, and then it obeys nobody.".to_owned());
            }
        }
        lines
    }
}

impl State {
    /// A request's answer.
    pub(in crate::app) fn stop_answered(
        &mut self,
        request: RequestId,
        result: Result<StopAnswer, WriteFailure>,
    ) {
        let Some(at) = self.acts.stops.iter().position(|act| act.request == request) else { return };
        let act = self.acts.stops[at].clone();
        let what = act.named();
        match result {
            Err(WriteFailure::Unknown { message }) => {
                self.acts.stops[at].phase = Phase::Unknown;
                self.say(Level::Warn, format!("{what}: outcome unknown, checking… ({message})"));
                return;
            }
            Err(WriteFailure::Unresolved { message, hint }) => {
                self.acts.stops[at].phase = Phase::Unresolved;
                let text = format!("{what}: whether it was asked could not be found out: {message}");
                let hint = hint.as_deref().or(Some("look at its row on screen 2 before you act again"));
                self.say(Level::Error, with_hint(text, hint));
            }
            Err(failure) => {
                self.acts.stops.remove(at);
                if let WriteFailure::Refused { message, .. } = &failure {
                    self.session.stop_denied = Some(message.clone());
                }
                self.say_failure(&what, failure);
            }
            Ok(answer) => {
                self.acts.stops.remove(at);
                self.stop_committed(&act, &answer);
                self.stop_conflicted(&act, answer);
            }
        }
        self.refresh_now();
    }

    fn stop_committed(&mut self, act: &StopAct, answer: &StopAnswer) {
        let committed = answer.instances.iter().filter_map(|(id, verdict)| match verdict {
            StopVerdict::Committed { instance } => {
                let asked = act.instances.iter().find(|asked| asked.seen.id == *id);
                let name = asked.map_or(instance.label.as_str(), |asked| asked.name.as_str());
                Some((name, instance.lease_past))
            }
            StopVerdict::Conflict { .. } | StopVerdict::NotFound => None,
        });
        let committed: Vec<(&str, bool)> = committed.collect();
        let dead: Vec<&str> = committed.iter().filter(|(_, past)| *past).map(|(name, _)| *name).collect();
        let lost = if answer.resolved_from_unknown { " (confirmed after a lost answer)" } else { "" };
        let to = to(act.mode);
        let text = match committed.as_slice() {
            [] => return,
            [(name, _)] => format!("asked {name} {to}{lost}; its state tells when it does"),
            several => {
                for (name, _) in several {
                    let line = format!("asked {name} {to}{lost}");
                    self.log.push(self.now, Level::Info, Source::Operator, line);
                }
                format!("asked {} instances {to}{lost}; their states tell when they do", several.len())
            }
        };
        match dead.as_slice() {
            [] => self.say(Level::Info, text),
            names => {
                let names = names.join(", ");
                self.say(Level::Warn, format!("{text}. No lease: {names} may be dead and obey nobody"));
            }
        }
    }

    fn stop_conflicted(&mut self, act: &StopAct, answer: StopAnswer) {
        let asked = answer.instances.len();
        let rows: Vec<StopConflictRow> = answer
            .instances
            .into_iter()
            .filter_map(|(id, verdict)| {
                let now = match verdict {
                    StopVerdict::Committed { .. } => return None,
                    StopVerdict::Conflict { instance } => Some(instance),
                    StopVerdict::NotFound => None,
                };
                let of = act.instances.iter().find(|asked| asked.seen.id == id)?;
                Some(StopConflictRow { seen: of.seen, name: of.name.clone(), now })
            })
            .collect();
        if rows.is_empty() {
            return;
        }
        for row in &rows {
            let said = row.lines(self, act.mode).join(" ");
            let text = format!("{}: not asked. {said}", named(act.mode, &[&row.name]));
            self.log.push(self.now, Level::Warn, Source::Operator, text);
        }
        let asked = asked - rows.len();
        if asked == 0 && self.overlays.is_empty() {
            self.hint("nothing was changed");
        } else if !self.overlays.is_empty() {
            self.hint("a request to stop was not taken: it is shown when this is closed");
        }
        let conflict = StopConflict { mode: act.mode, rows, asked, arrived: self.now, cursor: 0 };
        self.stop_conflicts.push_back(conflict);
    }

    /// A key while the answer that some were not asked is on top.
    pub(in crate::app) fn stop_conflict_key(&mut self, action: Option<Action>, key: Key) {
        let Some(conflict) = self.stop_conflicts.front_mut() else {
            self.overlays.pop();
            return;
        };
        match action {
            Some(Action::Up) => conflict.cursor = conflict.cursor.saturating_sub(1),
            Some(Action::Down) => conflict.cursor = (conflict.cursor + 1).min(conflict.rows.len() - 1),
            Some(Action::Back | Action::No) => self.close_stop_conflict(key),
            Some(Action::Open) => {
                let id = conflict.rows.get(conflict.cursor).map(|row| row.seen.id);
                self.close_stop_conflict(key);
                self.show(Screen::Workers);
                if let Some(id) = id.filter(|id| self.instance_of(*id).is_some()) {
                    self.instance = Some(id);
                }
            }
            _ => self.hint("Enter looks at it, Esc closes; it was not asked"),
        }
    }

    fn close_stop_conflict(&mut self, key: Key) {
        self.stop_conflicts.pop_front();
        self.close(key);
    }
}
