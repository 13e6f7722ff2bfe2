//! The root without a terminal: workers that log, until a signal.

use std::time::Duration;

use sd_notify::NotifyState;
use tokio::sync::mpsc;

use crate::db::Db;
use crate::domain::observed::LocalWorkers;
use crate::domain::{InstanceState, TaskId, figure};
use crate::signals::{Signals, name};
use crate::worker::{Config, Ended, Events, LastClaim, Shutdown, SignOff, Worker, WorkerEvent, WorkerHandle};

/// How many events may wait to be logged.
const EVENTS: usize = 4096;

/// How often the service manager is told how it goes.
const STATUS_EVERY: Duration = Duration::from_secs(2);

/// How a run without a terminal ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Exit {
    /// Nothing was left.
    Clean,
    /// What this process knew of was finished or given back, but the database did not confirm its end.
    Unconfirmed,
    /// Tasks stay RUNNING until the lease of this process passes.
    Left {
        /// Which, as far as is known: a claim whose answer had not come may have won others, and one whose end was sent
        /// without an answer may have ended.
        tasks: Vec<TaskId>,
    },
}

impl Exit {
    /// The process's exit code.
    pub const fn code(&self) -> u8 {
        match self {
            Self::Clean => 0,
            Self::Left { .. } | Self::Unconfirmed => 1,
        }
    }
}

/// Runs workers until a signal: the first drains (at most the grace time, then cancels), the second cancels now, the
/// third leaves. Everything is told through `tracing`.
///
/// # Errors
/// If `config` asks for an analyser that cannot be.
pub async fn run(db: Db, config: Config, mut signals: Signals) -> color_eyre::Result<Exit> {
    let analyser = config.analyser()?;
    let (events, mut told) = Events::channel(EVENTS);
    let handle = Worker::start(db, config, analyser, events);
    let mut local = handle.local();
    let mut status = tokio::time::interval(STATUS_EVERY);
    status.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut received = 0_u32;
    let mut missed = 0;
    let ended = loop {
        tokio::select! {
            biased;
            signal = signals.next() => {
                received += 1;
                obey(&handle, name(signal), received);
            }
            ended = handle.ended() => break ended,
            _ = status.tick() => {
                let line = status_line(&local.borrow_and_update());
                notify(&[NotifyState::Status(&line)]);
                let now = handle.missed_events();
                if now > missed {
                    tracing::warn!(events = now - missed, "events came faster than they could be logged");
                    missed = now;
                }
            }
            event = told.recv() => {
                let Some(event) = event else { continue };
                if matches!(event, WorkerEvent::Began { .. }) {
                    notify(&[NotifyState::Ready]);
                }
                log(&event);
            }
        }
    };
    drain(&mut told);
    Ok(conclude(ended))
}

fn obey(handle: &WorkerHandle, name: &str, received: u32) {
    notify(&[NotifyState::Stopping]);
    match received {
        1 => {
            tracing::info!(signal = name, "draining: claims nothing more, waits for what runs");
            handle.shutdown(Shutdown::Drain);
        }
        2 => {
            tracing::warn!(signal = name, "canceling what runs");
            handle.shutdown(Shutdown::Cancel);
        }
        _ => {
            tracing::error!(signal = name, "leaving without waiting");
            handle.leave();
        }
    }
}

/// Logs what was told before the end.
fn drain(told: &mut mpsc::Receiver<WorkerEvent>) {
    while let Ok(event) = told.try_recv() {
        log(&event);
    }
}

fn conclude(ended: Ended) -> Exit {
    let tasks = |ids: &[TaskId]| (!ids.is_empty()).then(|| tracing::field::display(list(ids.iter())));
    if let Some(left) = left_behind(&ended) {
        let (tasks, may_have_ended) = (tasks(&ended.left), tasks(&ended.unanswered));
        let told: Vec<String> =
            ended.undelivered.iter().map(|(id, version)| format!("{id}@{version}")).collect();
        let notifications = (!told.is_empty()).then(|| told.join(", "));
        tracing::error!(tasks, may_have_ended, notifications, "ended: {left}");
        return Exit::Left { tasks: [ended.left, ended.unanswered].concat() };
    }
    if ended.sign_off == SignOff::Unconfirmed {
        tracing::error!(
            "ended: what this process knew of was finished or given back, but the database did not confirm its end; \
             should anything be left, others recover it once the lease has passed"
        );
        return Exit::Unconfirmed;
    }
    tracing::info!("ended: nothing was left");
    Exit::Clean
}

/// What stays behind, in words; nothing where nothing does.
fn left_behind(ended: &Ended) -> Option<String> {
    let mut said = Vec::new();
    if !ended.left.is_empty() {
        said.push("these tasks stay RUNNING until this process's lease passes, then others recover them");
    }
    if !ended.unanswered.is_empty() {
        said.push(
            "no answer told whether the end of some has arrived; those that have not ended are recovered",
        );
    }
    if !ended.undelivered.is_empty() {
        said.push("these notifications were being delivered; once this process's lease has passed others deliver them, perhaps for the second time");
    }
    if ended.last_claim == LastClaim::Unheard {
        said.push("so is whatever was won by a claim whose answer had not come");
    }
    (!said.is_empty()).then(|| said.join("; "))
}

/// How much longer a service manager is to wait for readiness each time that it is told what is waited for.
const WAITS_FOR: Duration = Duration::from_secs(30);

/// Tells the service manager that this process waits for its database, and why.
pub fn waits(reason: &str) {
    // Of several lines only the first would be the state's.
    let line = format!("waiting for the database: {}", reason.replace('\n', " "));
    let longer = u32::try_from(WAITS_FOR.as_micros()).unwrap_or(u32::MAX);
    notify(&[NotifyState::Status(&line), NotifyState::ExtendTimeoutUsec(longer)]);
}

/// Tells the service manager, if there is one.
fn notify(states: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(states) {
        tracing::debug!(%error, "the service manager was not told");
    }
}

fn status_line(local: &LocalWorkers) -> String {
    let verb = match local.state {
        InstanceState::Working => "working",
        InstanceState::Watching => "watching",
        other => other.as_str(),
    };
    let busy = format!("{verb}: {} of {} slots busy", local.running.len(), local.slots);
    match &local.trouble {
        Some(trouble) => format!("{busy}; {trouble}"),
        None => busy,
    }
}

fn list<'a>(ids: impl Iterator<Item = &'a TaskId>) -> String {
    const SHOWN: usize = 20;
    let ids: Vec<String> = ids.map(ToString::to_string).collect();
    match ids.get(SHOWN..) {
        Some(more) if !more.is_empty() => format!("{} and {} more", ids[..SHOWN].join(", "), more.len()),
        _ => ids.join(", "),
    }
}

fn log(event: &WorkerEvent) {
    match event {
        WorkerEvent::Began { instance, state } => {
            tracing::info!(%instance, state = state.as_str(), "registered");
        }
        WorkerEvent::Claimed { claims } => tracing::debug!(tasks = claims.len(), "claimed"),
        WorkerEvent::Adopted { claims } => {
            let tasks = list(claims.iter().map(|(id, _)| id));
            tracing::info!(%tasks, "took over what a claim had won whose answer was lost");
        }
        WorkerEvent::Succeeded { tasks } => tracing::debug!(tasks = tasks.len(), "succeeded"),
        WorkerEvent::Retrying { id, claim_no, after, error } => {
            let after = figure::wait(*after);
            tracing::warn!(task = %id, claim_no, %error, "failed; next attempt after {after}");
        }
        WorkerEvent::Failed { id, claim_no, error } => {
            tracing::error!(task = %id, claim_no, %error, "failed for good: the attempts are spent");
        }
        WorkerEvent::Canceled { id, claim_no } => tracing::info!(task = %id, claim_no, "canceled"),
        WorkerEvent::CancelRequested { id, claim_no } => {
            tracing::info!(task = %id, claim_no, "asked to stop");
        }
        WorkerEvent::Released { tasks, reason } => {
            tracing::info!(tasks = %list(tasks.iter()), reason, "given back, attempts not spent");
        }
        WorkerEvent::Superseded { id, claim_no, status, current } => {
            tracing::warn!(task = %id, claim_no, %status, current, "result discarded: the claim was not current any more");
        }
        WorkerEvent::Vanished { id, claim_no } => {
            tracing::warn!(task = %id, claim_no, "result discarded: the task was removed");
        }
        WorkerEvent::Recovered { tasks } => {
            for task in tasks {
                tracing::warn!(
                    task = %task.id, claim_no = task.claim_no, status = %task.status, reason = task.reason,
                    "recovered"
                );
            }
        }
        WorkerEvent::Delivered { id, version, delivery } => {
            tracing::debug!(task = %id, version, delivery, "delivered");
        }
        WorkerEvent::NotDelivered { id, version, delivery, after, error } => {
            let after = figure::wait(*after);
            tracing::warn!(task = %id, version, delivery, %error, "not delivered; next try after {after}");
        }
        WorkerEvent::DeliveryDiscarded { id, version, delivery, why } => {
            tracing::warn!(task = %id, version, delivery, "{why}: it is delivered by another, perhaps again");
        }
        WorkerEvent::LeaseLost { instance, reason, discarded } => {
            let discarded = list(discarded.iter());
            tracing::error!(%instance, reason, %discarded, "lease lost: analysers are stopped, results discarded");
        }
        WorkerEvent::AskedToStop { mode, by, reason } => {
            notify(&[NotifyState::Stopping]);
            tracing::warn!(mode = mode.as_str(), by, reason, "asked to stop");
        }
        WorkerEvent::Trouble { part, message, hint } => {
            tracing::error!(part = part.name(), hint = hint.as_deref(), "{message}");
        }
        WorkerEvent::TroubleOver { part, failures, lasted } => {
            let lasted = figure::wait(*lasted);
            tracing::info!(part = part.name(), failures, %lasted, "works again");
        }
        WorkerEvent::PollingOnly => {
            tracing::info!("a pooler in transaction mode delivers no notifications: polling only");
        }
        WorkerEvent::Panicked { part, message } => {
            tracing::error!(part = part.name(), %message, "panicked; it begins again");
        }
        WorkerEvent::ShuttingDown { mode, reason, in_flight } => {
            tracing::info!(?mode, reason, in_flight, "shutting down");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lists_are_cut() {
        let ids: Vec<TaskId> = (1..=23).map(TaskId).collect();
        assert!(list(ids.iter()).ends_with("19, 20 and 3 more"));
        assert_eq!(list(ids[..2].iter()), "1, 2");
    }

    #[test]
    fn what_was_left_decides_the_exit_code() {
        assert_eq!(conclude(Ended::default()).code(), 0);
        let unheard = Ended { last_claim: LastClaim::Unheard, ..Ended::default() };
        assert_eq!(conclude(unheard).code(), 1);
        let unconfirmed = Ended { sign_off: SignOff::Unconfirmed, ..Ended::default() };
        assert_eq!(conclude(unconfirmed).code(), 1);
        assert_eq!(conclude(Ended { left: vec![TaskId(7)], ..Ended::default() }).code(), 1);
    }
}
