//! Decisions about all that match the filter of the list: the selection, the look beforehand, the question, the chunks
//! one after the other, their sum.
//!
//! Invariant: what `y` starts is what a look found and a frame showed, and nothing wider. One chunk is under way at a
//! time; the next is sent only when the one before is answered, nobody has asked to stop and this process is not about
//! to end. What became of each row that was read is in the sum.

mod question;
mod run;
mod select;
mod words;

pub use question::{BulkQuestion, Shown, StateLine};
pub use run::{BulkEnd, BulkRun, Phase, Stopping};
pub use select::AllMatching;

use std::collections::BTreeMap;
use std::time::Duration;

use super::message::ReadFailure;
use crate::domain::bulk::{Count, Preview};
use crate::domain::figure::thousands;
use crate::domain::observed::Filter;
use crate::domain::{DecisionKind, Status};

/// What the console knows of decisions about all that match.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Bulks {
    /// The one that runs, or has ended and is still shown.
    pub run: Option<BulkRun>,
    /// How many ended without anybody knowing what became of their last chunk.
    pub unresolved: usize,
    /// The number of the latest look.
    pub(super) look: u64,
    /// A look that is to be asked for.
    pub(super) wanted: Option<Look>,
}

/// A look at what matches, to be asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Look {
    pub(super) number: u64,
    pub(super) kind: DecisionKind,
    pub(super) filter: Filter,
}

/// What a look found, as far as it has answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// No answer yet.
    Looking,
    /// This.
    Preview {
        /// What was found.
        preview: Box<Preview>,
        /// When the answer arrived, since the program's start.
        arrived: Duration,
    },
    /// It could not be looked.
    Failed(ReadFailure),
}

impl Found {
    /// What was found, if it was.
    pub fn preview(&self) -> Option<&Preview> {
        match self {
            Self::Preview { preview, .. } => Some(preview),
            Self::Looking | Self::Failed(_) => None,
        }
    }
}

/// How many match in each state, whatever is decided about them.
fn counts(preview: &Preview) -> BTreeMap<Status, Count> {
    let ready = preview
        .ready
        .iter()
        .map(|(status, rows)| (*status, Count { rows: *rows, complete: preview.complete }));
    let mut counts: BTreeMap<Status, Count> = BTreeMap::new();
    for (status, count) in ready.chain(preview.left_out.iter().map(|(status, count)| (*status, *count))) {
        let known = counts.entry(status).or_insert(Count { rows: 0, complete: true });
        known.rows = known.rows.saturating_add(count.rows);
        known.complete &= count.complete;
    }
    counts
}

/// How many match in all.
fn all(preview: &Preview) -> Count {
    let counts = counts(preview);
    let complete = preview.complete && counts.values().all(|count| count.complete);
    Count { rows: counts.values().map(|count| count.rows).sum(), complete }
}

/// `12,345 match and are marked: 12,000 FAILED, 345 CANCELED`.
fn told(preview: &Preview) -> String {
    let states: Vec<String> =
        counts(preview).iter().map(|(status, count)| format!("{count} {status}")).collect();
    match (all(preview), states.as_slice()) {
        (Count { complete: true, .. }, []) => "none match any more".to_owned(),
        (_, []) => format!("none found among the {} that were looked at", thousands(preview.looked_at)),
        (all, states) => format!("{all} match and are marked: {}", states.join(", ")),
    }
}

/// What a list is narrowed to, in words: `FAILED, tenant billing, text "timeout"`.
pub fn narrowed(filter: &Filter) -> String {
    let states: Vec<&str> = filter.statuses.iter().map(|status| status.as_str()).collect();
    let mut parts = Vec::new();
    if !states.is_empty() {
        parts.push(states.join(" or "));
    }
    parts.extend(filter.tenant.as_ref().map(|tenant| format!("tenant {tenant}")));
    parts.extend(filter.queue.as_ref().map(|queue| format!("queue {queue}")));
    parts.extend(filter.search.as_ref().map(|text| format!("text \"{text}\"")));
    if parts.is_empty() { "no filter: every task of every tenant".to_owned() } else { parts.join(", ") }
}
