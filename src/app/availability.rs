//! Whether an act can be done now, and why not: the one answer that footer, help and the keys themselves use.

use super::acts::Phase;
use super::conflict::ConflictAnswer;
use super::footer::Availability;
use super::keys::Action;
use super::list::SeenRow;
use super::overlay::Overlay;
use super::question::AskedFrom;
use super::state::{Access, Pane, Screen, State, WorkersPane};
use crate::domain::observed::Listed;
use crate::domain::{Approval, DecisionKind, Status, Task, TaskId};

/// Why a held task cannot be approved by whoever submitted it.
pub(super) const FOUR_EYES: &str = "you submitted it yourself: another operator must approve it (four eyes)";

/// The decision that an act makes, if it makes one.
pub const fn decision(action: Action) -> Option<DecisionKind> {
    match action {
        Action::Cancel => Some(DecisionKind::Cancel),
        Action::Requeue => Some(DecisionKind::Requeue),
        Action::Approve => Some(DecisionKind::Approve),
        Action::Reject => Some(DecisionKind::Reject),
        _ => None,
    }
}

/// The rows that an act would be about now, each as it is on screen, and where they are on screen.
///
/// # Errors
/// Says why there are none.
pub fn subjects(state: &State) -> Result<(Vec<SeenRow>, AskedFrom), String> {
    if let Some(Overlay::Conflict) = state.below_help() {
        let row = state.conflicts.front().and_then(super::conflict::Conflict::row_under_cursor);
        return row
            .map(|seen| (vec![seen], AskedFrom::Conflict))
            .ok_or_else(|| "there is no such row".to_owned());
    }
    if state.screen != Screen::Tasks {
        return Err("acts on tasks are on screen 1".to_owned());
    }
    match state.pane {
        Pane::Detail => match (state.detail.task(), state.detail.target) {
            (Some(task), _) => Ok((vec![SeenRow::from(task)], AskedFrom::Detail)),
            (None, Some(id)) if state.detail.current().is_some() => {
                Err(format!("there is no task {id} for this tenant"))
            }
            (None, Some(id)) => Err(format!("{id} has not been read, so nothing can be done to it yet")),
            (None, None) => Err("no task is shown here".to_owned()),
        },
        Pane::List if !state.list.marks.is_empty() => {
            Ok((state.list.marks.values().copied().collect(), AskedFrom::List))
        }
        Pane::List => match state.list.under_cursor().and_then(Listed::task) {
            Some(task) => Ok((vec![SeenRow::from(task)], AskedFrom::List)),
            None => Err(state.no_row()),
        },
    }
}

/// The rows that a key is about when it is pressed: as subjects are, but each as it was drawn, since that is what
/// the operator saw. A mark carries what was seen when it was made.
///
/// # Errors
/// Says why there are none, or that one has not been drawn yet.
pub(super) fn seen_subjects(state: &State) -> Result<(Vec<SeenRow>, AskedFrom), String> {
    let (rows, from) = subjects(state)?;
    if from == AskedFrom::List && !state.list.marks.is_empty() {
        return Ok((rows, from));
    }
    let drawn = rows.into_iter().map(|row| state.drawn.row(row.id, from).ok_or(row.id));
    match drawn.collect::<Result<_, _>>() {
        Ok(rows) => Ok((rows, from)),
        Err(id) => Err(format!("{id} has not been on screen yet: look at it, then act")),
    }
}

/// The state that the row will have, or why the act is not possible in the state in which it was seen.
///
/// # Errors
/// Says which states the act is for.
pub fn possible(kind: DecisionKind, seen: SeenRow) -> Result<Status, String> {
    if kind == DecisionKind::Cancel && seen.cancel_requested {
        return Err("already requested; it stays RUNNING until its analyser has returned".to_owned());
    }
    kind.leads_to(seen.status).ok_or_else(|| {
        let from: Vec<_> = Status::ALL
            .into_iter()
            .filter(|from| kind.leads_to(*from).is_some())
            .map(Status::as_str)
            .collect();
        format!("{} is {}; {kind} is for {}", seen.id, seen.status, from.join(", "))
    })
}

impl State {
    /// Whether the four-eyes rule forbids this decision to this session's operator, by everything that is on screen
    /// of the task: who submitted it and whether another must approve it never changes.
    pub fn needs_another(&self, kind: DecisionKind, id: TaskId) -> bool {
        let listed = self.list.task(id);
        let detailed = self.detail.task().filter(|task| task.id == id);
        let answered = self.conflicts.iter().flat_map(|conflict| &conflict.rows).find(|row| row.id == id);
        let refused = answered.is_some_and(|row| matches!(row.answer, ConflictAnswer::Refused { .. }));
        let known = listed.or(detailed).or(answered.and_then(|row| row.answer.task()));
        let own = |task: &Task| match self.session.approval {
            Approval::Another => task.submitted_by.as_deref() == Some(self.session.operator.as_str()),
            Approval::Anybody => task.needs_another_than(&self.session.operator),
        };
        kind == DecisionKind::Approve && (refused || known.is_some_and(own))
    }

    /// What a decision would make of the row as it was seen, in this session.
    fn allowed(&self, kind: DecisionKind, seen: SeenRow) -> Result<Status, String> {
        let to = possible(kind, seen)?;
        if self.needs_another(kind, seen.id) {
            return Err(FOUR_EYES.to_owned());
        }
        Ok(to)
    }

    /// Why nothing may be decided in this session, if so.
    pub fn decide_denied(&self) -> Option<String> {
        match &self.session.access {
            Access::ReadOnly { reason } => Some(format!("read-only: {reason}")),
            Access::ReadWrite => self.session.decide_denied.clone(),
        }
    }

    /// Why no instance may be asked to stop in this session, if so.
    pub fn stop_denied(&self) -> Option<String> {
        match &self.session.access {
            Access::ReadOnly { reason } => Some(format!("read-only: {reason}")),
            Access::ReadWrite => self.session.stop_denied.clone(),
        }
    }

    /// Why nothing may be submitted in this session, if so.
    pub fn submit_denied(&self) -> Option<String> {
        match &self.session.access {
            Access::ReadOnly { reason } => Some(format!("read-only: {reason}")),
            Access::ReadWrite => self.session.submit_denied.clone(),
        }
    }
}

/// Whether `action` can be done now.
pub fn availability(state: &State, action: Action) -> Availability {
    match refusal(state, action) {
        None => Availability::Enabled,
        Some(reason) => Availability::Disabled { reason },
    }
}

/// Why `action` cannot be done now, if so.
pub(super) fn refusal(state: &State, action: Action) -> Option<String> {
    if let Some(kind) = decision(action) {
        return decision_refusal(state, kind);
    }
    let on_tasks = state.screen == Screen::Tasks;
    match action {
        Action::NewTask => state.submit_denied(),
        Action::Race => {
            Some("this version has no race screen; `taskdeck lab` is not part of it either".to_owned())
        }
        Action::Screen4 => Some("this version has no race screen".to_owned()),
        Action::DrainInstance => stop_refusal(state),
        Action::Mark | Action::MarkAll | Action::FilterStates | Action::FilterTenant if !on_tasks => {
            Some("marks and filters are for the list on screen 1".to_owned())
        }
        Action::Mark | Action::MarkAll if state.pane == Pane::Detail => {
            Some("marks are for the list; Esc goes back to it".to_owned())
        }
        Action::Mark => state.list.under_cursor().and_then(Listed::task).is_none().then(|| state.no_row()),
        Action::Copy | Action::EditInput if !on_tasks => Some("there is no input on this screen".to_owned()),
        Action::Copy | Action::EditInput => input(state).err(),
        Action::Search if matches!(state.screen, Screen::Workers | Screen::Database) => {
            Some("everything is on this screen; / searches tasks on 1 and the log on 5".to_owned())
        }
        Action::NextPane | Action::PreviousPane if state.screen == Screen::Workers => None,
        Action::NextPane | Action::PreviousPane | Action::Left | Action::Right if !on_tasks => {
            Some("this screen has one pane".to_owned())
        }
        _ => None,
    }
}

fn decision_refusal(state: &State, kind: DecisionKind) -> Option<String> {
    if let Some(denied) = state.decide_denied() {
        return Some(denied);
    }
    if state.acts_on_all() {
        return state.all_refused(kind);
    }
    if state.is_loading_to_mark() {
        return Some("what matches is still being loaded to be marked: a moment".to_owned());
    }
    match subjects(state) {
        Err(why) => Some(why),
        Ok((rows, _)) => match rows.as_slice() {
            [row] => busy(state, *row).or_else(|| state.allowed(kind, *row).err()),
            rows if rows.iter().all(|row| state.allowed(kind, *row).is_err()) => {
                Some(format!("{kind} is possible for none of the {} marked tasks", rows.len()))
            }
            _ => None,
        },
    }
}

fn stop_refusal(state: &State) -> Option<String> {
    if state.screen != Screen::Workers {
        let key = state.keymap.label(Action::DrainInstance);
        return Some(format!("{key} is for an instance on screen 2"));
    }
    if state.workers_pane != WorkersPane::Instances {
        return Some(
            "that is for an instance; Tab leads to them, `:pause` keeps workers from a queue".to_owned(),
        );
    }
    if let Some(denied) = state.stop_denied() {
        return Some(denied);
    }
    let Some(instance) = state.instance_under_cursor() else {
        return Some("there is no row here".to_owned());
    };
    match state.stop_on(instance.id).filter(|act| act.phase != Phase::Unresolved) {
        Some(_) => Some(format!("already asking {}: the answer is not there yet", instance.label())),
        None => state.asks_nothing(instance),
    }
}

fn busy(state: &State, row: SeenRow) -> Option<String> {
    let act = state.acts.on(row.id).filter(|act| act.phase != Phase::Unresolved)?;
    Some(format!("already asking: {} of {} is not answered yet", act.kind, row.id))
}

/// The whole input of the task that is pointed at.
///
/// # Errors
/// Says why it is not known.
pub(super) fn input(state: &State) -> Result<(crate::domain::TaskId, &str), String> {
    let id = match state.pane {
        Pane::Detail => state.detail.target.ok_or("no task is shown here")?,
        Pane::List => state.list.under_cursor().map(Listed::id).ok_or_else(|| state.no_row())?,
    };
    let read = state.detail.task().filter(|task| task.id == id).or_else(|| state.list.task(id));
    match read {
        Some(task) if !task.input_is_cut() => Ok((id, &task.input)),
        _ => Err(format!("the whole input of {id} has not been read yet; try again in a moment")),
    }
}
