//! Screen 1: the list, and beside it (or in its place) the row under the cursor.

use std::time::Duration;

use jiff::Timestamp;
use ratatui::layout::Rect;

use super::detail;
use super::figures::since;
use super::table::{self, Cell};
use crate::app::frame::{Division, division};
use crate::app::keys::Action;
use crate::app::link::Link;
use crate::app::list::{Cursor, ReadStamp};
use crate::app::message::Target;
use crate::app::state::{Pane, Size, State};
use crate::domain::observed::Listed;
use crate::domain::{Status, Task, TaskId, figure};
use crate::ui::columns::{Column, Place, Side, lay_out};
use crate::ui::paint::{Paint, below, cells, columns as columns_of, inset, nth, plain, span};
use crate::ui::theme::Role;

const ID: usize = 0;
const STATE: usize = 1;
const VERSION: usize = 2;
const TENANT: usize = 3;
const QUEUE: usize = 4;
const AGE: usize = 5;
const WORKER: usize = 6;
const INPUT: usize = 7;

const COLUMNS: [Column; 8] = [
    Column::number("ID", 6, 0),
    Column::words("STATE", 9, 20, 0),
    Column::number("V", 3, 2),
    Column::words("TENANT", 8, 12, 7),
    Column::words("QUEUE", 8, 12, 6),
    Column::number("AGE", 4, 3),
    Column::words("WORKER", 6, 12, 5),
    Column::words("INPUT", 10, 30, 4),
];

/// Room for cursor and mark before the columns.
const LEAD: u16 = 3;

/// Draws it.
pub(super) fn draw(paint: &mut Paint<'_>, state: &State, area: Rect) {
    let size = Size { width: paint.area().width, height: paint.area().height };
    match division(size) {
        Division::OnePane if state.pane == Pane::Detail => detail::draw(paint, state, inset(area, 1)),
        Division::OnePane => list(paint, state, area),
        Division::TwoPanes => {
            let right = (area.width * 3 / 10).clamp(36, 80);
            list(paint, state, Rect { width: area.width - right - 1, ..area });
            let line = Rect { x: area.right() - right, width: 1, ..area };
            for y in 0..area.height {
                let (sign, role) = if state.pane == Pane::Detail {
                    (paint.glyphs.vertical, Role::Running)
                } else {
                    (paint.glyphs.vertical, Role::Frame)
                };
                paint.line(nth(line, y), &[span(sign, role)]);
            }
            detail::draw(paint, state, inset(Rect { x: line.x, width: right, ..area }, 2));
        }
    }
}

/// The columns at this width. The input shrinks first, but what is left of it must still say something while
/// there are columns of less use; the number is as wide as the newest one, which grows once in a lifetime. Words
/// get what the loaded rows need, in steps, and the input what is left.
fn columns(state: &State, width: u16) -> [Column; 8] {
    let mut columns = COLUMNS;
    let newest = state.list.rows.first().map_or(0, |row| row.id().0.max(0));
    let digits = newest.checked_ilog10().map_or(1, |log| log + 1).max(6);
    columns[ID] = Column::number("ID", u16::try_from(digits).unwrap_or(20), 0);
    if width >= 60 {
        let state_of = |task: &Task| {
            let detail = detail_of(state, task).map_or(0, |(detail, _)| columns_of(&[plain(detail)]) + 1);
            task.status.as_str().len() + detail
        };
        fit(&mut columns[STATE], widest(state, state_of), (17, 18));
        fit(&mut columns[WORKER], widest(state, |task| columns_of(&[plain(worker(state, task))])), (12, 12));
        fit(&mut columns[TENANT], widest(state, |task| columns_of(&[plain(&task.tenant)])), (12, 12));
        fit(&mut columns[QUEUE], widest(state, |task| columns_of(&[plain(&task.queue)])), (12, 12));
        columns[INPUT].least = 28;
    }
    columns
}

/// The columns that the widest of the loaded rows needs.
fn widest(state: &State, of: impl Fn(&Task) -> usize) -> usize {
    state.list.rows.iter().filter_map(Listed::task).map(of).max().unwrap_or(0)
}

/// Makes a column as wide as what is in it, up to the first of `most`, and up to the second where nothing else
/// has to go for it; in steps, so that a count that gets a digit more moves nothing.
fn fit(column: &mut Column, needed: usize, most: (u16, u16)) {
    let step = 3;
    let wanted = column.least + cells(needed).saturating_sub(column.least).div_ceil(step) * step;
    column.least = wanted.min(most.0);
    column.best = wanted.min(most.1);
}

fn list(paint: &mut Paint<'_>, state: &State, area: Rect) {
    let inner = inset(area, LEAD);
    let columns = columns(state, inner.width);
    let places = lay_out(inner.width, &columns);
    table::headings(paint, nth(inner, 0), &columns, &places);
    newer(paint, state, nth(inner, 0));
    let rows = below(area, 1);
    paint.viewport.list_rows = usize::from(rows.height);
    if state.list.rows.is_empty() {
        empty(paint, state, rows);
        return;
    }
    let shown = state.list.rows.iter().enumerate().skip(state.list.offset).take(usize::from(rows.height));
    for (index, listed) in shown {
        let line = nth(rows, cells(index - state.list.offset));
        row(paint, state, listed, (&columns, &places), line);
        if matches!(state.list.cursor, Cursor::Gone { at, .. } if at == index) {
            // The cursor stands between rows: no key can hit the one that moved up.
            paint.line(line, &[span("-", Role::Attention)]);
        }
        paint.target(line, Target::Task(listed.id()));
    }
}

/// Says over the headings how many newer rows there are above the first visible one: rows do not move under the
/// cursor, so nothing else would tell of them.
fn newer(paint: &mut Paint<'_>, state: &State, headings: Rect) {
    let up = paint.glyphs.up;
    let count = match state.list.hidden_above() {
        Some(0) => return,
        Some(count) => format!("{up} {}", figure::thousands(i64::try_from(count).unwrap_or(i64::MAX))),
        None => up.to_owned(),
    };
    let key = state.keymap.label(Action::Top);
    let text = if headings.width < 25 { count } else { format!("{count} newer ({key})") };
    let hint = [plain("  "), span(text, Role::Running), plain(" ")];
    let width = cells(columns_of(&hint)).min(headings.width);
    paint.wipe(Rect { x: headings.right() - width, width, ..headings });
    paint.right(headings, &hint);
}

fn empty(paint: &mut Paint<'_>, state: &State, area: Rect) {
    let text = match (&state.list.failure, state.list.read) {
        (Some(failure), _) => format!("The list could not be read: {}", failure.message),
        (None, None) if matches!(state.link, Link::NoAnswer { .. }) => {
            "The list could not be read: no answer from the database.".to_owned()
        }
        (None, None) => "Reading the list…".to_owned(),
        (None, Some(_)) if state.list.is_filtered() => {
            "No task matches the filter. Esc clears it.".to_owned()
        }
        (None, Some(_)) => "There are no tasks yet. n writes one.".to_owned(),
    };
    paint.line(nth(inset(area, LEAD), 1), &[plain(text)]);
}

fn row(paint: &mut Paint<'_>, state: &State, listed: &Listed, table: (&[Column], &[Place]), line: Rect) {
    let id = listed.id();
    let under_cursor = state.list.cursor == Cursor::On { id };
    let marked = state.list.all.is_some() || state.list.marks.contains_key(&id);
    let sign = |shown: bool, sign: &'static str| if shown { sign } else { " " };
    let lead = format!("{}{} ", sign(marked, paint.glyphs.mark), sign(under_cursor, paint.glyphs.cursor));
    paint.line(Rect { width: LEAD.min(line.width), ..line }, &[span(lead, Role::Running)]);
    let inner = inset(line, LEAD);
    match listed {
        Listed::Task(task) => {
            let (columns, places) = table;
            let input_fits = places.iter().any(|place| place.index == INPUT);
            let cells: Vec<Cell> =
                (0..columns.len()).map(|column| cell(state, task, column, input_fits)).collect();
            table::row(paint, inner, columns, places, &cells);
        }
        Listed::Bad { id, problem } => {
            let width = table.0[ID].best;
            let at = Rect { width: width.min(inner.width), ..inner };
            paint.cell(at, &id.to_string(), Role::Plain, Side::Right);
            let rest = inset(inner, width + 2);
            paint.line(rest, &[span("UNREADABLE", Role::Bad), plain(format!(" {problem}"))]);
        }
    }
    if is_stale(state) {
        paint.tint(line, Role::Faint);
    }
    if under_cursor {
        let role = if state.pane == Pane::List || division(state.size) == Division::OnePane {
            Role::Selected
        } else {
            Role::Running
        };
        paint.tint(line, role);
    }
}

/// Whether the rows may not be what is true now.
pub(super) fn is_stale(state: &State) -> bool {
    matches!(state.link, Link::NoAnswer { .. }) || state.list.failure.is_some()
}

/// The look of a row in this state.
pub(super) const fn role_of(status: Status) -> Role {
    match status {
        Status::Submitted | Status::Queued => Role::Plain,
        Status::Running => Role::Running,
        Status::Succeeded | Status::Failed | Status::Canceled | Status::Rejected => Role::Done,
    }
}

/// The look of the word for this state: what needs a person stands out, and so does what failed.
pub(super) const fn word_role(status: Status) -> Role {
    match status {
        Status::Submitted => Role::Attention,
        Status::Failed => Role::Bad,
        other => role_of(other),
    }
}

fn cell(state: &State, task: &Task, column: usize, input_fits: bool) -> Cell {
    let role = role_of(task.status);
    let beside = state.acts.beside(task.id);
    match column {
        ID => Cell::new(task.id.to_string(), role),
        STATE => {
            let mut cell = Cell::new(task.status.as_str(), word_role(task.status));
            let detail = match beside {
                Some(beside) if !input_fits => Some((beside, Role::Running)),
                _ => detail_of(state, task),
            };
            if let Some((detail, role)) = detail {
                cell.then(format!(" {detail}"), role);
            }
            cell
        }
        VERSION => Cell::new(task.version.to_string(), role),
        TENANT => Cell::new(&task.tenant, role),
        QUEUE => Cell::new(&task.queue, role),
        AGE => Cell::new(state.list.read.map(|stamp| age(state, task, stamp)).unwrap_or_default(), role),
        WORKER => Cell::new(worker(state, task), role),
        _ => match beside {
            // What is being asked is shown beside the row; the row itself changes when the database says so.
            Some(beside) => {
                let mut cell = Cell::new(beside, Role::Attention);
                cell.then(format!("  {}", task.input), role);
                cell
            }
            None => Cell::new(&task.input, role),
        },
    }
}

/// What belongs to the state and is not in its word.
fn detail_of(state: &State, task: &Task) -> Option<(String, Role)> {
    match task.status {
        Status::Running if task.cancel_requested => Some(("canceling".to_owned(), Role::Attention)),
        Status::Queued => {
            let left = due_in(state, task.scheduled_at)?;
            let word = if task.attempt > 0 { "retry" } else { "in" };
            Some((format!("{word} {}", since(left)), Role::Faint))
        }
        Status::Failed => task.error.as_ref().map(|error| (error.clone(), Role::Done)),
        _ => None,
    }
}

/// How long until a moment of the database's clock; none once it has passed.
pub(super) fn due_in(state: &State, moment: Timestamp) -> Option<Duration> {
    let left = Duration::try_from(moment.duration_since(state.wall(state.now)?)).ok()?;
    (left > Duration::ZERO).then_some(left)
}

/// How long a task has been in its state.
pub(super) fn in_state_since(task: &Task) -> Timestamp {
    match task.status {
        Status::Running => task.started_at.unwrap_or(task.created_at),
        Status::Submitted | Status::Queued => task.created_at,
        _ => task.finished_at.unwrap_or(task.created_at),
    }
}

fn age(state: &State, task: &Task, stamp: ReadStamp) -> String {
    figure::age(state.age(in_state_since(task), stamp.read_at, stamp.arrived))
}

/// Who runs or ran it: `here/2` for a slot of this process, else `host:pid`.
pub(super) fn worker(state: &State, task: &Task) -> String {
    if task.status != Status::Running {
        return String::new();
    }
    let here = state.local.as_ref().filter(|local| Some(local.value.instance) == task.claimed_by);
    match here {
        Some(local) => slot_of(&local.value.running, task.id),
        None => task.worker.clone().unwrap_or_else(|| "unknown".to_owned()),
    }
}

fn slot_of(running: &[crate::domain::observed::SlotRun], id: TaskId) -> String {
    running
        .iter()
        .find(|run| run.id == id)
        .map_or_else(|| "here".to_owned(), |run| format!("here/{}", run.slot))
}
