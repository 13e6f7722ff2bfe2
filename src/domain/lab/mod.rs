//! The lab's evidence and what follows from it: what each experiment must show, what one round left behind, and the
//! verdict, which is computed from the evidence alone.
//!
//! Invariants: nothing here runs an experiment; evidence that was written to a file and read again gives the same
//! verdict; a round whose overlap was not seen proves nothing, however it ended. Two clocks are never mixed: what ends in
//! `_us` is the client's monotonic clock, in microseconds from the beginning of its round; every timestamp is the
//! database's.

mod evidence;
mod kind;
mod lanes;
mod report;
mod rules;
mod verdict;

pub use evidence::{Answer, Call, Evidence, Gate, Round, RowSeen, Server, State, Wait};
pub use kind::{Kind, Part};
pub use lanes::lanes;
pub use report::{Experiment, Outcome, Report};
pub use verdict::{Broken, Judged, Unproven, Verdict, Waits, judge, judge_round, part_not_shown};

/// Who holds the rows back until every caller waits; no caller is ever called so.
pub const HOLDER: &str = "holder";

#[cfg(test)]
mod tests;
