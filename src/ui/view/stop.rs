//! The question before an instance is asked to stop, and what is said where it was not. The words are the console's
//! own ([`crate::app::stop`]); here they get their places.

use ratatui::layout::Rect;

use super::dialog::{Dialog, Line, inner_width, key, keys, wrapped};
use super::question::Room;
use crate::app::keys::Action;
use crate::app::state::State;
use crate::app::stop::{StopConflict, StopQuestion, StopStanding};
use crate::domain::text::{cut, width as columns_of};
use crate::ui::paint::{Paint, plain, span};
use crate::ui::theme::Role;

const WIDTH: u16 = 74;

/// Draws the question.
pub(super) fn question(paint: &mut Paint<'_>, state: &State, question: &StopQuestion, area: Rect) {
    super::question::draw(paint, state, question, area, |Room { width, lines }| {
        let mut body: Vec<Line> = Vec::new();
        let single = question.rows.len() == 1;
        let refused = |standing: &StopStanding| *standing != StopStanding::Ready;
        for (place, text) in question.says(state).iter().enumerate() {
            let bad = single && place == 0 && question.rows.iter().any(|row| refused(&row.standing));
            body.extend(wrapped(text, width, if bad { Role::Bad } else { Role::Plain }));
        }
        if !single {
            body.extend(several(state, question, lines.saturating_sub(body.len()), width));
        }
        body
    });
}

/// Rows on a line each within `room` lines, from the one that was scrolled to.
fn several(state: &State, question: &StopQuestion, room: usize, width: usize) -> Vec<Line> {
    let rows = &question.rows[question.scroll.min(question.rows.len())..];
    let shown = if rows.len() > room { room.saturating_sub(1) } else { rows.len() };
    let longest = question.rows.iter().map(|row| columns_of(&row.name)).max().unwrap_or(0).min(width / 3);
    let mut lines: Vec<Line> = rows
        .iter()
        .take(shown)
        .map(|row| {
            let name = cut(&row.name, longest, "").into_owned();
            let name = format!("{name}{}  ", " ".repeat(longest.saturating_sub(columns_of(&name))));
            let (text, role) = match question.says_of(state, row) {
                Ok(text) => (text, Role::Plain),
                Err(text) => (text, Role::Bad),
            };
            vec![plain(name), span(text, role)]
        })
        .collect();
    if shown < rows.len() && room > 0 {
        lines.push(vec![span(format!("… and {} more", rows.len() - shown), Role::Faint)]);
    }
    lines
}

/// Draws the answer that some were not asked.
pub(super) fn conflict(paint: &mut Paint<'_>, state: &State, conflict: &StopConflict, area: Rect) {
    let width = inner_width(area, WIDTH);
    let several = conflict.rows.len() > 1;
    let lead = if several { 2 } else { 0 };
    let mut body: Vec<Line> = Vec::new();
    let mut focus = 0;
    for (index, row) in conflict.rows.iter().enumerate() {
        for (place, text) in row.lines(state, conflict.mode).iter().enumerate() {
            // What happened to it is what is looked for; what was asked is known.
            let role = if place == 1 { Role::Running } else { Role::Plain };
            if index == conflict.cursor && place == 1 {
                focus = body.len();
            }
            for (piece, line) in wrapped(text, width.saturating_sub(lead), role).into_iter().enumerate() {
                let here = several && index == conflict.cursor && place + piece == 0;
                let sign = if here { format!("{} ", paint.glyphs.cursor) } else { " ".repeat(lead) };
                let mut whole = vec![span(sign, Role::Running)];
                whole.extend(line);
                body.push(whole);
            }
        }
    }
    let foot = keys(vec![key(state, Action::Open, "look at it"), key(state, Action::Back, "close")], width);
    Dialog { title: conflict.title(), role: Role::Trouble, body, focus, foot }.draw(paint, area, WIDTH);
}
