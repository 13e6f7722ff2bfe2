//! What can be done now, computed from the table of keys.

use super::availability::{availability, decision};
use super::bulk::Stopping;
use super::input::layer_of;
use super::keys::{Action, Layer, entry};
use super::overlay::Overlay;
use super::question::{Ask, Focus};
use super::shutdown::ShutdownPhase;
use super::state::{Pane, Screen, State, WorkersPane};
use crate::domain::StopMode;

/// One act in the footer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FooterItem {
    /// Which act.
    pub action: Action,
    /// Its key: `Ctrl-S`.
    pub key: String,
    /// A few words.
    pub label: String,
    /// Whether it can be done now.
    pub availability: Availability,
}

/// Whether an act can be done now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Availability {
    /// It can.
    Enabled,
    /// It cannot; it is drawn dim, and pressing it says why.
    Disabled {
        /// Why.
        reason: String,
    },
}

/// The footer, the most useful first; what does not fit is cut at the end. Acts that are not for the row under
/// the cursor come last and say why.
pub fn footer(state: &State) -> Vec<FooterItem> {
    footer_of(state, state.overlay())
}

/// The footer while `overlay` is on top.
pub(super) fn footer_of(state: &State, overlay: Option<&Overlay>) -> Vec<FooterItem> {
    let layer = layer_of(overlay);
    let mut items: Vec<_> = acts(state, overlay)
        .into_iter()
        .map(|(action, label)| FooterItem {
            action,
            key: state.keymap.label(action),
            label: label.unwrap_or_else(|| entry(action).short.to_owned()),
            availability: match layer {
                Layer::Screen => availability(state, action),
                _ => dialog_availability(state, overlay, action),
            },
        })
        .collect();
    if layer == Layer::Screen {
        // What can be done to this row comes first; the order within is the table's.
        items.sort_by_key(|item| {
            decision(item.action).is_some() && item.availability != Availability::Enabled
        });
    }
    items
}

type Acts = Vec<(Action, Option<String>)>;

const REASON: &[(Action, &str)] = &[(Action::Open, "reason is written"), (Action::Back, "back to y and n")];

/// What a question offers.
fn answers(question: &dyn Ask) -> Acts {
    if question.reason().focus == Focus::Reason {
        return REASON.iter().map(|(action, label)| (*action, Some((*label).to_owned()))).collect();
    }
    let mut acts: Acts =
        vec![(Action::Yes, Some(question.yes())), (Action::No, Some(question.no().to_owned()))];
    acts.extend(question.other().map(|(other, label)| (other, Some(label.to_owned()))));
    acts.push((Action::Reason, None));
    acts
}

fn acts(state: &State, overlay: Option<&Overlay>) -> Acts {
    let plain = |actions: &[Action]| -> Acts { actions.iter().map(|action| (*action, None)).collect() };
    let said = |list: &[(Action, &str)]| -> Acts {
        list.iter().map(|(action, label)| (*action, Some((*label).to_owned()))).collect()
    };
    match overlay {
        None => screen_acts(state),
        Some(Overlay::FirstStart) => said(&[(Action::Yes, "submit samples"), (Action::No, "start empty")]),
        Some(Overlay::Question(question)) => answers(question),
        Some(Overlay::Bulk(question)) => answers(&**question),
        Some(Overlay::BulkRun) => match state.bulk.run.as_ref().map(|run| (run.has_ended(), run.stopping)) {
            Some((false, Stopping::No)) => said(&[(Action::Back, "stop after this chunk")]),
            Some((false, Stopping::Yes)) => plain(&[Action::Help]),
            Some((true, _)) | None => said(&[(Action::Open, "close")]),
        },
        Some(Overlay::Stop(question)) => answers(question),
        Some(Overlay::Queue(question)) => answers(question),
        Some(Overlay::StopConflict | Overlay::QueueConflict) => {
            said(&[(Action::Open, "look at it"), (Action::Back, "close")])
        }
        Some(Overlay::SubmitLines { .. }) => {
            said(&[(Action::Yes, "submit each line"), (Action::No, "do not")])
        }
        Some(Overlay::Conflict) => {
            let mut acts = said(&[(Action::Open, "look at it")]);
            let conflict = state.conflicts.front();
            let version =
                conflict.and_then(super::conflict::Conflict::row_under_cursor).map_or(0, |row| row.version);
            for kind in conflict.map(|conflict| conflict.possible(state)).unwrap_or_default() {
                let action = [Action::Cancel, Action::Requeue, Action::Approve, Action::Reject]
                    .into_iter()
                    .find(|action| decision(*action) == Some(kind));
                acts.extend(action.map(|action| (action, Some(format!("{kind} it as v{version}")))));
            }
            acts.extend(said(&[(Action::Back, "close")]));
            acts
        }
        Some(Overlay::Submit) => said(&[
            (Action::Submit, "submit"),
            (Action::Hold, state.submit.turns_to()),
            (Action::NextPane, "next field"),
            (Action::Back, "close, keep the text"),
        ]),
        Some(Overlay::Unsent) => said(&[(Action::Yes, "end, the text is lost"), (Action::No, "stay")]),
        Some(Overlay::Shutdown) => match state.shutdown.map(|shutdown| shutdown.phase) {
            Some(ShutdownPhase::Draining) => {
                said(&[(Action::ShutdownCancel, "cancel them"), (Action::Back, "look around")])
            }
            Some(ShutdownPhase::Canceling) => {
                said(&[(Action::Interrupt, "leave at once"), (Action::Back, "look around")])
            }
            _ if state.in_flight() == 0 => said(&[(Action::Quit, "end now"), (Action::Back, "stay")]),
            _ => said(&[
                (Action::ShutdownDrain, "drain"),
                (Action::ShutdownCancel, "cancel them"),
                (Action::Back, "stay"),
            ]),
        },
        Some(Overlay::Command { .. }) => {
            said(&[(Action::Open, "run"), (Action::NextPane, "complete"), (Action::Back, "close")])
        }
        Some(Overlay::Search { .. }) => {
            said(&[(Action::Open, "search, or go to a number"), (Action::Back, "close")])
        }
        Some(Overlay::Tenant { .. }) => said(&[(Action::Open, "show this tenant"), (Action::Back, "close")]),
        Some(Overlay::States { .. }) => {
            said(&[(Action::Mark, "choose"), (Action::Open, "apply"), (Action::Back, "leave as it is")])
        }
        Some(Overlay::Help { .. } | Overlay::Input { .. }) => {
            plain(&[Action::Back, Action::Down, Action::PageDown])
        }
    }
}

fn screen_acts(state: &State) -> Acts {
    let mut acts: Acts = Vec::new();
    let mut add = |actions: &[Action]| acts.extend(actions.iter().map(|action| (*action, None)));
    match state.screen {
        Screen::Tasks => {
            add(&[Action::Cancel, Action::Requeue, Action::Approve, Action::Reject, Action::Open]);
            match state.pane {
                Pane::List => add(&[Action::Mark, Action::NewTask, Action::Search, Action::FilterStates]),
                Pane::Detail => add(&[Action::Copy, Action::EditInput, Action::Back]),
            }
        }
        Screen::Workers if state.workers_pane == WorkersPane::Queues => {
            add(&[
                Action::CommandLine,
                Action::Open,
                Action::NextPane,
                Action::Refresh,
                Action::Help,
                Action::Quit,
            ]);
            for act in &mut acts {
                act.1 = match act.0 {
                    Action::CommandLine => Some("pause, resume".to_owned()),
                    Action::Open => Some("its tasks".to_owned()),
                    Action::NextPane if state.tells_limits() => Some("limits".to_owned()),
                    Action::NextPane => Some("instances".to_owned()),
                    _ => None,
                };
            }
            return acts;
        }
        Screen::Workers if state.workers_pane == WorkersPane::Limits => {
            add(&[Action::Open, Action::NextPane, Action::Refresh, Action::Help, Action::Quit]);
            for act in &mut acts {
                act.1 = match act.0 {
                    Action::Open => Some("its tasks".to_owned()),
                    Action::NextPane => Some("instances".to_owned()),
                    _ => None,
                };
            }
            return acts;
        }
        Screen::Workers => {
            // Most rows of a quiet day cannot be asked; pressing the key there says why.
            if availability(state, Action::DrainInstance) == Availability::Enabled {
                add(&[Action::DrainInstance]);
            }
            add(&[Action::Open, Action::NextPane, Action::NewTask, Action::Refresh]);
        }
        Screen::Database => add(&[Action::Refresh, Action::NewTask]),
        Screen::Log => add(&[Action::Search, Action::Top, Action::Bottom]),
    }
    add(&[Action::CommandLine, Action::Help, Action::Quit]);
    let drains = state.instance_under_cursor().map(|one| state.can_be_asked(one, StopMode::Drain));
    if drains.is_some_and(|drains| drains.is_err()) {
        for act in acts.iter_mut().filter(|act| act.0 == Action::DrainInstance) {
            act.1 = Some("drain, cancel".to_owned());
        }
    }
    for act in acts.iter_mut().filter(|act| act.0 == Action::NextPane) {
        act.1 = Some("queues".to_owned());
    }
    if state.screen == Screen::Tasks && state.pane == Pane::Detail {
        for act in &mut acts {
            if act.0 == Action::Open {
                act.1 = Some("whole input".to_owned());
            }
        }
    }
    acts
}

fn dialog_availability(state: &State, overlay: Option<&Overlay>, action: Action) -> Availability {
    if action == Action::Yes
        && let Some(reason) = overlay.and_then(Overlay::question).and_then(Ask::blocked)
    {
        return Availability::Disabled { reason };
    }
    match (overlay, action) {
        (Some(Overlay::Conflict), action) if decision(action).is_some() => availability(state, action),
        (Some(Overlay::Submit), Action::Submit) => match (state.submit_denied(), state.submit.waits()) {
            (Some(reason), _) => Availability::Disabled { reason },
            (None, Some(_)) => Availability::Disabled { reason: "already asking".to_owned() },
            (None, None) => Availability::Enabled,
        },
        _ => Availability::Enabled,
    }
}
