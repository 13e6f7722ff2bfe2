//! Someone else got there first: what was asked, what the row is now, who made it so. Nothing was changed, and
//! nothing is sent again by itself: the operator decides anew, about the row as it is now.

use std::time::Duration;

use super::acts::Act;
use super::availability::{decision, possible};
use super::keys::{Action, Key};
use super::list::SeenRow;
use super::log::{Level, Source};
use super::overlay::Overlay;
use super::state::State;
use crate::domain::figure::age;
use crate::domain::limit::OverLimit;
use crate::domain::outcome::{Decided, Verdict};
use crate::domain::{DecisionKind, LastChange, Task, TaskId};

/// A decision that changed nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// What was asked.
    pub kind: DecisionKind,
    /// Who asked.
    pub operator: String,
    /// The rows that stood in the way, by ascending id; there is at least one.
    pub rows: Vec<ConflictRow>,
    /// How many other rows of the same decision were left as they were.
    pub held: usize,
    /// When the answer arrived, since the program's start.
    pub arrived: Duration,
    /// Which row the cursor is on.
    pub cursor: usize,
}

/// A row that stood in the way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConflictRow {
    /// The task.
    pub id: TaskId,
    /// The version with which the decision was made.
    pub version_seen: i64,
    /// What the database answered.
    pub answer: ConflictAnswer,
}

/// What the database answered about a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConflictAnswer {
    /// The row as it is now.
    Now {
        /// The row.
        task: Box<Task>,
        /// Who changed it last and when, where known; its age counts from the conflict's arrival.
        last: Option<LastChange>,
    },
    /// The four-eyes rule: whoever submitted this row may not approve it.
    Refused {
        /// The row.
        task: Box<Task>,
    },
    /// Its tenant has no room for it today.
    OverLimit {
        /// The row.
        task: Box<Task>,
        /// What is left of the day, and what was asked for.
        over: OverLimit,
    },
    /// No such row (for this tenant).
    NotFound,
}

impl ConflictAnswer {
    /// The row as it is now; none: there is none.
    pub fn task(&self) -> Option<&Task> {
        match self {
            Self::Now { task, .. } | Self::Refused { task } | Self::OverLimit { task, .. } => Some(task),
            Self::NotFound => None,
        }
    }
}

impl Conflict {
    /// The row that acts and Enter are about, as the database answered it.
    pub fn row_under_cursor(&self) -> Option<SeenRow> {
        self.rows.get(self.cursor)?.answer.task().map(SeenRow::from)
    }

    /// What happened, in words, at time `now` since the program's start. May hold text from the database.
    pub fn lines(&self, now: Duration) -> Vec<String> {
        let since = now.saturating_sub(self.arrived);
        let mut lines: Vec<_> =
            self.rows.iter().flat_map(|row| row.lines(self.kind, &self.operator, since)).collect();
        match self.held {
            0 => {}
            1 => lines.push("1 other task was left as it is: all or none.".to_owned()),
            n => lines.push(format!("{n} other tasks were left as they are: all or none.")),
        }
        lines
    }

    /// The decisions that are possible about the row under the cursor as it is now.
    pub fn possible(&self, state: &State) -> Vec<DecisionKind> {
        let Some(row) = self.row_under_cursor() else { return Vec::new() };
        let open = |kind: &DecisionKind| possible(*kind, row).is_ok() && !state.needs_another(*kind, row.id);
        DecisionKind::ALL.into_iter().filter(open).collect()
    }
}

impl ConflictRow {
    /// What happened to this row, in words for `operator`, `since` after the answer.
    pub fn lines(&self, kind: DecisionKind, operator: &str, since: Duration) -> Vec<String> {
        let asked = format!("You asked to {kind} {} as you saw it: v{}.", self.id, self.version_seen);
        let (task, last) = match &self.answer {
            ConflictAnswer::Now { task, last } => (task, last),
            ConflictAnswer::Refused { .. } => {
                let rule = "You submitted it yourself: another operator must approve it (four eyes).";
                return vec![asked, rule.to_owned()];
            }
            ConflictAnswer::OverLimit { task, over } => {
                let left = format!("Left {}: {}.", task.status, over.words(&task.tenant));
                let until = "The day ends at midnight UTC; `taskdeck limit` sets another limit.";
                return vec![asked, left, until.to_owned()];
            }
            ConflictAnswer::NotFound => {
                return vec![asked, "There is no such task for this tenant.".to_owned()];
            }
        };
        let now = format!("It is now {}, v{}.", task.status, task.version);
        let who = match last {
            _ if task.version == self.version_seen => {
                return vec![asked, format!("It is {}, from which {kind} is not possible.", task.status)];
            }
            None => "Someone changed it since.".to_owned(),
            Some(last) => {
                let ago = Duration::from_millis(last.ago_ms.try_into().unwrap_or(0)) + since;
                let why = last.reason.as_ref().map(|reason| format!(": \"{reason}\"")).unwrap_or_default();
                format!(
                    "{} {} {} ago{} (v{} → v{}){why}.",
                    last.actor,
                    last.did(),
                    age(ago),
                    last.elsewhere(operator),
                    last.version_after - 1,
                    last.version_after
                )
            }
        };
        vec![asked, who, now]
    }
}

impl State {
    /// A decision that changed nothing: to the log, and to be shown as soon as nothing else is open.
    pub(super) fn conflicted(&mut self, act: &Act, decided: Decided) {
        let mut held = 0;
        let mut rows = Vec::new();
        for (id, verdict) in decided.rows {
            let answer = match verdict {
                Verdict::Conflict { task, last } => ConflictAnswer::Now { task: Box::new(task), last },
                Verdict::Refused { task } => ConflictAnswer::Refused { task: Box::new(task) },
                Verdict::OverLimit { task, over } => ConflictAnswer::OverLimit { task: Box::new(task), over },
                Verdict::NotFound => ConflictAnswer::NotFound,
                Verdict::Held { .. } | Verdict::Committed { .. } => {
                    held += 1;
                    continue;
                }
            };
            let version_seen = act.rows.iter().find(|seen| seen.id == id).map_or(0, |seen| seen.version);
            rows.push(ConflictRow { id, version_seen, answer });
        }
        if rows.is_empty() {
            self.say(
                Level::Warn,
                format!("{}: nothing was changed", super::question::named(act.kind, &act.rows)),
            );
            return;
        }
        let operator = self.session.operator.clone();
        let conflict = Conflict { kind: act.kind, operator, rows, held, arrived: self.now, cursor: 0 };
        for line in conflict.lines(self.now) {
            self.log.push(self.now, Level::Warn, Source::Operator, format!("nothing was changed: {line}"));
        }
        self.conflicts.push_back(conflict);
        if self.overlays.is_empty() {
            self.hint("nothing was changed");
        } else {
            self.hint("a decision changed nothing: it is shown when this is closed");
        }
    }

    /// Shows the next conflict once nothing else is open: it never takes keys from what is being answered.
    pub(super) fn show_conflict(&mut self) {
        if !self.overlays.is_empty() {
            return;
        }
        let next = [
            (self.conflicts.is_empty(), Overlay::Conflict),
            (self.stop_conflicts.is_empty(), Overlay::StopConflict),
            (self.queue_conflicts.is_empty(), Overlay::QueueConflict),
        ];
        let Some((_, next)) = next.into_iter().find(|(none, _)| !none) else { return };
        self.overlays.push(next);
        self.needs_draw = true;
    }

    /// A key while a conflict is on top.
    pub(super) fn conflict_key(&mut self, action: Option<Action>, key: Key) {
        let Some(conflict) = self.conflicts.front_mut() else {
            self.overlays.pop();
            return;
        };
        match action {
            Some(Action::Up) => conflict.cursor = conflict.cursor.saturating_sub(1),
            Some(Action::Down) => conflict.cursor = (conflict.cursor + 1).min(conflict.rows.len() - 1),
            Some(Action::Back | Action::No) => self.close_conflict(key),
            Some(Action::Open) => {
                let id = conflict.rows.get(conflict.cursor).map(|row| row.id);
                self.close_conflict(key);
                if let Some(id) = id {
                    self.go_to(id);
                }
            }
            Some(action) if decision(action).is_some() => self.decide_anew(action, key),
            _ => self.hint("Enter looks at it, Esc closes; nothing was changed"),
        }
    }

    /// A fresh decision about the row as the database answered it, with a question of its own.
    fn decide_anew(&mut self, action: Action, key: Key) {
        if let Some(why) = super::availability::refusal(self, action) {
            self.hint(why);
            return;
        }
        let (Some(kind), Ok((rows, from))) = (decision(action), super::availability::seen_subjects(self))
        else {
            return;
        };
        self.close_conflict(key);
        self.ask_about(kind, rows, from);
    }

    fn close_conflict(&mut self, key: Key) {
        self.conflicts.pop_front();
        self.close(key);
    }
}
