//! A decision about all that match while it runs: one chunk after the other, until all were looked at, somebody asks to
//! stop, or one could not be decided.

use std::time::Duration;

use super::super::conflict::{ConflictAnswer, ConflictRow};
use super::super::effect::{Effect, RequestId};
use super::super::keys::{Action, Key};
use super::super::log::{Level, Source};
use super::super::message::{Broken, WriteFailure};
use super::super::state::State;
use crate::domain::bulk::{Chunk, Count, Left, Matching, Sum, Uncertain};
use crate::domain::figure::{rate, thousands, wait};
use crate::domain::outcome::Verdict;
use crate::domain::{DecisionKind, Seen, Status};

/// A decision about all that match that was begun.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BulkRun {
    /// What is decided, and about what.
    pub matching: Matching,
    /// How many there were when it was looked.
    pub expected: Count,
    /// Why, as the operator put it.
    pub reason: Option<String>,
    /// The number of the chunk that was sent last.
    pub request: RequestId,
    /// What became of the chunks before.
    pub sum: Sum,
    /// How far it is.
    pub phase: Phase,
    /// Whether the chunk under way is to be the last.
    pub stopping: Stopping,
    /// When it was begun, since the program's start.
    pub began: Duration,
}

/// How far a decision about all that match is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Phase {
    /// A chunk is under way.
    Asking,
    /// The answer to a chunk was lost; the root is finding out.
    Unknown,
    /// Nothing more is sent.
    Ended {
        /// Why.
        end: BulkEnd,
        /// When, since the program's start.
        at: Duration,
    },
}

/// Whether the chunk under way is to be the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stopping {
    /// It is: somebody asked for it.
    Yes,
    /// It is not.
    No,
}

/// Why nothing more is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BulkEnd {
    /// Everything was looked at.
    Done,
    /// It was asked to stop.
    Stopped,
    /// A chunk could certainly not be decided.
    Failed {
        /// Why.
        message: String,
    },
    /// What became of some rows could not be found out.
    Unknown {
        /// Which, where that is known.
        rows: Option<Uncertain>,
        /// Why.
        message: String,
    },
}

impl BulkRun {
    pub(super) fn begin(
        matching: Matching,
        expected: Count,
        reason: Option<String>,
        began: Duration,
    ) -> Self {
        Self {
            matching,
            expected,
            reason,
            request: RequestId(0),
            sum: Sum::default(),
            phase: Phase::Asking,
            stopping: Stopping::No,
            began,
        }
    }

    /// What is decided.
    pub const fn kind(&self) -> DecisionKind {
        self.matching.kind
    }

    /// Whether nothing more is sent and the last answer is there.
    pub const fn has_ended(&self) -> bool {
        matches!(self.phase, Phase::Ended { .. })
    }

    /// How many rows were decided about, whatever became of them.
    pub fn decided(&self) -> i64 {
        self.sum.committed.saturating_add(self.sum.left())
    }

    /// How far it is, of a thousand.
    pub fn permille(&self) -> i64 {
        // What was found is not always all there is.
        let of = self.expected.rows.max(self.decided()).max(1);
        self.decided().saturating_mul(1_000) / of
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
        let Sum { committed, chunks, .. } = &self.sum;
        let asked = match (self.kind(), self.matching.states().contains(&Status::Running)) {
            (DecisionKind::Cancel, true) => " (what ran was asked to stop)",
            _ => "",
        };
        let chunks =
            if *chunks == 1 { "1 chunk".to_owned() } else { format!("{} chunks", thousands(*chunks)) };
        format!(
            "{} {}{asked} in {chunks}, {}.",
            thousands(*committed),
            self.kind().past(),
            wait(self.took(now))
        )
    }

    /// What was read as matching and left: `12 were left as they are: 10 moved on, 2 refused (four eyes)`.
    pub fn left(&self) -> Option<String> {
        let Sum { conflicts, refused, not_found, .. } = &self.sum;
        let parts: Vec<String> =
            [(*conflicts, "moved on"), (*refused, "refused (four eyes)"), (*not_found, "not there any more")]
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
        let (kind, past, done) = (self.kind(), self.kind().past(), thousands(self.sum.committed));
        match &self.phase {
            Phase::Ended { end: BulkEnd::Done, .. } => format!("Done: {done} {past}"),
            Phase::Ended { end: BulkEnd::Stopped, .. } => {
                format!("Stopped: {done} {past}, the rest as it was")
            }
            Phase::Ended { end: BulkEnd::Failed { .. }, .. } => {
                format!("Broken off: {done} {past}, the rest as it was")
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
            BulkEnd::Failed { message } => Some(format!("The next chunk was not applied: {message}.")),
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
        let (kind, past) = (self.kind(), self.kind().past());
        let mut told = format!("{kind} all that match: ");
        let broken =
            matches!(&self.phase, Phase::Ended { end: BulkEnd::Failed { .. } | BulkEnd::Unknown { .. }, .. });
        let why = self.why_ended();
        // What went wrong comes first: the rest may not have room.
        told.extend(why.iter().filter(|_| broken).map(|why| format!("{why} ")));
        told += &format!("{} {past}", thousands(self.sum.committed));
        told.extend(self.left().into_iter().map(|left| format!("; {left}")));
        told.extend(self.trouble().into_iter().map(|trouble| format!("; {trouble}")));
        match &self.phase {
            Phase::Ended { .. } => told += &format!("; in {}", wait(self.took(now))),
            Phase::Asking | Phase::Unknown => {
                let after =
                    self.sum.next_after.map_or_else(String::new, |after| format!(" behind task {after}"));
                told += &format!("; the chunk under way{after} has no answer yet, nothing after it was sent");
            }
        }
        told.extend(why.iter().filter(|_| !broken).map(|why| format!(". {why}")));
        told
    }

    /// The first of those that were left, each with its reason, in words for `operator`. May hold text from the database.
    pub fn examples(&self, operator: &str, now: Duration) -> Vec<String> {
        let at = match &self.phase {
            Phase::Ended { at, .. } => now.saturating_sub(*at),
            Phase::Asking | Phase::Unknown => Duration::ZERO,
        };
        self.sum.examples.iter().map(|left| example(self.kind(), operator, left, at)).collect()
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
fn example(kind: DecisionKind, operator: &str, left: &Left, since: Duration) -> String {
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

impl State {
    /// Whether a decision about all that match is under way.
    pub(in crate::app) fn bulk_runs(&self) -> bool {
        self.bulk.run.as_ref().is_some_and(|run| !run.has_ended())
    }

    /// Sends the next chunk.
    pub(super) fn send_chunk(&mut self, effects: &mut Vec<Effect>) {
        let request = self.request();
        let Some(run) = &mut self.bulk.run else { return };
        run.request = request;
        run.phase = Phase::Asking;
        let (matching, reason, after) = (run.matching.clone(), run.reason.clone(), run.sum.next_after);
        effects.push(Effect::DecideChunk { request, matching: Box::new(matching), reason, after });
    }

    /// What became of a chunk. The next one follows, unless it was the last or is to be.
    pub(in crate::app) fn chunk_decided(
        &mut self,
        request: RequestId,
        result: Result<Chunk, Box<Broken>>,
        effects: &mut Vec<Effect>,
    ) {
        let Some(run) = self.bulk.run.as_mut().filter(|run| run.request == request && !run.has_ended())
        else {
            return;
        };
        let end = match result {
            Ok(chunk) => {
                let last = chunk.next_after.is_none();
                run.sum.take(chunk);
                match (last, run.stopping) {
                    (true, _) => BulkEnd::Done,
                    (false, Stopping::Yes) => BulkEnd::Stopped,
                    (false, Stopping::No) => return self.send_chunk(effects),
                }
            }
            Err(broken) => {
                let Broken { chunk, failure, uncertain } = *broken;
                if let WriteFailure::Unknown { message } = failure {
                    run.phase = Phase::Unknown;
                    let what = format!("{} all that match", run.kind());
                    return self.say(Level::Warn, format!("{what}: outcome unknown, checking… ({message})"));
                }
                run.sum.take(chunk);
                match failure {
                    WriteFailure::Unresolved { message, .. } => BulkEnd::Unknown { rows: uncertain, message },
                    WriteFailure::Refused { message, .. } => {
                        self.session.decide_denied = Some(message.clone());
                        BulkEnd::Failed { message }
                    }
                    WriteFailure::Unavailable { message, .. }
                    | WriteFailure::BadInput { message }
                    | WriteFailure::Unknown { message } => BulkEnd::Failed { message },
                }
            }
        };
        self.bulk_ended(end);
    }

    fn bulk_ended(&mut self, end: BulkEnd) {
        let now = self.now;
        self.bulk.unresolved += usize::from(matches!(end, BulkEnd::Unknown { .. }));
        let level = match &end {
            BulkEnd::Done | BulkEnd::Stopped => Level::Info,
            BulkEnd::Failed { .. } | BulkEnd::Unknown { .. } => Level::Error,
        };
        let Some(run) = &mut self.bulk.run else { return };
        run.phase = Phase::Ended { end, at: now };
        let level = if run.sum.left() > 0 { level.max(Level::Warn) } else { level };
        let (told, examples) = (run.told(now), run.examples(&self.session.operator, now));
        for example in examples {
            self.log.push(now, Level::Warn, Source::Operator, format!("left as it is: {example}"));
        }
        self.say(level, told);
        self.refresh_now();
    }

    /// Tells on the way out what nobody has read: the sum that is still shown, or how far it came.
    pub(in crate::app) fn tell_bulk(&self, effects: &mut Vec<Effect>) {
        if let Some(run) = &self.bulk.run {
            effects.push(Effect::Farewell { text: run.told(self.now) });
        }
    }

    /// Asks that the chunk under way be the last.
    pub(in crate::app) fn stop_bulk(&mut self) {
        if !self.bulk_runs() {
            return;
        }
        if let Some(run) = &mut self.bulk.run
            && run.stopping == Stopping::No
        {
            run.stopping = Stopping::Yes;
            let text = format!("{} all that match: asked to stop after the chunk under way", run.kind());
            self.log.push(self.now, Level::Info, Source::Operator, text);
        }
    }

    /// A key while a decision about all that match runs, or its sum is shown.
    pub(in crate::app) fn bulk_run_key(&mut self, action: Option<Action>, key: Key) {
        match (action, self.bulk_runs()) {
            (Some(Action::Back | Action::No), true) => self.stop_bulk(),
            (_, true) => self.hint("Esc stops after the chunk under way; what is decided stays decided"),
            (Some(Action::Back | Action::Open | Action::No), false) => {
                self.bulk.run = None;
                self.close(key);
            }
            (_, false) => self.hint("Enter or Esc closes this; screen 5 keeps it"),
        }
    }
}
