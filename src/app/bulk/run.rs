//! A decision about all that match while it runs: one chunk after the other, until all were looked at, somebody asks to
//! stop, or one could not be decided.

use std::time::Duration;

use super::super::effect::{Effect, RequestId};
use super::super::keys::{Action, Key};
use super::super::log::{Level, Source};
use super::super::message::{Broken, WriteFailure};
use super::super::state::State;
use crate::domain::DecisionKind;
use crate::domain::bulk::{Chunk, Count, Matching, Sum, Uncertain};

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
