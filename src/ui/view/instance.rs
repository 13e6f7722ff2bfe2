//! The instance under the cursor, whole: what it is, what it does and because of whom, what it has in flight, what
//! others took back from it.

use std::time::Duration;

use ratatui::layout::Rect;

use super::figures::since;
use crate::app::state::{Read, State};
use crate::domain::text::wrap;
use crate::domain::{Instance, figure};
use crate::ui::paint::{Paint, Span, cells, columns, nth, plain, span};
use crate::ui::theme::Role;

/// The lines that tell it, `width` columns wide; the first is a title.
pub(super) fn lines(
    state: &State,
    read: &Read<Vec<Instance>>,
    one: &Instance,
    width: usize,
) -> Vec<Vec<Span>> {
    let passed = state.since(read.arrived);
    let mut lines: Vec<Vec<Span>> = Vec::new();
    let here = if state.is_here(one.id) { " (here)" } else { "" };
    lines.push(vec![
        span(format!("{}{here}", one.label()), Role::Title),
        plain(format!("  {}, started by {}, version {}", one.kind, one.operator, one.version)),
    ]);
    let beside = state.beside_instance(one.id);
    lines.extend(beside.map(|text| vec![span(text, Role::Attention)]));
    let role = if one.stop.is_some() { Role::Running } else { Role::Plain };
    lines.extend(wrapped(&state.standing_of(one), width, role));
    let mut facts = vec![
        format!("queues {}", one.queues.join(" ")),
        format!("started {}", state.ago(one.started_at)),
        format!(
            "done {}, failed {} since",
            figure::thousands(one.done_total),
            figure::thousands(one.failed_total)
        ),
    ];
    if one.state.is_alive() {
        facts.insert(1, format!("{} slots", one.slots));
        facts.push(lease(one, passed));
    }
    lines.extend(laid(&facts, "  ", width));
    if one.running > 0 {
        lines.extend(flight(one, width));
    }
    if one.recovered > 0 {
        lines.extend(taken_back(one, width));
    }
    lines
}

fn wrapped(text: &str, width: usize, role: Role) -> Vec<Vec<Span>> {
    let text = crate::domain::text::visible(text);
    wrap(&text, width).into_iter().map(|row| vec![span(row, role)]).collect()
}

/// Pieces side by side, none of them divided, on as many lines as they need.
fn laid(pieces: &[String], between: &str, width: usize) -> Vec<Vec<Span>> {
    let mut lines: Vec<Vec<Span>> = Vec::new();
    for piece in pieces {
        let piece = plain(piece);
        match lines.last_mut() {
            Some(line) if columns(line) + between.len() + piece.columns() <= width => {
                line.extend([plain(between), piece]);
            }
            _ => lines.push(vec![piece]),
        }
    }
    lines
}

fn lease(one: &Instance, passed: Duration) -> String {
    let left = one.lease_left_s - passed.as_secs_f64();
    let whole = |seconds: f64| since(Duration::try_from_secs_f64(seconds).unwrap_or_default());
    if left > 0.0 {
        format!("lease {} left", whole(left))
    } else {
        format!("LEASE PAST for {}: others take back what it runs", whole(-left))
    }
}

fn flight(one: &Instance, width: usize) -> Vec<Vec<Span>> {
    let mut pieces: Vec<String> = one
        .in_flight
        .iter()
        .map(|run| {
            let asked = if run.cancel_requested { ", asked to stop" } else { "" };
            format!("{} (claim {}{asked})", run.id, run.claim_no)
        })
        .collect();
    let others = usize::try_from(one.of_other_tenants).unwrap_or(0);
    let more = usize::try_from(one.running).unwrap_or(0).saturating_sub(pieces.len() + others);
    if more > 0 {
        pieces.push(format!("and {more} more"));
    }
    if others > 0 {
        pieces.push(format!("{others} of other tenants"));
    }
    if let Some(first) = pieces.first_mut() {
        *first = format!("in flight  {first}");
    }
    laid(&pieces, "  ", width)
}

/// `48190 → queued`, in what the recovery left each of them.
pub(super) fn taken(one: &Instance) -> Vec<String> {
    let tasks = one.recovered_tasks.iter();
    tasks.map(|task| format!("{} → {}", task.id, task.status.as_str().to_lowercase())).collect()
}

fn taken_back(one: &Instance, width: usize) -> Vec<Vec<Span>> {
    let mut pieces = taken(one);
    let more = usize::try_from(one.recovered).unwrap_or(0).saturating_sub(pieces.len());
    if more > 0 {
        pieces.push(format!("and {more} more"));
    }
    if let Some(first) = pieces.first_mut() {
        *first = format!("taken back from it  {first}");
    }
    laid(&pieces, "  ", width)
}

/// Draws as much of it as there is room for.
pub(super) fn draw(paint: &mut Paint<'_>, lines: &[Vec<Span>], area: Rect) {
    let room = usize::from(area.height);
    let shown = if lines.len() > room { room.saturating_sub(1) } else { lines.len() };
    for (place, line) in lines.iter().take(shown).enumerate() {
        paint.line(nth(area, cells(place)), line);
    }
    if shown < lines.len() && room > 0 {
        let more = lines.len() - shown;
        let text = if more == 1 { "… 1 more line".to_owned() } else { format!("… {more} more lines") };
        paint.line(nth(area, area.height - 1), &[span(text, Role::Faint)]);
    }
}
