//! How much room there is. The console assumes it from the size until the drawn frame tells
//! ([`super::Message::Viewport`]).

use super::message::Viewport;
use super::state::Size;

/// From so many columns on, list and detail stand side by side.
pub const TWO_PANES_FROM: u16 = 100;

/// How the Tasks screen is divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Division {
    /// List and detail side by side.
    TwoPanes,
    /// The pane that has the keys, alone.
    OnePane,
}

/// How the Tasks screen is divided at this size.
pub const fn division(size: Size) -> Division {
    if size.width >= TWO_PANES_FROM { Division::TwoPanes } else { Division::OnePane }
}

/// The room that a terminal of `size` is assumed to have: all lines but header (2), tabs, column titles,
/// notice and footer. How long the contents are is not known before they are drawn.
pub fn assumed(size: Size) -> Viewport {
    let height = usize::from(size.height);
    let rows = height.saturating_sub(6).max(1);
    Viewport {
        list_rows: rows,
        detail_rows: rows,
        detail_lines: usize::MAX,
        overlay_rows: height.saturating_sub(4).max(1),
        overlay_lines: usize::MAX,
    }
}
