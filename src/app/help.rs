//! What every key does: the acts of what is on top first.

use super::state::State;

/// A line of help.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HelpLine {
    /// Begins a part.
    Title {
        /// Its title.
        text: String,
    },
    /// An act.
    Act {
        /// Its keys: `Space x`.
        keys: String,
        /// What it does.
        text: String,
        /// Why it cannot be done now, where it cannot.
        unavailable: Option<String>,
    },
    /// A line of text.
    Text {
        /// The text.
        text: String,
    },
}

/// The lines of help.
pub fn help(_state: &State) -> Vec<HelpLine> {
    Vec::new()
}
