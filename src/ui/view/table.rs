//! A cell of a table and a line of headings, for every screen that has one.

use ratatui::layout::Rect;

use crate::ui::columns::{Column, Place, Side};
use crate::ui::paint::{Paint, Span, cells, columns, inset, span};
use crate::ui::theme::Role;

/// What stands in a column of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Cell {
    spans: Vec<Span>,
}

impl Cell {
    /// One text.
    pub(super) fn new(text: impl AsRef<str>, role: Role) -> Self {
        Self { spans: vec![span(text, role)] }
    }

    /// A plain text.
    pub(super) fn plain(text: impl AsRef<str>) -> Self {
        Self::new(text, Role::Plain)
    }

    /// Another text after it.
    pub(super) fn then(&mut self, text: impl AsRef<str>, role: Role) {
        self.spans.push(span(text, role));
    }
}

/// Draws a cell on its side.
fn cell(paint: &mut Paint<'_>, area: Rect, cell: &Cell, side: Side) {
    let missing = match side {
        Side::Left => 0,
        Side::Right => cells(usize::from(area.width).saturating_sub(columns(&cell.spans))),
    };
    paint.line(inset(area, missing), &cell.spans);
}

/// Draws the headings.
pub(super) fn headings(paint: &mut Paint<'_>, line: Rect, list: &[Column], places: &[Place]) {
    for place in places {
        let column = &list[place.index];
        paint.cell(at(line, *place), column.title, Role::Faint, column.side);
    }
}

/// Draws a row.
pub(super) fn row(paint: &mut Paint<'_>, line: Rect, list: &[Column], places: &[Place], row: &[Cell]) {
    for place in places {
        if let Some(content) = row.get(place.index) {
            cell(paint, at(line, *place), content, list[place.index].side);
        }
    }
}

fn at(line: Rect, place: Place) -> Rect {
    let line = inset(line, place.x);
    Rect { width: place.width.min(line.width), ..line }
}
