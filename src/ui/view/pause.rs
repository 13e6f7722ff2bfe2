//! The question before a queue is paused or resumed, and what is said where that changed nothing. The words are the
//! console's own ([`crate::app::queues`]); here they get their places.

use ratatui::layout::Rect;

use super::dialog::{Dialog, Line, inner_width, key, keys, wrapped};
use super::question::Room;
use crate::app::keys::Action;
use crate::app::question::Ask as _;
use crate::app::queues::{QueueConflict, QueueQuestion};
use crate::app::state::State;
use crate::ui::paint::Paint;
use crate::ui::theme::Role;

const WIDTH: u16 = 74;

/// Draws the question.
pub(super) fn question(paint: &mut Paint<'_>, state: &State, question: &QueueQuestion, area: Rect) {
    super::question::draw(paint, state, question, area, |Room { width, .. }| {
        let role = if question.blocked().is_some() { Role::Bad } else { Role::Plain };
        question.says(state).iter().flat_map(|text| wrapped(text, width, role)).collect()
    });
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
