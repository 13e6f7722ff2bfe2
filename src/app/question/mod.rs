//! What stands before every act that changes something: a question that names what will happen, a reason that may be
//! written, and `y`, `n` or Esc. Each question has its own subject and effect ([`Ask`]); the rest is here, once.
//!
//! Invariant: nothing is sent but by `y`, and only while the question, looked at again at that moment, stands in
//! nobody's way: neither this session's role or mode nor what has become of its subject.

mod tasks;

pub use tasks::{AskedFrom, Question, QuestionRow, Standing};

pub(super) use tasks::{becomes, capital, named};

use super::editor::{Edited, Editor};
use super::effect::Effect;
use super::keys::{Action, Gravity, Key, Keymap};
use super::overlay::Overlay;
use super::state::State;
use crate::domain::input;

/// Why something is to be done, as far as it is written, and whether keys go there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reason {
    /// What is written.
    pub text: Editor,
    /// Where the keys go.
    pub focus: Focus,
}

/// Where the keys of a question go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Focus {
    /// To the answer: `y`, `n`.
    Answer,
    /// To the reason: letters are text.
    Reason,
}

impl Reason {
    /// A reason as it is begun.
    pub(super) fn of(text: &str) -> Self {
        Self { text: Editor::line(text), focus: Focus::Answer }
    }

    /// Whether nothing is written.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// What is kept with the act; none where nothing is written.
    fn given(&self) -> Option<String> {
        let text = self.text.text();
        let text = text.trim();
        (!text.is_empty()).then(|| input::storable(text))
    }
}

/// The rows of a question.
#[derive(Debug)]
pub struct Rows<'a> {
    /// The first visible one.
    pub scroll: &'a mut usize,
    /// How many there are.
    pub count: usize,
}

/// A question: its subject, its words, its effect.
pub trait Ask {
    /// Why, as far as it is written.
    fn reason(&self) -> &Reason;

    /// The same, to write on.
    fn reason_mut(&mut self) -> &mut Reason;

    /// `Cancel 3 tasks?`.
    fn title(&self) -> String;

    /// How grave the act is.
    fn gravity(&self) -> Gravity {
        Gravity::Changes
    }

    /// By which rule several are done: `All or none.`
    fn rule(&self) -> Option<String> {
        None
    }

    /// Why `y` does nothing now, if so, by what has become of the subject.
    fn blocked(&self) -> Option<String>;

    /// What `y` is labelled: `cancel them (not possible: 1 moved)`.
    fn yes(&self) -> String;

    /// What `n` is labelled.
    fn no(&self) -> &'static str {
        "do not"
    }

    /// A key that makes another question of this one, and its label.
    fn other(&self) -> Option<(Action, &'static str)> {
        None
    }

    /// Makes another question of it, where the key is for that; whether it is.
    fn turn(&mut self, _action: Action) -> bool {
        false
    }

    /// What a `y` is told that did nothing for that reason.
    fn unsent(&self, blocked: &str) -> String {
        format!("{blocked}; nothing was sent")
    }

    /// What any other key is told.
    fn hint(&self, keymap: &Keymap) -> String;

    /// Its rows, where they scroll.
    fn rows(&mut self) -> Option<Rows<'_>> {
        None
    }

    /// Why nothing of the kind may be done in this session, if so.
    fn denied(&self, state: &State) -> Option<String>;

    /// Looks at the subject again; whether something about it is another.
    fn look(&mut self, state: &State) -> bool;

    /// Does what was asked: `y` was pressed, and nothing stands in the way.
    fn send(&self, state: &mut State, reason: Option<String>, effects: &mut Vec<Effect>);
}

/// `y does it, n or Esc does not`.
pub(super) fn answers(keymap: &Keymap) -> String {
    let (yes, no) = (keymap.label(Action::Yes), keymap.label(Action::No));
    format!("{yes} does it, {no} or Esc does not")
}

/// Puts what was found `now` in the place of what was known; whether it is another.
pub(super) fn renew<T: PartialEq>(known: &mut T, now: T) -> bool {
    let other = *known != now;
    *known = now;
    other
}

impl State {
    /// Looks at the subjects of open questions again after something arrived.
    pub(super) fn watch_questions(&mut self) {
        let mut overlays = std::mem::take(&mut self.overlays);
        for question in overlays.iter_mut().filter_map(Overlay::question_mut) {
            self.needs_draw |= question.look(self);
        }
        self.overlays = overlays;
    }

    /// A key while a question is on top.
    pub(super) fn question_key(&mut self, action: Option<Action>, key: Key, effects: &mut Vec<Effect>) {
        let Some(question) = self.overlays.last_mut().and_then(Overlay::question_mut) else { return };
        match (question.reason().focus, action) {
            (Focus::Reason, Some(Action::Back | Action::Open | Action::NextPane)) => {
                question.reason_mut().focus = Focus::Answer;
            }
            (Focus::Reason, _) => {
                if question.reason_mut().text.key(key) == Edited::Nothing {
                    self.hint("letters go into the reason; Enter or Esc leads back to y and n");
                }
            }
            (Focus::Answer, Some(Action::Yes)) => self.confirm(key, effects),
            (Focus::Answer, Some(Action::No | Action::Back)) => self.close(key),
            (Focus::Answer, Some(Action::Reason)) => question.reason_mut().focus = Focus::Reason,
            (Focus::Answer, action) => {
                if !action.is_some_and(|action| question.turn(action) || scroll(question, action)) {
                    let hint = question.hint(&self.keymap);
                    self.hint(hint);
                }
            }
        }
    }

    fn confirm(&mut self, key: Key, effects: &mut Vec<Effect>) {
        self.watch_questions();
        let Some(question) = self.overlay().and_then(Overlay::question) else { return };
        if let Some(denied) = question.denied(self) {
            return self.hint(denied);
        }
        if let Some(blocked) = question.blocked() {
            let unsent = question.unsent(&blocked);
            return self.hint(unsent);
        }
        let Some(overlay) = self.overlays.pop() else { return };
        self.answered(key);
        if let Some(question) = overlay.question() {
            question.send(self, question.reason().given(), effects);
        }
    }
}

/// Scrolls the rows of a question, where it has some and the key is for that; whether so.
fn scroll(question: &mut dyn Ask, action: Action) -> bool {
    let Some(Rows { scroll, count }) = question.rows() else { return false };
    *scroll = match action {
        Action::Up => scroll.saturating_sub(1),
        Action::Down => (*scroll + 1).min(count.saturating_sub(1)),
        _ => return false,
    };
    true
}
