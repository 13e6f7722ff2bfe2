//! The text that is being written, and how it is submitted. It lives as long as the console: closing the
//! editor or a failed submit loses nothing.

use super::editor::{Edited, Editor};
use super::effect::{Effect, RequestId};
use super::keys::{Action, Key, KeyCode};
use super::log::{Level, Source};
use super::message::WriteFailure;
use super::overlay::Overlay;
use super::state::{Screen, Session, State};
use crate::domain::input::{Admission, check_text};
use crate::domain::outcome::Submitted;
use crate::domain::{Name, NewTask, Refusal, Task};

/// The form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubmitForm {
    /// The text.
    pub text: Editor,
    /// Whose task it becomes.
    pub tenant: Editor,
    /// Which workers may take it.
    pub queue: Editor,
    /// Larger runs first.
    pub priority: Editor,
    /// Whether it waits for approval.
    pub admission: Admission,
    /// Which field the keys go to.
    pub field: SubmitField,
    /// What is wrong with the input, as of the latest attempt.
    pub problem: Option<Refusal>,
    /// How far the submit is.
    pub sending: Sending,
    /// A submit of which it could not be found out whether it was done.
    pub(super) unresolved: Option<RequestId>,
}

/// A field of the form, in the order of Tab.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SubmitField {
    /// The text.
    Text,
    /// The tenant.
    Tenant,
    /// The queue.
    Queue,
    /// The priority.
    Priority,
    /// The switch that holds it for approval; Space turns it.
    Hold,
}

impl SubmitField {
    /// Every field, in the order of Tab.
    pub const ALL: [Self; 5] = [Self::Text, Self::Tenant, Self::Queue, Self::Priority, Self::Hold];

    /// The field's name.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Tenant => "tenant",
            Self::Queue => "queue",
            Self::Priority => "priority",
            Self::Hold => "hold for approval",
        }
    }
}

/// How far a submit is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sending {
    /// Not sent.
    No,
    /// Sent, no answer yet.
    Asking {
        /// Its number.
        request: RequestId,
    },
    /// The answer was lost; the root is finding out.
    Unknown {
        /// Its number.
        request: RequestId,
    },
    /// It was not submitted, or that could not be found out; the text is still here. Sending it again unchanged
    /// goes under the same number, so it can never become two tasks.
    Failed {
        /// Its number.
        request: RequestId,
        /// What happened and what to do.
        message: String,
    },
}

impl SubmitForm {
    /// An empty form with the session's tenant and queue.
    pub fn new(session: &Session) -> Self {
        Self {
            text: Editor::lines(""),
            tenant: Editor::line(session.tenant.as_str()),
            queue: Editor::line(session.queue.as_str()),
            priority: Editor::line("0"),
            admission: Admission::Queue,
            field: SubmitField::Text,
            problem: None,
            sending: Sending::No,
            unresolved: None,
        }
    }

    /// The field that letters go to; none for the switch.
    pub fn editor(&self) -> Option<&Editor> {
        match self.field {
            SubmitField::Text => Some(&self.text),
            SubmitField::Tenant => Some(&self.tenant),
            SubmitField::Queue => Some(&self.queue),
            SubmitField::Priority => Some(&self.priority),
            SubmitField::Hold => None,
        }
    }
}

impl State {
    /// A key while the editor is on top.
    pub(super) fn submit_key(&mut self, action: Option<Action>, key: Key, effects: &mut Vec<Effect>) {
        match action {
            Some(Action::Back) => {
                self.overlays.pop();
                if !self.submit.text.is_empty() && self.submit.waits().is_none() {
                    let key = self.keymap.label(Action::NewTask);
                    self.hint(format!("the text is kept; {key} opens it again"));
                }
                return;
            }
            Some(Action::Submit) => return self.send(effects),
            _ => {}
        }
        if self.submit.waits().is_some() {
            self.hint("the text is being submitted; wait for the answer or close this with Esc");
            return;
        }
        match action {
            Some(Action::Hold) => self.submit.turn_hold(),
            Some(Action::NextPane) => self.submit.step(1),
            Some(Action::PreviousPane) => self.submit.step(SubmitField::ALL.len() - 1),
            _ if self.submit.field == SubmitField::Hold => match key.code {
                KeyCode::Char(' ') | KeyCode::Enter => {
                    self.submit.turn_hold();
                }
                KeyCode::Up => self.submit.step(SubmitField::ALL.len() - 1),
                _ => {
                    let hold = self.keymap.label(Action::Hold);
                    self.hint(format!("Space or {hold} turns this on or off; Tab goes to the next field"));
                }
            },
            Some(Action::Open) if self.submit.field != SubmitField::Text => self.submit.step(1),
            _ => {
                let Some(editor) = self.submit.editor_mut() else { return };
                match editor.key(key) {
                    Edited::Text => self.submit.edited(),
                    Edited::Cursor => {}
                    Edited::Nothing => {
                        let submit = self.keymap.label(Action::Submit);
                        self.hint(format!(
                            "{key} does nothing here; {submit} submits, Tab goes to the next field"
                        ));
                    }
                }
            }
        }
    }

    /// Sends the text, after looking at it as the database will.
    fn send(&mut self, effects: &mut Vec<Effect>) {
        if self.submit.waits().is_some() {
            self.hint("already asking: the submit is not answered yet");
            return;
        }
        if let Some(denied) = self.submit_denied() {
            self.say(Level::Error, format!("not submitted, the text is kept: {denied}"));
            return;
        }
        let text = self.submit.text.text();
        let checked = check_text(&text, self.session.max_input_bytes).and_then(|()| {
            Ok(NewTask {
                tenant: Name::new("tenant", &self.submit.tenant.text())?,
                queue: Name::new("queue", &self.submit.queue.text())?,
                priority: self.submit.priority()?,
                max_attempts: self.session.max_attempts,
                delay: std::time::Duration::ZERO,
                admission: self.submit.admission,
                submitted_by: Some(self.session.operator.clone()),
                approval: self.session.approval,
                notify: self.session.notify,
            })
        });
        let task = match checked {
            Ok(task) => task,
            Err(refusal) => {
                self.hint(format!("not submitted: {refusal}"));
                self.submit.problem = Some(refusal);
                return;
            }
        };
        self.submit.problem = None;
        let request = match self.submit.sending {
            Sending::Failed { request, .. } => request,
            _ => self.request(),
        };
        if self.submit.unresolved.take().is_some_and(|earlier| earlier != request) {
            self.say(Level::Warn, "submitting this as another task; the text before may be in the table too");
        }
        self.submit.sending = Sending::Asking { request };
        self.log.push(
            self.now,
            Level::Info,
            Source::Operator,
            format!("asked to submit {} bytes", text.len()),
        );
        effects.push(Effect::Submit { request, text, task });
    }

    /// A submit's answer.
    pub(super) fn submitted(&mut self, request: RequestId, result: Result<Box<Submitted>, WriteFailure>) {
        if self.submit.waits() != Some(request) {
            return;
        }
        match result {
            Ok(submitted) => {
                let task = &submitted.task;
                let lost =
                    if submitted.resolved_from_unknown { " (confirmed after a lost answer)" } else { "" };
                let again = if submitted.created { "" } else { " (it was in the table already)" };
                let place = self.where_shown(task);
                let text = format!("submitted {}, {}{again}{lost}{place}", task.id, task.status);
                self.say(Level::Info, text);
                self.submit.text.set("");
                self.submit.sending = Sending::No;
                self.submit.field = SubmitField::Text;
                if self.overlay() == Some(&Overlay::Submit) {
                    self.overlays.pop();
                } else {
                    self.overlays.retain(|overlay| *overlay != Overlay::Submit);
                }
                self.refresh_now();
            }
            Err(WriteFailure::Unknown { message }) => {
                self.submit.sending = Sending::Unknown { request };
                self.say(Level::Warn, format!("submit: outcome unknown, checking… ({message})"));
            }
            Err(failure) => {
                let message = failed(&failure);
                self.submit.unresolved =
                    matches!(failure, WriteFailure::Unresolved { .. }).then_some(request);
                if let WriteFailure::Refused { message, .. } = &failure {
                    self.session.submit_denied = Some(message.clone());
                }
                self.say(Level::Error, message.clone());
                self.submit.sending = Sending::Failed { request, message };
            }
        }
    }

    /// Where a new task is seen, if not on the screen that is shown: rows do not move under the cursor, so it may
    /// be above the first visible one.
    fn where_shown(&self, task: &Task) -> String {
        if self.screen != Screen::Tasks {
            return String::new();
        }
        let (list, lines) = (&self.list, self.viewport.list_rows);
        let filter = &list.filter;
        let matches = (filter.statuses.is_empty() || filter.statuses.contains(&task.status))
            && filter.tenant.as_ref().is_none_or(|tenant| *tenant == task.tenant)
            && filter.queue.as_ref().is_none_or(|queue| *queue == task.queue);
        if !matches {
            return "; the filter hides it".to_owned();
        }
        let in_view = match list.position(task.id) {
            Some(at) => (list.offset..list.offset + lines).contains(&at),
            None => list.shows_newest(lines),
        };
        let key = self.keymap.label(Action::Top);
        if in_view { String::new() } else { format!("; {key} shows it") }
    }

    /// Opens the editor, with the text that is being written.
    pub(super) fn open_editor(&mut self, text: Option<&str>) {
        if let Some(text) = text.filter(|text| !text.is_empty()) {
            if self.submit.waits().is_some() {
                self.hint("the text before is still being submitted; wait for its answer");
                return;
            }
            if !self.submit.text.is_empty() {
                self.submit.text.insert("\n");
            }
            self.submit.text.insert(text);
            self.submit.edited();
        }
        self.overlays.push(Overlay::Submit);
    }
}

fn failed(failure: &WriteFailure) -> String {
    let (what, message, hint) = match failure {
        WriteFailure::Unavailable { message, hint } => {
            ("not submitted, database unavailable, the text is kept", message, hint.as_deref())
        }
        WriteFailure::Refused { message, hint, .. } => {
            ("not submitted, refused, the text is kept", message, hint.as_deref())
        }
        WriteFailure::BadInput { message } => ("not submitted, the text is kept", message, None),
        WriteFailure::Unknown { message } | WriteFailure::Unresolved { message, .. } => (
            "whether it was submitted could not be found out",
            message,
            Some("submit it again unchanged: it can never become two tasks"),
        ),
    };
    super::acts::with_hint(format!("{what}: {message}"), hint)
}

impl SubmitForm {
    /// The request whose answer is waited for.
    pub fn waits(&self) -> Option<RequestId> {
        match self.sending {
            Sending::Asking { request } | Sending::Unknown { request } => Some(request),
            Sending::No | Sending::Failed { .. } => None,
        }
    }

    /// Puts a paste into the field; it is text, whatever it looks like.
    pub(super) fn paste(&mut self, text: &str) {
        if self.waits().is_none()
            && let Some(editor) = self.editor_mut()
        {
            editor.insert(text);
            self.edited();
        }
    }

    fn editor_mut(&mut self) -> Option<&mut Editor> {
        match self.field {
            SubmitField::Text => Some(&mut self.text),
            SubmitField::Tenant => Some(&mut self.tenant),
            SubmitField::Queue => Some(&mut self.queue),
            SubmitField::Priority => Some(&mut self.priority),
            SubmitField::Hold => None,
        }
    }

    /// Another text is another task: it gets another number.
    fn edited(&mut self) {
        self.problem = None;
        self.sending = Sending::No;
    }

    /// What turning the switch does, in a few words.
    pub fn turns_to(&self) -> &'static str {
        match self.admission {
            Admission::Queue => "hold it",
            Admission::Hold => "do not hold",
        }
    }

    fn turn_hold(&mut self) {
        self.admission = match self.admission {
            Admission::Queue => Admission::Hold,
            Admission::Hold => Admission::Queue,
        };
        self.edited();
    }

    fn step(&mut self, by: usize) {
        let at = SubmitField::ALL.iter().position(|field| *field == self.field).unwrap_or(0);
        self.field = SubmitField::ALL[(at + by) % SubmitField::ALL.len()];
    }

    fn priority(&self) -> Result<i32, Refusal> {
        let text = self.priority.text();
        text.trim().parse().map_err(|_| Refusal::new("priority", "write a whole number; larger runs first"))
    }
}
