//! The small dialogs: sample texts, lines of a file, states to choose from, help, a whole input.

use super::acts::Lines;
use super::effect::Effect;
use super::keys::{Action, Key, KeyCode};
use super::list::Step;
use super::overlay::Overlay;
use super::state::State;
use crate::domain::observed::Filter;
use crate::domain::{NewTask, Status};

/// The step that an action makes in something that scrolls by `page` lines.
pub(super) fn step(action: Action, page: usize) -> Option<Step> {
    Some(match action {
        Action::Up => Step::Up { by: 1 },
        Action::Down => Step::Down { by: 1 },
        Action::PageUp => Step::Up { by: page.max(1) },
        Action::PageDown => Step::Down { by: page.max(1) },
        Action::Top => Step::First,
        Action::Bottom => Step::Last,
        _ => return None,
    })
}

impl State {
    /// A key while the offer of sample texts is on top.
    pub(super) fn first_start_key(&mut self, action: Option<Action>, key: Key, effects: &mut Vec<Effect>) {
        match action {
            Some(Action::Yes) => {
                self.close(key);
                if let Some(denied) = self.submit_denied() {
                    self.hint(denied);
                    return;
                }
                let request = self.request();
                self.acts.lines.push(Lines { request, path: None });
                effects.push(Effect::SubmitSamples { request });
            }
            Some(Action::No | Action::Back) => self.close(key),
            _ => self.hint("y submits the sample texts, n or Esc does not"),
        }
    }

    /// A key while the question about a file's lines is on top.
    pub(super) fn submit_lines_key(&mut self, action: Option<Action>, key: Key, effects: &mut Vec<Effect>) {
        let Some(Overlay::SubmitLines { path }) = self.overlay().cloned() else { return };
        match action {
            Some(Action::Yes) => {
                self.close(key);
                let begun =
                    self.acts.unfinished.iter().position(|file| file.path.as_deref() == Some(path.as_str()));
                let request = match begun {
                    Some(at) => self.acts.unfinished.remove(at).request,
                    None => self.request(),
                };
                self.acts.lines.push(Lines { request, path: Some(path.clone()) });
                let task = NewTask {
                    tenant: self.session.tenant.clone(),
                    queue: self.session.queue.clone(),
                    max_attempts: self.session.max_attempts,
                    submitted_by: Some(self.session.operator.clone()),
                    approval: self.session.approval,
                    notify: self.session.notify,
                    ..NewTask::default()
                };
                effects.push(Effect::SubmitLines { request, path, task });
            }
            Some(Action::No | Action::Back) => self.close(key),
            _ => self.hint("y submits each line as a task, n or Esc does not"),
        }
    }

    /// A key while the states are chosen.
    pub(super) fn states_key(&mut self, action: Option<Action>, key: Key) {
        let Some(Overlay::States { cursor, chosen }) = self.overlays.last_mut() else { return };
        match action {
            Some(Action::Mark) => toggle(chosen, Status::ALL[*cursor]),
            Some(Action::Open) => {
                let statuses = if chosen.is_empty() { vec![Status::ALL[*cursor]] } else { chosen.clone() };
                let all = statuses.len() == Status::ALL.len();
                let statuses = if all { Vec::new() } else { statuses };
                self.close(key);
                self.set_filter(Filter { statuses, ..self.list.filter.clone() });
            }
            Some(Action::Back | Action::No) => self.close(key),
            _ => match (action.and_then(|action| step(action, 7)), key.code) {
                (Some(step), _) => *cursor = step.from(*cursor, Status::ALL.len()),
                (None, KeyCode::Char(digit @ '1'..='7')) if !key.ctrl && !key.alt => {
                    *cursor = digit as usize - '1' as usize;
                    toggle(chosen, Status::ALL[*cursor]);
                }
                (None, KeyCode::Char('0')) => chosen.clear(),
                _ => self
                    .hint("Space or a digit chooses, 0 chooses none, Enter applies, Esc leaves it as it is"),
            },
        }
    }

    /// A key while help or a whole input is on top.
    pub(super) fn reader_key(&mut self, action: Option<Action>, key: Key) {
        let page = self.viewport.overlay_rows;
        let most = self.viewport.overlay_lines.saturating_sub(page);
        let help = matches!(self.overlay(), Some(Overlay::Help { .. }));
        let Some(Overlay::Help { scroll } | Overlay::Input { scroll, .. }) = self.overlays.last_mut() else {
            return;
        };
        match action {
            Some(Action::Back | Action::Open | Action::No) => self.close(key),
            Some(Action::Help) if help => self.close(key),
            _ => match action.and_then(|action| step(action, page)) {
                Some(step) => *scroll = step.from(*scroll, most.saturating_add(1)),
                None => self.hint("Esc closes this"),
            },
        }
    }

    /// Closes what is on top.
    pub(super) fn close(&mut self, key: Key) {
        self.overlays.pop();
        self.answered(key);
    }

    /// A letter that answered does nothing more while it is held down: below, it may call an act. Enter and Esc
    /// only open and step back, and are pressed again on purpose.
    pub(super) fn answered(&mut self, key: Key) {
        self.answered_by = key.text().map(|_| (key, self.now));
    }
}

fn toggle(chosen: &mut Vec<Status>, status: Status) {
    if chosen.contains(&status) {
        chosen.retain(|other| *other != status);
    } else {
        chosen.push(status);
        chosen.sort_unstable();
    }
}
