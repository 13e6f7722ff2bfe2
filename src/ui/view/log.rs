//! Screen 5: every act with its outcome, and what went wrong; the newest at the bottom.

use ratatui::layout::Rect;

use super::foot::{role_of, word_of};
use crate::app::log::{Entry, Level};
use crate::app::state::State;
use crate::domain::text::{visible, wrap};
use crate::ui::paint::{Paint, Span, cells, columns, inset, nth, plain, span};
use crate::ui::theme::Role;

/// Draws it.
pub(super) fn draw(paint: &mut Paint<'_>, state: &State, area: Rect) {
    paint.viewport.list_rows = usize::from(area.height);
    let area = inset(area, 1);
    let room = usize::from(area.height);
    // Lines from the newest that is in view upwards, until the screen is full.
    let mut lines: Vec<Vec<Span>> = Vec::new();
    for entry in state.log.shown().rev().skip(state.log.back) {
        if lines.len() >= room {
            break;
        }
        let mut entry_lines = lines_of(state, entry, usize::from(area.width));
        entry_lines.reverse();
        lines.extend(entry_lines);
    }
    lines.truncate(room);
    if lines.is_empty() {
        let text =
            if state.log.search.is_some() { "No line matches the search." } else { "Nothing happened yet." };
        paint.line(nth(area, 1), &[span(text, Role::Faint)]);
    }
    for (place, line) in lines.iter().rev().enumerate() {
        paint.line(nth(area, cells(place)), line);
    }
    if state.log.back > 0 && area.height > 2 {
        let last = nth(area, area.height - 1);
        paint.right(
            last,
            &[plain(" "), span(format!("{} newer lines below", state.log.back), Role::Attention), plain(" ")],
        );
    }
}

fn lines_of(state: &State, entry: &Entry, width: usize) -> Vec<Vec<Span>> {
    // The time of day is the database's; before the first read only the time since the start is known.
    let time = match state.wall(entry.at) {
        Some(at) => at.strftime("%H:%M:%S").to_string(),
        None => format!("+{} s", entry.at.as_secs()),
    };
    let mut head = vec![span(format!("{time:>8}"), Role::Faint)];
    if width >= 60 {
        head.push(span(format!("  {:<5}", word_of(entry.level)), role_of(entry.level)));
        head.push(span(format!("  {:<7}", entry.source.as_str()), Role::Faint));
    }
    head.push(plain("  "));
    let times = if entry.times > 1 {
        format!("  ({} times, the latest is shown)", entry.times)
    } else {
        String::new()
    };
    let indent = columns(&head);
    let text = format!("{}{times}", visible(&entry.text));
    let text_role = match entry.level {
        Level::Info => Role::Plain,
        Level::Warn | Level::Error => Role::Running,
    };
    wrap(&text, width.saturating_sub(indent))
        .into_iter()
        .enumerate()
        .map(|(place, row)| {
            let mut line = if place == 0 { head.clone() } else { vec![plain(" ".repeat(indent))] };
            line.push(span(row, text_role));
            line
        })
        .collect()
}
