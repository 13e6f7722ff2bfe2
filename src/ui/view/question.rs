//! A question before an act: its title, what will happen, a reason, and what can be answered. What stands in its body is
//! its subject's own ([`super::decide`], [`super::stop`], [`super::pause`]).

use ratatui::layout::Rect;

use super::dialog::{Dialog, Line, inner_width, key, keys, wrapped};
use crate::app::keys::{Action, Gravity};
use crate::app::question::{Ask, Focus, Reason};
use crate::app::state::State;
use crate::ui::paint::{Paint, inset, nth, plain, span};
use crate::ui::theme::Role;

const WIDTH: u16 = 74;

/// The room for a body.
#[derive(Clone, Copy)]
pub(super) struct Room {
    /// Columns.
    pub(super) width: usize,
    /// Lines, as far as the screen has them.
    pub(super) lines: usize,
}

/// Draws a question over `area`.
pub(super) fn draw(
    paint: &mut Paint<'_>,
    state: &State,
    question: &dyn Ask,
    area: Rect,
    body: impl FnOnce(Room) -> Vec<Line>,
) {
    let width = inner_width(area, WIDTH);
    // The first line of the foot is the reason's.
    let mut foot: Vec<Line> = vec![Vec::new()];
    foot.extend(question.rule().iter().flat_map(|rule| wrapped(rule, width, Role::Plain)));
    foot.extend(answers(state, question, width));
    // Frame, a blank line before the foot, and the foot itself.
    let body = body(Room { width, lines: usize::from(area.height).saturating_sub(3 + foot.len()) });
    let role = match question.gravity() {
        Gravity::Grave => Role::Trouble,
        Gravity::Light | Gravity::Changes => Role::Running,
    };
    let inside = Dialog { title: question.title(), role, body, focus: 0, foot }.draw(paint, area, WIDTH);
    reason(paint, question.reason(), nth(inside.foot, 0));
}

fn answers(state: &State, question: &dyn Ask, width: usize) -> Vec<Line> {
    if question.reason().focus == Focus::Reason {
        return vec![vec![span("Enter", Role::Key), plain(" done with the reason")]];
    }
    let yes = if question.blocked().is_some() {
        vec![span(format!("{} {}", state.keymap.label(Action::Yes), question.yes()), Role::Faint)]
    } else {
        key(state, Action::Yes, &question.yes())
    };
    let mut acts = vec![yes, key(state, Action::No, question.no())];
    acts.extend(question.other().map(|(other, label)| key(state, other, label)));
    acts.push(key(state, Action::Reason, "reason"));
    keys(acts, width)
}

fn reason(paint: &mut Paint<'_>, reason: &Reason, line: Rect) {
    let label = [span("reason: ", Role::Faint)];
    if reason.focus == Focus::Reason {
        super::editor::one_line(paint, line, &label, &reason.text, None);
        return;
    }
    let used = paint.line(line, &label);
    let text = reason.text.text();
    let (text, role) =
        if text.is_empty() { ("none given".to_owned(), Role::Faint) } else { (text, Role::Plain) };
    paint.line(inset(line, used), &[span(text, role)]);
}
