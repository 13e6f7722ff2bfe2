//! The pictures: pure functions of the state. They take their area from the frame that is drawn, draw only
//! what is visible, and hand back what can be clicked and how much room there was.

mod bulk;
mod database;
mod decide;
mod detail;
mod dialog;
mod editor;
mod facts;
mod figures;
mod foot;
mod header;
mod instance;
mod limits;
mod log;
mod overlays;
mod pause;
mod question;
mod queues;
mod shutdown;
mod stop;
mod submit;
mod table;
mod tabs;
mod tasks;
mod workers;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use super::glyphs::Glyphs;
use super::paint::Paint;
use super::theme::Theme;
use crate::app::message::{Target, Viewport};
use crate::app::overlay::Overlay;
use crate::app::state::{Screen, State};

/// How things look.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Look {
    /// Colours.
    pub theme: Theme,
    /// Signs.
    pub glyphs: Glyphs,
}

/// What a frame tells the console.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Drawn {
    /// What can be clicked, the topmost last.
    pub targets: Vec<(Rect, Target)>,
    /// Where the cursor belongs, if a text is being edited.
    pub cursor: Option<Position>,
    /// How much of what scrolls there was room for.
    pub viewport: Viewport,
}

/// What draws the state onto the whole of a buffer: [`draw`], unless a test wants another.
pub type Draw = fn(&State, &Look, &mut Buffer) -> Drawn;

/// Draws the console onto the whole of `buffer`.
pub fn draw(state: &State, look: &Look, buffer: &mut Buffer) -> Drawn {
    let mut paint = Paint::new(buffer, &look.theme, &look.glyphs);
    if !paint.area().is_empty() {
        console(&mut paint, state);
    }
    let (targets, cursor, mut viewport) = (paint.targets, paint.cursor, paint.viewport);
    // What this frame did not show keeps the room that it had.
    let known = state.viewport;
    if viewport.list_rows == 0 {
        viewport.list_rows = known.list_rows;
    }
    if viewport.detail_rows == 0 {
        (viewport.detail_rows, viewport.detail_lines) = (known.detail_rows, known.detail_lines);
    }
    if viewport.overlay_rows == 0 {
        (viewport.overlay_rows, viewport.overlay_lines) = (known.overlay_rows, known.overlay_lines);
    }
    look.glyphs.keep_to_charset(buffer);
    Drawn { targets, cursor, viewport }
}

/// The parts of the screen, from the top.
struct Parts {
    header: Rect,
    tabs: Rect,
    body: Rect,
    notice: Rect,
    footer: Rect,
}

fn divide(area: Rect, header: u16) -> Parts {
    let tabs = u16::from(area.height >= 12);
    let notice = u16::from(area.height >= 10);
    let footer = u16::from(area.height >= 3);
    let body = area.height.saturating_sub(header + tabs + notice + footer);
    let part = |y: u16, height: u16| Rect { y: area.y + y, height, ..area }.intersection(area);
    Parts {
        header: part(0, header),
        tabs: part(header, tabs),
        body: part(header + tabs, body),
        notice: part(header + tabs + body, notice),
        footer: part(header + tabs + body + notice, footer),
    }
}

fn console(paint: &mut Paint<'_>, state: &State) {
    let area = paint.area();
    let above = crate::app::header::header(state);
    let parts = divide(area, header::height(state, &above, area));
    header::draw(paint, state, &above, parts.header);
    if !parts.tabs.is_empty() {
        tabs::draw(paint, state, &above, parts.tabs);
    }
    match state.screen {
        _ if parts.body.is_empty() => {}
        Screen::Tasks => tasks::draw(paint, state, parts.body),
        Screen::Workers => workers::draw(paint, state, parts.body),
        Screen::Database => database::draw(paint, state, parts.body),
        Screen::Log => log::draw(paint, state, parts.body),
    }
    // On a low screen what just happened takes the footer's place.
    let low = parts.notice.is_empty();
    let line = if low { parts.footer } else { parts.notice };
    let covered = low && (state.notice.is_some() || is_typed(state));
    if !covered && !parts.footer.is_empty() {
        foot::draw(paint, state, parts.footer);
    }
    if !line.is_empty() && (!low || covered) && !foot::prompt(paint, state, line) {
        foot::notice(paint, state, line);
    }
    let over = Rect { height: area.height - parts.footer.height, ..area };
    let over =
        if is_typed(state) { Rect { height: over.height - parts.notice.height, ..over } } else { over };
    for overlay in &state.overlays {
        overlays::draw(paint, state, overlay, over);
    }
}

fn is_typed(state: &State) -> bool {
    matches!(state.overlay(), Some(Overlay::Command { .. } | Overlay::Search { .. } | Overlay::Tenant { .. }))
}
