//! Taking the terminal and giving it back.
//!
//! Invariant: whatever way the program leaves the screen, [`restore`] has run, and every one of its steps was
//! tried whatever became of the one before. It may run any number of times, from any thread. Only the thread
//! that draws may call anything else in here.

use std::any::Any;
use std::cell::Cell;
use std::fs::File;
use std::io::{self, Write};
use std::mem::ManuallyDrop;
use std::os::fd::AsFd;
use std::panic::PanicHookInfo;
use std::sync::atomic::{AtomicBool, Ordering};

use crossterm::{Command, cursor, event, style, terminal};
use ratatui::Terminal;
use ratatui::backend::{Backend, ClearType, CrosstermBackend};
use ratatui::buffer::Buffer;
use ratatui::layout::Position;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::domain::text::width;

/// Whether the screen is ours: a panic elsewhere must then not write on it.
static TAKEN: AtomicBool = AtomicBool::new(false);

thread_local! {
    static DRAWS: Cell<bool> = const { Cell::new(false) };
}

/// The terminal while the console has it; dropping it gives it back.
pub(super) struct Screen {
    /// Never dropped: ratatui's own drop shows the cursor and, where the terminal is gone, prints that it could not; that
    /// panics, and the panic's report panics again. What it would do [`restore`] has done.
    terminal: ManuallyDrop<Terminal<CrosstermBackend<Frames>>>,
    /// Whether the last frame had signs that terminals may draw narrower or wider than they are measured.
    unsteady: bool,
}

impl Screen {
    /// Takes the terminal on stdout: raw mode, alternate screen, bracketed paste, no cursor.
    ///
    /// Mouse reports stay off, so that the terminal's own selecting and copying keeps working.
    pub(super) fn take() -> io::Result<Self> {
        DRAWS.set(true);
        // An own descriptor: the lock of `std::io::stdout` could be held by whoever panicked.
        let out = File::from(io::stdout().as_fd().try_clone_to_owned()?);
        take_modes()?;
        let backend = CrosstermBackend::new(Frames { out, pending: Vec::new() });
        let terminal = Terminal::new(backend).inspect_err(|_| {
            restore();
        })?;
        Ok(Self { terminal: ManuallyDrop::new(terminal), unsteady: false })
    }

    /// Draws one frame as one synchronized write; unchanged cells are not sent, but around unsteady signs: a terminal that
    /// gives one of them another width than it is measured would keep a piece of what stood there.
    pub(super) fn draw(&mut self, paint: impl FnOnce(&mut Buffer) -> Option<Position>) -> io::Result<()> {
        self.terminal.autoresize()?;
        let mut picture = Buffer::empty(self.terminal.get_frame().area());
        let cursor = paint(&mut picture);
        let unsteady = picture.content().iter().any(|cell| is_unsteady(cell.symbol()));
        queue(self.terminal.backend_mut(), terminal::BeginSynchronizedUpdate)?;
        if unsteady || std::mem::replace(&mut self.unsteady, unsteady) {
            self.unsteady = unsteady;
            self.forget()?;
        }
        let drawn = self
            .terminal
            .draw(|frame| {
                // A terminal that was resized just now gets its picture with the next frame.
                if frame.area() == picture.area {
                    *frame.buffer_mut() = picture;
                }
                if let Some(at) = cursor {
                    frame.set_cursor_position(at);
                }
            })
            .map(|_| ());
        queue(self.terminal.backend_mut(), terminal::EndSynchronizedUpdate)?;
        Write::flush(self.terminal.backend_mut())?;
        drawn
    }

    /// Forgets what is believed to be on the screen, so that the next frame is sent whole.
    ///
    /// Not `Terminal::clear`: in ratatui 0.30.2 it asks the terminal where the cursor is, and the answer races
    /// the reader of keys. After a frame one of the two buffers is blank; swapping blanks the other one too.
    pub(super) fn forget(&mut self) -> io::Result<()> {
        self.terminal.swap_buffers();
        self.terminal.backend_mut().clear_region(ClearType::All)
    }

    /// Writes `text` (an escape sequence of ours, never data) between two frames.
    pub(super) fn write(&mut self, text: &str) -> io::Result<()> {
        let backend = self.terminal.backend_mut();
        backend.write_all(text.as_bytes())?;
        Write::flush(backend)
    }

    /// Gives the terminal to another program or to the shell; [`Screen::back`] takes it again.
    pub(super) fn lend(&mut self) -> io::Result<()> {
        Write::flush(self.terminal.backend_mut())?;
        restore();
        Ok(())
    }

    /// Takes the terminal again after [`Screen::lend`].
    pub(super) fn back(&mut self) -> io::Result<()> {
        take_modes()?;
        self.forget()
    }

    /// Takes the terminal again after a stop that nobody announced.
    pub(super) fn retake(&mut self) -> io::Result<()> {
        // The shell has given the terminal modes of its own, and crossterm, which was not asked, would do nothing
        // as it believes that it has set its own already.
        terminal::disable_raw_mode()?;
        self.back()
    }
}

/// Whether terminals disagree about the columns of `symbol`: several characters that are measured as more than one column
/// (flags, sound marks, vowels that stand beside their letter).
fn is_unsteady(symbol: &str) -> bool {
    symbol.chars().nth(1).is_some() && width(symbol) > 1
}

impl Drop for Screen {
    fn drop(&mut self) {
        restore();
    }
}

/// Collects a frame and sends it in one write. Unlike `BufWriter` it drops what was not flushed: after a panic
/// half a frame must not land on the shell's screen.
struct Frames {
    out: File,
    pending: Vec<u8>,
}

impl Write for Frames {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.pending.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let sent = self.out.write_all(&self.pending);
        self.pending.clear();
        sent
    }
}

fn queue(out: &mut impl Write, command: impl Command) -> io::Result<()> {
    crossterm::queue!(out, command)
}

fn take_modes() -> io::Result<()> {
    TAKEN.store(true, Ordering::SeqCst);
    let taken = terminal::enable_raw_mode().and_then(|()| {
        crossterm::execute!(
            direct()?,
            terminal::EnterAlternateScreen,
            event::EnableBracketedPaste,
            cursor::Hide,
            terminal::Clear(terminal::ClearType::All)
        )
    });
    taken.inspect_err(|_| {
        restore();
    })
}

/// Gives the terminal back if it is taken: every step is tried, whatever failed before.
///
/// Returns how many steps failed, which only tests care about: there is nobody left to tell.
pub(super) fn restore() -> usize {
    if !TAKEN.swap(false, Ordering::SeqCst) {
        return 0;
    }
    let steps: [fn() -> io::Result<()>; 6] = [
        // First, because it never waits for a line that has stalled, and a shell without it echoes nothing.
        terminal::disable_raw_mode,
        || crossterm::execute!(direct()?, terminal::EndSynchronizedUpdate),
        || crossterm::execute!(direct()?, event::DisableBracketedPaste),
        || crossterm::execute!(direct()?, style::ResetColor, style::SetAttribute(style::Attribute::Reset)),
        || crossterm::execute!(direct()?, terminal::LeaveAlternateScreen),
        || crossterm::execute!(direct()?, cursor::Show),
    ];
    steps.iter().filter(|step| step().is_err()).count()
}

/// The terminal without a buffer and without a lock.
fn direct() -> io::Result<File> {
    Ok(File::from(io::stdout().as_fd().try_clone_to_owned()?))
}

/// Sets the policy for panics, once, after any other hook was installed.
///
/// A panic of the thread that draws gives the terminal back and is then reported by the hook that was there
/// before. A panic of any other thread or task is handed to `record` and never touches the screen: with
/// `ratatui::init` it would restore the terminal under a living console
/// (<https://github.com/ratatui/ratatui/issues/2087>). While the screen is not ours, everything is reported
/// as before.
pub fn install_panic_hook(record: impl Fn(String) + Send + Sync + 'static) {
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if DRAWS.get() {
            restore();
            // Reporting to a terminal that is gone would panic within the panic, which ends the process on the spot.
            if is_there(io::stderr()) { before(info) } else { record(describe(info)) }
        } else if TAKEN.load(Ordering::SeqCst) {
            record(describe(info));
        } else {
            before(info);
        }
    }));
}

/// Whether something can still be written there, as far as the system knows.
fn is_there(stream: impl AsFd) -> bool {
    let mut asked = [PollFd::new(&stream, PollFlags::OUT)];
    let gone = PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL;
    poll(&mut asked, Some(&Timespec::default())).is_ok() && !asked[0].revents().intersects(gone)
}

fn describe(info: &PanicHookInfo<'_>) -> String {
    let thread = std::thread::current();
    let name = thread.name().unwrap_or("without a name");
    let said = said(info.payload());
    match info.location() {
        Some(at) => format!("panic in thread {name} at {}:{}: {said}", at.file(), at.line()),
        None => format!("panic in thread {name}: {said}"),
    }
}

/// What a panic said.
pub(super) fn said(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unsteady_signs_are_those_of_several_characters_and_columns() {
        for symbol in ["\u{e01}\u{e33}", "\u{1f1e9}\u{1f1ea}", "\u{1100}\u{1100}"] {
            assert!(is_unsteady(symbol), "{symbol}");
        }
        for symbol in ["a", "\u{8bed}", "e\u{301}", " "] {
            assert!(!is_unsteady(symbol), "{symbol}");
        }
    }

    #[test]
    fn restoring_what_was_not_taken_does_nothing() {
        assert_eq!(restore(), 0);
        assert_eq!(restore(), 0);
    }
}
