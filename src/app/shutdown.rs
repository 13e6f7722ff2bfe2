//! The end of this process: asked, drained, canceled, left.
//!
//! Invariant: `Quit` is sent only when this process's workers said that they have stopped with nothing left and the
//! outcome of every write is known; every other end is a `Leave` that names what stays behind.

use std::time::Duration;

use super::effect::{Effect, ShutdownMode};
use super::fleet::to;
use super::keys::Action;
use super::log::{Level, Source};
use super::message::Signal;
use super::overlay::Overlay;
use super::state::State;
use crate::domain::figure::age;
use crate::domain::{InstanceState, StopMode, StopRequest, TaskId};

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

    /// What somebody asked of this process's workers.
    fn asked_here(&self) -> Option<&StopRequest> {
        self.local.as_ref().and_then(|read| read.value.asked_to_stop.as_ref())
    }

    /// How many tasks this process holds: running, or claimed and waiting for a slot.
    pub fn in_flight(&self) -> usize {
        self.local.as_ref().map_or(0, |read| read.value.running.len() + read.value.buffered)
    }

    /// How many writes wait for their answer.
    pub fn unanswered(&self) -> usize {
        self.acts.waiting() + usize::from(self.submit.waits().is_some()) + usize::from(self.bulk_runs())
    }

    /// How many writes ended without anybody knowing what became of them.
    fn unresolved(&self) -> usize {
        self.acts.unresolved() + usize::from(self.submit.unresolved.is_some()) + self.bulk.unresolved
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
        // Whoever wants to end wants no more chunks sent; that it was so is told.
        self.stop_bulk();
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
        self.tell_bulk(effects);
        effects.push(Effect::Leave { tasks, unanswered: self.unanswered() + self.unresolved() });
    }

    /// Ends the process once its workers have stopped and every write is answered. What they could not finish, and
    /// what nobody knows the outcome of, is named.
    pub(super) fn settle_shutdown(&mut self, effects: &mut Vec<Effect>) {
        let Some(shutdown) = self.shutdown.filter(|shutdown| shutdown.phase != ShutdownPhase::Asked) else {
            return;
        };
        let workers = self.local.as_ref().map(|read| read.value.state);
        if workers == Some(InstanceState::Canceling) && shutdown.phase == ShutdownPhase::Draining {
            let text = match self.asked_here() {
                Some(request) if request.mode == StopMode::Cancel => {
                    format!("{} asked for it: what still runs was asked to stop", request.by)
                }
                _ => "the time to drain is over: what still runs was asked to stop".to_owned(),
            };
            self.log.push(self.now, Level::Warn, Source::Workers, text);
            self.set_phase(ShutdownPhase::Canceling, shutdown.asked_by);
        }
        let stopped = !self.has_workers() || workers == Some(InstanceState::Stopped);
        if !stopped || self.unanswered() > 0 {
            return;
        }
        if self.in_flight() == 0 && self.unresolved() == 0 {
            self.ended = true;
            self.tell_bulk(effects);
            effects.push(Effect::Quit);
        } else {
            self.leave(effects);
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
            // It does not end by itself: Esc was offered, and the next claim may come before any key does.
            (Some(Action::Quit | Action::Open), Some(ShutdownPhase::Asked)) if self.in_flight() == 0 => {
                self.begin(ShutdownMode::Drain, AskedBy::Key, effects);
            }
            (_, Some(ShutdownPhase::Asked)) if self.in_flight() == 0 => {
                let quit = self.keymap.label(Action::Quit);
                self.hint(format!("nothing is left to wait for: {quit} or Enter ends now, Esc stays"));
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

/// What the shutdown question or its progress says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// `2 tasks are running here`.
    pub title: String,
    /// What somebody asked of these workers before: they claim nothing more already.
    pub asked: Option<String>,
    /// Whether the question stands and there is nothing left to choose about.
    pub nothing_left: bool,
    /// How far it is: a word and the rest of the line; none while the question stands.
    pub progress: Option<(&'static str, String)>,
    /// One line a task that still runs here.
    pub running: Vec<RunLine>,
    /// A decision about all that match that stops after its chunk.
    pub bulk: Option<String>,
    /// Writes without an answer.
    pub unanswered: Option<String>,
    /// What Ctrl-C does now, and what it does once more; none while the question stands.
    pub next: Option<(&'static str, Option<&'static str>)>,
    /// What leaving means for what still runs.
    pub left_behind: Option<String>,
}

/// A task that still runs here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunLine {
    /// The task.
    pub id: TaskId,
    /// For how long: `16 s`.
    pub age: String,
    /// `here/2`, and what is being done.
    pub doing: String,
    /// Whether it was asked to stop.
    pub asked_to_stop: bool,
}

/// What the shutdown question or its progress says; none while nobody wants to end.
pub fn said(state: &State) -> Option<Said> {
    let shutdown = state.shutdown?;
    let local = state.local.as_ref();
    let running: Vec<_> = local
        .into_iter()
        .flat_map(|read| read.value.running.iter().map(|run| (run, state.since(read.arrived))))
        .map(|(run, passed)| RunLine {
            id: run.id,
            age: age(run.for_ + passed),
            doing: format!(
                "here/{}  {}",
                run.slot,
                if run.finishing { "writing the result" } else { &run.doing }
            ),
            asked_to_stop: run.cancel_requested,
        })
        .collect();
    let waiting = local.map_or(0, |read| read.value.buffered);
    let title = match running.len() {
        0 if waiting > 0 => format!("{waiting} claimed and not begun here"),
        0 if shutdown.phase == ShutdownPhase::Asked => "Nothing is running here any more".to_owned(),
        0 => "Nothing is running here".to_owned(),
        1 => "1 task is running here".to_owned(),
        count => format!("{count} tasks are running here"),
    };
    let waited = minutes(state.since(shutdown.since));
    // Where somebody asked for the drain, its grace time began with that.
    let asked = state.asked_here();
    let grace = if asked.is_some() { Duration::ZERO } else { state.session.grace };
    let asked = asked.map(|request| {
        format!("{} asked these workers {} {}.", request.by, to(request.mode), state.ago(request.at))
    });
    let left = running.len();
    let (progress, next) = match shutdown.phase {
        ShutdownPhase::Asked => (None, None),
        ShutdownPhase::Draining => {
            let of = if grace.is_zero() { String::new() } else { format!(" of {}", minutes(grace)) };
            let line = format!("{left} left   waiting {waited}{of}");
            (Some(("draining", line)), Some(("cancel them", Some("leave at once"))))
        }
        ShutdownPhase::Canceling => (
            Some(("asked to stop", format!("{left} left   waiting {waited}"))),
            Some(("leave at once", None)),
        ),
    };
    let lease = local.map(|read| read.value.lease_left.saturating_sub(state.since(read.arrived)));
    let lease = match lease.filter(|left| !left.is_zero()) {
        Some(left) => format!("the lease ends in {}", age(left)),
        None => "the lease is recovered".to_owned(),
    };
    let bulk = state.bulk.run.as_ref().filter(|run| !run.has_ended());
    let bulk = bulk.map(|run| format!("{}; it stops after the chunk under way.", run.progress()));
    let unanswered = match state.unanswered() - usize::from(bulk.is_some()) {
        0 => None,
        1 => Some("1 of your acts waits for the database's answer.".to_owned()),
        count => Some(format!("{count} of your acts wait for the database's answer.")),
    };
    Some(Said {
        title,
        asked,
        nothing_left: shutdown.phase == ShutdownPhase::Asked && state.in_flight() == 0,
        progress,
        running,
        bulk,
        unanswered,
        next,
        left_behind: next.map(|_| format!("Tasks left behind stay RUNNING until {lease}; then they run again, or are CANCELED if that was asked.")),
    })
}

fn minutes(duration: Duration) -> String {
    let seconds = duration.as_secs();
    format!("{:02}:{:02}", seconds / 60, seconds % 60)
}
