//! Draws a text that is being written, with its cursor always in view.

use ratatui::layout::{Position, Rect};

use crate::app::editor::Editor;
use crate::domain::text::{cut, visible, width};
use crate::ui::paint::{Paint, Span, cells, inset, plain, span};
use crate::ui::theme::Role;

/// Draws a field of one line after `label`, with what is wrong with it at the end, and sets the cursor.
pub(super) fn one_line(
    paint: &mut Paint<'_>,
    area: Rect,
    label: &[Span],
    line: &Editor,
    problem: Option<&str>,
) {
    if area.is_empty() {
        return;
    }
    let used = paint.line(area, label);
    let mut field = inset(area, used);
    if let Some(problem) = problem {
        // What was typed is looked at while it is mended.
        let kept = cells(width(&visible(&line.rows()[0])) + 2).min(field.width / 2);
        let told = [plain("  "), span(problem, Role::Bad), plain(" ")];
        let rest = paint.right(inset(field, kept), &told);
        field.width = kept + rest.width;
    }
    let column = row(paint, field, &line.rows()[0], line.cursor_column());
    paint.cursor = Some(Position { x: column, y: field.y });
}

/// Draws one line so that the column `at` of it is in view; returns where on the terminal that is.
fn row(paint: &mut Paint<'_>, area: Rect, text: &str, at: usize) -> u16 {
    let shown = visible(text);
    let room = usize::from(area.width);
    // One column stays free for a cursor behind the last character.
    let skip = (at + 1).saturating_sub(room);
    let (start, blank) = after(&shown, skip);
    let lead = inset(area, cells(blank));
    paint.line(lead, &[plain(cut(start, usize::from(lead.width), ""))]);
    (area.x + cells(at - skip.min(at))).min(area.right().saturating_sub(1))
}

/// What is right of the first `columns` of `text`, and how many columns of a wide character that is cut by
/// the edge stay blank.
fn after(text: &str, columns: usize) -> (&str, usize) {
    let kept = cut(text, columns, "");
    let kept_width = width(&kept);
    let rest = text.get(kept.len()..).unwrap_or_default();
    if kept_width == columns || rest.is_empty() {
        return (rest, 0);
    }
    let wide = cut(rest, 2, "").len();
    (rest.get(wide..).unwrap_or_default(), 1)
}

/// Draws a text of several lines; sets the cursor where `cursor` says that the keys go there.
pub(super) fn lines(paint: &mut Paint<'_>, area: Rect, text: &Editor, cursor: Focus) {
    let height = usize::from(area.height);
    if area.is_empty() {
        return;
    }
    let (at_line, at_column) = (text.cursor_line(), text.cursor_column());
    let first = (at_line + 1).saturating_sub(height);
    for (place, line) in text.rows().iter().enumerate().skip(first).take(height) {
        let y = area.y + cells(place - first);
        let at = if place == at_line { at_column } else { 0 };
        let x = row(paint, Rect { y, height: 1, ..area }, line, at);
        if place == at_line && cursor == Focus::Here {
            paint.cursor = Some(Position { x, y });
        }
    }
}

/// Whether the keys go to a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Focus {
    /// They do.
    Here,
    /// They go elsewhere.
    Elsewhere,
}
