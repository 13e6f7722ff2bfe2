//! When what is read: every second while it is shown and answered, later and later while it is not.

use std::time::Duration;

/// When each kind of read is due.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Refresh {
    pub(super) list: Slot,
    pub(super) overview: Slot,
    pub(super) detail: Slot,
    pub(super) instances: Slot,
    pub(super) health: Slot,
    pub(super) figures: Slot,
}

/// One kind of read: at most one is in flight.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Slot {
    /// Since when one is in flight.
    pub(super) in_flight: Option<Duration>,
    /// When the next one is due, since the program's start.
    pub(super) due: Duration,
    /// How many failed in a row.
    pub(super) failures: u32,
}
