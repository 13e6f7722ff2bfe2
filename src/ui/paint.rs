//! Putting text on the frame. Every text passes [`visible`] in here, so no field of a row can be forgotten.

use std::borrow::Cow;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::{Color, Style};

use super::columns::Side;
use super::glyphs::Glyphs;
use super::theme::{Role, Theme};
use crate::app::message::{Target, Viewport};
use crate::domain::text::{cut, visible, width};

/// A piece of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Span {
    text: String,
    role: Role,
}

impl Span {
    /// The same text in another role.
    pub(super) fn looking(self, role: Role) -> Self {
        Self { role, ..self }
    }

    /// Columns that it takes.
    pub(super) fn columns(&self) -> usize {
        width(&self.text)
    }
}

/// A piece of a line in `role`.
pub(super) fn span(text: impl AsRef<str>, role: Role) -> Span {
    Span { text: visible(text.as_ref()).into_owned(), role }
}

/// A piece of a line as it is.
pub(super) fn plain(text: impl AsRef<str>) -> Span {
    span(text, Role::Plain)
}

/// Columns that `spans` take.
pub(super) fn columns(spans: &[Span]) -> usize {
    spans.iter().map(Span::columns).sum()
}

/// A number of columns or lines as the terminal counts them.
pub(super) fn cells(count: usize) -> u16 {
    u16::try_from(count).unwrap_or(u16::MAX)
}

/// The frame that is being drawn, and what the console learns from it.
pub(super) struct Paint<'a> {
    buffer: &'a mut Buffer,
    theme: &'a Theme,
    /// The signs to draw with.
    pub(super) glyphs: &'a Glyphs,
    /// What can be clicked, the topmost last.
    pub(super) targets: Vec<(Rect, Target)>,
    /// Where the cursor belongs, if a text is being edited.
    pub(super) cursor: Option<Position>,
    /// How much of what scrolls there was room for.
    pub(super) viewport: Viewport,
}

impl<'a> Paint<'a> {
    /// Begins a frame.
    pub(super) fn new(buffer: &'a mut Buffer, theme: &'a Theme, glyphs: &'a Glyphs) -> Self {
        let viewport =
            Viewport { list_rows: 0, detail_rows: 0, detail_lines: 0, overlay_rows: 0, overlay_lines: 0 };
        Self { buffer, theme, glyphs, targets: Vec::new(), cursor: None, viewport }
    }

    /// The whole frame.
    pub(super) fn area(&self) -> Rect {
        self.buffer.area
    }

    /// The look of a role.
    pub(super) fn style(&self, role: Role) -> Style {
        self.theme.style(role)
    }

    /// Draws `spans` on the first line of `area`, cut where it ends. Returns the columns that were used.
    pub(super) fn line(&mut self, area: Rect, spans: &[Span]) -> u16 {
        let area = area.intersection(self.buffer.area);
        if area.is_empty() {
            return 0;
        }
        let mut used = 0_u16;
        let whole = columns(spans) <= usize::from(area.width);
        for (place, span) in spans.iter().enumerate() {
            let room = area.width - used;
            if room == 0 {
                break;
            }
            // A cut between two pieces must show as one, too.
            let rest_follows = !whole && place + 1 < spans.len() && span.columns() == usize::from(room);
            let text = if rest_follows {
                Cow::Owned(format!("{}{}", cut(&span.text, usize::from(room) - 1, ""), self.glyphs.ellipsis))
            } else {
                cut(&span.text, usize::from(room), self.glyphs.ellipsis)
            };
            let style = self.style(span.role);
            self.buffer.set_stringn(area.x + used, area.y, &text, usize::from(room), style);
            used += cells(width(&text)).min(room);
        }
        used
    }

    /// Draws one text on the first line of `area`, on its `side`.
    pub(super) fn cell(&mut self, area: Rect, text: &str, role: Role, side: Side) {
        let mut area = area;
        if side == Side::Right {
            let missing = usize::from(area.width).saturating_sub(width(&visible(text)));
            area.x += cells(missing);
            area.width -= cells(missing);
        }
        self.line(area, &[span(text, role)]);
    }

    /// Draws `spans` at the right end of the first line of `area`. Returns the area that is left before them.
    pub(super) fn right(&mut self, area: Rect, spans: &[Span]) -> Rect {
        let used = cells(columns(spans)).min(area.width);
        let at = Rect { x: area.right() - used, width: used, ..area };
        self.line(at, spans);
        Rect { width: area.width - used, ..area }
    }

    /// Lays a role's look over `area`, over what is drawn there.
    pub(super) fn tint(&mut self, area: Rect, role: Role) {
        let mut style = self.style(role);
        if role == Role::Selected {
            // Reversed, the colours of single words would make a patchwork of the row.
            style = style.fg(Color::Reset);
        }
        self.buffer.set_style(area.intersection(self.buffer.area), style);
    }

    /// Empties `area`.
    pub(super) fn wipe(&mut self, area: Rect) {
        let area = area.intersection(self.buffer.area);
        for y in area.top()..area.bottom() {
            for x in area.left()..area.right() {
                self.buffer[(x, y)].reset();
            }
            // The half of a wide character that a dialog cuts off would push the rest of the line.
            if area.left() > self.buffer.area.left() {
                let before = &mut self.buffer[(area.left() - 1, y)];
                if width(before.symbol()) > 1 {
                    before.set_symbol(" ");
                }
            }
        }
    }

    /// Makes `area` clickable.
    pub(super) fn target(&mut self, area: Rect, target: Target) {
        self.targets.push((area, target));
    }
}

/// The line `y` of `area`, counted from its top; empty where the area is not so high.
pub(super) fn nth(area: Rect, y: u16) -> Rect {
    if y < area.height {
        Rect { y: area.y + y, height: 1, ..area }
    } else {
        Rect { height: 0, width: 0, ..area }
    }
}

/// `area` without its first `lines`.
pub(super) fn below(area: Rect, lines: u16) -> Rect {
    let lines = lines.min(area.height);
    Rect { y: area.y + lines, height: area.height - lines, ..area }
}

/// `area` without its first `columns`.
pub(super) fn inset(area: Rect, columns: u16) -> Rect {
    let columns = columns.min(area.width);
    Rect { x: area.x + columns, width: area.width - columns, ..area }
}
