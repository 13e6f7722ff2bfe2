//! `:pause QUEUE [REASON]` and `:resume QUEUE [REASON]`. A queue that is listed must have been on screen: a name alone
//! does not say as what the operator saw it.

use super::super::acts::Phase;
use super::super::state::{Screen, State, WorkersPane};
use crate::domain::Name;
use crate::domain::queue::QueueAct;

impl State {
    /// Runs `:pause` or `:resume`.
    pub(in crate::app) fn queue_named(&mut self, act: QueueAct, rest: &str) {
        let verb = act.verb();
        if let Some(denied) = self.queues_denied() {
            return self.hint(denied);
        }
        if self.screen != Screen::Workers {
            self.show(Screen::Workers);
            self.workers_pane = WorkersPane::Queues;
            return self
                .hint("the queues were not on screen; here they are. Look, then ask again (: and Up)");
        }
        let (name, reason) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        let under_cursor = self.queue.clone().filter(|_| self.workers_pane == WorkersPane::Queues);
        let name = match (name, under_cursor) {
            ("", Some(name)) => name,
            ("", None) => return self.hint(format!("{verb}: write the queue's name; Tab shows them")),
            (name, _) => name.to_owned(),
        };
        let name = match Name::new("queue", &name) {
            Ok(name) => name,
            Err(refusal) => return self.hint(format!("{verb}: {refusal}")),
        };
        match self.seen_version(&name) {
            Ok(version) => self.ask_queue(act, name, version, reason.trim()),
            Err(why) => {
                self.workers_pane = WorkersPane::Queues;
                self.hint(format!("{verb}: {why}"));
            }
        }
    }

    /// The version of a queue as it was drawn; one that is not listed holds nothing and was never paused.
    fn seen_version(&self, name: &Name) -> Result<i64, String> {
        if self.queues.read.is_none() {
            return Err("the queues have not been read yet".to_owned());
        }
        match (self.queue_of(name.as_str()), self.drawn.queue(name.as_str())) {
            (None, _) => Ok(0),
            (Some(_), Some(version)) => Ok(version),
            (Some(_), None) => Err(format!("queue {name} has not been on screen yet: look at it, then act")),
        }
    }

    /// The queues that `:pause` or `:resume` could be about.
    pub(in crate::app) fn queue_words(&self, act: QueueAct) -> Vec<String> {
        let busy =
            |name: &str| self.asked_of_queue(name).is_some_and(|asked| asked.phase != Phase::Unresolved);
        let queues = self.queues.read.iter().flat_map(|read| &read.value);
        let fitting = queues.filter(|queue| queue.state.paused != act.pauses() && !busy(&queue.name));
        fitting.map(|queue| queue.name.clone()).collect()
    }
}
