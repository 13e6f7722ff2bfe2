//! What became of a decision about a queue, and what is said where somebody else got there first.

use std::time::Duration;

use super::super::acts::{Phase, with_hint};
use super::super::effect::RequestId;
use super::super::keys::{Action, Key};
use super::super::log::{Level, Source};
use super::super::message::WriteFailure;
use super::super::state::{Screen, State, WorkersPane};
use super::{QueueAsked, word};
use crate::domain::Name;
use crate::domain::queue::{QueueAct, QueueDecided, QueueOutcome, QueueState};

/// A decision about a queue that changed nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueConflict {
    /// What was decided.
    pub act: QueueAct,
    /// About which queue.
    pub queue: Name,
    /// The version with which it was decided.
    pub version_seen: i64,
    /// The queue as the database answered it.
    pub now: QueueState,
    /// When the answer arrived, since the program's start.
    pub arrived: Duration,
}

impl QueueConflict {
    /// What happened, in words. May hold text from the database.
    pub fn lines(&self, state: &State) -> Vec<String> {
        let Self { act, queue, version_seen, now, .. } = self;
        let asked = format!("You asked to {} queue {queue} as you saw it: v{version_seen}.", act.verb());
        let who = match state.queue_changed(now) {
            Some(who) => format!("It was {who}."),
            None => "Nobody ever paused it.".to_owned(),
        };
        vec![asked, who, format!("It is now {}, v{}.", word(now.paused), now.version)]
    }
}

impl State {
    /// A decision's answer.
    pub(in crate::app) fn queue_decided(
        &mut self,
        request: RequestId,
        result: Result<QueueDecided, WriteFailure>,
    ) {
        let Some(at) = self.acts.queues.iter().position(|asked| asked.request == request) else { return };
        let asked = self.acts.queues[at].clone();
        let what = asked.named();
        match result {
            Err(WriteFailure::Unknown { message }) => {
                self.acts.queues[at].phase = Phase::Unknown;
                self.say(Level::Warn, format!("{what}: outcome unknown, checking… ({message})"));
                return;
            }
            Err(WriteFailure::Unresolved { message, hint }) => {
                self.acts.queues[at].phase = Phase::Unresolved;
                let text = format!("{what}: whether it was done could not be found out: {message}");
                let hint = hint.as_deref().or(Some("look at its row on screen 2 before you act again"));
                self.say(Level::Error, with_hint(text, hint));
            }
            Err(failure) => {
                self.acts.queues.remove(at);
                if let WriteFailure::Refused { message, .. } = &failure {
                    self.session.queues_denied = Some(message.clone());
                }
                self.say_failure(&what, failure);
            }
            Ok(decided) => {
                self.acts.queues.remove(at);
                match decided.outcome {
                    QueueOutcome::Committed => self.say_queue(&asked, &decided),
                    QueueOutcome::Conflict => self.queue_conflicted(asked, decided),
                }
            }
        }
        self.refresh_now();
    }

    fn say_queue(&mut self, asked: &QueueAsked, decided: &QueueDecided) {
        let lost = if decided.resolved_from_unknown { " (confirmed after a lost answer)" } else { "" };
        let again = match decided.retries {
            0 => String::new(),
            1 => " (decided again once after a deadlock)".to_owned(),
            n => format!(" (decided again {n} times after deadlocks)"),
        };
        let QueueAsked { act, queue, version, .. } = asked;
        let versions = format!("(v{version} → v{})", decided.state.version);
        self.say(
            Level::Info,
            match act {
                QueueAct::Pause => format!(
                    "paused queue {queue} {versions}; nothing more is claimed from it, what runs goes on{lost}{again}"
                ),
                QueueAct::Resume => format!("resumed queue {queue} {versions}{lost}{again}"),
            },
        );
    }

    fn queue_conflicted(&mut self, asked: QueueAsked, decided: QueueDecided) {
        let QueueAsked { act, queue, version: version_seen, .. } = asked;
        let conflict = QueueConflict { act, queue, version_seen, now: decided.state, arrived: self.now };
        let said = conflict.lines(self).join(" ");
        self.log.push(self.now, Level::Warn, Source::Operator, format!("nothing was changed: {said}"));
        self.queue_conflicts.push_back(conflict);
        if self.overlays.is_empty() {
            self.hint("nothing was changed");
        } else {
            self.hint("a decision about a queue changed nothing: it is shown when this is closed");
        }
    }

    /// A key while that answer is on top.
    pub(in crate::app) fn queue_conflict_key(&mut self, action: Option<Action>, key: Key) {
        match action {
            Some(Action::Back | Action::No) => self.close_queue_conflict(key),
            Some(Action::Open) => {
                let name = self.queue_conflicts.front().map(|conflict| conflict.queue.as_str().to_owned());
                self.close_queue_conflict(key);
                self.show(Screen::Workers);
                self.workers_pane = WorkersPane::Queues;
                if let Some(name) = name.filter(|name| self.queue_of(name).is_some()) {
                    self.queue = Some(name);
                }
            }
            _ => self.hint("Enter looks at it, Esc closes; nothing was changed"),
        }
    }

    fn close_queue_conflict(&mut self, key: Key) {
        self.queue_conflicts.pop_front();
        self.close(key);
    }
}
