//! The row under the cursor, whole: what it is, what is being done to it, its history, its texts.

use std::time::Duration;

use jiff::Timestamp;
use ratatui::layout::Rect;

use super::figures::since;
use super::tasks::{due_in, in_state_since, is_stale, word_role, worker};
use crate::app::detail::{Detail, Follows};
use crate::app::frame::{Division, division};
use crate::app::link::Link;
use crate::app::list::ReadStamp;
use crate::app::message::Target;
use crate::app::state::{Pane, State};
use crate::domain::outcome::TaskHistory;
use crate::domain::text::{visible_lines, wrap};
use crate::domain::{Event, Status, Task, figure};
use crate::ui::paint::{Paint, Span, below, cells, columns, inset, nth, plain, span};
use crate::ui::theme::Role;

/// Lines of a text that are drawn in the pane; `Enter` shows the rest.
const TEXT_LINES: usize = 200;

/// Draws it.
pub(super) fn draw(paint: &mut Paint<'_>, state: &State, area: Rect) {
    let area = if area.width > 4 { Rect { width: area.width - 1, ..area } } else { area };
    paint.target(area, Target::Detail);
    let detail = &state.detail;
    let Some(id) = detail.target else {
        paint.viewport.detail_rows = usize::from(area.height);
        paint.line(nth(area, 0), &[span("No task under the cursor", Role::Faint)]);
        return;
    };
    let from_list = state.list.task(id).zip(state.list.read);
    let current = detail.current();
    let shown = match current.and_then(|read| read.found.as_ref().map(|found| (found, read.stamp))) {
        Some((found, stamp)) => Some((&found.task, Some(found), stamp)),
        None => from_list.map(|(task, stamp)| (task, None, stamp)),
    };
    let title = nth(area, 0);
    let version = shown.map(|(task, ..)| format!("v{}", task.version)).unwrap_or_default();
    let left = paint.right(title, &[plain(version)]);
    let how = if detail.follows == Follows::Number { " (asked for by number)" } else { "" };
    paint.line(left, &[span(format!("Task {id}"), Role::Title), span(how, Role::Faint)]);

    if state.pane == Pane::Detail && division(state.size) == Division::TwoPanes {
        paint.tint(title, Role::Selected);
    }

    let mut lines = Lines { lines: Vec::new(), width: usize::from(area.width) };
    match (shown, current) {
        (_, Some(read)) if read.found.is_none() => {
            let of = state
                .list
                .filter
                .tenant
                .as_ref()
                .map(|tenant| format!(" of tenant {tenant}"))
                .unwrap_or_default();
            lines.text(
                &format!("There is no task {id}{of}: the database was asked and has no such row."),
                Role::Plain,
            );
        }
        (Some((task, history, stamp)), _) => {
            lines.task(state, task, history, stamp);
            match history {
                Some(history) => lines.history(state, history, stamp),
                None => lines.text("Reading its history…", Role::Faint),
            }
            lines.texts(task);
        }
        (None, _) => lines.text("Reading…", Role::Faint),
    }
    lines.trouble(state, detail);
    let told = lines.lines.len();
    lines.read_at(state, shown.map(|(.., stamp)| stamp));
    let body = below(area, 1);
    paint.viewport.detail_rows = usize::from(body.height);
    paint.viewport.detail_lines = lines.lines.len();
    let scroll = detail.scroll.min(lines.lines.len().saturating_sub(1));
    let mut room = usize::from(body.height);
    // What is cut off is told on a line of its own; when it was read is no part of what is told about the task.
    if told > scroll + room && room > 2 {
        room -= 1;
        let hidden = lines.lines[scroll + room..told].iter().filter(|line| !line.is_empty()).count();
        let more = if hidden == 1 { "1 more line".to_owned() } else { format!("{hidden} more lines") };
        paint.right(nth(body, cells(room)), &[span(more, Role::Faint)]);
    }
    for (place, line) in lines.lines.iter().skip(scroll).take(room).enumerate() {
        paint.line(nth(body, cells(place)), line);
    }
    if is_stale(state) {
        paint.tint(body, Role::Faint);
    }
}

struct Lines {
    lines: Vec<Vec<Span>>,
    width: usize,
}

impl Lines {
    fn push(&mut self, line: Vec<Span>) {
        self.lines.push(line);
    }

    /// A text of ours or of a row, wrapped.
    fn text(&mut self, text: &str, role: Role) {
        for line in visible_lines(text) {
            for row in wrap(&line, self.width) {
                self.push(vec![span(row, role)]);
            }
        }
    }

    fn title(&mut self, text: &str, more: &str) {
        self.push(Vec::new());
        self.push(vec![span(text, Role::Title), span(more, Role::Faint)]);
    }

    fn task(&mut self, state: &State, task: &Task, history: Option<&TaskHistory>, stamp: ReadStamp) {
        let age = |moment: Timestamp| since(state.age(moment, stamp.read_at, stamp.arrived));
        let place = worker(state, task);
        let on = if place.is_empty() { String::new() } else { format!(" on {place}") };
        let time = age(in_state_since(task));
        let rest = match (task.status, due_in(state, task.scheduled_at)) {
            (Status::Queued, Some(left)) => format!(", due in {}", since(left)),
            (Status::Queued, None) => format!(", due, {time} old"),
            (Status::Submitted, _) if task.needs_another_than(&state.session.operator) => {
                format!(" for {time}, waits for another's approval: you submitted it")
            }
            (Status::Submitted, _) => format!(" for {time}, waits for approval"),
            (Status::Running, _) => format!("{on} for {time}"),
            _ => format!(" {time} ago"),
        };
        self.push(vec![span(task.status.as_str(), word_role(task.status)), plain(rest)]);
        if task.cancel_requested && task.status == Status::Running {
            let asked = history.and_then(|history| {
                history.events.iter().rev().find(|event| event.movement == "request-cancel")
            });
            let when = asked.map(|event| format!(" {} ago by {}", age(event.at), event.actor));
            self.text(&format!("cancel requested{}", when.unwrap_or_default()), Role::Running);
        }
        if let Some(beside) = state.acts.beside(task.id) {
            self.push(vec![span(beside, Role::Attention)]);
        }
        let dot = " · ";
        self.text(
            &format!("claim {}{dot}attempt {} of {}", task.claim_no, task.attempt, task.max_attempts),
            Role::Plain,
        );
        self.text(&format!("queue {}{dot}priority {}", task.queue, task.priority), Role::Plain);
        self.text(&format!("tenant {}", task.tenant), Role::Plain);
        if task.status == Status::Succeeded {
            self.title("Result", "");
            let counts = task.counts;
            for (count, what) in [(counts.words, "words"), (counts.bytes, "bytes"), (counts.runes, "runes")] {
                self.push(vec![plain(format!("{:>11} ", figure::thousands(count))), span(what, Role::Faint)]);
            }
        }
        if let Some(error) = &task.error {
            self.title("Error of the latest attempt", "");
            self.text(error, Role::Bad);
        }
    }

    fn history(&mut self, state: &State, history: &TaskHistory, stamp: ReadStamp) {
        self.title("Timeline", "");
        let mut moments = moments(state, history);
        moments.sort_by_key(|(at, _, _)| *at);
        for (at, what, reason) in moments {
            let age = since(state.age(at, stamp.read_at, stamp.arrived));
            let lead = format!("{:>6}  ", format!("-{age}"));
            let room = self.width.saturating_sub(lead.len());
            for (place, row) in wrap(&crate::domain::text::visible(&what), room).into_iter().enumerate() {
                let lead = if place == 0 { lead.clone() } else { " ".repeat(lead.len()) };
                self.push(vec![span(lead, Role::Faint), plain(row)]);
            }
            if let Some(reason) = reason {
                let quoted = format!("\"{}\"", crate::domain::text::visible(&reason));
                for row in wrap(&quoted, room) {
                    self.push(vec![plain(" ".repeat(8)), span(row, Role::Faint)]);
                }
            }
        }
    }

    fn texts(&mut self, task: &Task) {
        if let Some(output) = &task.output {
            let bytes = i64::try_from(output.len()).unwrap_or(i64::MAX);
            self.title("Output", &format!(" ({})", figure::bytes(bytes)));
            self.long(output);
        }
        let cut = if task.input_is_cut() { ", its beginning" } else { "" };
        self.title("Input", &format!(" ({}{cut})", figure::bytes(task.input_bytes)));
        self.long(&task.input);
    }

    fn long(&mut self, text: &str) {
        let before = self.lines.len();
        for line in visible_lines(text) {
            for row in wrap(&line, self.width.saturating_sub(1)) {
                if self.lines.len() - before == TEXT_LINES {
                    self.text("… the rest is not shown here", Role::Faint);
                    return;
                }
                self.push(vec![plain(" "), plain(row)]);
            }
        }
    }

    fn trouble(&mut self, state: &State, detail: &Detail) {
        let failed =
            detail.failure.as_ref().map(|failure| format!("Could not be read again: {}", failure.message));
        let quiet =
            matches!(state.link, Link::NoAnswer { .. }).then(|| "No answer from the database.".to_owned());
        if let Some(text) = failed.or(quiet) {
            self.push(Vec::new());
            self.text(&text, Role::Bad);
        }
    }

    fn read_at(&mut self, state: &State, stamp: Option<ReadStamp>) {
        if let Some(stamp) = stamp {
            let age = figure::data_age(state.since(stamp.arrived));
            self.push(Vec::new());
            let text = format!("read {age} ago");
            let lead = self.width.saturating_sub(columns(&[plain(&text)]));
            self.push(vec![plain(" ".repeat(lead)), span(text, Role::Faint)]);
        }
    }
}

/// What happened to a task, from its events and its own columns.
fn moments(state: &State, history: &TaskHistory) -> Vec<(Timestamp, String, Option<String>)> {
    let task = &history.task;
    let mut moments: Vec<_> =
        history.events.iter().map(|event| (event.at, told(event), event.reason.clone())).collect();
    let by = task.submitted_by.as_ref().map_or_else(String::new, |by| format!(" by {by}"));
    moments.push((task.created_at, format!("submitted{by}"), None));
    if let Some(started) = task.started_at {
        let by = match (task.status, worker(state, task)) {
            (Status::Running, by) if !by.is_empty() => format!(" by {by}"),
            _ => task.worker.as_ref().map(|by| format!(" by {by}")).unwrap_or_default(),
        };
        moments.push((started, format!("claimed{by}, claim {}", task.claim_no), None));
    }
    if let Some(finished) = task.finished_at {
        let told_already = history.events.iter().any(|event| event.at == finished && event.to == task.status);
        if !told_already {
            moments.push((finished, format!("finished: {}", task.status), None));
        }
    }
    moments
}

fn told(event: &Event) -> String {
    let what = match event.movement.as_str() {
        "cancel" => "canceled",
        "request-cancel" => "cancel requested",
        "approve" => "approved",
        "reject" => "rejected",
        "requeue" => "requeued",
        "fail" => "failed",
        "retry" => "failed, to be tried again",
        "release" => "released",
        "recover" => "recovered",
        other => other,
    };
    format!("{what} by {}, v{} → v{}", event.actor, event.version_before, event.version_after)
}

/// A whole text in place of the screen, from line `scroll` on.
pub(super) fn whole(paint: &mut Paint<'_>, area: Rect, text: &str, scroll: usize) {
    let inner = inset(area, 1);
    let rows: Vec<_> = visible_lines(text).flat_map(|line| wrap(&line, usize::from(inner.width))).collect();
    paint.viewport.overlay_rows = usize::from(area.height);
    paint.viewport.overlay_lines = rows.len();
    let scroll = scroll.min(rows.len().saturating_sub(usize::from(area.height)));
    for (place, row) in rows.iter().skip(scroll).take(usize::from(area.height)).enumerate() {
        paint.line(nth(inner, cells(place)), &[plain(row)]);
    }
}

/// How old the newest of two reads is, for a caption.
pub(super) fn read_ago(state: &State, arrived: Duration) -> String {
    format!("read {} ago", figure::data_age(state.since(arrived)))
}
