//! A signal that ends a command which has something to say first: what it has done, and what goes on without it.

use super::exit::{Exit, Failure};
use crate::signals::{Signal, Signals, name};

/// Takes the signals over from here on: from where there is something to be said.
///
/// # Errors
/// If the system refuses.
pub(super) fn listen() -> Result<Signals, Failure> {
    Signals::install().map_err(|error| Failure::unexpected(error.to_string()))
}

/// The failure of a command that `signal` has ended; `what` says at what.
pub(super) fn ended(signal: Signal, what: &str) -> Failure {
    Failure::new(Exit::Unexpected, "interrupted", format!("ended by {}: {what}", name(signal)))
}
