//! Asking instances to stop: the question, the request under way, its answer.
//!
//! Invariant: a request carries the version of each instance's row that was on screen when the key was pressed. Each
//! instance is asked by itself, so one that has moved on spares none of the others; and what an instance does is
//! shown only once its own row says so.

mod answer;
mod named;
mod question;

pub use answer::{StopConflict, StopConflictRow};
pub use question::{StopQuestion, StopRow, StopStanding};

use super::acts::Phase;
use super::effect::RequestId;
use super::state::State;
use crate::domain::instance::SeenInstance;
use crate::domain::{InstanceId, StopMode};

/// A request that was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StopAct {
    /// Its number.
    pub request: RequestId,
    /// What was asked for.
    pub mode: StopMode,
    /// Of which instances, each as it was seen.
    pub instances: Vec<Asked>,
    /// How far it is.
    pub phase: Phase,
}

/// An instance that was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// As it was seen.
    pub seen: SeenInstance,
    /// What it is called: `web2:991`, `this process`.
    pub name: String,
}

impl StopAct {
    fn is_on(&self, id: InstanceId) -> bool {
        self.instances.iter().any(|asked| asked.seen.id == id)
    }

    /// `drain web2:991`, `cancel what 3 instances run`.
    fn named(&self) -> String {
        let names: Vec<&str> = self.instances.iter().map(|asked| asked.name.as_str()).collect();
        named(self.mode, &names)
    }
}

/// `drain web2:991`, `cancel what 3 instances run`.
fn named(mode: StopMode, names: &[&str]) -> String {
    match (mode, names) {
        (StopMode::Drain, [name]) => format!("drain {name}"),
        (StopMode::Drain, names) => format!("drain {} instances", names.len()),
        (StopMode::Cancel, [name]) => format!("cancel what {name} runs"),
        (StopMode::Cancel, names) => format!("cancel what {} instances run", names.len()),
    }
}

impl State {
    /// The request about this instance that is not answered yet or stayed unresolved.
    pub fn stop_on(&self, id: InstanceId) -> Option<&StopAct> {
        self.acts.stops.iter().rev().find(|act| act.is_on(id))
    }

    /// What stands beside the row of an instance: `drain: asking…`.
    pub fn beside_instance(&self, id: InstanceId) -> Option<String> {
        self.stop_on(id).map(|act| {
            let mode = act.mode.as_str();
            match act.phase {
                Phase::Asking => format!("{mode}: asking…"),
                Phase::Unknown => format!("{mode}: outcome unknown, checking…"),
                Phase::Unresolved => format!("{mode}: outcome not known"),
            }
        })
    }

    /// A request that could not be resolved ends beside its row once the row tells that somebody asked since.
    pub(super) fn stops_seen(&mut self) {
        let Some(read) = &self.instances.read else { return };
        let moved = |seen: SeenInstance| {
            let row = read.value.iter().find(|instance| instance.id == seen.id);
            row.is_none_or(|row| row.stop_version != seen.stop_version || !row.state.is_alive())
        };
        self.acts.stops.retain(|act| {
            act.phase != Phase::Unresolved || !act.instances.iter().all(|asked| moved(asked.seen))
        });
    }
}
