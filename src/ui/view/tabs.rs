//! The line with the screens and with what the list is narrowed to.

use ratatui::layout::Rect;

use crate::app::header::Header;
use crate::app::message::Target;
use crate::app::state::{Screen, State};
use crate::ui::paint::{Paint, cells, columns, inset, plain, span};
use crate::ui::theme::Role;

/// Draws it.
pub(super) fn draw(paint: &mut Paint<'_>, state: &State, header: &Header, area: Rect) {
    let mut rest = inset(area, 1);
    for screen in Screen::ALL {
        let role = if screen == state.screen { Role::Tab } else { Role::Plain };
        let name = [span(format!(" {} {} ", screen.digit(), screen.title()), role)];
        let width = cells(columns(&name)).min(rest.width);
        paint.line(rest, &name);
        paint.target(Rect { width, ..rest }, Target::Screen(screen));
        rest = inset(rest, width);
    }
    let narrowed = state.list.is_filtered();
    let text = match state.screen {
        Screen::Log => state.log.search.as_ref().map(|text| (format!("lines with \"{text}\""), true)),
        Screen::Tasks => Some(match state.all_marked() {
            // What the next act is about comes first: the rest is cut where there is no room.
            Some(marked) => (format!("{marked} · {}", header.filter), true),
            None => (header.filter.clone(), narrowed),
        }),
        Screen::Workers | Screen::Database => None,
    };
    if let Some((text, narrowed)) = text {
        // A narrowed list that is not seen to be one is taken for all there is.
        let role = if narrowed { Role::Running } else { Role::Faint };
        let line = [plain("  "), span(text, role), plain(" ")];
        if columns(&line) <= usize::from(rest.width) || narrowed {
            paint.right(rest, &line);
        }
    }
}
