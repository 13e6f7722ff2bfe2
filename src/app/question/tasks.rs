//! A decision that waits for the operator's `y`: what will happen to which tasks.
//!
//! Invariant: `y` sends exactly the rows and versions that were on screen when the act's key was pressed, and
//! only while every one of them still stands as it was seen.

use super::super::acts::{Act, Phase};
use super::super::availability;
use super::super::effect::Effect;
use super::super::keys::{Action, Gravity, Keymap};
use super::super::list::{Placed, SeenRow};
use super::super::log::{Level, Source};
use super::super::overlay::Overlay;
use super::super::state::State;
use super::{Ask, Reason, Rows, answers, renew};
use crate::domain::{DecisionKind, Seen, Status};

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
    pub reason: Reason,
    /// Where the rows were seen; there they are watched while the question stands.
    pub asked_from: AskedFrom,
    /// The first visible row.
    pub scroll: usize,
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
            Standing::Ready { to } => becomes(kind, *to),
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
            Standing::Ready { to } => becomes(kind, *to),
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
}

impl Ask for Question {
    fn reason(&self) -> &Reason {
        &self.reason
    }

    fn reason_mut(&mut self) -> &mut Reason {
        &mut self.reason
    }

    /// `Cancel 3 tasks?`, `Cancel task 48213?`.
    fn title(&self) -> String {
        let verb = capital(self.kind.verb());
        match self.rows.as_slice() {
            [row] => format!("{verb} task {}?", row.seen.id),
            rows => format!("{verb} {} tasks?", rows.len()),
        }
    }

    fn gravity(&self) -> Gravity {
        if self.kind == DecisionKind::Reject { Gravity::Grave } else { Gravity::Changes }
    }

    fn rule(&self) -> Option<String> {
        (self.rows.len() > 1).then(|| "All or none.".to_owned())
    }

    /// `not possible: 1 moved`.
    fn blocked(&self) -> Option<String> {
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

    /// `cancel it`, `cancel them (not possible: 1 moved)`.
    fn yes(&self) -> String {
        let them = if self.rows.len() == 1 { "it" } else { "them" };
        match self.blocked() {
            None => format!("{} {them}", self.kind),
            Some(why) => format!("{} {them} ({why})", self.kind),
        }
    }

    fn no(&self) -> &'static str {
        if self.kind == DecisionKind::Cancel { "keep" } else { "do not" }
    }

    fn unsent(&self, blocked: &str) -> String {
        format!("{blocked}; nothing was sent. All or none: close this and look again")
    }

    fn hint(&self, keymap: &Keymap) -> String {
        let reason = keymap.label(Action::Reason);
        format!("answer the question: {}, {reason} adds a reason", answers(keymap))
    }

    fn rows(&mut self) -> Option<Rows<'_>> {
        Some(Rows { scroll: &mut self.scroll, count: self.rows.len() })
    }

    fn denied(&self, state: &State) -> Option<String> {
        state.decide_denied()
    }

    fn look(&mut self, state: &State) -> bool {
        let (kind, from) = (self.kind, self.asked_from);
        let looked = self.rows.iter_mut().map(|row| {
            let now = standing(state, kind, row.seen, from, Some(&row.standing));
            renew(&mut row.standing, now)
        });
        looked.fold(false, |any, other| any | other)
    }

    fn send(&self, state: &mut State, reason: Option<String>, effects: &mut Vec<Effect>) {
        let kind = self.kind;
        let rows: Vec<_> =
            self.rows.iter().map(|row| Seen { id: row.seen.id, version: row.seen.version }).collect();
        let request = state.request();
        let text = format!("asked to {}", named(kind, &rows));
        state.log.push(state.now, Level::Info, Source::Operator, text);
        // An earlier act that could not be resolved is now decided anew, with the version that is on screen.
        state.acts.decisions.retain(|act| {
            act.phase != Phase::Unresolved
                || !act.rows.iter().any(|row| rows.iter().any(|other| other.id == row.id))
        });
        let (asked, phase) = (state.now, Phase::Asking);
        state.acts.decisions.push(Act { request, kind, rows: rows.clone(), asked, phase });
        if self.asked_from == AskedFrom::List {
            state.list.marks.retain(|id, _| !rows.iter().any(|row| row.id == *id));
        }
        effects.push(Effect::Decide { request, kind, rows, reason, tenant: self.tenant.clone() });
    }
}

/// What a decision makes of a row that will be `to`, in few words.
pub(in crate::app) fn becomes(kind: DecisionKind, to: Status) -> String {
    match (kind, to) {
        (_, Status::Running) => "will be asked to stop; RUNNING until then".to_owned(),
        (DecisionKind::Requeue, to) => format!("will be {to}, no attempt spent"),
        (_, Status::Canceled) => format!("will be {to} at once"),
        (_, to) => format!("will be {to}"),
    }
}

/// `Cancel` of `cancel`.
pub(in crate::app) fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| format!("{}{}", first.to_uppercase(), chars.as_str()))
}

impl State {
    /// Asks whether `kind` is to be done to what is pointed at.
    pub(in crate::app) fn ask(&mut self, kind: DecisionKind) {
        // Whoever acts on a row has chosen it.
        self.list.placed = Placed::ByOperator;
        match availability::seen_subjects(self) {
            Ok((rows, from)) => self.ask_about(kind, rows, from),
            Err(why) => self.hint(why),
        }
    }

    /// Asks whether `kind` is to be done to these rows, each as it was drawn.
    pub(in crate::app) fn ask_about(
        &mut self,
        kind: DecisionKind,
        mut rows: Vec<SeenRow>,
        asked_from: AskedFrom,
    ) {
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
            reason: Reason::of(""),
            asked_from,
            scroll: 0,
        }));
    }
}

/// `cancel 48213 (v3)`, `cancel 3 tasks`.
pub(in crate::app) fn named(kind: DecisionKind, rows: &[Seen]) -> String {
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
