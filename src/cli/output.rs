//! Standard output and standard error of the commands. A reader that went away (a closed pipe) is no error: what
//! was done stays done and the exit code says so.

use std::io::{self, IsTerminal as _, Write as _};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::Serialize;

use crate::config::OutputFormat;
use crate::domain::text::visible;
use crate::domain::{Status, json};

/// Whether colours may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Paint {
    /// Escape sequences for a terminal.
    Ansi,
    /// None.
    Plain,
}

/// How this run prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Output {
    /// Text or JSON.
    pub(super) format: OutputFormat,
    /// Colours in text.
    pub(super) paint: Paint,
    /// Columns of the terminal; none where the output is not one, and nothing is cut.
    pub(super) columns: Option<usize>,
    /// Stands where something was cut; one column.
    pub(super) ellipsis: &'static str,
}

impl Output {
    /// Looks at standard output and the environment.
    pub(super) fn of_process(format: OutputFormat) -> Self {
        let terminal = io::stdout().is_terminal();
        let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let columns = if terminal { crossterm::terminal::size().ok() } else { None };
        Self {
            format,
            paint: if terminal && !no_color && !dumb { Paint::Ansi } else { Paint::Plain },
            columns: columns.map(|(columns, _)| usize::from(columns)).filter(|columns| *columns > 0),
            ellipsis: if utf8_locale() { "…" } else { ">" },
        }
    }

    /// Prints `text` or `value`, whichever is asked for.
    pub(super) fn print<T: Serialize>(self, value: &T, text: impl FnOnce() -> String) -> io::Result<()> {
        match self.format {
            OutputFormat::Text => write_out(&text()),
            OutputFormat::Json => write_out(&json::document(value)?),
        }
    }

    /// A state's name in its colour.
    pub(super) fn status(self, status: Status, shown: &str) -> String {
        self.coloured(super::list::colour(status), shown)
    }

    /// `shown` in a colour of the terminal, where there is one.
    pub(super) fn coloured(self, colour: &str, shown: &str) -> String {
        match self.paint {
            Paint::Ansi => format!("\u{1b}[{colour}m{shown}\u{1b}[0m"),
            Paint::Plain => shown.to_owned(),
        }
    }
}

/// Whether the locale's characters are UTF-8. With no locale set the answer is yes: containers have none, and the
/// terminals in front of them all know UTF-8.
fn utf8_locale() -> bool {
    let value = ["LC_ALL", "LC_CTYPE", "LANG"]
        .iter()
        .find_map(|name| std::env::var(name).ok().filter(|value| !value.is_empty()));
    value.is_none_or(|value| {
        let value = value.to_ascii_lowercase();
        value.contains("utf-8") || value.contains("utf8")
    })
}

/// Writes to standard output; a closed pipe is no error.
pub(super) fn write_out(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    quiet(out.write_all(text.as_bytes()).and_then(|()| out.flush()))
}

/// Whether anybody still reads standard output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reader {
    /// As far as is known.
    There,
    /// The other end of the pipe is closed.
    Gone,
}

/// Writes to standard output, for a command that goes on as long as somebody reads.
pub(super) fn write_while_read(text: &str) -> io::Result<Reader> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => Ok(Reader::There),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(Reader::Gone),
        Err(error) => Err(error),
    }
}

/// Looks whether anybody still reads standard output, without writing to it.
pub(super) fn reader() -> Reader {
    let out = io::stdout();
    // What nobody asks for is told too: that the other end is closed.
    let mut fds = [PollFd::new(&out, PollFlags::empty())];
    match poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })) {
        Ok(_) if fds[0].revents().intersects(PollFlags::ERR | PollFlags::HUP) => Reader::Gone,
        _ => Reader::There,
    }
}

/// Writes a line to standard error, made harmless. There is nobody left to tell if that fails.
pub(super) fn note(line: &str) {
    let _ = writeln!(io::stderr().lock(), "{}", visible(line));
}

fn quiet(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_closed_pipe_is_no_error_and_a_full_disk_is() {
        assert!(quiet(Err(io::ErrorKind::BrokenPipe.into())).is_ok());
        assert!(quiet(Err(io::ErrorKind::StorageFull.into())).is_err());
    }

    #[test]
    fn colours_are_only_for_terminals() {
        let plain =
            Output { format: OutputFormat::Text, paint: Paint::Plain, columns: None, ellipsis: "…" };
        assert_eq!(plain.status(Status::Failed, "FAILED"), "FAILED");
        let ansi = Output { paint: Paint::Ansi, ..plain };
        assert_eq!(ansi.status(Status::Failed, "FAILED"), "\u{1b}[31mFAILED\u{1b}[0m");
    }
}
