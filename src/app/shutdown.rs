//! The end of this process: asked, drained, canceled, left.
//!
//! Invariant: `Quit` is sent only when this process's workers said that nothing of theirs runs and every write
//! is answered; what ends earlier is a `Leave` that names what stays behind.

use std::time::Duration;

use super::effect::{Effect, ShutdownMode};
use super::keys::Action;
use super::log::{Level, Source};
use super::message::Signal;
use super::overlay::Overlay;
use super::state::State;
use crate::domain::InstanceState;
use crate::domain::figure::age;

/// How far the end is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shutdown {
    /// How far it is.
    pub phase: ShutdownPhase,
    /// Since when it is in this phase, since the program's start.
    pub since: Duration,
    /// Who asked for it.
    pub asked_by: AskedBy,
}

/// How far the end is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShutdownPhase {
    /// The operator has been asked how; nothing was begun.
    Asked,
    /// Nothing more is claimed; what runs is waited for.
    Draining,
    /// What runs was asked to stop and is waited for.
    Canceling,
}

/// Who asked for the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AskedBy {
    /// A key such as `q`.
    Key,
    /// Ctrl-C.
    Interrupt,
    /// A signal; there is nobody to answer questions.
    Signal,
}

impl State {
    /// Whether this process has workers that must have stopped before it may say so.
    fn has_workers(&self) -> bool {
        let told = self.local.as_ref().map(|read| read.value.state);
        self.session.workers > 0 || told.is_some_and(|state| state != InstanceState::Watching)
    }

    /// How many tasks this process holds: running, or claimed and waiting for a slot.
    pub fn in_flight(&self) -> usize {
        self.local.as_ref().map_or(0, |read| read.value.running.len() + read.value.buffered)
    }

    /// How many writes wait for their answer.
    pub fn unanswered(&self) -> usize {
        self.acts.waiting() + usize::from(self.submit.waits().is_some())
    }

    /// The operator wants the process to end.
    pub(super) fn quit(&mut self, asked_by: AskedBy, effects: &mut Vec<Effect>) {
        if self.shutdown.is_some() {
            self.show_shutdown();
            return;
        }
        if !self.submit.text.is_empty() && self.submit.waits().is_none() {
            self.set_phase(ShutdownPhase::Asked, asked_by);
            self.overlays.push(Overlay::Unsent);
        } else {
            self.ask_how(asked_by, effects);
        }
    }

    /// With tasks in flight the end is a choice; with none it begins.
    fn ask_how(&mut self, asked_by: AskedBy, effects: &mut Vec<Effect>) {
        if self.in_flight() > 0 {
            self.set_phase(ShutdownPhase::Asked, asked_by);
            self.show_shutdown();
        } else {
            self.begin(ShutdownMode::Drain, asked_by, effects);
        }
    }

    /// Ctrl-C: asks; again moves on to cancel; once more leaves.
    pub(super) fn interrupt(&mut self, effects: &mut Vec<Effect>) {
        match self.shutdown {
            None => self.quit(AskedBy::Interrupt, effects),
            Some(Shutdown { phase: ShutdownPhase::Asked, asked_by, .. }) => match asked_by {
                AskedBy::Interrupt => self.begin(ShutdownMode::Cancel, AskedBy::Interrupt, effects),
                AskedBy::Key if self.overlay() == Some(&Overlay::Unsent) => {
                    self.overlays.pop();
                    self.ask_how(AskedBy::Interrupt, effects);
                }
                AskedBy::Key | AskedBy::Signal => {
                    self.begin(ShutdownMode::Drain, AskedBy::Interrupt, effects);
                }
            },
            Some(Shutdown { phase: ShutdownPhase::Draining, .. }) => {
                self.begin(ShutdownMode::Cancel, AskedBy::Interrupt, effects);
            }
            Some(Shutdown { phase: ShutdownPhase::Canceling, .. }) => self.leave(effects),
        }
    }

    /// A signal asks nobody.
    pub(super) fn signal(&mut self, signal: Signal, effects: &mut Vec<Effect>) {
        let phase = self.shutdown.map(|shutdown| shutdown.phase);
        match (signal, phase) {
            (Signal::Interrupt, _) => self.interrupt(effects),
            (_, None | Some(ShutdownPhase::Asked)) => {
                self.begin(ShutdownMode::Drain, AskedBy::Signal, effects);
            }
            (Signal::Terminate, Some(ShutdownPhase::Draining)) => {
                self.begin(ShutdownMode::Cancel, AskedBy::Signal, effects);
            }
            (Signal::Terminate, Some(ShutdownPhase::Canceling)) => self.leave(effects),
            // A terminal that is gone says so once or often; the drain goes on.
            (Signal::Hangup, Some(_)) => {}
        }
    }

    fn set_phase(&mut self, phase: ShutdownPhase, asked_by: AskedBy) {
        self.shutdown = Some(Shutdown { phase, since: self.now, asked_by });
        self.needs_draw = true;
    }

    fn show_shutdown(&mut self) {
        self.overlays.retain(|overlay| *overlay != Overlay::Shutdown);
        self.overlays.push(Overlay::Shutdown);
    }

    fn begin(&mut self, mode: ShutdownMode, asked_by: AskedBy, effects: &mut Vec<Effect>) {
        let (phase, text) = match mode {
            ShutdownMode::Drain => {
                (ShutdownPhase::Draining, "ending: nothing more is claimed, what runs is waited for")
            }
            ShutdownMode::Cancel => (ShutdownPhase::Canceling, "ending: what runs here was asked to stop"),
        };
        self.set_phase(phase, asked_by);
        self.log.push(self.now, Level::Warn, Source::Operator, text.to_owned());
        self.overlays.retain(|overlay| *overlay != Overlay::Unsent);
        self.show_shutdown();
        if self.has_workers() {
            effects.push(Effect::Shutdown(mode));
        }
    }

    fn leave(&mut self, effects: &mut Vec<Effect>) {
        let mut tasks: Vec<_> =
            self.local.iter().flat_map(|read| read.value.running.iter().map(|run| run.id)).collect();
        tasks.sort_unstable();
        self.ended = true;
        effects.push(Effect::Leave { tasks, unanswered: self.unanswered() });
    }

    /// Ends the process once nothing of it is in flight; never before its workers said so.
    pub(super) fn settle_shutdown(&mut self, effects: &mut Vec<Effect>) {
        let Some(shutdown) = self.shutdown.filter(|shutdown| shutdown.phase != ShutdownPhase::Asked) else {
            return;
        };
        let workers = self.local.as_ref().map(|read| read.value.state);
        if workers == Some(InstanceState::Canceling) && shutdown.phase == ShutdownPhase::Draining {
            self.log.push(
                self.now,
                Level::Warn,
                Source::Workers,
                "the time to drain is over: what still runs was asked to stop".to_owned(),
            );
            self.set_phase(ShutdownPhase::Canceling, shutdown.asked_by);
        }
        let stopped = !self.has_workers() || workers == Some(InstanceState::Stopped);
        if stopped && self.in_flight() == 0 && self.unanswered() == 0 {
            self.ended = true;
            effects.push(Effect::Quit);
        }
    }

    /// A key while the shutdown question or its progress is on top.
    pub(super) fn shutdown_key(&mut self, action: Option<Action>, effects: &mut Vec<Effect>) {
        let phase = self.shutdown.map(|shutdown| shutdown.phase);
        match (action, phase) {
            (_, None) => {
                self.overlays.pop();
            }
            (Some(Action::Back), Some(ShutdownPhase::Asked)) => {
                self.overlays.pop();
                self.shutdown = None;
            }
            (Some(Action::Back), Some(_)) => {
                self.overlays.pop();
                let key = self.keymap.label(Action::Quit);
                self.hint(format!("still ending; {key} shows how far it is"));
            }
            (Some(Action::ShutdownDrain), Some(ShutdownPhase::Asked)) => {
                self.begin(ShutdownMode::Drain, AskedBy::Key, effects);
            }
            (Some(Action::ShutdownDrain), Some(ShutdownPhase::Draining)) => self.hint("already draining"),
            (Some(Action::ShutdownDrain), Some(ShutdownPhase::Canceling)) => {
                self.hint("what runs was asked to stop already; that cannot be taken back");
            }
            (Some(Action::ShutdownCancel), Some(ShutdownPhase::Asked | ShutdownPhase::Draining)) => {
                self.begin(ShutdownMode::Cancel, AskedBy::Key, effects);
            }
            (Some(Action::ShutdownCancel), Some(ShutdownPhase::Canceling)) => {
                self.hint("already asked to stop; Ctrl-C leaves at once");
            }
            _ => self.hint("d drains, c cancels what runs here, Esc stays"),
        }
    }

    /// A key while the question about an unsent text is on top.
    pub(super) fn unsent_key(&mut self, action: Option<Action>, effects: &mut Vec<Effect>) {
        let asked_by = self.shutdown.map_or(AskedBy::Key, |shutdown| shutdown.asked_by);
        match action {
            Some(Action::Yes) => {
                self.overlays.pop();
                self.ask_how(asked_by, effects);
            }
            Some(Action::No | Action::Back) => {
                self.overlays.pop();
                self.shutdown = None;
            }
            _ => self.hint("y ends without submitting the text, n or Esc stays"),
        }
    }
}

/// What the shutdown question or its progress says: first the title.
pub fn lines(state: &State) -> Vec<String> {
    let Some(shutdown) = state.shutdown else { return Vec::new() };
    let local = state.local.as_ref().map(|read| &read.value);
    let count = |n: usize| if n == 1 { "1 task is".to_owned() } else { format!("{n} tasks are") };
    let in_flight = state.in_flight();
    let mut lines = vec![format!("{} running here", count(in_flight))];
    let clock = |duration: Duration| format!("{:02}:{:02}", duration.as_secs() / 60, duration.as_secs() % 60);
    let waited = clock(state.since(shutdown.since));
    match shutdown.phase {
        ShutdownPhase::Asked => {
            lines.push("d    drain: claim nothing more, wait for these".to_owned());
            lines.push("c    cancel: ask them to stop, wait until they have".to_owned());
            lines.push("Esc  stay".to_owned());
        }
        ShutdownPhase::Draining => {
            lines.push(format!(
                "draining   {in_flight} left   waiting {waited} of {}",
                clock(state.session.grace)
            ));
        }
        ShutdownPhase::Canceling => lines.push(format!("canceling   {in_flight} left   waiting {waited}")),
    }
    for run in local.iter().flat_map(|local| &local.running) {
        let age =
            age(run.for_ + state.local.as_ref().map_or(Duration::ZERO, |read| state.since(read.arrived)));
        let asked = if run.cancel_requested { "  asked to stop" } else { "" };
        lines.push(format!("{}  RUNNING {age}  here/{}  {}{asked}", run.id, run.slot, run.doing));
    }
    if state.unanswered() > 0 && shutdown.phase != ShutdownPhase::Asked {
        lines.push(format!("{} writes wait for their answer", state.unanswered()));
    }
    let held_for = local.map_or(Duration::ZERO, |local| local.lease_left);
    let leave = format!(
        "leave at once (they stay RUNNING until the lease ends in {}, then run again)",
        age(held_for)
    );
    match shutdown.phase {
        ShutdownPhase::Asked => {}
        ShutdownPhase::Draining => lines.push(format!("Ctrl-C: cancel them; again: {leave}")),
        ShutdownPhase::Canceling => lines.push(format!("Ctrl-C: {leave}")),
    }
    lines
}
