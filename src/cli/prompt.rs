//! A question on the terminal. Only a clear yes is a yes.

use std::io::{self, IsTerminal as _, Write as _};

use crate::domain::text::visible;

/// Whether somebody is there to be asked.
pub(super) fn can_ask() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Asks on standard error and reads one line.
///
/// # Errors
/// The terminal cannot be read.
pub(super) fn ask(question: &str) -> io::Result<bool> {
    read(question).map(|answer| is_yes(&answer))
}

/// Asks for what is too grave for a `y` that was typed ahead: only `word` itself is a yes.
///
/// # Errors
/// The terminal cannot be read.
pub(super) fn ask_for(word: &str, question: &str) -> io::Result<bool> {
    read(question).map(|answer| answer.trim() == word)
}

fn read(question: &str) -> io::Result<String> {
    let mut err = io::stderr().lock();
    err.write_all(visible(question).as_bytes())?;
    err.flush()?;
    let mut answer = String::new();
    io::stdin().read_line(&mut answer)?;
    Ok(answer)
}

fn is_yes(answer: &str) -> bool {
    matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes")
}

#[cfg(test)]
mod tests {
    use super::is_yes;

    #[test]
    fn only_a_clear_yes_is_a_yes() {
        assert!(is_yes("y\n") && is_yes(" YES \n"));
        assert!(["", "\n", "n\n", "yep\n", "yy\n"].iter().all(|answer| !is_yes(answer)));
    }
}
