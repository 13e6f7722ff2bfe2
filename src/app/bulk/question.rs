//! The question about all that match: how many, from which states, what becomes of each, and what is left out.

use std::time::Duration;

use super::super::effect::Effect;
use super::super::fleet::why;
use super::super::keys::{Action, Gravity, Keymap};
use super::super::log::{Level, Source};
use super::super::overlay::Overlay;
use super::super::question::{Ask, Reason, answers, becomes, capital};
use super::super::state::State;
use super::{BulkRun, Found, narrowed};
use crate::domain::bulk::{CHUNK, Count, Matching, Preview};
use crate::domain::figure::{age, thousands};
use crate::domain::observed::Filter;
use crate::domain::{Approval, DecisionKind, Status};

/// So long what a mark on all that match has found serves the question too.
const FRESH: Duration = Duration::from_secs(30);

/// The question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BulkQuestion {
    /// What is to be decided.
    pub kind: DecisionKind,
    /// About which tasks.
    pub filter: Filter,
    /// The number of the look at them.
    pub look: u64,
    /// What it found: exactly this is agreed to.
    pub found: Found,
    /// Whether a frame has shown what was found.
    pub shown: Shown,
    /// Why, as far as it is written.
    pub reason: Reason,
}

/// Whether a frame has shown what a look found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shown {
    /// It has.
    Yes,
    /// Not yet.
    No,
}

/// A line of the question: some rows of a state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateLine {
    /// How many.
    pub count: Count,
    /// Their state.
    pub status: Status,
    /// What becomes of them.
    pub says: String,
    /// Whether they stay as they are.
    pub left_out: bool,
}

impl BulkQuestion {
    /// What was found, if it was.
    pub fn preview(&self) -> Option<&Preview> {
        self.found.preview()
    }

    /// What is agreed to, once it was found.
    fn matching(&self) -> Option<&Matching> {
        self.preview().map(|preview| &preview.matching)
    }

    /// A line for each state: first those that the decision changes.
    pub fn lines(&self) -> Vec<StateLine> {
        let Some(preview) = self.preview() else { return Vec::new() };
        let kind = self.kind;
        let ready = preview.ready.iter().map(|(status, rows)| StateLine {
            count: Count { rows: *rows, complete: preview.complete },
            status: *status,
            says: kind.leads_to(*status).map(|to| becomes(kind, to)).unwrap_or_default(),
            left_out: false,
        });
        let left_out = preview.left_out.iter().map(|(status, count)| StateLine {
            count: *count,
            status: *status,
            says: match (kind, status) {
                (DecisionKind::Cancel, Status::Running) => "left: asked to stop already".to_owned(),
                _ => format!("left: {kind} is not for {status}"),
            },
            left_out: true,
        });
        ready.chain(left_out).collect()
    }

    /// What else is to be known before `y`, in sentences. May hold text from the database.
    pub fn says(&self, state: &State) -> Vec<String> {
        let mut says = Vec::new();
        match &self.found {
            Found::Looking => says.push("Counting what matches…".to_owned()),
            Found::Failed(failure) => {
                says.push(format!(
                    "What matches could not be read: {}. Nothing can be sent.",
                    failure.message
                ));
            }
            Found::Preview { preview, arrived } => {
                if !preview.complete {
                    let looked_at = thousands(preview.looked_at);
                    says.push(format!("There may be more: {looked_at} rows were looked at, not all."));
                }
                let ago = age(state.since(*arrived));
                says.push(format!("Counted {ago} ago; what was submitted since is not touched."));
            }
        }
        if self.kind == DecisionKind::Approve {
            let own = match state.session.approval {
                Approval::Another => "What you submitted yourself is left (four eyes) and counted.",
                Approval::Anybody => "What another than you must approve (four eyes) is left and counted.",
            };
            says.push(own.to_owned());
        }
        if self.preview().is_some() {
            says.push(format!(
                "In chunks of at most {CHUNK}, each all or none; what moves on meanwhile is left as it is and counted."
            ));
        }
        says
    }

    /// `Which: FAILED, tenant billing`.
    pub fn which(&self) -> String {
        format!("Which: {}", narrowed(&self.filter))
    }

    /// Whether nothing narrows it.
    pub fn is_everything(&self) -> bool {
        self.filter == Filter::default()
    }
}

impl Ask for BulkQuestion {
    fn reason(&self) -> &Reason {
        &self.reason
    }

    fn reason_mut(&mut self) -> &mut Reason {
        &mut self.reason
    }

    /// `Requeue all 12,345 that match?`.
    fn title(&self) -> String {
        let verb = capital(self.kind.verb());
        match self.preview().map(Preview::total) {
            Some(Count { rows, complete: true }) => format!("{verb} all {} that match?", thousands(rows)),
            Some(total @ Count { complete: false, .. }) => format!("{verb} all that match, {total}?"),
            None => format!("{verb} all that match?"),
        }
    }

    fn gravity(&self) -> Gravity {
        if self.kind == DecisionKind::Reject || self.is_everything() {
            Gravity::Grave
        } else {
            Gravity::Changes
        }
    }

    fn blocked(&self) -> Option<String> {
        match &self.found {
            Found::Looking => Some("not possible yet: still counting what matches".to_owned()),
            Found::Failed(failure) => {
                Some(format!("not possible: could not be counted: {}", failure.message))
            }
            Found::Preview { preview, .. } if preview.total() == (Count { rows: 0, complete: true }) => {
                Some(format!("not possible: none of them can be {}", self.kind.past()))
            }
            Found::Preview { .. } if self.shown == Shown::No => {
                Some("not possible yet: the count has only just come, look at it".to_owned())
            }
            Found::Preview { .. } => None,
        }
    }

    fn yes(&self) -> String {
        let kind = self.kind;
        match (&self.found, self.preview().map(Preview::total)) {
            (Found::Looking, _) => format!("{kind} them (counting…)"),
            (_, Some(Count { rows: 1.., complete: true })) => {
                let rows = self.preview().map_or(0, |preview| preview.total().rows);
                format!("{kind} all {}", thousands(rows))
            }
            (_, Some(Count { complete: false, .. })) => format!("{kind} all that match"),
            _ => format!("{kind} them (not possible)"),
        }
    }

    fn unsent(&self, blocked: &str) -> String {
        format!("nothing was sent; {blocked}")
    }

    fn hint(&self, keymap: &Keymap) -> String {
        format!("{}, {} adds a reason", answers(keymap), keymap.label(Action::Reason))
    }

    fn denied(&self, state: &State) -> Option<String> {
        state.decide_denied()
    }

    fn look(&mut self, _state: &State) -> bool {
        // What was found is what is agreed to: nothing newer takes its place.
        false
    }

    fn send(&self, state: &mut State, reason: Option<String>, effects: &mut Vec<Effect>) {
        let (Some(matching), Some(preview)) = (self.matching(), self.preview()) else { return };
        let text = format!(
            "asked to {} all that match: {}{}",
            self.kind,
            narrowed(&self.filter),
            why(reason.as_deref())
        );
        state.log.push(state.now, Level::Info, Source::Operator, text);
        state.list.all = None;
        let run = BulkRun::begin(matching.clone(), preview.total(), reason, state.now);
        state.bulk.run = Some(run);
        state.overlays.push(Overlay::BulkRun);
        state.send_chunk(effects);
    }
}

impl State {
    /// Asks whether `kind` is to be done to all that match the filter.
    pub(in crate::app) fn ask_all(&mut self, kind: DecisionKind) {
        let Some(marked) = &self.list.all else { return };
        let filter = self.list.filter.clone();
        // What the mark found serves while it is fresh and was looked for the same decision; else it is looked anew.
        let serves = marked.kind == kind
            && match &marked.found {
                Found::Looking => true,
                Found::Preview { arrived, .. } => self.since(*arrived) < FRESH,
                Found::Failed(_) => false,
            };
        let (look, found) =
            if serves { (marked.look, marked.found.clone()) } else { (self.look(kind), Found::Looking) };
        let reason = Reason::of("");
        let question = BulkQuestion { kind, filter, look, found, shown: Shown::No, reason };
        self.overlays.push(Overlay::Bulk(Box::new(question)));
    }

    /// The question that is open, also while help lies over it.
    pub(super) fn bulk_question_mut(&mut self) -> Option<&mut BulkQuestion> {
        self.overlays.iter_mut().rev().find_map(|overlay| match overlay {
            Overlay::Bulk(question) => Some(&mut **question),
            _ => None,
        })
    }

    /// A frame has shown the question, if it was on top.
    pub(in crate::app) fn bulk_question_drawn(&mut self) {
        if let Some(Overlay::Bulk(question)) = self.overlays.last_mut()
            && question.found.preview().is_some()
        {
            question.shown = Shown::Yes;
        }
    }
}
