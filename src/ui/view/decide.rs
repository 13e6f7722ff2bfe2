//! The question before a decision, and what is said when someone else got there first. The words are the
//! console's own ([`crate::app::question`], [`crate::app::conflict`]); here they get their places.

use ratatui::layout::Rect;

use super::dialog::{Dialog, Line, inner_width, key, keys, wrapped};
use super::question::Room;
use crate::app::conflict::Conflict;
use crate::app::keys::Action;
use crate::app::list::SeenRow;
use crate::app::question::{Question, QuestionRow, Standing};
use crate::app::state::State;
use crate::domain::{DecisionKind, Status};
use crate::ui::paint::{Paint, plain, span};
use crate::ui::theme::Role;

const WIDTH: u16 = 74;

/// From so many columns on, a row and what will happen to it stand side by side.
const SIDE_BY_SIDE: usize = 56;

/// From so many rows on, they are summed up first.
const MANY: usize = 6;

/// Draws a question.
pub(super) fn question(paint: &mut Paint<'_>, state: &State, question: &Question, area: Rect) {
    super::question::draw(paint, state, question, area, |Room { width, lines }| {
        let mut body: Vec<Line> = Vec::new();
        if question.rows.len() > MANY {
            body.extend(wrapped(&summary(question), width, Role::Plain));
        }
        if let [row] = question.rows.as_slice() {
            body.extend(row_lines(question, row, width));
        } else {
            body.extend(several(question, lines.saturating_sub(body.len()), width));
        }
        body
    });
}

fn summary(question: &Question) -> String {
    let count = |status: Status| question.rows.iter().filter(|row| row.seen.status == status).count();
    let parts: Vec<String> = Status::ALL
        .into_iter()
        .map(|status| (count(status), status))
        .filter(|(count, _)| *count > 0)
        .map(|(count, status)| format!("{count} {status}"))
        .collect();
    format!("{}.", parts.join(", "))
}

/// At least so many of the rows that stand in the way are named where there is room: there may be one of three
/// hundred.
const NAMED: usize = 3;

/// Rows on a line each within `room` lines: those that act first, then how many stand in the way, and the first of
/// them with their reasons.
fn several(question: &Question, room: usize, width: usize) -> Vec<Line> {
    let (acting, blocked) = question.parted();
    let from = question.scroll;
    let acting = acting.get(from.min(acting.len())..).unwrap_or_default();
    let passed = from.saturating_sub(question.rows.len() - blocked.len());
    let below = &blocked[passed.min(blocked.len())..];
    let heading = usize::from(!blocked.is_empty());
    let wanted = (below.len().min(NAMED) + heading).min(room / 2).max(heading);
    // What the acting rows leave free is for more of the others.
    let rest = room.saturating_sub(acting.len()).max(wanted);
    let mut lines = cut_off(question, acting, room.saturating_sub(rest), width);
    if heading > 0 {
        let count = match blocked.len() {
            1 => "1 stands in the way; nothing will be sent:".to_owned(),
            count => format!("{count} stand in the way; nothing will be sent:"),
        };
        lines.push(vec![span(count, Role::Bad)]);
        lines.extend(cut_off(question, below, rest.saturating_sub(1), width));
    }
    lines
}

/// The first of `rows` within `room` lines, and how many more there are.
fn cut_off(question: &Question, rows: &[&QuestionRow], room: usize, width: usize) -> Vec<Line> {
    let shown = if rows.len() > room { room.saturating_sub(1) } else { rows.len() };
    let mut lines: Vec<Line> = rows.iter().take(shown).map(|row| brief(question, row, width)).collect();
    if shown < rows.len() && room > 0 {
        lines.push(vec![span(format!("… and {} more", rows.len() - shown), Role::Faint)]);
    }
    lines
}

fn brief(question: &Question, row: &QuestionRow, width: usize) -> Line {
    let seen = row.seen;
    let head = if width >= SIDE_BY_SIDE { head(seen) } else { format!("{} ", seen.id) };
    let role = if matches!(row.standing, Standing::Ready { .. }) { Role::Plain } else { Role::Bad };
    vec![plain(head), span(row.says_briefly(question.kind), role)]
}

fn head(seen: SeenRow) -> String {
    format!("{:>8}  {:<9}  v{:<3}  ", seen.id, seen.status, seen.version)
}

fn row_lines(question: &Question, row: &QuestionRow, width: usize) -> Vec<Line> {
    let seen = row.seen;
    let head = head(seen);
    let role = if matches!(row.standing, Standing::Ready { .. }) { Role::Plain } else { Role::Bad };
    let text = row.says(question.kind);
    let side_by_side = width >= SIDE_BY_SIDE;
    let indent = if side_by_side { head.len() } else { 2 };
    let mut lines = Vec::new();
    if !side_by_side {
        lines.push(vec![plain(head.trim_end())]);
    }
    for (place, piece) in wrapped(&text, width.saturating_sub(indent), role).into_iter().enumerate() {
        let lead = if place == 0 && side_by_side { head.clone() } else { " ".repeat(indent) };
        let mut line = vec![plain(lead)];
        line.extend(piece);
        lines.push(line);
    }
    lines
}

/// Draws a conflict.
pub(super) fn conflict(paint: &mut Paint<'_>, state: &State, conflict: &Conflict, area: Rect) {
    let width = inner_width(area, WIDTH);
    let since = state.since(conflict.arrived);
    let several = conflict.rows.len() > 1;
    let lead = if several { 2 } else { 0 };
    let mut body: Vec<Line> = Vec::new();
    let mut focus = 0;
    for (index, row) in conflict.rows.iter().enumerate() {
        for (place, text) in row.lines(conflict.kind, &conflict.operator, since).iter().enumerate() {
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
    if conflict.held > 0 {
        let others = match conflict.held {
            1 => "1 other task was left as it is: all or none.".to_owned(),
            count => format!("{count} other tasks were left as they are: all or none."),
        };
        body.extend(wrapped(&others, width, Role::Plain));
    }
    let mut acts = vec![key(state, Action::Open, "look at it")];
    if let Some(row) = conflict.row_under_cursor() {
        acts.extend(
            conflict
                .possible(state)
                .into_iter()
                .map(|kind| key(state, action_of(kind), &format!("{kind} it as v{}", row.version))),
        );
    }
    acts.push(key(state, Action::Back, "close"));
    let title = match state.conflicts.len().saturating_sub(1) {
        0 => "Nothing was changed".to_owned(),
        more => format!("Nothing was changed (and {more} more)"),
    };
    Dialog { title, role: Role::Trouble, body, focus, foot: keys(acts, width) }.draw(paint, area, WIDTH);
}

const fn action_of(kind: DecisionKind) -> Action {
    match kind {
        DecisionKind::Cancel => Action::Cancel,
        DecisionKind::Approve => Action::Approve,
        DecisionKind::Reject => Action::Reject,
        DecisionKind::Requeue => Action::Requeue,
    }
}
