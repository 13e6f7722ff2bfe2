//! A box over the screen: never wider or higher than the terminal, its last lines (the keys) always in view.

use ratatui::layout::Rect;

use crate::app::keys::Action;
use crate::app::state::State;
use crate::domain::text::{visible, wrap};
use crate::ui::paint::{Paint, Span, below, cells, columns, inset, nth, plain, span};
use crate::ui::theme::Role;

/// A line.
pub(super) type Line = Vec<Span>;

/// The box.
pub(super) struct Dialog {
    /// What it is about, in its frame.
    pub(super) title: String,
    /// How its title looks.
    pub(super) role: Role,
    /// What it says; its end goes where there is no room.
    pub(super) body: Vec<Line>,
    /// Which line of the body must be in view.
    pub(super) focus: usize,
    /// What can be done; always in view.
    pub(super) foot: Vec<Line>,
}

/// Where the parts of a box stand.
pub(super) struct Inside {
    /// What it says.
    pub(super) body: Rect,
    /// What can be done.
    pub(super) foot: Rect,
}

/// The width of what stands inside a box that wants to be `wanted` wide.
pub(super) fn inner_width(area: Rect, wanted: u16) -> usize {
    usize::from(frame_width(area, wanted).saturating_sub(if is_tight(area) { 0 } else { 4 }))
}

/// A text wrapped for a box, in one role.
pub(super) fn wrapped(text: &str, width: usize, role: Role) -> Vec<Line> {
    wrap(&visible(text), width).into_iter().map(|row| vec![span(row, role)]).collect()
}

/// Key and label of an act, as the keymap has it now.
pub(super) fn key(state: &State, action: Action, label: &str) -> Line {
    vec![span(state.keymap.label(action), Role::Key), plain(format!(" {label}"))]
}

/// Acts side by side, on as many lines as they need.
pub(super) fn keys(list: Vec<Line>, width: usize) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    for act in list {
        match lines.last_mut() {
            Some(line) if columns(line) + columns(&act) + 4 <= width => {
                line.push(plain("    "));
                line.extend(act);
            }
            _ => lines.push(act),
        }
    }
    lines
}

/// Too small for a frame.
fn is_tight(area: Rect) -> bool {
    area.width < 30 || area.height < 9
}

fn frame_width(area: Rect, wanted: u16) -> u16 {
    if is_tight(area) { area.width } else { wanted.min(area.width.saturating_sub(2)) }
}

impl Dialog {
    /// Draws it in the middle of `area`, `wanted` wide where there is room. Returns where body and foot stand.
    pub(super) fn draw(self, paint: &mut Paint<'_>, area: Rect, wanted: u16) -> Inside {
        let need = cells(self.body.len() + self.foot.len());
        let lines = need + u16::from(!self.foot.is_empty());
        self.place(paint, area, Wants { width: wanted, lines, need })
    }

    /// Draws it with room for `lines` inside, for a body that draws itself.
    pub(super) fn draw_high(self, paint: &mut Paint<'_>, area: Rect, wanted: u16, lines: u16) -> Inside {
        // The body needs some lines of its own before the foot may have all it wants.
        let need = lines.max(cells(self.foot.len()) + 6);
        self.place(paint, area, Wants { width: wanted, lines, need })
    }

    fn place(self, paint: &mut Paint<'_>, area: Rect, wants: Wants) -> Inside {
        let tight = is_tight(area);
        let width = frame_width(area, wants.width);
        let height = if tight { area.height } else { (wants.lines + 2).min(area.height) };
        let outer = Rect {
            x: area.x + (area.width - width) / 2,
            y: area.y + (area.height - height) / 2,
            width,
            height,
        };
        paint.wipe(outer);
        let inner = if tight {
            paint.line(nth(outer, 0), &[span(&self.title, self.role)]);
            paint.tint(nth(outer, 0), Role::Selected);
            below(outer, 1)
        } else {
            frame(paint, outer, &self.title, self.role);
            let edge = Rect { width: width.saturating_sub(2), ..inset(below(outer, 1), 2) };
            Rect { width: edge.width.saturating_sub(2), height: height.saturating_sub(2), ..edge }
        };
        // The foot keeps its place: without it nobody knows how to leave. But what is asked must be seen as
        // well, and the footer of the screen names the same keys.
        let most = if tight { inner.height / 3 } else { inner.height / 2 }.max(1);
        let most = if wants.need <= inner.height { inner.height } else { most.min(inner.height) };
        let foot_height = cells(self.foot.len()).min(most);
        let room = inner.height - foot_height;
        let gap = u16::from(room > cells(self.body.len())).min(room);
        let body = Rect { height: room - gap, ..inner };
        let foot = Rect { y: inner.bottom() - foot_height, height: foot_height, ..inner };
        self.draw_body(paint, body);
        for (place, line) in self.foot.iter().take(usize::from(foot_height)).enumerate() {
            paint.line(nth(foot, cells(place)), line);
        }
        Inside { body, foot }
    }

    /// Draws as much of the body as there is room for, the line in focus with it.
    fn draw_body(&self, paint: &mut Paint<'_>, area: Rect) {
        let room = usize::from(area.height);
        if self.body.len() <= room || room < 2 {
            let from = if self.body.len() > room { self.focus } else { 0 };
            for (place, line) in self.body.iter().skip(from).take(room).enumerate() {
                paint.line(nth(area, cells(place)), line);
            }
            return;
        }
        // The last line tells how much there is besides.
        let from = (self.focus + 2).saturating_sub(room).min(self.body.len() - room + 1);
        for (place, line) in self.body.iter().skip(from).take(room - 1).enumerate() {
            paint.line(nth(area, cells(place)), line);
        }
        let more = self.body.len() - (room - 1);
        let last = nth(area, area.height - 1);
        paint.line(last, &[span(format!("… {more} more lines"), Role::Faint)]);
    }
}

/// What a box asks for.
#[derive(Clone, Copy)]
struct Wants {
    width: u16,
    lines: u16,
    need: u16,
}

fn frame(paint: &mut Paint<'_>, area: Rect, title: &str, role: Role) {
    let glyphs = *paint.glyphs;
    let width = usize::from(area.width);
    let level =
        |from: &str, to: &str| format!("{from}{}{to}", glyphs.horizontal.repeat(width.saturating_sub(2)));
    paint.line(nth(area, 0), &[span(level(glyphs.corners[0], glyphs.corners[1]), Role::Frame)]);
    for y in 1..area.height.saturating_sub(1) {
        paint.line(nth(area, y), &[span(glyphs.vertical, Role::Frame)]);
        paint.line(inset(nth(area, y), area.width - 1), &[span(glyphs.vertical, Role::Frame)]);
    }
    if area.height > 1 {
        let bottom = level(glyphs.corners[2], glyphs.corners[3]);
        paint.line(nth(area, area.height - 1), &[span(bottom, Role::Frame)]);
    }
    let room = inset(nth(area, 0), 2);
    let room = Rect { width: room.width.saturating_sub(2), ..room };
    let title_line = [span(format!(" {title} "), role)];
    paint.wipe(Rect { width: cells(columns(&title_line)).min(room.width), ..room });
    paint.line(room, &title_line);
}
