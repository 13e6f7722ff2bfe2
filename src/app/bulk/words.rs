//! What a decision about all that match says of itself: how far it is, and its sum.

use std::time::Duration;

use super::super::conflict::{ConflictAnswer, ConflictRow};
use super::{BulkEnd, BulkRun, Phase};
use crate::domain::bulk::{Left, Sum, Uncertain};
use crate::domain::figure::{rate, thousands, wait};
use crate::domain::outcome::Verdict;
use crate::domain::{DecisionKind, Seen, Status};

impl BulkRun {
    /// How far it is, of a thousand, where it is known how many there are.
    pub fn permille(&self) -> Option<i64> {
        if !self.expected.complete {
            return None;
        }
        // What was found is not always all there is.
        let of = self.expected.rows.max(self.decided()).max(1);
        Some(self.decided().saturating_mul(1_000) / of)
    }

    /// `1,500 of about 12,345 requeued`.
    pub fn progress(&self) -> String {
        let about = if self.expected.complete { "about " } else { "" };
        format!("{} of {about}{} {}", thousands(self.sum.committed), self.expected, self.kind().past())
    }

    /// `480 a second for 3 s`.
    pub fn pace(&self, now: Duration) -> String {
        let took = self.took(now);
        let per_s = self.decided() as f64 / took.as_secs_f64().max(0.001);
        format!("{} a second, for {}", rate(per_s), wait(took))
    }

    fn took(&self, now: Duration) -> Duration {
        let until = match &self.phase {
            Phase::Ended { at, .. } => *at,
            Phase::Asking | Phase::Unknown => now,
        };
        until.saturating_sub(self.began)
    }

    /// `12,000 requeued in 25 chunks, 26 s`.
    pub fn done(&self, now: Duration) -> String {
        let chunks = &self.sum.chunks;
        let chunks =
            if *chunks == 1 { "1 chunk".to_owned() } else { format!("{} chunks", thousands(*chunks)) };
        format!("{} in {chunks}, {}.", self.sum.done(self.kind()), wait(self.took(now)))
    }

    /// What was read as matching and left: `12 were left as they are: 10 moved on, 2 refused`.
    pub fn left(&self) -> Option<String> {
        let Sum { conflicts, refused, not_found, .. } = &self.sum;
        let parts: Vec<String> =
            [(*conflicts, "moved on"), (*refused, "refused"), (*not_found, "not there any more")]
                .into_iter()
                .filter(|(count, _)| *count > 0)
                .map(|(count, what)| format!("{} {what}", thousands(count)))
                .collect();
        let left = match self.sum.left() {
            1 => "1 was left as it is".to_owned(),
            left => format!("{} were left as they are", thousands(left)),
        };
        (!parts.is_empty()).then(|| format!("{left}: {}", parts.join(", ")))
    }

    /// `2 chunks were decided again after deadlocks`, `an answer was lost and found out`.
    pub fn trouble(&self) -> Option<String> {
        let again = match self.sum.retries {
            0 => None,
            1 => Some("decided again once after a deadlock".to_owned()),
            retries => Some(format!("decided again {retries} times after deadlocks")),
        };
        let lost = self.sum.resolved_from_unknown.then(|| "an answer was lost and then found out".to_owned());
        let parts: Vec<String> = again.into_iter().chain(lost).collect();
        (!parts.is_empty()).then(|| parts.join("; "))
    }

    /// `Requeued 12,000 of all that matched`, `Stopped: 1,500 requeued`.
    pub fn title(&self) -> String {
        let (kind, done) = (self.kind(), self.sum.done(self.kind()));
        match &self.phase {
            Phase::Ended { end: BulkEnd::Done, .. } => format!("Done: {done}"),
            Phase::Ended { end: BulkEnd::Stopped, .. } => {
                format!("Stopped: {done}, the rest as it was")
            }
            Phase::Ended { end: BulkEnd::Failed { .. }, .. } => {
                format!("Broken off: {done}, the rest as it was")
            }
            Phase::Ended { end: BulkEnd::Unknown { rows, .. }, .. } => match rows {
                Some(Uncertain { rows, .. }) => format!("Outcome unknown for {} tasks", thousands(*rows)),
                None => "Outcome unknown".to_owned(),
            },
            Phase::Asking | Phase::Unknown => format!("{} all that match", doing(kind)),
        }
    }

    /// Why it ended, where that is not simply that all were looked at. May hold text from the database.
    pub fn why_ended(&self) -> Option<String> {
        let Phase::Ended { end, .. } = &self.phase else { return None };
        match end {
            BulkEnd::Done => None,
            BulkEnd::Stopped => Some("You stopped it; nothing more was sent.".to_owned()),
            BulkEnd::Failed { message } => Some(format!("The rest of the chunk was not applied: {message}.")),
            BulkEnd::Unknown { rows: Some(Uncertain { from, to, rows }), message } => Some(format!(
                "Outcome unknown for ids {from}..{to} ({} tasks, all of them or none); nothing after them was sent: \
                 {message}.",
                thousands(*rows)
            )),
            BulkEnd::Unknown { rows: None, message } => Some(format!(
                "The outcome of the last chunk is unknown; nothing after it was sent: {message}."
            )),
        }
    }

    /// The whole of it in one sentence, for the log and for standard error.
    pub fn told(&self, now: Duration) -> String {
        let kind = self.kind();
        let mut parts = vec![self.sum.done(kind)];
        parts.extend(self.left());
        parts.extend(self.trouble());
        parts.push(match &self.phase {
            Phase::Ended { .. } => format!("in {}", wait(self.took(now))),
            Phase::Asking | Phase::Unknown => {
                let after =
                    self.sum.next_after.map_or_else(String::new, |after| format!(" behind task {after}"));
                format!("the chunk under way{after} has no answer yet, nothing after it was sent")
            }
        });
        let done = parts.join("; ");
        match (&self.phase, self.why_ended()) {
            // What went wrong comes first: the rest may not have room.
            (Phase::Ended { end: BulkEnd::Failed { .. } | BulkEnd::Unknown { .. }, .. }, Some(why)) => {
                format!("{kind} all that match: {why} {done}")
            }
            (_, Some(why)) => format!("{kind} all that match: {done}. {why}"),
            (_, None) => format!("{kind} all that match: {done}"),
        }
    }

    /// The first of those that were left, each with its reason. May hold text from the database.
    pub fn examples(&self, operator: &str, now: Duration) -> Vec<String> {
        let at = match &self.phase {
            Phase::Ended { at, .. } => now.saturating_sub(*at),
            Phase::Asking | Phase::Unknown => Duration::ZERO,
        };
        self.sum.examples.iter().map(|left| example(self.kind(), left, operator, at)).collect()
    }
}

/// `Requeuing`.
fn doing(kind: DecisionKind) -> &'static str {
    match kind {
        DecisionKind::Cancel => "Canceling",
        DecisionKind::Approve => "Approving",
        DecisionKind::Reject => "Rejecting",
        DecisionKind::Requeue => "Requeuing",
    }
}

/// `48213: bob canceled it 2 s ago (v3 → v4). It is now CANCELED, v4.`
fn example(kind: DecisionKind, left: &Left, operator: &str, since: Duration) -> String {
    let answer = match &left.verdict {
        Verdict::Conflict { task, last } => {
            ConflictAnswer::Now { task: Box::new(task.clone()), last: last.clone() }
        }
        Verdict::Refused { task } => ConflictAnswer::Refused { task: Box::new(task.clone()) },
        Verdict::OverLimit { task, over } => {
            ConflictAnswer::OverLimit { task: Box::new(task.clone()), over: *over }
        }
        Verdict::Held { task } | Verdict::Committed { task, .. } => {
            ConflictAnswer::Now { task: Box::new(task.clone()), last: None }
        }
        Verdict::NotFound => ConflictAnswer::NotFound,
    };
    let Seen { id, version } = left.seen;
    let row = ConflictRow { id, version_seen: version, answer };
    // The first line says what was asked, which is known.
    let lines = row.lines(kind, operator, since);
    format!("{id}: {}", lines.get(1..).unwrap_or_default().join(" "))
}
