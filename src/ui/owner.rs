//! The real terminal as the loop needs it: screen and reader of keys together, because who lends the one must
//! rest the other.

use std::io;

use ratatui::buffer::Buffer;
use ratatui::layout::Position;

use super::input::Reader;
use super::outside;
use super::run::Surface;
use super::terminal::Screen;

/// Screen and reader.
pub(super) struct Owner {
    /// Declared first, so that it is dropped first: nothing is read after the terminal was given back.
    pub(super) reader: Reader,
    /// The terminal.
    pub(super) screen: Screen,
}

impl Owner {
    /// Gives the terminal away while `other` runs; keys go there and not to us.
    fn lend(&mut self, other: impl FnOnce() -> Result<(), String>) -> Result<(), String> {
        self.reader.rest();
        let lent = self.screen.lend().map_err(|error| error.to_string());
        let done = lent.and_then(|()| other());
        self.reader.forget_continued();
        let back = self.screen.back().map_err(|error| error.to_string());
        self.reader.resume();
        done.and(back)
    }
}

impl Surface for Owner {
    fn size(&self) -> io::Result<(u16, u16)> {
        crossterm::terminal::size()
    }

    fn draw(&mut self, paint: &mut dyn FnMut(&mut Buffer) -> Option<Position>) -> io::Result<()> {
        self.screen.draw(paint)
    }

    fn forget(&mut self) -> io::Result<()> {
        self.screen.forget()
    }

    fn copy(&mut self, text: &str) -> Result<(), String> {
        let sequence = outside::clipboard(text)?;
        self.screen.write(&sequence).map_err(|error| error.to_string())
    }

    fn show(&mut self, name: &str, text: &str) -> Result<(), String> {
        self.lend(|| outside::show_in_editor(name, text))
    }

    fn suspend(&mut self) -> Result<(), String> {
        // Asked before the screen changes: a flash of the shell's screen would say that it worked.
        outside::can_stop()?;
        self.lend(outside::stop)
    }

    fn retake(&mut self) -> io::Result<()> {
        self.screen.retake()
    }
}
