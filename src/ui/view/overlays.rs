//! What lies over a screen.

use ratatui::layout::Rect;

use super::bulk;
use super::decide;
use super::detail;
use super::dialog::{Dialog, Line, inner_width, key, keys, wrapped};
use super::pause;
use super::shutdown;
use super::stop;
use super::submit;
use crate::app::command::VERBS;
use crate::app::editor::Editor;
use crate::app::help::{HelpLine, help};
use crate::app::keys::Action;
use crate::app::overlay::Overlay;
use crate::app::state::State;
use crate::domain::Status;
use crate::domain::figure;
use crate::domain::text::wrap;
use crate::ui::paint::{Paint, below, cells, nth, plain, span};
use crate::ui::theme::Role;

const WIDTH: u16 = 64;

/// Draws one of them over `area`, which is all but the footer.
pub(super) fn draw(paint: &mut Paint<'_>, state: &State, overlay: &Overlay, area: Rect) {
    match overlay {
        Overlay::FirstStart => first_start(paint, state, area),
        Overlay::Question(question) => decide::question(paint, state, question, area),
        Overlay::Bulk(question) => bulk::question(paint, state, question, area),
        Overlay::BulkRun => {
            if let Some(run) = &state.bulk.run {
                bulk::run(paint, state, run, area);
            }
        }
        Overlay::Stop(question) => stop::question(paint, state, question, area),
        Overlay::StopConflict => {
            if let Some(conflict) = state.stop_conflicts.front() {
                stop::conflict(paint, state, conflict, area);
            }
        }
        Overlay::Queue(question) => pause::question(paint, state, question, area),
        Overlay::QueueConflict => {
            if let Some(conflict) = state.queue_conflicts.front() {
                pause::conflict(paint, state, conflict, area);
            }
        }
        Overlay::SubmitLines { path } => submit_lines(paint, state, path, area),
        Overlay::Conflict => {
            if let Some(conflict) = state.conflicts.front() {
                decide::conflict(paint, state, conflict, area);
            }
        }
        Overlay::Submit => submit::draw(paint, state, area),
        Overlay::Unsent => unsent(paint, state, area),
        Overlay::Shutdown => shutdown::draw(paint, state, area),
        Overlay::Command { line, typed, chosen, .. } => {
            let typed = if chosen.is_some() { typed.clone() } else { line.text() };
            completions(paint, line, &typed, area);
        }
        // These are typed in the line above the footer.
        Overlay::Search { .. } | Overlay::Tenant { .. } => {}
        Overlay::States { cursor, chosen } => states(paint, state, *cursor, chosen, area),
        Overlay::Help { scroll } => help_page(paint, state, *scroll, area),
        Overlay::Input { id, text, scroll } => {
            let bytes = figure::bytes(i64::try_from(text.len()).unwrap_or(i64::MAX));
            let inner = page(paint, area, &format!("Input of task {id} ({bytes})"));
            detail::whole(paint, inner, text, *scroll);
        }
    }
}

/// A page over the whole screen; returns where its text stands.
fn page(paint: &mut Paint<'_>, area: Rect, title: &str) -> Rect {
    paint.wipe(area);
    let line = nth(area, 0);
    paint.line(line, &[plain(" "), span(title, Role::Running)]);
    paint.tint(line, Role::Selected);
    below(area, 1)
}

fn yes_no(paint: &mut Paint<'_>, state: &State, title: &str, text: &str, acts: [&str; 2], area: Rect) {
    let width = inner_width(area, WIDTH);
    let foot = keys(vec![key(state, Action::Yes, acts[0]), key(state, Action::No, acts[1])], width);
    let body = wrapped(text, width, Role::Plain);
    Dialog { title: title.to_owned(), role: Role::Running, body, focus: 0, foot }.draw(paint, area, WIDTH);
}

fn first_start(paint: &mut Paint<'_>, state: &State, area: Rect) {
    let text = "This database holds no task yet. A few sample texts show what the console does; they stay as ordinary tasks.";
    yes_no(paint, state, "A new database", text, ["submit the samples", "begin empty"], area);
}

fn submit_lines(paint: &mut Paint<'_>, state: &State, path: &str, area: Rect) {
    let begun = state.acts.unfinished.iter().any(|file| file.path.as_deref() == Some(path));
    let text = format!(
        "Each line of {path} becomes a task of tenant {} in queue {}. Empty lines are refused and named.{}",
        state.session.tenant,
        state.session.queue,
        if begun { " It was begun before: what is in the table already is not submitted again." } else { "" }
    );
    yes_no(paint, state, "Submit a file, one task a line?", &text, ["submit them", "do not"], area);
}

fn unsent(paint: &mut Paint<'_>, state: &State, area: Rect) {
    let text = format!(
        "A text of {} was written and not submitted. It is lost when this process ends.",
        figure::bytes(i64::try_from(state.submit.text.bytes()).unwrap_or(i64::MAX))
    );
    yes_no(paint, state, "A text was not submitted", &text, ["end and lose it", "stay"], area);
}

fn states(paint: &mut Paint<'_>, state: &State, cursor: usize, chosen: &[Status], area: Rect) {
    let width = inner_width(area, 40);
    let mut body: Vec<Line> = Vec::new();
    for (index, status) in Status::ALL.into_iter().enumerate() {
        let mark = if chosen.contains(&status) { "[x]" } else { "[ ]" };
        let sign = if index == cursor { paint.glyphs.cursor } else { " " };
        let role = if index == cursor { Role::Selected } else { Role::Plain };
        body.push(vec![span(sign, Role::Running), span(format!(" {mark} {status:<10}"), role)]);
    }
    if chosen.is_empty() {
        body.push(vec![span("none chosen: all states are shown", Role::Faint)]);
    }
    let acts = vec![
        key(state, Action::Mark, "choose"),
        key(state, Action::Open, "apply"),
        key(state, Action::Back, "leave as it is"),
    ];
    let foot = keys(acts, width);
    Dialog { title: "Which states?".to_owned(), role: Role::Running, body, focus: cursor, foot }
        .draw(paint, area, 40);
}

/// The verbs that begin with what was typed, above the line in which it is typed.
fn completions(paint: &mut Paint<'_>, line: &Editor, typed: &str, area: Rect) {
    let first = typed.split_whitespace().next().unwrap_or_default();
    let has_argument = typed.trim_start().contains(char::is_whitespace);
    let text = line.text();
    let now = text.split_whitespace().next().unwrap_or_default();
    let fitting: Vec<_> = VERBS
        .iter()
        .filter(|verb| if has_argument { verb.name == first } else { verb.name.starts_with(first) })
        .collect();
    let height = cells(fitting.len()).min(area.height / 2);
    let at = Rect { y: area.bottom() - height, height, ..area };
    paint.wipe(at);
    for (place, verb) in fitting.iter().take(usize::from(height)).enumerate() {
        let role = if verb.name == now { Role::Key } else { Role::Plain };
        let spans = [
            plain("  "),
            span(format!("{:<9}", verb.name), role),
            span(format!(" {:<9} ", verb.argument), Role::Faint),
            span(verb.long, Role::Faint),
        ];
        paint.line(nth(at, cells(place)), &spans);
    }
}

fn help_page(paint: &mut Paint<'_>, state: &State, scroll: usize, area: Rect) {
    let inner = page(paint, area, "Help");
    paint.viewport.overlay_rows = usize::from(inner.height);
    let lines: Vec<Line> = help(state).iter().flat_map(|line| help_line(line, inner)).collect();
    paint.viewport.overlay_lines = lines.len();
    // Until it is told how long the page is, `End` may ask for more than there is.
    let scroll = scroll.min(lines.len().saturating_sub(usize::from(inner.height)));
    for (place, line) in lines.iter().skip(scroll).take(usize::from(inner.height)).enumerate() {
        paint.line(nth(inner, cells(place)), line);
    }
    let hidden = lines.len().saturating_sub(scroll + usize::from(inner.height));
    if hidden > 0 {
        paint.right(nth(area, 0), &[span(format!("{hidden} more lines below "), Role::Selected)]);
    }
}

fn help_line(line: &HelpLine, area: Rect) -> Vec<Line> {
    let keys_width = 20.min(usize::from(area.width) / 3);
    let room = usize::from(area.width).saturating_sub(keys_width + 4);
    match line {
        HelpLine::Title { text } => vec![vec![plain(" "), span(text, Role::Title)]],
        HelpLine::Text { text } => wrap(text, usize::from(area.width).saturating_sub(2))
            .into_iter()
            .map(|row| vec![plain(" "), plain(row)])
            .collect(),
        HelpLine::Act { keys, text, unavailable } => {
            let text = match unavailable {
                Some(why) => format!("{text} Not now: {why}."),
                None => text.clone(),
            };
            let role = if unavailable.is_some() { Role::Faint } else { Role::Plain };
            wrap(&text, room)
                .into_iter()
                .enumerate()
                .map(|(place, row)| {
                    let keys = if place == 0 { keys.as_str() } else { "" };
                    let key_role = if unavailable.is_some() { Role::Faint } else { Role::Key };
                    vec![plain("  "), span(format!("{keys:<keys_width$} "), key_role), span(row, role)]
                })
                .collect()
        }
    }
}
