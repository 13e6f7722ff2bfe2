//! The slots as whoever watches sees them.

use std::time::Instant;

use super::{Claim, Ledger, Requested, Slot, Stage};
use crate::domain::observed::SlotRun;

impl Ledger {
    /// What is in each busy slot.
    pub(in crate::worker) fn slots(&self, now: Instant) -> Vec<SlotRun> {
        let shown = |index: usize, claim: Claim, since: Instant, doing: String| SlotRun {
            slot: index + 1,
            id: claim.0,
            claim_no: claim.1,
            for_: now.saturating_duration_since(since),
            doing,
            cancel_requested: false,
            finishing: false,
        };
        let busy = |(index, slot): (usize, &Slot)| match (&slot.run, slot.last) {
            (Some(run), _) => Some(SlotRun {
                cancel_requested: run.cancel.is_requested()
                    || matches!(
                        self.claims.get(&run.claim),
                        Some(Stage::Running { requested: Requested::Yes, .. })
                    ),
                ..shown(index, run.claim, run.since, run.doing.text())
            }),
            (None, Some((claim, since))) if self.claims.contains_key(&claim) => {
                Some(SlotRun { finishing: true, ..shown(index, claim, since, "finishing".to_owned()) })
            }
            (None, _) => None,
        };
        self.slots.iter().enumerate().filter_map(busy).collect()
    }
}
