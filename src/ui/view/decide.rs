//! The question before a decision, and what is said when someone else got there first.

use std::time::Duration;

use ratatui::layout::Rect;

use super::dialog::{Dialog, Line, inner_width, key, keys, wrapped};
use super::figures::{ms, since};
use crate::app::conflict::{Conflict, ConflictAnswer, ConflictRow};
use crate::app::keys::Action;
use crate::app::question::{AskedFrom, Question, QuestionFocus, QuestionRow, Standing};
use crate::app::state::State;
use crate::domain::{DecisionKind, LastChange, Status};
use crate::ui::paint::{Paint, cells, inset, nth, plain, span};
use crate::ui::theme::Role;

const WIDTH: u16 = 72;

/// Draws a question.
pub(super) fn question(paint: &mut Paint<'_>, state: &State, question: &Question, area: Rect) {
    let width = inner_width(area, WIDTH);
    let verb = question.kind.verb();
    let title = match question.rows.as_slice() {
        [row] => format!("{} task {}?", capital(verb), row.seen.id),
        rows => format!("{} {} tasks?", capital(verb), rows.len()),
    };
    let mut body: Vec<Line> = Vec::new();
    let blocked = question.rows.iter().filter(|row| !matches!(row.standing, Standing::Ready { .. })).count();
    if question.rows.len() > 8 {
        body.extend(wrapped(&summary(question, blocked), width, Role::Plain));
    }
    // What stands in the way first: it may be one of three hundred.
    let mut rows: Vec<&QuestionRow> = question.rows.iter().collect();
    rows.sort_by_key(|row| matches!(row.standing, Standing::Ready { .. }));
    for row in rows {
        body.extend(row_lines(question, row, width));
    }
    let mut foot = Vec::new();
    if question.rows.len() > 1 {
        foot.push(vec![plain("All or none.")]);
    }
    let reason_at = foot.len();
    foot.push(Vec::new());
    let (yes, no) = match question.kind {
        DecisionKind::Cancel => (format!("cancel {}", pronoun(question)), "keep".to_owned()),
        kind => (format!("{} {}", kind.verb(), pronoun(question)), "do not".to_owned()),
    };
    foot.extend(match question.focus {
        QuestionFocus::Reason => vec![vec![span("Enter", Role::Key), plain(" done with the reason")]],
        QuestionFocus::Answer if blocked > 0 => {
            let why = format!("{yes} (not possible: {blocked} of {})", question.rows.len());
            let dim = vec![span(format!("{} {why}", state.keymap.label(Action::Yes)), Role::Faint)];
            keys(vec![dim, key(state, Action::No, &no)], width)
        }
        QuestionFocus::Answer => keys(
            vec![
                key(state, Action::Yes, &yes),
                key(state, Action::No, &no),
                key(state, Action::Reason, "reason"),
            ],
            width,
        ),
    });
    let role = if question.kind == DecisionKind::Reject { Role::Trouble } else { Role::Running };
    let inside = Dialog { title, role, body, foot }.draw(paint, area, WIDTH);
    reason(paint, question, nth(inside.foot, cells(reason_at)));
}

fn reason(paint: &mut Paint<'_>, question: &Question, line: Rect) {
    let label = [span("reason: ", Role::Faint)];
    if question.focus == QuestionFocus::Reason {
        super::editor::one_line(paint, line, &label, &question.reason, None);
        return;
    }
    let used = paint.line(line, &label);
    let text = question.reason.text();
    let (text, role) =
        if text.is_empty() { ("none given".to_owned(), Role::Faint) } else { (text, Role::Plain) };
    paint.line(inset(line, used), &[span(text, role)]);
}

fn capital(verb: &str) -> String {
    let mut chars = verb.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

fn pronoun(question: &Question) -> &'static str {
    if question.rows.len() == 1 { "it" } else { "them" }
}

fn summary(question: &Question, blocked: usize) -> String {
    let mut parts = Vec::new();
    for status in Status::ALL {
        let count = question.rows.iter().filter(|row| row.seen.status == status).count();
        if count > 0 {
            parts.push(format!("{count} {status}"));
        }
    }
    let blocked =
        if blocked > 0 { format!("; {blocked} cannot be decided as they were seen") } else { String::new() };
    format!("{}{blocked}.", parts.join(", "))
}

fn row_lines(question: &Question, row: &QuestionRow, width: usize) -> Vec<Line> {
    let seen = row.seen;
    let head = format!("{:>8}  {:<9}  v{:<3}  ", seen.id, seen.status, seen.version);
    let (text, role) = standing(question, row);
    let indent = if width >= 56 { head.len() } else { 2 };
    let mut lines = Vec::new();
    if width < 56 {
        lines.push(vec![plain(head.trim_end())]);
    }
    for (place, piece) in wrapped(&text, width.saturating_sub(indent), role).into_iter().enumerate() {
        let lead = if place == 0 && width >= 56 { head.clone() } else { " ".repeat(indent) };
        let mut line = vec![plain(lead)];
        line.extend(piece);
        lines.push(line);
    }
    lines
}

fn standing(question: &Question, row: &QuestionRow) -> (String, Role) {
    let seen_where = match question.asked_from {
        AskedFrom::List => "since you saw it",
        AskedFrom::Detail => "since you opened it",
        AskedFrom::Conflict => "since that answer",
    };
    match &row.standing {
        Standing::Ready { to } if *to == Status::Running => {
            ("will be asked to stop; stays RUNNING until its analyser has returned".to_owned(), Role::Plain)
        }
        Standing::Ready { to } => (format!("will be {to} at once"), Role::Plain),
        Standing::NotPossible { reason } => (format!("not possible: {reason}"), Role::Bad),
        Standing::Moved { version, status } => (
            format!("moved on {seen_where} (v{} → v{version}, now {status}): look again", row.seen.version),
            Role::Bad,
        ),
        Standing::Gone => {
            ("left the list; what it is now is not known here: look again".to_owned(), Role::Bad)
        }
        Standing::Busy { kind } => (format!("{kind} on it is not answered yet"), Role::Bad),
    }
}

/// Draws the first conflict.
pub(super) fn conflict(paint: &mut Paint<'_>, state: &State, conflict: &Conflict, area: Rect) {
    let width = inner_width(area, WIDTH);
    let ago = state.since(conflict.arrived);
    let mut body = Vec::new();
    for (index, row) in conflict.rows.iter().enumerate() {
        if index > 0 {
            body.push(Vec::new());
        }
        let marked = conflict.rows.len() > 1 && index == conflict.cursor;
        let lead = if conflict.rows.len() > 1 { 2 } else { 0 };
        for (place, line) in
            conflict_lines(conflict, row, ago, width.saturating_sub(lead)).into_iter().enumerate()
        {
            let sign = if marked && place == 0 { "> " } else { "  " };
            let mut whole = vec![span(&sign[..lead], Role::Running)];
            whole.extend(line);
            body.push(whole);
        }
    }
    if conflict.held > 0 {
        body.push(Vec::new());
        let others = format!("{} other rows of this decision were left as they were.", conflict.held);
        body.extend(wrapped(&others, width, Role::Plain));
    }
    let mut acts = vec![key(state, Action::Open, "look at it")];
    if let Some(ConflictRow { answer: ConflictAnswer::Now { task, .. }, .. }) =
        conflict.rows.get(conflict.cursor)
    {
        for (kind, action) in [
            (DecisionKind::Cancel, Action::Cancel),
            (DecisionKind::Approve, Action::Approve),
            (DecisionKind::Reject, Action::Reject),
            (DecisionKind::Requeue, Action::Requeue),
        ] {
            if kind.leads_to(task.status).is_some()
                && !(kind == DecisionKind::Cancel && task.cancel_requested)
            {
                acts.push(key(state, action, &format!("{kind} it as v{}", task.version)));
            }
        }
    }
    acts.push(key(state, Action::Back, "close"));
    let more = state.conflicts.len().saturating_sub(1);
    let title = if more > 0 {
        format!("Nothing was changed (and {more} more)")
    } else {
        "Nothing was changed".to_owned()
    };
    let foot = keys(acts, width);
    Dialog { title, role: Role::Trouble, body, foot }.draw(paint, area, WIDTH);
}

fn conflict_lines(conflict: &Conflict, row: &ConflictRow, ago: Duration, width: usize) -> Vec<Line> {
    let was = row.seen.map(|seen| format!("{}, ", seen.status)).unwrap_or_default();
    let mut lines = wrapped(
        &format!("You asked to {} {} as you saw it: {was}v{}.", conflict.kind, row.id, row.version_seen),
        width,
        Role::Plain,
    );
    match &row.answer {
        ConflictAnswer::NotFound => {
            lines.extend(wrapped("There is no such task (for this tenant).", width, Role::Running))
        }
        ConflictAnswer::Now { task, last } => {
            if let Some(last) = last {
                lines.extend(wrapped(&who(last, row.version_seen, ago), width, Role::Running));
            }
            let asked = if task.cancel_requested { ", and was asked to stop" } else { "" };
            let now = if task.version == row.version_seen {
                format!("It is {}, v{}{asked}: that cannot be done from there.", task.status, task.version)
            } else {
                format!("It is now {}, v{}{asked}.", task.status, task.version)
            };
            lines.extend(wrapped(&now, width, Role::Plain));
        }
    }
    lines
}

fn who(last: &LastChange, version_seen: i64, ago: Duration) -> String {
    let what = match last.movement.as_str() {
        "cancel" => "canceled",
        "request-cancel" => "asked to stop",
        "approve" => "approved",
        "reject" => "rejected",
        "requeue" => "requeued",
        "claim" => "claimed",
        "finish" => "finished",
        "submit" => "submitted",
        "release" => "released",
        "recover" => "recovered",
        "fail" | "retry" => "failed",
        other => other,
    };
    let when = since(ms(last.ago_ms) + ago);
    let reason = last.reason.as_ref().map(|reason| format!(": \"{reason}\"")).unwrap_or_default();
    let versions = if last.version_after == version_seen {
        format!("v{version_seen}")
    } else {
        format!("v{version_seen} → v{}", last.version_after)
    };
    format!("{} {what} it {when} ago ({versions}){reason}.", last.actor)
}
