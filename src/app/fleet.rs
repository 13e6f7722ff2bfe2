//! An instance in words: what was asked of it, whether it does that already, and whether more can be asked.

use std::time::Duration;

use jiff::Timestamp;

use super::keys::Action;
use super::state::State;
use crate::domain::figure::age;
use crate::domain::{Instance, InstanceId, InstanceState, StopMode, StopRequest};

/// What an instance is asked for: `to drain`, `to cancel what it runs`.
pub const fn to(mode: StopMode) -> &'static str {
    match mode {
        StopMode::Drain => "to drain",
        StopMode::Cancel => "to cancel what it runs",
    }
}

/// `: "kernel update"`, or nothing where no reason was given. May hold text from the database.
pub fn why(reason: Option<&str>) -> String {
    reason.map_or_else(String::new, |reason| format!(": \"{reason}\""))
}

/// Whether an instance that was asked to stop does it: only its own heartbeat says so.
pub const fn obeys(state: InstanceState, mode: StopMode) -> bool {
    match mode {
        StopMode::Drain => !matches!(state, InstanceState::Working | InstanceState::Watching),
        StopMode::Cancel => {
            matches!(state, InstanceState::Canceling | InstanceState::Stopped | InstanceState::Lost)
        }
    }
}

impl State {
    /// The instance that screen 2's cursor is on.
    pub fn instance_under_cursor(&self) -> Option<&Instance> {
        self.instance.and_then(|id| self.instance_of(id))
    }

    /// The instance as it was read last, if it is listed.
    pub fn instance_of(&self, id: InstanceId) -> Option<&Instance> {
        self.instances.read.as_ref()?.value.iter().find(|instance| instance.id == id)
    }

    /// Whether this is the instance of this very process.
    pub fn is_here(&self, id: InstanceId) -> bool {
        self.local.as_ref().is_some_and(|local| local.value.instance == id)
    }

    /// What an instance is called in a sentence: `web2:991`, `this process`.
    pub fn called(&self, id: InstanceId, label: &str) -> String {
        if self.is_here(id) { "this process".to_owned() } else { label.to_owned() }
    }

    /// How long ago a moment on the database's clock was, as far as the latest read tells: `4 s ago`.
    pub fn ago(&self, moment: Timestamp) -> String {
        let passed = self.wall(self.now).map(|wall| wall.duration_since(moment));
        let passed = passed.and_then(|passed| Duration::try_from(passed).ok()).unwrap_or_default();
        format!("{} ago", age(passed))
    }

    /// `bob asked it to drain 4 s ago`.
    pub fn who_asked(&self, request: &StopRequest) -> String {
        format!("{} asked it {} {}", request.by, to(request.mode), self.ago(request.at))
    }

    /// What was asked of an instance, in few words for its row, the gravest first: `by bob 4 s ago` beside what it
    /// does, and where it does not do it yet, `drain not seen yet, by bob 1 s ago`.
    pub fn asked_briefly(&self, instance: &Instance) -> Option<String> {
        let request = instance.stop.as_ref()?;
        let by = format!("by {} {}", request.by, self.ago(request.at));
        let obeys = obeys(instance.state, request.mode);
        Some(if obeys { by } else { format!("{} not seen yet, {by}", request.mode.as_str()) })
    }

    /// What an instance does and because of whom, as a sentence.
    pub fn standing_of(&self, instance: &Instance) -> String {
        let state = instance.state.as_str();
        let asked = instance.stop.as_ref().map(|request| {
            (request, format!("{}{}", self.who_asked(request), why(request.reason.as_deref())))
        });
        match (&asked, instance.state) {
            (
                Some((request, asked)),
                InstanceState::Working | InstanceState::Draining | InstanceState::Canceling,
            ) if !obeys(instance.state, request.mode) => {
                format!("{state}; {asked}; it has not seen that yet")
            }
            (Some((request, asked)), InstanceState::Canceling) if request.mode == StopMode::Drain => {
                format!("canceling: {asked}, and what ran on after its grace time was asked to stop")
            }
            // That was not what ended it.
            (Some((_, asked)), InstanceState::Lost) => {
                format!("lost: its lease passed without a heartbeat; before that, {asked}")
            }
            (Some((_, asked)), _) => format!("{state}: {asked}"),
            (None, InstanceState::Working) => "working: claims and runs tasks".to_owned(),
            (None, InstanceState::Watching) => {
                "watching: claims nothing, takes back what others lose".to_owned()
            }
            (None, InstanceState::Draining) => {
                "draining: its own operator or a signal asked; claims nothing more".to_owned()
            }
            (None, InstanceState::Canceling) => {
                "canceling: its own operator or a signal asked; what it runs was asked to stop".to_owned()
            }
            (None, InstanceState::Stopped) => "stopped in good order: nothing of it runs".to_owned(),
            (None, InstanceState::Lost) => "lost: its lease passed without a heartbeat".to_owned(),
        }
    }

    /// Whether an instance can be asked for this, by everything that is known of it.
    ///
    /// # Errors
    /// Says why not.
    pub fn can_be_asked(&self, instance: &Instance, mode: StopMode) -> Result<(), String> {
        let name = self.called(instance.id, &instance.label());
        let cancel = self.keymap.label(Action::Cancel);
        match (instance.state, &instance.stop) {
            (InstanceState::Stopped, _) => Err(format!("{name} has stopped: nothing of it runs")),
            (InstanceState::Lost, _) => Err(format!("{name} is lost: others take back what it ran")),
            (InstanceState::Watching, _) if self.is_here(instance.id) => {
                let quit = self.keymap.label(Action::Quit);
                Err(format!("this process only watches: it runs nothing that could drain; {quit} ends it"))
            }
            (InstanceState::Watching, _) => Err(format!(
                "{name} only watches: it runs nothing that could drain; its own operator or SIGTERM ends it"
            )),
            (_, Some(request)) if request.mode == StopMode::Cancel => {
                Err(format!("{}; more cannot be asked", self.who_asked(request)))
            }
            (InstanceState::Canceling, _) => Err("what it runs was asked to stop already".to_owned()),
            (_, Some(request)) if mode == StopMode::Drain => {
                Err(format!("{} already; {cancel} asks what it runs to stop", self.who_asked(request)))
            }
            (InstanceState::Draining, None) if mode == StopMode::Drain => Err(format!(
                "it drains already, as its own operator or a signal asked; {cancel} asks what it runs to stop"
            )),
            _ => Ok(()),
        }
    }

    /// Why nothing at all can be asked of this instance, if so.
    pub(super) fn asks_nothing(&self, instance: &Instance) -> Option<String> {
        let [drain, cancel] = StopMode::ALL.map(|mode| self.can_be_asked(instance, mode));
        drain.err().filter(|_| cancel.is_err())
    }
}
