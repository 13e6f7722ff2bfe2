//! The lower pane of screen 2: every queue, how much waits in it, and who paused it.

use ratatui::layout::Rect;

use super::detail::read_ago;
use super::dialog::{Line, wrapped};
use super::figures::since;
use super::table::{self, Cell};
use crate::app::message::Target;
use crate::app::state::{State, WorkersPane};
use crate::domain::figure::thousands;
use crate::domain::queue::Queue;
use crate::ui::columns::{Column, lay_out};
use crate::ui::paint::{Paint, below, cells, inset, nth, plain, span};
use crate::ui::theme::Role;

const COLUMNS: [Column; 9] = [
    Column::words("QUEUE", 10, 20, 0),
    Column::words("STATE", 6, 6, 0),
    Column::number("WAITING", 7, 0),
    Column::number("OLDEST", 6, 1),
    Column::number("RUNNING", 7, 3),
    Column::number("HELD", 5, 5),
    Column::number("LATER", 5, 6),
    Column::number("WORKERS", 7, 4),
    Column::words("PAUSED BY", 14, 40, 2),
];

/// From so many columns on, the title says how old the rows are.
const WITH_AGE: u16 = 60;

/// From here on, headings and a row have room under a title.
const LEAST: u16 = 3;

/// How many lines it wants: a title, headings, a row for each.
pub(super) fn wanted(state: &State) -> u16 {
    cells(state.queues.read.as_ref().map_or(1, |read| read.value.len().max(1)) + 2)
}

/// How many more lines tell of the queue under the cursor, with a blank one before and behind them.
pub(super) fn told_lines(state: &State, area: Rect) -> u16 {
    match told(state, area) {
        lines if lines.is_empty() => 1,
        lines => cells(lines.len() + 2),
    }
}

/// What is told of the queue under the cursor, where this pane has the keys.
fn told(state: &State, area: Rect) -> Vec<Line> {
    let under_cursor = state.queue_under_cursor().filter(|_| state.workers_pane == WorkersPane::Queues);
    let width = usize::from(area.width).saturating_sub(4);
    let lines = under_cursor.map(|queue| wrapped(&state.standing_of_queue(queue), width, Role::Plain));
    lines.unwrap_or_default()
}

/// Draws it below a title; where there is little room, the title sums it up.
pub(super) fn draw(paint: &mut Paint<'_>, state: &State, area: Rect) {
    let title = nth(area, 0);
    let has_keys = state.workers_pane == WorkersPane::Queues;
    let arrived = state.queues.read.as_ref().map(|read| read.arrived);
    let title = match arrived {
        Some(arrived) if area.height >= LEAST && area.width >= WITH_AGE => {
            paint.right(title, &[span(read_ago(state, arrived), Role::Faint), plain(" ")])
        }
        _ => title,
    };
    let summary = match (state.queues_summary(), &state.queues.failure) {
        (_, Some(failure)) => format!("could not be read: {}", failure.message),
        (Some(summary), None) => summary,
        (None, None) => "reading…".to_owned(),
    };
    let paused = state.queues.read.iter().flat_map(|read| &read.value).any(|queue| queue.state.paused);
    let role = match &state.queues.failure {
        Some(_) => Role::Bad,
        None if paused => Role::Attention,
        None => Role::Plain,
    };
    let mut heading = vec![plain("   "), span("Queues", Role::Title), plain("  "), span(summary, role)];
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
    let has_keys = state.workers_pane == WorkersPane::Queues;
    let inner = inset(area, lead);
    let places = lay_out(inner.width, &COLUMNS);
    table::headings(paint, nth(inner, 0), &COLUMNS, &places);
    let rows = below(area, 1);
    if has_keys {
        paint.viewport.list_rows = usize::from(rows.height);
    }
    let Some(read) = &state.queues.read else { return };
    if read.value.is_empty() {
        let text = "Nothing waits, runs or is held in any queue, and none was ever paused.";
        paint.line(nth(inset(rows, lead), 0), &[span(text, Role::Faint)]);
    }
    let offset = if has_keys { state.queues.offset } else { 0 };
    for (index, queue) in read.value.iter().enumerate().skip(offset).take(usize::from(rows.height)) {
        let line = nth(rows, cells(index - offset));
        let under_cursor = has_keys && state.queue.as_deref() == Some(queue.name.as_str());
        let sign = if under_cursor { paint.glyphs.cursor } else { " " };
        paint.line(line, &[plain(" "), span(sign, Role::Running)]);
        table::row(paint, inset(line, lead), &COLUMNS, &places, &row(state, queue));
        if state.queues.failure.is_some() || super::tasks::is_stale(state) {
            paint.tint(line, Role::Faint);
        }
        if under_cursor {
            paint.tint(line, Role::Selected);
        }
        paint.target(line, Target::Queue(index));
    }
}

fn row(state: &State, queue: &Queue) -> Vec<Cell> {
    let paused = queue.state.paused;
    let (word, role) = if paused { ("PAUSED", Role::Attention) } else { ("open", Role::Plain) };
    let mut by = Cell::plain("");
    if let Some(beside) = state.beside_queue(&queue.name) {
        by.then(format!("{beside}  "), Role::Attention);
    }
    if let Some(who) = state.queue_changed(&queue.state) {
        let said = who.strip_prefix("paused by ").unwrap_or(&who);
        by.then(said, if paused { Role::Running } else { Role::Faint });
    }
    let oldest = state.oldest_in(queue).map_or_else(|| "-".to_owned(), since);
    let idle = queue.takers <= 0 && queue.waiting > 0 && !paused;
    vec![
        Cell::plain(&queue.name),
        Cell::new(word, role),
        Cell::plain(thousands(queue.waiting)),
        Cell::plain(oldest),
        Cell::plain(thousands(queue.running)),
        Cell::new(thousands(queue.held), if queue.held > 0 { Role::Attention } else { Role::Plain }),
        Cell::plain(thousands(queue.later)),
        Cell::new(thousands(queue.takers), if idle { Role::Bad } else { Role::Plain }),
        by,
    ]
}
