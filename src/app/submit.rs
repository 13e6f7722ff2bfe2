//! The text that is being written, and how it is submitted. It lives as long as the console: closing the
//! editor or a failed submit loses nothing.

use super::editor::Editor;
use super::effect::RequestId;
use super::state::Session;
use crate::domain::Refusal;
use crate::domain::input::Admission;

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
