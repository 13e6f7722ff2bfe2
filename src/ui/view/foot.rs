//! The two lowest lines: what just happened, and what can be done now.

use ratatui::layout::Rect;

use crate::app::footer::{Availability, footer};
use crate::app::log::Level;
use crate::app::overlay::Overlay;
use crate::app::state::State;
use crate::ui::paint::{Paint, Span, columns, plain, span};
use crate::ui::theme::Role;

/// The role of a line of this level.
pub(super) const fn role_of(level: Level) -> Role {
    match level {
        Level::Info => Role::Plain,
        Level::Warn => Role::Bad,
        Level::Error => Role::Trouble,
    }
}

/// The word for a level, so that it can be told without colours.
pub(super) const fn word_of(level: Level) -> &'static str {
    match level {
        Level::Info => "info",
        Level::Warn => "warn",
        Level::Error => "ERROR",
    }
}

/// Draws what just happened.
pub(super) fn notice(paint: &mut Paint<'_>, state: &State, area: Rect) {
    if let Some(notice) = &state.notice {
        let prefix = match notice.level {
            Level::Info => plain(" "),
            level => span(format!(" {} ", word_of(level)), role_of(level)),
        };
        paint.line(area, &[prefix, plain(" "), span(&notice.text, text_role(notice.level))]);
        return;
    }
    let waiting = state.acts.waiting();
    if waiting > 0 {
        let what = if waiting == 1 { "1 act is" } else { &format!("{waiting} acts are") };
        paint.line(area, &[span(format!("  {what} waiting for the database's answer"), Role::Faint)]);
    }
}

const fn text_role(level: Level) -> Role {
    match level {
        Level::Info => Role::Plain,
        Level::Warn | Level::Error => Role::Running,
    }
}

/// Draws what can be done now: what cannot is dim, and pressing it says why. Where there is no room for all, those that
/// are used least are left out; none is cut.
pub(super) fn draw(paint: &mut Paint<'_>, state: &State, area: Rect) {
    let mut left: Vec<Span> = vec![plain(" ")];
    let items = footer(state);
    // `help` and `quit` are what a person who is lost looks for: they stand at the end and never go.
    let (last, items): (Vec<_>, Vec<_>) = items
        .into_iter()
        .partition(|item| state.overlay().is_none() && matches!(item.label.as_str(), "help" | "quit"));
    let mut right: Vec<Span> = Vec::new();
    for item in &last {
        right.extend(piece(&item.key, &item.label, &item.availability));
        right.push(plain(" "));
    }
    let area = if right.is_empty() { area } else { paint.right(area, &right) };
    // Two entries never touch.
    let gap = usize::from(!right.is_empty());
    let room = usize::from(area.width).saturating_sub(gap);
    for (number, item) in items.iter().enumerate() {
        let mut spans = if number == 0 { Vec::new() } else { vec![plain("  ")] };
        spans.extend(piece(&item.key, &item.label, &item.availability));
        if columns(&left) + columns(&spans) > room {
            break;
        }
        left.extend(spans);
    }
    paint.line(area, &left);
}

fn piece(key: &str, label: &str, availability: &Availability) -> Vec<Span> {
    let (key_role, label_role) = match availability {
        Availability::Enabled => (Role::Key, Role::Plain),
        Availability::Disabled { .. } => (Role::Faint, Role::Faint),
    };
    vec![span(key, key_role), plain(" "), span(label, label_role)]
}

/// Draws the line in which something is typed, in place of the notice; whether there is one.
pub(super) fn prompt(paint: &mut Paint<'_>, state: &State, area: Rect) -> bool {
    let (before, line, after) = match state.overlay() {
        Some(Overlay::Command { line, .. }) => (":", line, None),
        Some(Overlay::Search { line }) => ("/", line, None),
        Some(Overlay::Tenant { line, problem }) => ("tenant: ", line, problem.as_ref()),
        _ => return false,
    };
    super::editor::one_line(
        paint,
        area,
        &[plain(" "), span(before, Role::Key)],
        line,
        after.map(String::as_str),
    );
    true
}
