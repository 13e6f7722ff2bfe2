//! What the db and worker floors say, in the console's words.

use crate::app::Message;
use crate::app::log::Level;
use crate::app::message::{self as app, Broken, FailureCause, LinkReport, ReadFailure, WriteFailure};
use crate::db::{DbError, Interrupted, Trouble};
use crate::domain::{Status, StopRequest, figure};
use crate::worker::{Ended, How, LastClaim, Part, Shutdown, SignOff, WorkerEvent};

/// Up to so many tasks are told one by one; more at once would push everything else out of the log.
const FEW: usize = 3;

/// Why nothing could be read.
pub(super) fn read_failure(error: &DbError) -> ReadFailure {
    let cause = match error {
        DbError::Unavailable(trouble) | DbError::Unknown(trouble) if !answered(trouble) => {
            FailureCause::NoAnswer
        }
        _ => FailureCause::Refused,
    };
    ReadFailure { cause, message: error.to_string(), hint: error.hint().map(str::to_owned) }
}

/// Whether the server itself said this about a statement, over a link that stands: it gave a code, and not one of
/// those with which it ends or refuses a session (`08…`, `57P0…`).
fn answered(trouble: &Trouble) -> bool {
    trouble.sqlstate.as_deref().is_some_and(|code| !code.starts_with("08") && !code.starts_with("57P0"))
}

/// What the listening connection hears.
pub(super) fn hearing(how: &How) -> Option<Message> {
    match how {
        How::Unknown => None,
        How::Listening => Some(Message::Link(LinkReport::Listening)),
        How::Polling { reason } => Some(Message::Link(LinkReport::Polling { reason: reason.clone() })),
    }
}

/// Why a write has no outcome, once nothing more is tried.
pub(super) fn write_failure(error: &DbError) -> WriteFailure {
    let message = error.to_string();
    let hint = error.hint().map(str::to_owned);
    match error {
        DbError::Unavailable(_) | DbError::Schema(_) => WriteFailure::Unavailable { message, hint },
        DbError::Taken(_) => WriteFailure::BadInput { message },
        DbError::Refused(_) => WriteFailure::Refused { message, hint },
        DbError::Unknown(_) => WriteFailure::Unresolved {
            message,
            hint: Some("look at the task's timeline: it says whether this took effect".to_owned()),
        },
        // The server answered, so it was applied; only the row that came back cannot be read.
        DbError::BadRow { .. } => WriteFailure::Unresolved {
            message,
            hint: Some("the write was answered, but its row cannot be read; look at the task".to_owned()),
        },
    }
}

/// Why a chunk was not decided to its end, and what became of its part that was.
pub(super) fn broken(interrupted: Interrupted) -> Broken {
    let Interrupted { chunk, error, uncertain } = interrupted;
    let failure = match (&error, uncertain) {
        // It was read and not decided about, or decided about in vain: there is nothing to find out.
        (DbError::BadRow { .. }, None) => WriteFailure::BadInput { message: error.to_string() },
        _ => write_failure(&error),
    };
    Broken { chunk, failure, uncertain }
}

/// An answer was lost and its outcome is being established.
pub(super) fn unknown(trouble: &Trouble) -> WriteFailure {
    WriteFailure::Unknown { message: trouble.to_string() }
}

/// What a worker did, for the log and the link.
pub(super) fn worker_event(event: &WorkerEvent) -> Vec<Message> {
    let told = |event: app::WorkerEvent| vec![Message::Workers { events: vec![event], missed: 0 }];
    let trouble = |message: String| told(app::WorkerEvent::Trouble { message });
    let line = |level: Level, text: String| vec![Message::LogLine { level, text }];
    match event {
        WorkerEvent::Began { instance, state } => {
            line(Level::Info, format!("this process is instance {instance}: {}", state.as_str()))
        }
        WorkerEvent::Adopted { claims } => line(
            Level::Warn,
            format!("{} tasks were won by a claim whose answer was lost; they run here", claims.len()),
        ),
        WorkerEvent::Succeeded { tasks } => match tasks.as_slice() {
            [first, .., last] if tasks.len() > FEW => {
                line(Level::Info, format!("{} tasks succeeded, {first} to {last}", tasks.len()))
            }
            few => vec![Message::Workers {
                events: few
                    .iter()
                    .map(|id| app::WorkerEvent::Finished { id: *id, status: Status::Succeeded, error: None })
                    .collect(),
                missed: 0,
            }],
        },
        WorkerEvent::Retrying { id, error, .. } => {
            told(app::WorkerEvent::Finished { id: *id, status: Status::Queued, error: Some(error.clone()) })
        }
        WorkerEvent::Failed { id, error, .. } => {
            told(app::WorkerEvent::Finished { id: *id, status: Status::Failed, error: Some(error.clone()) })
        }
        WorkerEvent::Canceled { id, .. } => {
            told(app::WorkerEvent::Finished { id: *id, status: Status::Canceled, error: None })
        }
        WorkerEvent::CancelRequested { id, .. } => line(
            Level::Info,
            format!("{id} was asked to stop; it stays RUNNING until its analyser has returned"),
        ),
        WorkerEvent::Released { tasks, reason } => {
            line(Level::Info, format!("{} tasks were given back, attempts not spent: {reason}", tasks.len()))
        }
        WorkerEvent::Superseded { id, .. } | WorkerEvent::Vanished { id, .. } => {
            told(app::WorkerEvent::LeaseLost { id: *id })
        }
        WorkerEvent::Recovered { tasks } => vec![Message::Workers {
            events: tasks
                .iter()
                .map(|task| app::WorkerEvent::Recovered {
                    id: task.id,
                    status: task.status,
                    from: task.reason.clone(),
                })
                .collect(),
            missed: 0,
        }],
        WorkerEvent::AskedToStop { mode, by, reason } => {
            told(app::WorkerEvent::AskedToStop { mode: *mode, by: by.clone(), reason: reason.clone() })
        }
        WorkerEvent::LeaseLost { reason, discarded, .. } => trouble(format!(
            "the lease was lost ({reason}); {} results were discarded and a new instance begins",
            discarded.len()
        )),
        // What the listener hears is told by itself, and the console delivers nothing.
        WorkerEvent::Trouble { part: Part::Listener, .. }
        | WorkerEvent::TroubleOver { part: Part::Listener, .. }
        | WorkerEvent::PollingOnly
        | WorkerEvent::Delivered { .. }
        | WorkerEvent::NotDelivered { .. }
        | WorkerEvent::DeliveryDiscarded { .. }
        | WorkerEvent::Claimed { .. } => Vec::new(),
        WorkerEvent::Trouble { part, message, hint } => {
            let hint = hint.as_deref().map_or_else(String::new, |hint| format!("; {hint}"));
            trouble(format!("{}: {message}{hint}", part.name()))
        }
        WorkerEvent::TroubleOver { part, failures, lasted } => line(
            Level::Info,
            format!("{}: works again after {failures} failures in {}", part.name(), figure::wait(*lasted)),
        ),
        WorkerEvent::Panicked { part, message } => trouble(format!("{} panicked: {message}", part.name())),
        WorkerEvent::ShuttingDown { mode, in_flight, reason } => {
            let how = match mode {
                Shutdown::Drain => "draining",
                Shutdown::Cancel => "canceling",
            };
            let reason = reason.map_or_else(String::new, |reason| format!(": {reason}"));
            line(Level::Info, format!("{how} with {in_flight} in flight{reason}"))
        }
    }
}

/// How this process's workers ended before the process.
pub(super) fn workers_ended(asked: Option<StopRequest>, ended: &Ended) -> Message {
    let heard = ended.last_claim == LastClaim::Heard && ended.sign_off == SignOff::Confirmed;
    Message::WorkersEnded(app::WorkersEnded {
        asked,
        left: ended.left.clone(),
        unanswered: ended.unanswered.clone(),
        confirmed: if heard { app::Confirmed::Yes } else { app::Confirmed::No },
    })
}

/// How grave a line of the program's own log is.
pub(super) fn level(level: tracing::Level) -> Level {
    match level {
        tracing::Level::ERROR => Level::Error,
        tracing::Level::WARN => Level::Warn,
        _ => Level::Info,
    }
}

/// `15.18` of `15.18 (Debian 15.18-0+deb12u1)`.
pub(super) fn short_version(version: &str) -> &str {
    version.split_whitespace().next().unwrap_or(version)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cause(code: Option<&str>) -> FailureCause {
        let trouble = Trouble { sqlstate: code.map(str::to_owned), ..Trouble::new("no") };
        read_failure(&DbError::Unavailable(trouble)).cause
    }

    #[test]
    fn an_answer_with_a_code_is_an_answer() {
        for code in ["57014", "55P03", "53200", "53300", "40001", "XX000", "28P01"] {
            assert_eq!(cause(Some(code)), FailureCause::Refused, "{code}");
        }
        for code in ["08006", "08001", "57P01", "57P02", "57P03"] {
            assert_eq!(cause(Some(code)), FailureCause::NoAnswer, "{code}");
        }
        assert_eq!(cause(None), FailureCause::NoAnswer);
    }
}
