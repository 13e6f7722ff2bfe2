//! The fields of one line: search, tenant, command.

use super::command;
use super::editor::{Edited, Editor};
use super::effect::Effect;
use super::keys::{Action, Key};
use super::overlay::Overlay;
use super::state::{Screen, State};
use crate::domain::observed::Filter;
use crate::domain::{Name, TaskId};

impl State {
    /// Opens the line in which a search is typed.
    pub(super) fn open_search(&mut self) {
        let before = if self.screen == Screen::Log { &self.log.search } else { &self.list.filter.search };
        let line = Editor::line(before.as_deref().unwrap_or_default());
        self.overlays.push(Overlay::Search { line });
    }

    /// Opens the line in which a tenant is typed.
    pub(super) fn open_tenant(&mut self) {
        let line = Editor::line(self.list.filter.tenant.as_deref().unwrap_or_default());
        self.overlays.push(Overlay::Tenant { line, problem: None });
    }

    /// Opens the command line.
    pub(super) fn open_command(&mut self) {
        self.overlays.push(Overlay::Command {
            line: Editor::line(""),
            chosen: None,
            typed: String::new(),
            recalled: None,
        });
    }

    /// A key while the search is typed.
    pub(super) fn search_key(&mut self, action: Option<Action>, key: Key) {
        let Some(Overlay::Search { line }) = self.overlays.last_mut() else { return };
        match action {
            Some(Action::Back) => self.close(key),
            Some(Action::Open) => {
                let text = line.text();
                self.close(key);
                self.search(&text);
            }
            _ => {
                if line.key(key) == Edited::Nothing {
                    self.hint("Enter searches, Esc closes; a number goes to that task");
                }
            }
        }
    }

    /// Shows only what contains `text`; a bare number goes to that task.
    pub(super) fn search(&mut self, text: &str) {
        let text = text.trim();
        let wanted = (!text.is_empty()).then(|| text.to_owned());
        if self.screen == Screen::Log {
            self.log.search = wanted;
            self.log.back = 0;
        } else if let Some(id) = number(text) {
            self.go_to(id);
        } else if text.contains('\0') {
            self.hint("search: PostgreSQL has no text with a NUL, so there is nothing to find");
        } else {
            self.set_filter(Filter { search: wanted, ..self.list.filter.clone() });
        }
    }

    /// A key while a tenant is typed.
    pub(super) fn tenant_key(&mut self, action: Option<Action>, key: Key) {
        let Some(Overlay::Tenant { line, problem }) = self.overlays.last_mut() else { return };
        match action {
            Some(Action::Back) => self.close(key),
            Some(Action::Open) => match name("tenant", &line.text()) {
                Ok(tenant) => {
                    self.close(key);
                    self.set_filter(Filter { tenant, ..self.list.filter.clone() });
                }
                Err(refusal) => *problem = Some(refusal),
            },
            _ => {
                *problem = None;
                if line.key(key) == Edited::Nothing {
                    self.hint("Enter shows this tenant's tasks, an empty line those of all, Esc closes");
                }
            }
        }
    }

    /// A key while a command is typed.
    pub(super) fn command_key(&mut self, action: Option<Action>, key: Key, effects: &mut Vec<Effect>) {
        match action {
            Some(Action::Back) => self.close(key),
            Some(Action::Open) => {
                let Some(Overlay::Command { line, .. }) = self.overlay() else { return };
                let text = line.text();
                self.close(key);
                self.run_command(&text, effects);
            }
            Some(Action::NextPane) => self.complete(|at, len| at.map_or(0, |at| (at + 1) % len)),
            Some(Action::PreviousPane) => {
                self.complete(|at, len| at.map_or(len - 1, |at| (at + len - 1) % len));
            }
            Some(Action::Up) => self.recall(|at| Some(at.map_or(0, |at| at + 1))),
            Some(Action::Down) => self.recall(|at| at.and_then(|at| at.checked_sub(1))),
            _ => {
                let Some(Overlay::Command { line, chosen, recalled, .. }) = self.overlays.last_mut() else {
                    return;
                };
                match line.key(key) {
                    Edited::Text => (*chosen, *recalled) = (None, None),
                    Edited::Cursor => {}
                    Edited::Nothing => self.hint("Enter runs the command, Tab completes it, Esc closes"),
                }
            }
        }
    }

    fn complete(&mut self, next: impl Fn(Option<usize>, usize) -> usize) {
        let Some(Overlay::Command { line, chosen, typed, .. }) = self.overlay() else { return };
        let base = if chosen.is_some() { typed.clone() } else { line.text() };
        let candidates = command::completions(self, &base);
        if candidates.is_empty() {
            self.hint("nothing completes this");
            return;
        }
        if let Some(Overlay::Command { line, chosen, typed, .. }) = self.overlays.last_mut() {
            let at = next(*chosen, candidates.len());
            line.set(&candidates[at]);
            *chosen = Some(at);
            *typed = base;
        }
    }

    fn recall(&mut self, next: impl Fn(Option<usize>) -> Option<usize>) {
        let commands = &self.commands.0;
        if let Some(Overlay::Command { line, recalled, chosen, .. }) = self.overlays.last_mut() {
            let at = next(*recalled).map(|at| at.min(commands.len().saturating_sub(1)));
            let text = at.and_then(|at| commands.iter().rev().nth(at));
            line.set(text.map(String::as_str).unwrap_or_default());
            *recalled = at.filter(|_| text.is_some());
            *chosen = None;
        }
    }
}

/// A number that can be a task's.
pub(super) fn number(text: &str) -> Option<TaskId> {
    text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok().map(TaskId)).flatten()
}

/// A name to narrow to; an empty text is none.
pub(super) fn name(field: &'static str, text: &str) -> Result<Option<String>, String> {
    match text.trim() {
        "" => Ok(None),
        text => {
            Name::new(field, text).map(|name| Some(name.as_str().to_owned())).map_err(|why| why.to_string())
        }
    }
}
