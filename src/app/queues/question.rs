//! A decision about a queue that waits for the operator's `y`: what will become of what is in it.

use super::super::acts::Phase;
use super::super::editor::{Edited, Editor};
use super::super::effect::Effect;
use super::super::fleet::why;
use super::super::keys::{Action, Key};
use super::super::log::{Level, Source};
use super::super::overlay::Overlay;
use super::super::question::QuestionFocus;
use super::super::state::State;
use super::{QueueAsked, takers, waits, word};
use crate::domain::figure::thousands;
use crate::domain::queue::{QueueAct, QueueState};
use crate::domain::{Name, input};

/// The question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueQuestion {
    /// What is to be decided.
    pub act: QueueAct,
    /// About which queue.
    pub queue: Name,
    /// Its version as it was on screen.
    pub version: i64,
    /// Whether it can still be decided as it was seen.
    pub standing: QueueStanding,
    /// Why, as far as it is written.
    pub reason: Editor,
    /// Where the keys go.
    pub focus: QuestionFocus,
}

/// Whether a queue can be decided about as it was seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QueueStanding {
    /// It can.
    Ready,
    /// It is as asked already.
    Already {
        /// Since when and by whom, as a clause.
        said: String,
    },
    /// Somebody paused or resumed it since it was seen.
    Moved {
        /// Who, when and why, as a clause.
        said: String,
    },
    /// Another decision of this console is not answered yet.
    Busy,
}

impl QueueQuestion {
    /// `Pause queue bills?`.
    pub fn title(&self) -> String {
        let act = match self.act {
            QueueAct::Pause => "Pause",
            QueueAct::Resume => "Resume",
        };
        format!("{act} queue {}?", self.queue)
    }

    /// Why `y` does nothing now, if so.
    pub fn blocked(&self) -> Option<String> {
        match &self.standing {
            QueueStanding::Ready => None,
            QueueStanding::Already { said } => Some(format!("not possible: {said}")),
            QueueStanding::Moved { said } => {
                Some(format!("not possible: {said}, after you looked: look again"))
            }
            QueueStanding::Busy => Some("already asking: the answer is not there yet".to_owned()),
        }
    }

    /// What `y` is labelled.
    pub fn yes(&self) -> String {
        let verb = self.act.verb();
        if self.blocked().is_some() { format!("{verb} it (not possible)") } else { format!("{verb} it") }
    }

    /// What will happen, in sentences. May hold text from the database.
    pub fn says(&self, state: &State) -> Vec<String> {
        if let Some(why) = self.blocked() {
            let mut chars = why.chars();
            let first = chars.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
            return vec![format!("{first}{}.", chars.as_str())];
        }
        let name = &self.queue;
        let Some(queue) = state.queue_of(name.as_str()) else {
            return vec![
                format!("Workers claim nothing from `{name}` until somebody resumes it."),
                "It holds nothing now, and nobody ever paused it.".to_owned(),
            ];
        };
        match self.act {
            QueueAct::Pause => {
                let runs = match queue.running {
                    ..=0 => "nothing runs".to_owned(),
                    1 => "1 that runs goes on".to_owned(),
                    running => format!("{} that run go on", thousands(running)),
                };
                vec![
                    format!("Workers claim nothing more from `{name}`; {runs}; {}.", waits(state, queue)),
                    "It stays paused until somebody resumes it, whoever starts or stops meanwhile."
                        .to_owned(),
                ]
            }
            QueueAct::Resume => {
                let then = match queue.takers {
                    ..=0 => "nothing of it will run until a worker takes it".to_owned(),
                    _ => takers(queue.takers),
                };
                let mut says =
                    vec![format!("Workers claim from `{name}` again: {}; {then}.", waits(state, queue))];
                says.extend(state.queue_changed(&queue.state).map(|who| format!("It was {who}.")));
                says
            }
        }
    }
}

impl State {
    /// Asks whether a queue is to be paused or resumed, as it was drawn.
    pub(super) fn ask_queue(&mut self, act: QueueAct, queue: Name, version: i64, reason: &str) {
        let standing = standing(self, act, &queue, version);
        if let QueueStanding::Already { said } = standing {
            return self.hint(format!("{}: {said}", act.verb()));
        }
        let (reason, focus) = (Editor::line(reason), QuestionFocus::Answer);
        self.overlays.push(Overlay::Queue(QueueQuestion { act, queue, version, standing, reason, focus }));
    }

    /// Looks at the queue of an open question again after something arrived.
    pub(in crate::app) fn watch_queue(&mut self) {
        let mut overlays = std::mem::take(&mut self.overlays);
        for overlay in &mut overlays {
            let Overlay::Queue(question) = overlay else { continue };
            let now = standing(self, question.act, &question.queue, question.version);
            self.needs_draw |= now != question.standing;
            question.standing = now;
        }
        self.overlays = overlays;
    }

    /// A key while the question is on top.
    pub(in crate::app) fn queue_key(&mut self, action: Option<Action>, key: Key, effects: &mut Vec<Effect>) {
        let Some(Overlay::Queue(question)) = self.overlays.last_mut() else { return };
        match (question.focus, action) {
            (QuestionFocus::Reason, Some(Action::Back | Action::Open | Action::NextPane)) => {
                question.focus = QuestionFocus::Answer;
            }
            (QuestionFocus::Reason, _) => {
                if question.reason.key(key) == Edited::Nothing {
                    self.hint("letters go into the reason; Enter or Esc leads back to y and n");
                }
            }
            (QuestionFocus::Answer, Some(Action::Yes)) => self.confirm_queue(key, effects),
            (QuestionFocus::Answer, Some(Action::No | Action::Back)) => self.close(key),
            (QuestionFocus::Answer, Some(Action::Reason)) => question.focus = QuestionFocus::Reason,
            _ => {
                let label = |action| self.keymap.label(action);
                let (yes, no, reason) = (label(Action::Yes), label(Action::No), label(Action::Reason));
                self.hint(format!("{yes} does it, {no} or Esc does not, {reason} changes the reason"));
            }
        }
    }

    fn confirm_queue(&mut self, key: Key, effects: &mut Vec<Effect>) {
        self.watch_queue();
        let Some(Overlay::Queue(question)) = self.overlays.last() else { return };
        if let Some(denied) = self.queues_denied() {
            return self.hint(denied);
        }
        if let Some(blocked) = question.blocked() {
            // First, as the rest may not have room.
            return self.hint(format!("nothing was sent; {blocked}"));
        }
        let QueueQuestion { act, queue, version, reason, .. } = question.clone();
        self.close(key);
        let reason = reason.text();
        let reason = reason.trim();
        let reason = (!reason.is_empty()).then(|| input::storable(reason));
        // An earlier one that could not be resolved is now decided anew, with the version that is on screen.
        self.acts.queues.retain(|asked| asked.phase != Phase::Unresolved || asked.queue != queue);
        let request = self.request();
        let asked = QueueAsked { request, act, queue: queue.clone(), version, phase: Phase::Asking };
        let text = format!("asked to {}{}", asked.named(), why(reason.as_deref()));
        self.log.push(self.now, Level::Info, Source::Operator, text);
        self.acts.queues.push(asked);
        effects.push(Effect::DecideQueue { request, act, queue, version, reason });
    }
}

/// Whether a queue can be decided about as it was seen, by everything that was read of it since.
fn standing(state: &State, act: QueueAct, queue: &Name, version: i64) -> QueueStanding {
    let now = state.queue_state(queue.as_str());
    if now.version > version {
        return QueueStanding::Moved { said: said(state, queue, &now) };
    }
    if state.asked_of_queue(queue.as_str()).is_some_and(|asked| asked.phase != Phase::Unresolved) {
        return QueueStanding::Busy;
    }
    if now.paused == act.pauses() {
        return QueueStanding::Already { said: said(state, queue, &now) };
    }
    QueueStanding::Ready
}

/// `bills is paused: paused by bob 4 m ago: "bad import"`, `mail is open: nobody ever paused it`.
fn said(state: &State, queue: &Name, now: &QueueState) -> String {
    match state.queue_changed(now) {
        Some(who) => format!("queue {queue} was {who}"),
        None => format!("queue {queue} is {}: nobody ever paused it", word(now.paused)),
    }
}
