//! A decision about a queue that waits for the operator's `y`: what will become of what is in it.

use super::super::acts::Phase;
use super::super::effect::Effect;
use super::super::fleet::why;
use super::super::keys::{Action, Keymap};
use super::super::log::{Level, Source};
use super::super::overlay::Overlay;
use super::super::question::{Ask, Reason, answers, capital, renew};
use super::super::state::State;
use super::{QueueAsked, takers, waits, word};
use crate::domain::Name;
use crate::domain::figure::thousands;
use crate::domain::queue::{QueueAct, QueueState};

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
    pub reason: Reason,
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
    /// What will happen, in sentences. May hold text from the database.
    pub fn says(&self, state: &State) -> Vec<String> {
        if let Some(why) = self.blocked() {
            return vec![format!("{}.", capital(&why))];
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

impl Ask for QueueQuestion {
    fn reason(&self) -> &Reason {
        &self.reason
    }

    fn reason_mut(&mut self) -> &mut Reason {
        &mut self.reason
    }

    /// `Pause queue bills?`.
    fn title(&self) -> String {
        format!("{} queue {}?", capital(self.act.verb()), self.queue)
    }

    fn blocked(&self) -> Option<String> {
        match &self.standing {
            QueueStanding::Ready => None,
            QueueStanding::Already { said } => Some(format!("not possible: {said}")),
            QueueStanding::Moved { said } => {
                Some(format!("not possible: {said}, after you looked: look again"))
            }
            QueueStanding::Busy => Some("already asking: the answer is not there yet".to_owned()),
        }
    }

    fn yes(&self) -> String {
        let verb = self.act.verb();
        if self.blocked().is_some() { format!("{verb} it (not possible)") } else { format!("{verb} it") }
    }

    fn unsent(&self, blocked: &str) -> String {
        // First, as the rest may not have room.
        format!("nothing was sent; {blocked}")
    }

    fn hint(&self, keymap: &Keymap) -> String {
        format!("{}, {} changes the reason", answers(keymap), keymap.label(Action::Reason))
    }

    fn denied(&self, state: &State) -> Option<String> {
        state.queues_denied()
    }

    fn look(&mut self, state: &State) -> bool {
        let now = standing(state, self.act, &self.queue, self.version);
        renew(&mut self.standing, now)
    }

    fn send(&self, state: &mut State, reason: Option<String>, effects: &mut Vec<Effect>) {
        let (act, queue, version) = (self.act, self.queue.clone(), self.version);
        // An earlier one that could not be resolved is now decided anew, with the version that is on screen.
        state.acts.queues.retain(|asked| asked.phase != Phase::Unresolved || asked.queue != queue);
        let request = state.request();
        let asked = QueueAsked { request, act, queue: queue.clone(), version, phase: Phase::Asking };
        let text = format!("asked to {}{}", asked.named(), why(reason.as_deref()));
        state.log.push(state.now, Level::Info, Source::Operator, text);
        state.acts.queues.push(asked);
        effects.push(Effect::DecideQueue { request, act, queue, version, reason });
    }
}

impl State {
    /// Asks whether a queue is to be paused or resumed, as it was drawn.
    pub(super) fn ask_queue(&mut self, act: QueueAct, queue: Name, version: i64, reason: &str) {
        let standing = standing(self, act, &queue, version);
        if let QueueStanding::Already { said } = standing {
            return self.hint(format!("{}: {said}", act.verb()));
        }
        let reason = Reason::of(reason);
        self.overlays.push(Overlay::Queue(QueueQuestion { act, queue, version, standing, reason }));
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
