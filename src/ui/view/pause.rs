//! The question before a queue is paused or resumed, and what is said where that changed nothing. The words are the
//! console's own ([`crate::app::queues`]); here they get their places.

use ratatui::layout::Rect;

use super::decide::reason;
use super::dialog::{Dialog, Line, inner_width, key, keys, wrapped};
use crate::app::keys::Action;
use crate::app::question::QuestionFocus;
use crate::app::queues::{QueueConflict, QueueQuestion};
use crate::app::state::State;
use crate::ui::paint::{Paint, nth, plain, span};
use crate::ui::theme::Role;

const WIDTH: u16 = 74;

/// Draws the question.
pub(super) fn question(paint: &mut Paint<'_>, state: &State, question: &QueueQuestion, area: Rect) {
    let width = inner_width(area, WIDTH);
    // The first line of the foot is the reason's.
    let mut foot: Vec<Line> = vec![Vec::new()];
    foot.extend(answers(state, question, width));
    let role = if question.blocked().is_some() { Role::Bad } else { Role::Plain };
    let body = question.says(state).iter().flat_map(|text| wrapped(text, width, role)).collect();
    let dialog = Dialog { title: question.title(), role: Role::Running, body, focus: 0, foot };
    let inside = dialog.draw(paint, area, WIDTH);
    reason(paint, question.focus, &question.reason, nth(inside.foot, 0));
}

fn answers(state: &State, question: &QueueQuestion, width: usize) -> Vec<Line> {
    if question.focus == QuestionFocus::Reason {
        return vec![vec![span("Enter", Role::Key), plain(" done with the reason")]];
    }
    let yes = if question.blocked().is_some() {
        vec![span(format!("{} {}", state.keymap.label(Action::Yes), question.yes()), Role::Faint)]
    } else {
        key(state, Action::Yes, &question.yes())
    };
    keys(vec![yes, key(state, Action::No, "do not"), key(state, Action::Reason, "reason")], width)
}

/// Draws the answer that nothing was changed.
pub(super) fn conflict(paint: &mut Paint<'_>, state: &State, conflict: &QueueConflict, area: Rect) {
    let width = inner_width(area, WIDTH);
    let mut body: Vec<Line> = Vec::new();
    let mut focus = 0;
    for (place, text) in conflict.lines(state).iter().enumerate() {
        // What happened to it is what is looked for; what was asked is known.
        let role = if place == 1 { Role::Running } else { Role::Plain };
        if place == 1 {
            focus = body.len();
        }
        body.extend(wrapped(text, width, role));
    }
    let foot = keys(vec![key(state, Action::Open, "look at it"), key(state, Action::Back, "close")], width);
    Dialog { title: "Nothing was changed".to_owned(), role: Role::Trouble, body, focus, foot }
        .draw(paint, area, WIDTH);
}
