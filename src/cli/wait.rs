//! Waiting for a task's end by looking, ever less often.

use std::time::{Duration, Instant};

use super::exit::{Exit, Failure};
use super::interrupt;
use crate::config::duration;
use crate::db::{Db, DbError, Preview};
use crate::domain::Task;
use crate::signals::{Signal, Signals};

/// The first pause between two looks; it doubles up to [`LONGEST`].
const FIRST: Duration = Duration::from_millis(100);

/// The longest pause between two looks.
const LONGEST: Duration = Duration::from_secs(1);

/// How a wait ended.
#[derive(Debug)]
pub(super) enum Waited {
    /// The task is in a final state.
    Ended(Task),
    /// A signal came; the task as it was last seen.
    Interrupted {
        /// The task.
        task: Task,
        /// Which signal.
        signal: Signal,
    },
    /// The time passed; the task as it was last seen.
    TimedOut {
        /// The task.
        task: Task,
        /// Why it could not be looked at last.
        trouble: Option<DbError>,
    },
}

/// Waits until `task` is in a final state, at most `within`, or until a signal.
///
/// # Errors
/// The task is gone, or what the database says but that it cannot be had now.
pub(super) async fn until_final(
    db: &Db,
    mut task: Task,
    within: Duration,
    signals: &mut Signals,
) -> Result<Waited, Failure> {
    let started = Instant::now();
    let mut pause = FIRST;
    let mut trouble: Option<DbError> = None;
    while !task.status.is_final() {
        let left = within.saturating_sub(started.elapsed());
        if left.is_zero() {
            return Ok(Waited::TimedOut { task, trouble });
        }
        let id = task.id;
        let look = async {
            tokio::time::sleep(pause.min(left)).await;
            db.task(id, None, Preview::Whole).await
        };
        let looked = tokio::select! {
            signal = signals.next() => return Ok(Waited::Interrupted { task, signal }),
            looked = look => looked,
        };
        pause = (pause * 2).min(LONGEST);
        match looked {
            Ok(Some(now)) => {
                task = now;
                trouble = None;
            }
            Ok(None) => return Err(gone(&task)),
            // It comes back, or the time passes.
            Err(error @ DbError::Unavailable(_)) => trouble = Some(error),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(Waited::Ended(task))
}

fn gone(task: &Task) -> Failure {
    Failure::new(Exit::NotFound, "not_found", format!("task {} is no longer in the database", task.id))
}

/// The failure of a wait that a signal has ended.
pub(super) fn interrupted(task: &Task, signal: Signal) -> Failure {
    let (id, status) = (task.id, task.status);
    interrupt::ended(signal, &format!("task {id} is {status}"))
        .hint(format!("it is submitted and goes on without being watched: `taskdeck show {id}`"))
}

/// The failure of a wait whose time has passed. The task is in the table whatever the database says now, so it is none
/// of a submit.
pub(super) fn timed_out(task: &Task, within: Duration, trouble: Option<&DbError>) -> Failure {
    let (id, status, within) = (task.id, task.status, duration::show(within));
    let message = match trouble {
        None => format!("task {id} is still {status} after {within}"),
        Some(error) => {
            format!(
                "task {id} was {status} when last seen, and after {within} it cannot be looked at: {error}"
            )
        }
    };
    Failure::new(Exit::Unexpected, "timeout", message)
        .hint(format!("it is submitted and goes on: `taskdeck show {id}`, and a longer --timeout next time"))
}
