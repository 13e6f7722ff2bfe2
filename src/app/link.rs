//! Whether the database answers.

use std::time::Duration;

/// The link as the latest reads tell it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Link {
    /// No answer yet since the start.
    Connecting {
        /// Reads that failed so far.
        attempts: u32,
    },
    /// The latest read was answered.
    Ok,
    /// The latest read was not answered.
    NoAnswer {
        /// When it was last well, since the program's start.
        since: Duration,
        /// Reads that failed since then.
        attempts: u32,
        /// When the next one starts, since the program's start.
        next_try: Duration,
        /// What happened.
        message: String,
    },
}

/// How changes are learned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wakes {
    /// It is not known yet.
    Unknown,
    /// The database tells.
    Told,
    /// Only by reading again.
    Polled,
}
