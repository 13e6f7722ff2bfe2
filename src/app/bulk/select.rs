//! All that match the filter of the list, chosen beside the marks where more match than can be loaded.

use super::super::message::ReadFailure;
use super::super::overlay::Overlay;
use super::super::state::{Pane, Screen, State};
use super::{Found, Look, all, told};
use crate::domain::bulk::Preview;
use crate::domain::figure::age;
use crate::domain::observed::Filter;
use crate::domain::{DecisionKind, Status};

/// That all that match the filter are marked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllMatching {
    /// The number of the look at them.
    pub look: u64,
    /// For which decision it was looked; another one is looked for anew.
    pub kind: DecisionKind,
    /// What it found.
    pub found: Found,
}

/// The decision that the most of a filter's states are for, so that one look serves the question that follows too.
fn likely(filter: &Filter) -> DecisionKind {
    let wanted = |kind: &DecisionKind| {
        filter.statuses.iter().filter(|status| kind.leads_to(**status).is_some()).count()
    };
    // Of several the first: what is marked by thousands has most often failed.
    let kinds = [DecisionKind::Requeue, DecisionKind::Cancel, DecisionKind::Approve];
    let most = kinds.iter().map(wanted).max().unwrap_or(0);
    kinds.into_iter().find(|kind| wanted(kind) == most).unwrap_or(DecisionKind::Requeue)
}

impl State {
    /// What is marked, in words, where it is all that match: `all 12,345 that match (3 s ago)`.
    pub fn all_marked(&self) -> Option<String> {
        Some(match &self.list.all.as_ref()?.found {
            Found::Looking => "all that match".to_owned(),
            Found::Failed(_) => "all that match (not counted)".to_owned(),
            Found::Preview { preview, arrived } => {
                let found = all(preview);
                let word = if found.complete { "all " } else { "" };
                format!("{word}{found} that match ({} ago)", age(self.since(*arrived)))
            }
        })
    }

    /// Marks all that match the filter, loaded or not, and looks how many they are.
    pub(in crate::app) fn mark_all_matching(&mut self) {
        self.list.marks.clear();
        let kind = likely(&self.list.filter);
        let look = self.look(kind);
        self.list.all = Some(AllMatching { look, kind, found: Found::Looking });
        self.hint("all that match are marked, also those that are not loaded; counting them…");
    }

    /// Asks to look what matches the filter; the number under which the answer comes.
    pub(super) fn look(&mut self, kind: DecisionKind) -> u64 {
        self.bulk.look += 1;
        let number = self.bulk.look;
        self.bulk.wanted = Some(Look { number, kind, filter: self.list.filter.clone() });
        number
    }

    /// What a look found: for the mark on all that match, and for the question about them.
    pub(in crate::app) fn looked(&mut self, look: u64, answer: Result<Preview, ReadFailure>) {
        let found = match answer {
            Ok(preview) => Found::Preview { preview: Box::new(preview), arrived: self.now },
            Err(failure) => Found::Failed(failure),
        };
        if let Some(question) = self.bulk_question_mut()
            && question.look == look
        {
            question.found = found.clone();
        }
        let Some(marked) = self.list.all.as_mut().filter(|marked| marked.look == look) else { return };
        let told = match &found {
            Found::Preview { preview, .. } => told(preview),
            Found::Failed(failure) => {
                format!("all that match are marked; how many could not be read: {}", failure.message)
            }
            Found::Looking => return,
        };
        marked.found = found;
        self.hint(told);
    }

    /// Whether an act is about all that match, and not about rows: they are marked and the keys go to the list.
    pub(in crate::app) fn acts_on_all(&self) -> bool {
        self.list.all.is_some() && self.acts_on_list()
    }

    /// Whether what is to be marked is still being loaded, so that an act would miss most of it.
    pub(in crate::app) fn is_loading_to_mark(&self) -> bool {
        let list = &self.list;
        list.mark_when_loaded == Some(list.generation) && list.failure.is_none() && self.acts_on_list()
    }

    fn acts_on_list(&self) -> bool {
        let on_list = self.screen == Screen::Tasks && self.pane == Pane::List;
        on_list && !matches!(self.below_help(), Some(Overlay::Conflict))
    }

    /// Why nothing of this kind can be decided about all that match, as far as that is known.
    pub(in crate::app) fn all_refused(&self, kind: DecisionKind) -> Option<String> {
        let states = &self.list.filter.statuses;
        if !states.is_empty() && states.iter().all(|status| kind.leads_to(*status).is_none()) {
            let from = Status::ALL.into_iter().filter(|from| kind.leads_to(*from).is_some());
            let from: Vec<_> = from.map(Status::as_str).collect();
            return Some(format!("{kind} is for {}, and the filter shows none of these", from.join(", ")));
        }
        None
    }
}
