//! The signs that the console draws with, all one column wide, and what stands for them without UTF-8.

use crate::domain::text::width;
use ratatui::buffer::Buffer;

/// A set of signs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Glyphs {
    /// Ends a text that was cut.
    pub ellipsis: &'static str,
    /// Divides two panes.
    pub vertical: &'static str,
    /// A level line.
    pub horizontal: &'static str,
    /// Top left, top right, bottom left, bottom right of a dialog.
    pub corners: [&'static str; 4],
    /// Left and right end of a line inside a dialog.
    pub tees: [&'static str; 2],
    /// Stands before the row under the cursor.
    pub cursor: &'static str,
    /// Stands before a marked row.
    pub mark: &'static str,
    /// A full and an empty cell of a gauge.
    pub gauge: [&'static str; 2],
    /// Heights of a history, lowest first.
    pub spark: [&'static str; 8],
    /// Leads from before to after.
    pub arrow: &'static str,
    /// What it stands before is further up.
    pub up: &'static str,
    /// Divides two facts.
    pub dot: &'static str,
    /// The repertoire.
    pub charset: Charset,
}

/// What a terminal can be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Charset {
    /// UTF-8.
    #[default]
    Unicode,
    /// Seven bits: the locale is not UTF-8, and the bytes of a UTF-8 text would be controls to the terminal.
    Ascii,
}

impl Charset {
    /// What the terminal of this environment takes. `get` reads an environment variable.
    ///
    /// The first of `LC_ALL`, `LC_CTYPE` and `LANG` that is set and not empty decides, as for libc.
    /// The Linux console and dumb terminals have no box drawing worth the name.
    pub fn of_environment(get: impl Fn(&str) -> Option<String>) -> Self {
        if matches!(get("TERM").as_deref(), Some("linux" | "dumb" | "vt100" | "vt220")) {
            return Self::Ascii;
        }
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
            .into_iter()
            .find_map(|name| get(name).filter(|value| !value.is_empty()))
            .unwrap_or_default()
            .to_lowercase();
        if locale.contains("utf-8") || locale.contains("utf8") { Self::Unicode } else { Self::Ascii }
    }

    /// The signs of this repertoire.
    pub const fn glyphs(self) -> Glyphs {
        match self {
            Self::Unicode => UNICODE,
            Self::Ascii => ASCII,
        }
    }
}

const UNICODE: Glyphs = Glyphs {
    ellipsis: "…",
    vertical: "│",
    horizontal: "─",
    corners: ["┌", "┐", "└", "┘"],
    tees: ["├", "┤"],
    cursor: ">",
    mark: "*",
    gauge: ["█", "░"],
    spark: ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"],
    arrow: "→",
    up: "↑",
    dot: "·",
    charset: Charset::Unicode,
};

const ASCII: Glyphs = Glyphs {
    ellipsis: ">",
    vertical: "|",
    horizontal: "-",
    corners: ["+", "+", "+", "+"],
    tees: ["+", "+"],
    cursor: ">",
    mark: "*",
    gauge: ["#", "."],
    spark: ["_", ".", ",", "-", "=", "+", "*", "#"],
    arrow: ">",
    up: "^",
    dot: "-",
    charset: Charset::Ascii,
};

impl Glyphs {
    /// The last step of every frame: nothing but what the terminal takes leaves in a cell, wherever it came
    /// from. A wide character becomes a `?` in each of its cells: one cell that holds two would leave the second on
    /// the screen when the next frame is compared with this one cell by cell.
    pub(super) fn keep_to_charset(&self, buffer: &mut Buffer) {
        if self.charset == Charset::Unicode {
            return;
        }
        let across = usize::from(buffer.area.width).max(1);
        for at in 0..buffer.content.len() {
            let cell = &mut buffer.content[at];
            if cell.symbol().is_ascii() {
                continue;
            }
            let wide = width(cell.symbol());
            let style = cell.style();
            let stand_in = match cell.symbol() {
                "→" => ">",
                // Where a text was cut, its end says so already; this one is within a text.
                "…" => ".",
                "←" => "<",
                "↑" => "^",
                "·" | "–" | "—" => "-",
                "“" | "”" => "\"",
                "‘" | "’" => "'",
                _ => "?",
            };
            cell.set_symbol(stand_in);
            let end = (at + wide).min((at / across + 1) * across);
            for cell in buffer.content.get_mut(at + 1..end).unwrap_or_default() {
                cell.reset();
                cell.set_symbol("?").set_style(style);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn charset(pairs: &[(&str, &str)]) -> Charset {
        Charset::of_environment(|name| {
            pairs.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn the_locale_decides() {
        assert_eq!(charset(&[("LANG", "de_DE.UTF-8")]), Charset::Unicode);
        assert_eq!(charset(&[("LANG", "C.utf8"), ("LC_ALL", "")]), Charset::Unicode);
        assert_eq!(charset(&[("LANG", "de_DE.UTF-8"), ("LC_ALL", "C")]), Charset::Ascii);
        assert_eq!(charset(&[("LANG", "de_DE.UTF-8"), ("TERM", "linux")]), Charset::Ascii);
        assert_eq!(charset(&[]), Charset::Ascii);
    }

    #[test]
    fn without_utf8_a_wide_character_takes_as_many_signs_as_it_has_columns() {
        let area = ratatui::layout::Rect::new(0, 0, 7, 2);
        let mut buffer = Buffer::empty(area);
        let style = ratatui::style::Style::new().add_modifier(ratatui::style::Modifier::BOLD);
        buffer.set_string(0, 0, "a语言…é", style);
        buffer.set_string(0, 1, "xxxxx语", style);
        ASCII.keep_to_charset(&mut buffer);
        let symbols: Vec<&str> = buffer.content.iter().map(ratatui::buffer::Cell::symbol).collect();
        assert_eq!(symbols.concat(), "a????.?xxxxx??");
        assert!(symbols.iter().all(|symbol| symbol.len() == 1), "one sign a cell");
        assert!(buffer.content.iter().all(|cell| cell.modifier == ratatui::style::Modifier::BOLD));
    }

    #[test]
    fn every_sign_takes_one_column() {
        for glyphs in [UNICODE, ASCII] {
            let signs = [glyphs.ellipsis, glyphs.vertical, glyphs.horizontal, glyphs.cursor, glyphs.mark]
                .into_iter()
                .chain([glyphs.arrow, glyphs.up, glyphs.dot])
                .chain(glyphs.corners)
                .chain(glyphs.tees)
                .chain(glyphs.gauge)
                .chain(glyphs.spark);
            for sign in signs {
                assert_eq!(width(sign), 1, "{sign}");
                assert!(glyphs.charset == Charset::Unicode || sign.is_ascii(), "{sign}");
            }
        }
    }
}
