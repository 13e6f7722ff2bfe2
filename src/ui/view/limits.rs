//! The last pane of screen 2: each tenant that has a limit, and how much of it is used.

use ratatui::layout::Rect;

use super::detail::read_ago;
use super::dialog::{Line, wrapped};
use super::table::{self, Cell};
use crate::app::message::Target;
use crate::app::state::{State, WorkersPane};
use crate::domain::figure::thousands;
use crate::domain::limit::TenantLimits;
use crate::ui::columns::{Column, lay_out};
use crate::ui::paint::{Paint, below, cells, inset, nth, plain, span};
use crate::ui::theme::Role;

const COLUMNS: [Column; 4] = [
    Column::words("TENANT", 10, 20, 0),
    Column::words("RUNNING", 13, 18, 0),
    Column::words("APPROVED TODAY", 14, 18, 1),
    Column::words("SET", 14, 44, 2),
];

/// From so many columns on, the title says how old the rows are.
const WITH_AGE: u16 = 60;

/// From here on, headings and a row have room under a title.
const LEAST: u16 = 3;

/// How many lines it wants: a title, headings, a row for each; none where there is nothing to tell.
pub(super) fn wanted(state: &State) -> u16 {
    match (state.tells_limits(), state.limited().len()) {
        (false, _) => 0,
        (true, 0) => 1,
        (true, rows) => cells(rows + 2),
    }
}

/// How many more lines tell of the tenant under the cursor, with a blank one before and behind them.
pub(super) fn told_lines(state: &State, area: Rect) -> u16 {
    match told(state, area) {
        lines if lines.is_empty() => 1,
        lines => cells(lines.len() + 2),
    }
}

/// What is told of the tenant under the cursor, where this pane has the keys.
fn told(state: &State, area: Rect) -> Vec<Line> {
    let under_cursor = state.limit_under_cursor().filter(|_| state.workers_pane == WorkersPane::Limits);
    let width = usize::from(area.width).saturating_sub(4);
    let lines = under_cursor.map(|limits| wrapped(&state.standing_of_limit(limits), width, Role::Plain));
    lines.unwrap_or_default()
}

/// Draws it below a title; where there is little room, the title sums it up.
pub(super) fn draw(paint: &mut Paint<'_>, state: &State, area: Rect) {
    if area.height == 0 {
        return;
    }
    let title = nth(area, 0);
    let has_keys = state.workers_pane == WorkersPane::Limits;
    let arrived = state.limits.read.as_ref().map(|read| read.arrived);
    let title = match arrived {
        Some(arrived) if area.height >= LEAST && area.width >= WITH_AGE => {
            paint.right(title, &[span(read_ago(state, arrived), Role::Faint), plain(" ")])
        }
        _ => title,
    };
    let full = state.limited().iter().any(|limits| limits.runs_all() || limits.approved_all());
    let (summary, role) = match &state.limits.failure {
        Some(failure) => (format!("could not be read: {}", failure.message), Role::Bad),
        None if full => (state.limits_summary(), Role::Attention),
        None => (state.limits_summary(), Role::Plain),
    };
    let mut heading = vec![plain("   "), span("Limits", Role::Title), plain("  "), span(summary, role)];
    if !has_keys {
        let key = state.keymap.label(crate::app::keys::Action::NextPane);
        heading.extend([plain("  "), span(key, Role::Key)]);
    }
    paint.line(title, &heading);
    if area.height < LEAST {
        return;
    }
    let rows = below(area, 1);
    let told = told(state, area);
    let told_height = cells(told.len() + 1);
    let table_height = if told.is_empty() || rows.height < 2 + told_height {
        rows.height
    } else {
        (wanted(state) - 1).min(rows.height - told_height)
    };
    table_of(paint, state, Rect { height: table_height, ..rows });
    for (place, line) in told.iter().enumerate() {
        let at = table_height + 1 + cells(place);
        if at < rows.height {
            paint.line(inset(nth(rows, at), 3), line);
        }
    }
}

fn table_of(paint: &mut Paint<'_>, state: &State, area: Rect) {
    let lead = 3;
    let has_keys = state.workers_pane == WorkersPane::Limits;
    let inner = inset(area, lead);
    let places = lay_out(inner.width, &COLUMNS);
    table::headings(paint, nth(inner, 0), &COLUMNS, &places);
    let rows = below(area, 1);
    if has_keys {
        paint.viewport.list_rows = usize::from(rows.height);
    }
    let offset = if has_keys { state.limits.offset } else { 0 };
    for (index, limits) in state.limited().iter().enumerate().skip(offset).take(usize::from(rows.height)) {
        let line = nth(rows, cells(index - offset));
        let under_cursor = has_keys && state.limit.as_deref() == Some(limits.tenant.as_str());
        let sign = if under_cursor { paint.glyphs.cursor } else { " " };
        paint.line(line, &[plain(" "), span(sign, Role::Running)]);
        table::row(paint, inset(line, lead), &COLUMNS, &places, &row(state, limits));
        if state.limits.failure.is_some() || super::tasks::is_stale(state) {
            paint.tint(line, Role::Faint);
        }
        if under_cursor {
            paint.tint(line, Role::Selected);
        }
        paint.target(line, Target::Limit(index));
    }
}

fn row(state: &State, limits: &TenantLimits) -> Vec<Cell> {
    vec![
        Cell::plain(&limits.tenant),
        used(limits.running, limits.state.max_running),
        used(limits.approved_today, limits.state.max_approved_per_day),
        Cell::new(state.limit_changed(limits).unwrap_or_default(), Role::Faint),
    ]
}

/// `2 of 2`, in the role of what needs a look where nothing is left.
fn used(used: i64, most: Option<i64>) -> Cell {
    match most {
        None => Cell::new(format!("{}, no limit", thousands(used)), Role::Faint),
        Some(most) => {
            let role = if used >= most { Role::Attention } else { Role::Plain };
            Cell::new(format!("{} of {}", thousands(used), thousands(most)), role)
        }
    }
}
