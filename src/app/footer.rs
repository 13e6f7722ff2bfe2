//! What can be done now, computed from the table of keys.

use super::keys::Action;
use super::state::State;

/// One act in the footer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FooterItem {
    /// Which act.
    pub action: Action,
    /// Its key: `Ctrl-S`.
    pub key: String,
    /// One or two words.
    pub label: String,
    /// Whether it can be done now.
    pub availability: Availability,
}

/// Whether an act can be done now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Availability {
    /// It can.
    Enabled,
    /// It cannot; it is drawn dim, and pressing it says why.
    Disabled {
        /// Why.
        reason: String,
    },
}

/// The footer, the most useful first; what does not fit is cut at the end.
pub fn footer(_state: &State) -> Vec<FooterItem> {
    Vec::new()
}
