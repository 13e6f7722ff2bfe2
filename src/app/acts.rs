//! Writes that were asked for and are not answered yet. They are shown beside the row; the row itself changes
//! only when the database says so.

use std::time::Duration;

use super::effect::RequestId;
use super::log::{Level, Source};
use super::message::{LinesReport, WriteFailure};
use super::question::named;
use super::queues::QueueAsked;
use super::state::State;
use super::stop::StopAct;
use crate::domain::figure::thousands;
use crate::domain::outcome::{Decided, DecisionOutcome, Verdict};
use crate::domain::{DecisionKind, Seen, Status, TaskId};

/// A decision that was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Act {
    /// Its number.
    pub request: RequestId,
    /// What was decided.
    pub kind: DecisionKind,
    /// About which rows, as they were seen.
    pub rows: Vec<Seen>,
    /// When it was sent, since the program's start.
    pub asked: Duration,
    /// How far it is.
    pub phase: Phase,
}

/// How far an act is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// No answer yet.
    Asking,
    /// The answer was lost; the root is finding out.
    Unknown,
    /// It could not be found out in time. Stays beside the row until the row is seen with another version or
    /// is decided again.
    Unresolved,
}

/// The writes that are not answered yet.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Acts {
    /// Decisions, in the order in which they were sent.
    pub decisions: Vec<Act>,
    /// Requests to stop, in the order in which they were sent.
    pub stops: Vec<StopAct>,
    /// Decisions about queues, in the order in which they were sent.
    pub queues: Vec<QueueAsked>,
    /// Files and samples that are being submitted.
    pub lines: Vec<Lines>,
    /// Files that were not submitted to their end. Another attempt goes under the same number, so that no line of
    /// them becomes two tasks.
    pub unfinished: Vec<Unfinished>,
}

/// Texts of a file, or samples, that are being submitted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lines {
    /// Their number.
    pub request: RequestId,
    /// The file, as it was typed; none: the samples.
    pub path: Option<String>,
}

impl Lines {
    /// What they are, for the log.
    pub fn what(&self) -> String {
        self.path.as_ref().map_or_else(|| "sample texts".to_owned(), |path| format!("lines of {path}"))
    }
}

/// A file of which not every line is known to be in the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unfinished {
    /// Its number.
    pub request: RequestId,
    /// The file, as it was typed; none: the samples.
    pub path: Option<String>,
    /// Whether it could not be found out what became of a part of it.
    pub unresolved: bool,
}

impl Acts {
    /// The act on this row that is not answered yet or stayed unresolved.
    pub fn on(&self, id: TaskId) -> Option<&Act> {
        self.decisions.iter().rev().find(|act| act.rows.iter().any(|row| row.id == id))
    }

    /// What stands beside the row of `id`: `cancel: asking…`.
    pub fn beside(&self, id: TaskId) -> Option<String> {
        self.on(id).map(|act| match act.phase {
            Phase::Asking => format!("{}: asking…", act.kind),
            Phase::Unknown => format!("{}: outcome unknown, checking…", act.kind),
            Phase::Unresolved => format!("{}: outcome not known", act.kind),
        })
    }

    /// The submit of this file that is not answered yet.
    pub fn lines_of(&self, path: &str) -> Option<RequestId> {
        self.lines.iter().find(|lines| lines.path.as_deref() == Some(path)).map(|lines| lines.request)
    }

    /// How many writes were given up without knowing what became of them.
    pub fn unresolved(&self) -> usize {
        self.decisions.iter().filter(|act| act.phase == Phase::Unresolved).count()
            + self.stops.iter().filter(|act| act.phase == Phase::Unresolved).count()
            + self.queues.iter().filter(|asked| asked.phase == Phase::Unresolved).count()
            + self.unfinished.iter().filter(|file| file.unresolved).count()
    }

    /// How many writes wait for an answer.
    pub fn waiting(&self) -> usize {
        self.decisions.iter().filter(|act| act.phase != Phase::Unresolved).count()
            + self.stops.iter().filter(|act| act.phase != Phase::Unresolved).count()
            + self.queues.iter().filter(|asked| asked.phase != Phase::Unresolved).count()
            + self.lines.len()
    }
}

impl State {
    /// An act that could not be resolved ends beside its row once the row is seen with another version.
    pub(super) fn acts_seen(&mut self) {
        let list = &self.list;
        self.acts.decisions.retain(|act| {
            act.phase != Phase::Unresolved
                || !act
                    .rows
                    .iter()
                    .all(|seen| list.task(seen.id).is_some_and(|task| task.version != seen.version))
        });
    }

    /// A decision's answer.
    pub(super) fn decided(&mut self, request: RequestId, result: Result<Decided, WriteFailure>) {
        let Some(at) = self.acts.decisions.iter().position(|act| act.request == request) else { return };
        let act = self.acts.decisions[at].clone();
        let what = named(act.kind, &act.rows);
        match result {
            Err(WriteFailure::Unknown { message }) => {
                self.acts.decisions[at].phase = Phase::Unknown;
                self.say(Level::Warn, format!("{what}: outcome unknown, checking… ({message})"));
                return;
            }
            Err(WriteFailure::Unresolved { message, hint }) => {
                self.acts.decisions[at].phase = Phase::Unresolved;
                let text = format!("{what}: whether it was done could not be found out: {message}");
                self.say(
                    Level::Error,
                    with_hint(text, hint.as_deref().or(Some("look at the row before you act again"))),
                );
            }
            Err(failure) => {
                self.acts.decisions.remove(at);
                if let WriteFailure::Refused { message, .. } = &failure {
                    self.session.decide_denied = Some(message.clone());
                }
                self.say_failure(&what, failure);
            }
            Ok(decided) => {
                self.acts.decisions.remove(at);
                match decided.outcome() {
                    DecisionOutcome::Committed => self.say_committed(&decided),
                    DecisionOutcome::Conflict | DecisionOutcome::NotFound | DecisionOutcome::Refused => {
                        self.conflicted(&act, decided);
                    }
                }
            }
        }
        self.refresh_now();
    }

    fn say_committed(&mut self, decided: &Decided) {
        let lost = if decided.resolved_from_unknown { " (confirmed after a lost answer)" } else { "" };
        let again = match decided.retries {
            0 => String::new(),
            1 => " (decided again once after a deadlock)".to_owned(),
            n => format!(" (decided again {n} times after deadlocks)"),
        };
        let past = decided.kind.past();
        let lines: Vec<_> = decided
            .rows
            .iter()
            .filter_map(|(id, verdict)| match verdict {
                Verdict::Committed { task, version_before } => {
                    let versions = format!("(v{version_before} → v{})", task.version);
                    Some(if decided.kind == DecisionKind::Cancel && task.status == Status::Running {
                        format!(
                            "asked {id} to stop {versions}; it stays RUNNING until its analyser has returned"
                        )
                    } else {
                        format!("{past} {id} {versions}")
                    })
                }
                _ => None,
            })
            .collect();
        if let [line] = lines.as_slice() {
            self.say(Level::Info, format!("{line}{lost}{again}"));
        } else {
            for line in &lines {
                self.log.push(self.now, Level::Info, Source::Operator, line.clone());
            }
            self.say(Level::Info, format!("{past} {} tasks{lost}{again}", lines.len()));
        }
    }

    /// Says why a write was certainly not applied.
    pub(super) fn say_failure(&mut self, what: &str, failure: WriteFailure) {
        match failure {
            WriteFailure::Unavailable { message, hint } => {
                let text = format!("{what}: not sent, database unavailable, nothing was changed: {message}");
                self.say(Level::Error, with_hint(text, hint.as_deref()));
            }
            WriteFailure::Refused { message, hint, .. } => {
                let text = format!("{what}: refused, nothing was changed: {message}");
                self.say(Level::Error, with_hint(text, hint.as_deref()));
            }
            WriteFailure::BadInput { message } => {
                self.say(Level::Error, format!("{what}: refused, nothing was changed: {message}"));
            }
            WriteFailure::Unknown { message } => {
                self.say(Level::Warn, format!("{what}: outcome unknown, checking… ({message})"));
            }
            WriteFailure::Unresolved { message, hint } => {
                let text = format!("{what}: whether it was done could not be found out: {message}");
                self.say(Level::Error, with_hint(text, hint.as_deref()));
            }
        }
    }

    /// What became of a file's lines or of the samples.
    pub(super) fn lines_submitted(&mut self, request: RequestId, result: Result<LinesReport, WriteFailure>) {
        let Some(at) = self.acts.lines.iter().position(|lines| lines.request == request) else { return };
        let what = self.acts.lines[at].what();
        if let Err(WriteFailure::Unknown { .. }) = &result {
            if let Err(failure) = result {
                self.say_failure(&what, failure);
            }
            return;
        }
        let path = self.acts.lines.remove(at).path;
        if let Err(failure) = &result {
            let unresolved = matches!(failure, WriteFailure::Unresolved { .. });
            self.acts.unfinished.push(Unfinished { request, path, unresolved });
        }
        match result {
            Ok(report) => {
                for (line, why) in &report.named {
                    let text = format!("{what}: line {line} refused: {why}");
                    self.log.push(self.now, Level::Warn, Source::Operator, text);
                }
                let submitted = thousands(i64::try_from(report.submitted).unwrap_or(i64::MAX));
                let (level, refused) = match report.refused {
                    0 => (Level::Info, String::new()),
                    n => (Level::Warn, format!(", {n} lines refused (screen 5 says why)")),
                };
                let known = match report.known {
                    0 => String::new(),
                    n => format!(", {n} were in the table already"),
                };
                self.say(level, format!("{what}: {submitted} tasks submitted{known}{refused}"));
            }
            Err(failure) => self.say_failure(&what, failure),
        }
        self.refresh_now();
    }
}

/// `text; hint`.
pub(super) fn with_hint(text: String, hint: Option<&str>) -> String {
    match hint {
        Some(hint) => format!("{text}; {hint}"),
        None => text,
    }
}
