//! A decision that waits for the operator's `y`: what will happen to which tasks.
//!
//! Invariant: `y` sends exactly the rows and versions that were on screen when the act's key was pressed, and
//! only while every one of them still stands as it was seen.

use super::acts::{Act, Phase};
use super::availability;
use super::editor::{Edited, Editor};
use super::effect::Effect;
use super::keys::{Action, Key};
use super::list::{Placed, SeenRow};
use super::log::{Level, Source};
use super::overlay::Overlay;
use super::state::State;
use crate::domain::{DecisionKind, Seen, Status, input};

/// The question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// What is to be decided.
    pub kind: DecisionKind,
    /// About which rows, by ascending id. All of them or none.
    pub rows: Vec<QuestionRow>,
    /// Only rows of this tenant, if set.
    pub tenant: Option<String>,
    /// Why, as far as it is written.
    pub reason: Editor,
    /// Where the keys go.
    pub focus: QuestionFocus,
    /// Where the rows were seen; there they are watched while the question stands.
    pub asked_from: AskedFrom,
    /// The first visible row.
    pub scroll: usize,
}

/// Where the keys of a question go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QuestionFocus {
    /// To the answer: `y`, `n`.
    Answer,
    /// To the reason: letters are text.
    Reason,
}

/// Where the rows of a question were seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AskedFrom {
    /// In the list.
    List,
    /// In the detail pane.
    Detail,
    /// In a conflict's answer.
    Conflict,
}

/// A row of a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuestionRow {
    /// The row as it was on screen.
    pub seen: SeenRow,
    /// Whether it can still be decided as it was seen.
    pub standing: Standing,
}

/// Whether a row can be decided as it was seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// It can.
    Ready {
        /// The state that it will have.
        to: Status,
    },
    /// The act is not possible in its state.
    NotPossible {
        /// Why.
        reason: String,
    },
    /// The four-eyes rule: the operator submitted it, so another must approve it.
    NeedsAnother,
    /// It changed since it was seen.
    Moved {
        /// Its version now.
        version: i64,
        /// Its state now.
        status: Status,
    },
    /// It is not in the list any more, so what it is now is not on screen.
    Gone,
    /// Another act on it is not answered yet.
    Busy {
        /// Which.
        kind: DecisionKind,
    },
}

impl QuestionRow {
    /// What will happen to the row, or why nothing can.
    pub fn says(&self, kind: DecisionKind) -> String {
        match &self.standing {
            Standing::Ready { to: Status::Running } => {
                "will be asked to stop; stays RUNNING until its analyser has returned".to_owned()
            }
            Standing::Ready { to } if kind == DecisionKind::Requeue => {
                format!("will be {to}, no attempt spent")
            }
            Standing::Ready { to: to @ Status::Canceled } => format!("will be {to} at once"),
            Standing::Ready { to } => format!("will be {to}"),
            Standing::NotPossible { reason } => format!("not possible: {reason}"),
            Standing::NeedsAnother => format!("not possible: {}", availability::FOUR_EYES),
            Standing::Moved { version, status } => format!(
                "moved on since you saw it (v{} → v{version}, now {status}): look again",
                self.seen.version
            ),
            Standing::Gone => "is not in this list any more: look again".to_owned(),
            Standing::Busy { kind } => format!("already asking: its {kind} is not answered yet"),
        }
    }
}

impl QuestionRow {
    /// The same in a few words, for a line among many.
    pub fn says_briefly(&self, kind: DecisionKind) -> String {
        match &self.standing {
            Standing::Ready { to: Status::Running } => "will be asked to stop; RUNNING until then".to_owned(),
            Standing::Ready { .. } => self.says(kind),
            Standing::NotPossible { .. } if kind == DecisionKind::Cancel && self.seen.cancel_requested => {
                "was asked to stop already".to_owned()
            }
            Standing::NotPossible { .. } => format!("{kind} is not for {}", self.seen.status),
            Standing::NeedsAnother => "you submitted it: another must approve it".to_owned(),
            Standing::Moved { version, status } => {
                format!("moved on (v{} → v{version}, now {status})", self.seen.version)
            }
            Standing::Gone => "is not in this list any more".to_owned(),
            Standing::Busy { kind } => format!("its {kind} is not answered yet"),
        }
    }
}

impl Question {
    /// The rows that the decision would change, and those that stand in its way.
    pub fn parted(&self) -> (Vec<&QuestionRow>, Vec<&QuestionRow>) {
        self.rows.iter().partition(|row| matches!(row.standing, Standing::Ready { .. }))
    }

    /// `Cancel 3 tasks?`, `Cancel task 48213?`.
    pub fn title(&self) -> String {
        let verb = self.kind.verb();
        let verb = verb[..1].to_uppercase() + &verb[1..];
        match self.rows.as_slice() {
            [row] => format!("{verb} task {}?", row.seen.id),
            rows => format!("{verb} {} tasks?", rows.len()),
        }
    }

    /// Why `y` does nothing now, if so: `not possible: 1 moved`.
    pub fn blocked(&self) -> Option<String> {
        let count = |test: fn(&Standing) -> bool| self.rows.iter().filter(|row| test(&row.standing)).count();
        let parts = [
            (count(|standing| matches!(standing, Standing::Moved { .. })), "moved"),
            (count(|standing| matches!(standing, Standing::Gone)), "gone from the list"),
            (count(|standing| matches!(standing, Standing::NotPossible { .. })), "not in a state for it"),
            (count(|standing| *standing == Standing::NeedsAnother), "submitted by you (four eyes)"),
            (count(|standing| matches!(standing, Standing::Busy { .. })), "still being asked"),
        ];
        let parts: Vec<_> =
            parts.into_iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}")).collect();
        (!parts.is_empty()).then(|| format!("not possible: {}", parts.join(", ")))
    }

    /// What `y` is labelled: `cancel it`, `cancel them (not possible: 1 moved)`.
    pub fn yes(&self) -> String {
        let them = if self.rows.len() == 1 { "it" } else { "them" };
        match self.blocked() {
            None => format!("{} {them}", self.kind),
            Some(why) => format!("{} {them} ({why})", self.kind),
        }
    }
}

impl State {
    /// Asks whether `kind` is to be done to what is pointed at.
    pub(super) fn ask(&mut self, kind: DecisionKind) {
        // Whoever acts on a row has chosen it.
        self.list.placed = Placed::ByOperator;
        match availability::seen_subjects(self) {
            Ok((rows, from)) => self.ask_about(kind, rows, from),
            Err(why) => self.hint(why),
        }
    }

    /// Asks whether `kind` is to be done to these rows, each as it was drawn.
    pub(super) fn ask_about(&mut self, kind: DecisionKind, mut rows: Vec<SeenRow>, asked_from: AskedFrom) {
        rows.sort_by_key(|row| row.id);
        rows.dedup_by_key(|row| row.id);
        let rows = rows
            .into_iter()
            .map(|seen| QuestionRow { seen, standing: standing(self, kind, seen, asked_from, None) })
            .collect();
        self.overlays.push(Overlay::Question(Question {
            kind,
            rows,
            tenant: self.list.filter.tenant.clone(),
            reason: Editor::line(""),
            focus: QuestionFocus::Answer,
            asked_from,
            scroll: 0,
        }));
    }

    /// Looks at the rows of an open question again after something arrived.
    pub(super) fn watch_question(&mut self) {
        let mut overlays = std::mem::take(&mut self.overlays);
        for overlay in &mut overlays {
            let Overlay::Question(question) = overlay else { continue };
            for row in &mut question.rows {
                let now = standing(self, question.kind, row.seen, question.asked_from, Some(&row.standing));
                self.needs_draw |= now != row.standing;
                row.standing = now;
            }
        }
        self.overlays = overlays;
    }

    /// A key while a question is on top.
    pub(super) fn question_key(&mut self, action: Option<Action>, key: Key, effects: &mut Vec<Effect>) {
        let Some(Overlay::Question(question)) = self.overlays.last_mut() else { return };
        match (question.focus, action) {
            (QuestionFocus::Reason, Some(Action::Back | Action::Open | Action::NextPane)) => {
                question.focus = QuestionFocus::Answer;
            }
            (QuestionFocus::Reason, _) => {
                if question.reason.key(key) == Edited::Nothing {
                    self.hint("letters go into the reason; Enter or Esc leads back to y and n");
                }
            }
            (QuestionFocus::Answer, Some(Action::Yes)) => self.confirm(key, effects),
            (QuestionFocus::Answer, Some(Action::No | Action::Back)) => {
                self.close(key);
            }
            (QuestionFocus::Answer, Some(Action::Reason)) => question.focus = QuestionFocus::Reason,
            (QuestionFocus::Answer, Some(Action::Up)) => question.scroll = question.scroll.saturating_sub(1),
            (QuestionFocus::Answer, Some(Action::Down)) => {
                question.scroll = (question.scroll + 1).min(question.rows.len().saturating_sub(1));
            }
            _ => {
                let (yes, no) = (self.keymap.label(Action::Yes), self.keymap.label(Action::No));
                let reason = self.keymap.label(Action::Reason);
                self.hint(format!(
                    "answer the question: {yes} does it, {no} or Esc does not, {reason} adds a reason"
                ));
            }
        }
    }

    fn confirm(&mut self, key: Key, effects: &mut Vec<Effect>) {
        self.watch_question();
        let Some(Overlay::Question(question)) = self.overlays.last() else { return };
        if let Some(denied) = self.decide_denied() {
            self.hint(denied);
            return;
        }
        if let Some(blocked) = question.blocked() {
            self.hint(format!("{blocked}; nothing was sent. All or none: close this and look again"));
            return;
        }
        let question = question.clone();
        self.close(key);
        let rows: Vec<_> =
            question.rows.iter().map(|row| Seen { id: row.seen.id, version: row.seen.version }).collect();
        let reason = question.reason.text();
        let reason = reason.trim();
        let reason = (!reason.is_empty()).then(|| input::storable(reason));
        let request = self.request();
        self.log.push(
            self.now,
            Level::Info,
            Source::Operator,
            format!("asked to {}", named(question.kind, &rows)),
        );
        // An earlier act that could not be resolved is now decided anew, with the version that is on screen.
        self.acts.decisions.retain(|act| {
            act.phase != Phase::Unresolved
                || !act.rows.iter().any(|row| rows.iter().any(|other| other.id == row.id))
        });
        self.acts.decisions.push(Act {
            request,
            kind: question.kind,
            rows: rows.clone(),
            asked: self.now,
            phase: Phase::Asking,
        });
        if question.asked_from == AskedFrom::List {
            self.list.marks.retain(|id, _| !rows.iter().any(|row| row.id == *id));
        }
        effects.push(Effect::Decide { request, kind: question.kind, rows, reason, tenant: question.tenant });
    }
}

/// `cancel 48213 (v3)`, `cancel 3 tasks`.
pub(super) fn named(kind: DecisionKind, rows: &[Seen]) -> String {
    match rows {
        [row] => format!("{kind} {} (v{})", row.id, row.version),
        rows => format!("{kind} {} tasks", rows.len()),
    }
}

/// Whether the row can be decided as it was seen, by everything that is on screen of it.
fn standing(
    state: &State,
    kind: DecisionKind,
    seen: SeenRow,
    from: AskedFrom,
    before: Option<&Standing>,
) -> Standing {
    let listed = state.list.task(seen.id);
    let detailed = state.detail.task().filter(|task| task.id == seen.id);
    let newest = listed.into_iter().chain(detailed).max_by_key(|task| task.version);
    if let Some(task) = newest.filter(|task| task.version > seen.version) {
        return Standing::Moved { version: task.version, status: task.status };
    }
    // A version only rises: what moved once cannot come back, whatever is on screen of it now.
    if let Some(moved @ Standing::Moved { .. }) = before {
        return moved.clone();
    }
    let missing = match from {
        AskedFrom::List => state.list.read.is_some() && listed.is_none(),
        AskedFrom::Detail => {
            state.detail.current().is_some_and(|read| read.id == seen.id && read.found.is_none())
        }
        AskedFrom::Conflict => false,
    };
    if missing {
        return Standing::Gone;
    }
    if let Some(act) = state.acts.on(seen.id).filter(|act| act.phase != Phase::Unresolved) {
        return Standing::Busy { kind: act.kind };
    }
    match availability::possible(kind, seen) {
        Ok(_) if state.needs_another(kind, seen.id) => Standing::NeedsAnother,
        Ok(to) => Standing::Ready { to },
        Err(reason) => Standing::NotPossible { reason },
    }
}
