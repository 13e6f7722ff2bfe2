//! Keys, pastes and clicks find what they are for: what is on top gets them.

use std::time::Duration;

use super::effect::Effect;
use super::keys::{Action, Key, Layer};
use super::list::Step;
use super::message::Target;
use super::overlay::Overlay;
use super::question::{Ask, Focus};
use super::state::{Pane, Screen, State, WorkersPane};

/// A key that comes again within this time is the same press, held down: terminals wait up to 660 ms before
/// they repeat a key.
const REPEAT: Duration = Duration::from_millis(700);

/// The layer in which a key is looked up now.
pub fn layer(state: &State) -> Layer {
    layer_of(state.overlay())
}

/// The layer in which keys are looked up while `overlay` is on top.
pub(super) fn layer_of(overlay: Option<&Overlay>) -> Layer {
    match overlay {
        None => Layer::Screen,
        Some(Overlay::Shutdown) => Layer::Shutdown,
        Some(Overlay::Submit | Overlay::Command { .. } | Overlay::Search { .. } | Overlay::Tenant { .. }) => {
            Layer::Text
        }
        Some(other) => match other.question().map(|question| question.reason().focus) {
            Some(Focus::Reason) => Layer::Text,
            Some(Focus::Answer) | None => Layer::Dialog,
        },
    }
}

impl State {
    /// A key was pressed.
    pub(super) fn key(&mut self, key: Key, effects: &mut Vec<Effect>) {
        let key = key.normal();
        let action = self.keymap.action(layer(self), key);
        match action {
            Some(Action::Interrupt) => return self.interrupt(effects),
            Some(Action::Redraw) => return effects.push(Effect::Redraw),
            Some(Action::Suspend) => return effects.push(Effect::Suspend),
            _ => {}
        }
        if self.repeats(key) {
            return;
        }
        let Some(overlay) = self.overlay() else {
            if let Some(action) = action {
                self.screen_action(action, effects);
            } else {
                let help = self.keymap.label(Action::Help);
                self.hint(format!("{key} does nothing; {help} lists the keys"));
            }
            return;
        };
        if action == Some(Action::Help) && !matches!(overlay, Overlay::Help { .. }) {
            self.overlays.push(Overlay::Help { scroll: 0 });
            return;
        }
        match overlay {
            Overlay::FirstStart => self.first_start_key(action, key, effects),
            Overlay::Question(_) | Overlay::Bulk(_) | Overlay::Stop(_) | Overlay::Queue(_) => {
                self.question_key(action, key, effects);
            }
            Overlay::BulkRun => self.bulk_run_key(action, key),
            Overlay::StopConflict => self.stop_conflict_key(action, key),
            Overlay::QueueConflict => self.queue_conflict_key(action, key),
            Overlay::SubmitLines { .. } => self.submit_lines_key(action, key, effects),
            Overlay::Conflict => self.conflict_key(action, key),
            Overlay::Submit => self.submit_key(action, key, effects),
            Overlay::Unsent => self.unsent_key(action, effects),
            Overlay::Shutdown => self.shutdown_key(action, effects),
            Overlay::Command { .. } => self.command_key(action, key, effects),
            Overlay::Search { .. } => self.search_key(action, key),
            Overlay::Tenant { .. } => self.tenant_key(action, key),
            Overlay::States { .. } => self.states_key(action, key),
            Overlay::Help { .. } | Overlay::Input { .. } => self.reader_key(action, key),
        }
    }

    /// Whether this key answered what was asked and is still held down: it must not go on to act on what lay
    /// below.
    fn repeats(&mut self, key: Key) -> bool {
        let Some((answered, at)) = self.answered_by else { return false };
        if answered == key && self.since(at) < REPEAT {
            self.answered_by = Some((key, self.now));
            return true;
        }
        self.answered_by = None;
        false
    }

    /// Text was pasted. It is text wherever it lands; outside a field it does nothing.
    pub(super) fn paste(&mut self, text: &str) {
        match self.overlays.last_mut() {
            Some(Overlay::Submit) => {
                if self.submit.waits().is_some() {
                    self.hint("the text is being submitted; nothing was pasted");
                } else if self.submit.editor().is_none() {
                    self.hint("this field is a switch; nothing was pasted");
                } else {
                    self.submit.paste(text);
                }
            }
            Some(Overlay::Command { line, chosen, .. }) => {
                line.insert(text);
                *chosen = None;
            }
            Some(Overlay::Search { line } | Overlay::Tenant { line, .. }) => line.insert(text),
            other => match other.and_then(Overlay::question_mut).map(Ask::reason_mut) {
                Some(reason) if reason.focus == Focus::Reason => reason.text.insert(text),
                _ => {
                    let new = self.keymap.label(Action::NewTask);
                    self.hint(format!("pasted text goes into a field only; {new} opens one for a new task"));
                }
            },
        }
    }

    /// Something was clicked. Under an open dialog nothing is: a click must not change what is being answered.
    pub(super) fn clicked(&mut self, target: Target) {
        match (self.overlay(), target) {
            (Some(Overlay::Help { .. } | Overlay::Input { .. }), Target::Wheel(lines)) => {
                let most = self.viewport.overlay_lines.saturating_sub(self.viewport.overlay_rows);
                if let Some(Overlay::Help { scroll } | Overlay::Input { scroll, .. }) =
                    self.overlays.last_mut()
                {
                    *scroll = wheel(lines).from(*scroll, most.saturating_add(1));
                }
            }
            (Some(_), _) => {}
            (None, Target::Screen(screen)) => self.show(screen),
            (None, Target::Task(id)) => {
                if self.list.position(id).is_some() {
                    self.put_cursor(id);
                    self.pane = Pane::List;
                }
            }
            (None, Target::Instance(at)) => {
                if let Some(read) = &self.instances.read
                    && let Some(instance) = read.value.get(at)
                {
                    self.instance = Some(instance.id);
                    self.workers_pane = WorkersPane::Instances;
                }
            }
            (None, Target::Queue(at)) => {
                if let Some(read) = &self.queues.read
                    && let Some(queue) = read.value.get(at)
                {
                    self.queue = Some(queue.name.clone());
                    self.workers_pane = WorkersPane::Queues;
                }
            }
            (None, Target::Limit(at)) => {
                if let Some(limits) = self.limited().get(at) {
                    self.limit = Some(limits.tenant.clone());
                    self.workers_pane = WorkersPane::Limits;
                }
            }
            (None, Target::Detail) => {
                if self.screen == Screen::Tasks {
                    self.pane = Pane::Detail;
                }
            }
            (None, Target::Wheel(lines)) => self.scroll(wheel(lines)),
        }
    }
}

fn wheel(lines: i32) -> Step {
    let by = usize::try_from(lines.unsigned_abs()).unwrap_or(usize::MAX);
    if lines < 0 { Step::Up { by } } else { Step::Down { by } }
}
