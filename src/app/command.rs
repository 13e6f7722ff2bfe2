//! The command line: its verbs, its completions, what was typed before.

use std::collections::BTreeSet;

use super::availability::{decision, refusal};
use super::effect::Effect;
use super::fields::{name, number};
use super::keys::Action;
use super::overlay::Overlay;
use super::question::AskedFrom;
use super::shutdown::AskedBy;
use super::state::{Pane, Screen, State};
use crate::domain::observed::{Filter, Listed};
use crate::domain::queue::QueueAct;
use crate::domain::text::visible;
use crate::domain::{DecisionKind, Status};

/// Stands for all that match the filter of the list where numbers of tasks could stand.
const ALL: &str = "--all";

/// Commands that were typed, oldest first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CommandHistory(pub Vec<String>);

/// A verb of the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Verb {
    /// Its name.
    pub name: &'static str,
    /// What may follow: `ID...`.
    pub argument: &'static str,
    /// What it does.
    pub long: &'static str,
}

/// The verbs, in the order of help.
pub const VERBS: &[Verb] = &[
    Verb { name: "goto", argument: "ID", long: "show this task" },
    Verb {
        name: "cancel",
        argument: "[ID...]",
        long: "cancel these tasks, or the one under the cursor; --all: all that match the filter",
    },
    Verb { name: "requeue", argument: "[ID...]", long: "requeue them" },
    Verb { name: "approve", argument: "[ID...]", long: "approve them" },
    Verb { name: "reject", argument: "[ID...]", long: "reject them" },
    Verb { name: "submit", argument: "[TEXT]", long: "write a text; Ctrl-S submits it" },
    Verb { name: "lines", argument: "FILE", long: "submit each line of a file as a task" },
    Verb {
        name: "stop",
        argument: "[INSTANCE...]",
        long: "ask them, or the one under the cursor, to drain; --all: all; --mode cancel: to cancel what they run",
    },
    Verb {
        name: "pause",
        argument: "[QUEUE]",
        long: "let workers claim nothing more from it; a reason may follow",
    },
    Verb { name: "resume", argument: "[QUEUE]", long: "let them claim from it again" },
    Verb { name: "filter", argument: "[STATE...]", long: "show only these states; none: all" },
    Verb { name: "tenant", argument: "[NAME]", long: "show only this tenant's tasks; none: all" },
    Verb { name: "queue", argument: "[NAME]", long: "show only this queue's tasks; none: all" },
    Verb { name: "search", argument: "[TEXT]", long: "show only texts that contain this; none: all" },
    Verb { name: "tasks", argument: "", long: "screen 1" },
    Verb { name: "workers", argument: "", long: "screen 2" },
    Verb { name: "database", argument: "", long: "screen 3" },
    Verb { name: "log", argument: "", long: "screen 5" },
    Verb { name: "help", argument: "", long: "what every key does" },
    Verb { name: "quit", argument: "", long: "end this process; with tasks in flight it asks how" },
];

impl CommandHistory {
    /// How many commands are kept.
    pub const KEPT: usize = 100;

    fn push(&mut self, command: &str) {
        self.0.retain(|other| other != command);
        self.0.push(command.to_owned());
        if self.0.len() > Self::KEPT {
            self.0.remove(0);
        }
    }
}

/// The whole lines that `typed` can be completed to.
pub fn completions(state: &State, typed: &str) -> Vec<String> {
    let Some((verb, rest)) = typed.split_once(' ') else {
        return VERBS
            .iter()
            .filter(|verb| verb.name.starts_with(typed.trim_start()))
            .map(
                |verb| {
                    if verb.argument.is_empty() { verb.name.to_owned() } else { format!("{} ", verb.name) }
                },
            )
            .collect();
    };
    let (before, last) = rest.rsplit_once(' ').map_or(("", rest), |(before, last)| (before, last));
    let words: BTreeSet<String> = match verb {
        "cancel" | "requeue" | "approve" | "reject" if before.is_empty() => BTreeSet::from([ALL.to_owned()]),
        "stop" => state.stop_words(before).into_iter().collect(),
        "pause" if before.is_empty() => state.queue_words(QueueAct::Pause).into_iter().collect(),
        "resume" if before.is_empty() => state.queue_words(QueueAct::Resume).into_iter().collect(),
        "filter" => Status::ALL.into_iter().map(|status| status.as_str().to_lowercase()).collect(),
        "tenant" => state.list.rows.iter().filter_map(Listed::task).map(|task| task.tenant.clone()).collect(),
        "queue" => state.list.rows.iter().filter_map(Listed::task).map(|task| task.queue.clone()).collect(),
        _ => BTreeSet::new(),
    };
    let head = if before.is_empty() { verb.to_owned() } else { format!("{verb} {before}") };
    words
        .into_iter()
        .filter(|word| word.to_lowercase().starts_with(&last.to_lowercase()))
        .map(|word| format!("{head} {word}"))
        .collect()
}

impl State {
    /// Runs a command that was typed.
    pub(super) fn run_command(&mut self, text: &str, effects: &mut Vec<Effect>) {
        let text = text.trim();
        if text.is_empty() {
            return;
        }
        self.commands.push(text);
        let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        let rest = rest.trim();
        if let Some(id) = number(word) {
            self.go_to(id);
            return;
        }
        let mut found = VERBS.iter().filter(|verb| verb.name.starts_with(word));
        let verb = match (VERBS.iter().find(|verb| verb.name == word), found.next(), found.next()) {
            (Some(verb), _, _) | (None, Some(verb), None) => verb.name,
            (None, Some(one), Some(other)) => {
                self.hint(format!("`{word}` may be {} or {}; write more of it", one.name, other.name));
                return;
            }
            (None, None, _) => {
                self.hint(format!("`{}` is not a command; Tab shows them", visible(word)));
                return;
            }
        };
        match verb {
            "goto" => match number(rest) {
                Some(id) => self.go_to(id),
                None => self.hint("goto: write the task's number"),
            },
            "cancel" => self.decide_ids(Action::Cancel, rest),
            "requeue" => self.decide_ids(Action::Requeue, rest),
            "approve" => self.decide_ids(Action::Approve, rest),
            "reject" => self.decide_ids(Action::Reject, rest),
            "stop" => self.stop_named(rest),
            "pause" => self.queue_named(QueueAct::Pause, rest),
            "resume" => self.queue_named(QueueAct::Resume, rest),
            "submit" => match self.submit_denied() {
                Some(denied) => self.hint(denied),
                None => self.open_editor(Some(rest)),
            },
            "lines" => self.ask_lines(rest),
            "filter" => self.filter_states(rest),
            "tenant" => match name("tenant", rest) {
                Ok(tenant) => self.show_filtered(Filter { tenant, ..self.list.filter.clone() }),
                Err(why) => self.hint(why),
            },
            "queue" => match name("queue", rest) {
                Ok(queue) => self.show_filtered(Filter { queue, ..self.list.filter.clone() }),
                Err(why) => self.hint(why),
            },
            "search" => {
                self.screen = Screen::Tasks;
                self.search(rest);
            }
            "tasks" => self.screen = Screen::Tasks,
            "workers" => self.screen = Screen::Workers,
            "database" => self.screen = Screen::Database,
            "log" => self.screen = Screen::Log,
            "help" => self.overlays.push(Overlay::Help { scroll: 0 }),
            _ => self.quit(AskedBy::Key, effects),
        }
    }

    fn show_filtered(&mut self, filter: Filter) {
        self.screen = Screen::Tasks;
        self.set_filter(filter);
    }

    fn filter_states(&mut self, rest: &str) {
        let words = rest.split([' ', ',']).filter(|word| !word.is_empty());
        match words.map(str::parse::<Status>).collect::<Result<Vec<_>, _>>() {
            Ok(mut statuses) => {
                statuses.sort_unstable();
                statuses.dedup();
                self.show_filtered(Filter { statuses, ..self.list.filter.clone() });
            }
            Err(unknown) => self.hint(unknown.to_string()),
        }
    }

    fn ask_lines(&mut self, path: &str) {
        if let Some(denied) = self.submit_denied() {
            self.hint(denied);
        } else if path.is_empty() {
            self.hint("lines: write the file's name; each of its lines becomes a task");
        } else {
            match self.acts.lines_of(path) {
                Some(_) => self
                    .hint(format!("already submitting the lines of {}: wait for the answer", visible(path))),
                None => self.overlays.push(Overlay::SubmitLines { path: path.to_owned() }),
            }
        }
    }

    /// Asks about all that match the filter of the list, which must be on screen.
    fn decide_all(&mut self, action: Action, kind: DecisionKind) {
        if self.screen != Screen::Tasks {
            self.show(Screen::Tasks);
            return self.hint("the list was not on screen; here it is. Look, then ask again (: and Up)");
        }
        self.pane = Pane::List;
        if !self.acts_on_all() {
            self.mark_all_matching();
        }
        match refusal(self, action) {
            Some(why) => self.hint(why),
            None => self.ask_all(kind),
        }
    }

    /// Asks about tasks that were named by number. Only what is on screen can be decided: a number alone does
    /// not say as what the operator saw it.
    fn decide_ids(&mut self, action: Action, rest: &str) {
        let Some(kind) = decision(action) else { return };
        if rest == ALL {
            return self.decide_all(action, kind);
        }
        if rest.is_empty() {
            match refusal(self, action) {
                Some(why) => self.hint(why),
                None => self.ask(kind),
            }
            return;
        }
        if let Some(denied) = self.decide_denied() {
            self.hint(denied);
            return;
        }
        let mut rows = Vec::new();
        for word in rest.split([' ', ',']).filter(|word| !word.is_empty()) {
            let (id, version) =
                word.split_once('@').map_or((word, None), |(id, version)| (id, Some(version)));
            let Some(id) = number(id) else {
                self.hint(format!("{kind}: `{}` is not a task's number", visible(word)));
                return;
            };
            let Some(row) = self.drawn_now(id) else {
                self.look_up(id, kind);
                return;
            };
            if version.is_some_and(|version| version.parse() != Ok(row.version)) {
                let now = row.version;
                self.hint(format!(
                    "{kind}: {id} is v{now} on screen, not v{}",
                    visible(version.unwrap_or_default())
                ));
                return;
            }
            rows.push(row);
        }
        let listed = rows.iter().all(|row| self.list.position(row.id).is_some());
        let from = if listed { AskedFrom::List } else { AskedFrom::Detail };
        self.ask_about(kind, rows, from);
    }
}
