//! What one round left behind: who asked when, what was seen of their waits, what they were told, and the rows as a third
//! connection read them.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{HOLDER, Kind, Part};
use crate::domain::Status;

/// Everything that was gathered for one experiment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// The experiment.
    #[serde(rename = "name")]
    pub kind: Kind,
    /// How many callers there were in a race.
    pub callers: u32,
    /// How many rounds were asked for.
    pub rounds_asked: u32,
    /// Why it cannot run on this server; then there are no rounds.
    pub cannot_run: Option<String>,
    /// Why there are fewer rounds than were asked for.
    pub stopped: Option<String>,
    /// The rounds, in their order.
    pub rounds: Vec<Round>,
}

/// One round.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Round {
    /// From 1.
    pub number: u32,
    /// Which arrangement.
    pub part: Part,
    /// When the callers were let go.
    pub gate: Gate,
    /// Who asked what, in the order in which they were named.
    pub calls: Vec<Call>,
    /// What the third connection saw of waits: observed, not asserted.
    pub waits: Vec<Wait>,
    /// The rows as the third connection read them, the first before anybody asked and the last after everybody was
    /// answered.
    pub states: Vec<State>,
    /// What else was counted, each under a name that says what: milliseconds, bytes, rows.
    pub figures: BTreeMap<String, i64>,
    /// What went wrong with the round itself, so that it proves nothing.
    pub trouble: Option<String>,
}

impl Round {
    /// One in which nothing has happened yet.
    pub fn new(number: u32, part: Part) -> Self {
        Self {
            number,
            part,
            gate: Gate::default(),
            calls: Vec::new(),
            waits: Vec::new(),
            states: Vec::new(),
            figures: BTreeMap::new(),
            trouble: None,
        }
    }

    /// The call of `who` that is `act`.
    pub fn call(&self, who: &str, act: &str) -> Option<&Call> {
        self.calls.iter().find(|call| call.who == who && call.act == act)
    }

    /// The rows as they were read at the moment called `when`.
    pub fn state(&self, when: &str) -> Option<&State> {
        self.states.iter().find(|state| state.when == when)
    }

    /// A figure.
    pub fn figure(&self, name: &str) -> Option<i64> {
        self.figures.get(name).copied()
    }

    /// Whether `who` was seen waiting for a lock that somebody held, before the gate was opened where there was one.
    pub fn was_seen_waiting(&self, who: &str) -> bool {
        self.waits.iter().any(|wait| {
            wait.who == who
                && !wait.blocked_by.is_empty()
                && wait.since.is_none_or(|since| since <= wait.last)
                && wait.first_us <= wait.last_us
                && self.gate.opened_us.is_none_or(|opened| wait.first_us <= opened)
        })
    }
}

/// The holder's transaction, which keeps the rows until all callers wait for them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Gate {
    /// When it let go, by the client's clock; none where the round has no holder.
    pub opened_us: Option<u64>,
    /// Whether every caller was seen waiting before that.
    pub all_waited: bool,
}

/// One question and its answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    /// `A`, `B`, …
    pub who: String,
    /// `claim`, `approve`, `finish`, …
    pub act: String,
    /// When it was asked, by the client's clock.
    pub asked_us: u64,
    /// When the answer was there, by the client's clock.
    pub answered_us: u64,
    /// What it was told.
    pub answer: Answer,
    /// How many rows the server said that it changed; none where it said nothing.
    pub rows: Option<i64>,
    /// The server's code, where it gave one.
    pub sqlstate: Option<String>,
    /// What was said, where it was an error.
    pub message: Option<String>,
    /// How often the whole was decided again by the program.
    pub retries: u32,
    /// The first answer was lost and the outcome was found out afterwards.
    pub resolved_from_unknown: bool,
    /// The rows that came with the answer.
    pub told: Vec<RowSeen>,
}

/// What a caller was told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// It holds the claim.
    Won,
    /// Somebody else does.
    Lost,
    /// It took effect.
    Committed,
    /// The row had moved on; nothing was changed.
    Conflict,
    /// The claim is no longer the row's; nothing was changed.
    LeaseLost,
    /// There is no such row.
    NotFound,
    /// The server rolled the transaction back.
    RolledBack,
    /// Certainly not applied.
    Unavailable,
    /// Sent, and no answer came.
    Unknown,
    /// The limit leaves no room; nothing was changed.
    OverLimit,
    /// Not allowed.
    Refused,
    /// A row came that cannot be read.
    BadRow,
    /// Something was read, as asked.
    Read,
}

impl Answer {
    /// The word in text output.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Won => "WON",
            Self::Lost => "LOST",
            Self::Committed => "COMMITTED",
            Self::Conflict => "CONFLICT",
            Self::LeaseLost => "LEASE LOST",
            Self::NotFound => "NOT FOUND",
            Self::RolledBack => "ROLLED BACK",
            Self::Unavailable => "UNAVAILABLE",
            Self::Unknown => "UNKNOWN",
            Self::OverLimit => "OVER LIMIT",
            Self::Refused => "REFUSED",
            Self::BadRow => "BAD ROW",
            Self::Read => "READ",
        }
    }

    /// Whether it took effect, as far as the caller was told.
    pub const fn took_effect(self) -> bool {
        matches!(self, Self::Won | Self::Committed)
    }
}

/// A wait for a lock as the third connection saw it in `pg_stat_activity` and `pg_locks`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wait {
    /// Who waited.
    pub who: String,
    /// The kind of lock: `transactionid`, `tuple`, …
    pub lock: String,
    /// For whom.
    pub blocked_by: Vec<String>,
    /// Since when, by the database's clock; none where the server did not say yet.
    pub since: Option<Timestamp>,
    /// The last look that still saw it, by the database's clock.
    pub last: Timestamp,
    /// When the first look that saw it was answered, by the client's clock.
    pub first_us: u64,
    /// The same of the last.
    pub last_us: u64,
}

impl Wait {
    /// At least how long it lasted, by the database's clock, in milliseconds.
    pub fn at_least_ms(&self) -> Option<f64> {
        let lasted = self.last.duration_since(self.since?);
        (!lasted.is_negative()).then(|| lasted.as_secs_f64() * 1e3)
    }

    /// Whether it was for the holder.
    pub fn is_for_holder(&self) -> bool {
        self.blocked_by.iter().any(|blocker| blocker == HOLDER)
    }
}

/// Some rows at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// `before`, `after`, or a moment that its experiment names.
    pub when: String,
    /// The rows, by id.
    pub rows: Vec<RowSeen>,
}

/// A row of `tasks`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowSeen {
    /// Its id.
    pub id: i64,
    /// Its state.
    pub status: Status,
    /// Its version.
    pub version: i64,
    /// Its claim number.
    pub claim_no: i64,
    /// Whose claim: a caller's letter where it is one.
    pub claimed_by: Option<String>,
    /// Whether it was asked to stop.
    pub cancel_requested: bool,
    /// Its count of words.
    pub words: i64,
    /// How many events it has, where they were counted.
    pub events: Option<i64>,
}

impl RowSeen {
    /// Whether `other` is the same row in the same state of its life.
    pub fn is_as(&self, other: &Self) -> bool {
        let without = |row: &Self| Self { events: None, ..row.clone() };
        without(self) == without(other)
    }

    /// The row in words: `RUNNING v1 claim 1 by A`.
    pub fn words(&self) -> String {
        let claim = if self.claim_no > 0 { format!(" claim {}", self.claim_no) } else { String::new() };
        let by = self.claimed_by.as_ref().map_or_else(String::new, |by| format!(" by {by}"));
        let asked = if self.cancel_requested { ", asked to stop" } else { "" };
        format!("{} v{}{claim}{by}{asked}", self.status, self.version)
    }
}

/// The server as the lab found it.
#[expect(clippy::struct_excessive_bools, reason = "each is a field of the JSON by itself")]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Server {
    /// For example `15.18`.
    pub version: String,
    /// The isolation level that this program's sessions have.
    pub isolation: String,
    /// The level that is set for the role or the database, where one is.
    pub isolation_set: Option<String>,
    /// Whether a pooler in transaction mode stands in between.
    pub pooler: bool,
    /// The role.
    pub role: String,
    /// Whether the server is a hot standby.
    pub recovery: bool,
    /// Whether the session refuses writes.
    pub read_only: bool,
    /// Whether the role may create a schema here.
    pub may_create: bool,
    /// After what wait the server looks for a deadlock, in milliseconds.
    pub deadlock_timeout_ms: i64,
    /// The schema of the experiments.
    pub schema: String,
}
