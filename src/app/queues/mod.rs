//! Pausing and resuming queues: the list, the question, the decision under way, its answer.
//!
//! Invariant: a decision carries the version of the queue that was on screen when it was asked for; a queue that is not
//! listed holds nothing and was never paused, which is version 0.

mod answer;
mod named;
mod question;

pub use answer::QueueConflict;
pub use question::{QueueQuestion, QueueStanding};

use std::time::Duration;

use super::acts::Phase;
use super::effect::RequestId;
use super::fleet::why;
use super::list::Step;
use super::message::ReadFailure;
use super::state::{Access, Read, State};
use crate::domain::Name;
use crate::domain::figure::{age, thousands};
use crate::domain::queue::{Queue, QueueAct, QueueState};

/// A decision about a queue that was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueAsked {
    /// Its number.
    pub request: RequestId,
    /// What was decided.
    pub act: QueueAct,
    /// About which queue.
    pub queue: Name,
    /// Its version as it was seen.
    pub version: i64,
    /// How far it is.
    pub phase: Phase,
}

impl QueueAsked {
    /// `pause queue bills (v2)`.
    fn named(&self) -> String {
        format!("{} queue {} (v{})", self.act.verb(), self.queue, self.version)
    }
}

/// `paused`, `open`.
pub const fn word(paused: bool) -> &'static str {
    if paused { "paused" } else { "open" }
}

/// What an act has made of a queue: `paused`, `resumed`.
const fn past(paused: bool) -> &'static str {
    if paused { "paused" } else { "resumed" }
}

impl State {
    /// The queue that the cursor of screen 2's lower pane is on.
    pub fn queue_under_cursor(&self) -> Option<&Queue> {
        self.queue.as_deref().and_then(|name| self.queue_of(name))
    }

    /// The queue as it was read last, if it is listed.
    pub fn queue_of(&self, name: &str) -> Option<&Queue> {
        self.queues.read.as_ref()?.value.iter().find(|queue| queue.name == name)
    }

    /// Whether a queue is paused, as it was read last; one that is not listed was never paused.
    fn queue_state(&self, name: &str) -> QueueState {
        self.queue_of(name).map_or(QueueState::OPEN, |queue| queue.state.clone())
    }

    /// The decision about this queue that is not answered yet or stayed unresolved.
    pub fn asked_of_queue(&self, name: &str) -> Option<&QueueAsked> {
        self.acts.queues.iter().rev().find(|asked| asked.queue.as_str() == name)
    }

    /// What stands beside the row of a queue: `pause: asking…`.
    pub fn beside_queue(&self, name: &str) -> Option<String> {
        self.asked_of_queue(name).map(|asked| {
            let verb = asked.act.verb();
            match asked.phase {
                Phase::Asking => format!("{verb}: asking…"),
                Phase::Unknown => format!("{verb}: outcome unknown, checking…"),
                Phase::Unresolved => format!("{verb}: outcome not known"),
            }
        })
    }

    /// Who paused or resumed it last: `paused by bob 4 m ago: "bad import"`; none where nobody ever did.
    pub fn queue_changed(&self, state: &QueueState) -> Option<String> {
        let change = state.changed.as_ref()?;
        let (did, reason) = (past(state.paused), why(change.reason.as_deref()));
        Some(format!("{did} by {} {}{reason}", change.by, self.ago(change.at)))
    }

    /// How long the oldest due task of a queue has waited; none if nothing is due.
    pub fn oldest_in(&self, queue: &Queue) -> Option<Duration> {
        let arrived = self.queues.read.as_ref().map_or(self.now, |read| read.arrived);
        let ms = u64::try_from(queue.oldest_waiting_ms?).unwrap_or(0);
        Some(Duration::from_millis(ms) + self.since(arrived))
    }

    /// What a queue is and because of whom, as sentences.
    pub fn standing_of_queue(&self, queue: &Queue) -> String {
        let version = queue.state.version;
        let who = self.queue_changed(&queue.state);
        match (queue.state.paused, who) {
            (true, who) => {
                let who = who.unwrap_or_else(|| "paused".to_owned());
                format!(
                    "{who} (v{version}). Workers claim nothing from it; what runs goes on. `:resume {}` opens it \
                     again.",
                    queue.name
                )
            }
            (false, who) => {
                let who = who.map_or_else(String::new, |who| format!(" {who} (v{version})."));
                format!("open: {}.{who} `:pause {}` keeps workers from it.", takers(queue.takers), queue.name)
            }
        }
    }

    /// Why no queue may be paused or resumed in this session, if so.
    pub fn queues_denied(&self) -> Option<String> {
        match &self.session.access {
            Access::ReadOnly { reason } => Some(format!("read-only: {reason}")),
            Access::ReadWrite => self.session.queues_denied.clone(),
        }
    }

    /// `3 queues, 1 paused: bills`; none before the first read.
    pub fn queues_summary(&self) -> Option<String> {
        let queues = &self.queues.read.as_ref()?.value;
        let paused: Vec<&str> =
            queues.iter().filter(|queue| queue.state.paused).map(|queue| queue.name.as_str()).collect();
        let all = match queues.len() {
            0 => "no queue holds anything".to_owned(),
            1 => "1 queue".to_owned(),
            all => format!("{all} queues"),
        };
        Some(match paused.as_slice() {
            [] => format!("{all}, none paused"),
            paused => format!("{all}, {} paused: {}", paused.len(), paused.join(" ")),
        })
    }

    pub(super) fn queues_loaded(&mut self, queues: Vec<Queue>) {
        self.refresh.queues.answered(self.now);
        self.needs_draw = true;
        self.queues.failure = None;
        let at = self.queue_position();
        self.queues.read = Some(Read { value: queues, arrived: self.now });
        // A queue that has run empty leaves the list: the cursor stays on its line.
        if self.queue_under_cursor().is_none() {
            let queues = self.queues.read.iter().flat_map(|read| &read.value);
            let names: Vec<&String> = queues.map(|queue| &queue.name).collect();
            let place = at.min(names.len().saturating_sub(1));
            self.queue = names.get(place).map(|name| (*name).clone());
        }
        self.queues_seen();
    }

    pub(super) fn queues_failed(&mut self, failure: ReadFailure) {
        self.refresh.queues.failed(self.now);
        self.needs_draw |= self.queues.failure.as_ref() != Some(&failure);
        self.queues.failure = Some(failure);
    }

    fn queue_position(&self) -> usize {
        let queues = self.queues.read.as_ref().map_or(&[][..], |read| &read.value);
        queues.iter().position(|queue| Some(&queue.name) == self.queue.as_ref()).unwrap_or(0)
    }

    /// Moves the cursor of the lower pane.
    pub(super) fn move_queue(&mut self, step: Step) {
        let Some(read) = &self.queues.read else { return };
        let to = step.from(self.queue_position(), read.value.len());
        self.queue = read.value.get(to).map(|queue| queue.name.clone());
        let rows = self.viewport.list_rows.max(1);
        self.queues.offset = self.queues.offset.clamp((to + 1).saturating_sub(rows), to);
    }

    /// A decision that could not be resolved ends beside its row once the row tells that somebody decided since.
    fn queues_seen(&mut self) {
        let states: Vec<i64> =
            self.acts.queues.iter().map(|asked| self.queue_state(asked.queue.as_str()).version).collect();
        let mut states = states.into_iter();
        self.acts.queues.retain(|asked| {
            let now = states.next().unwrap_or_default();
            asked.phase != Phase::Unresolved || now == asked.version
        });
    }
}

/// `2 workers claim from it`, `no live worker claims from it`.
fn takers(takers: i64) -> String {
    match takers {
        ..=0 => "no live worker claims from it".to_owned(),
        1 => "1 worker claims from it".to_owned(),
        takers => format!("{} workers claim from it", thousands(takers)),
    }
}

/// `120 wait, the oldest for 4 m`, `nothing waits`.
fn waits(state: &State, queue: &Queue) -> String {
    let oldest =
        state.oldest_in(queue).map_or_else(String::new, |oldest| format!(", the oldest for {}", age(oldest)));
    match queue.waiting {
        ..=0 => "nothing waits".to_owned(),
        1 => format!("1 waits{}", oldest.replacen(", the oldest", "", 1)),
        waiting => format!("{} wait{oldest}", thousands(waiting)),
    }
}
