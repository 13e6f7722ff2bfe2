//! The way out: what the end is, and what is said of it on standard error once the terminal is given back.

use std::io::Write as _;
use std::time::Duration;

use tokio::time::timeout;

use super::{End, Root};
use crate::app::state::Session;
use crate::domain::TaskId;
use crate::signals::Signals;
use crate::ui::Ended;
use crate::worker::{Shutdown, SignOff, WorkerHandle};

/// How long giving the terminal back may take where its line has stalled.
const RESTORE_WITHIN: Duration = Duration::from_secs(2);

/// How long writes are waited for once nothing else is: the db floor pursues a lost answer for 30 s, and the last
/// statement has a deadline of its own. A signal leaves sooner.
pub(super) const WRITES_WITHIN: Duration = Duration::from_secs(45);

/// Why the loop ended.
#[derive(Debug)]
pub(super) enum Ending {
    /// The state wants to end; nothing is in flight.
    Quit,
    /// The operator leaves although work is in flight, or the workers could not finish it.
    Leave {
        /// What the console knows of that stays.
        tasks: Vec<TaskId>,
        /// How many writes have no answer.
        unanswered: usize,
    },
    /// The console takes nothing any more, and the workers have ended.
    WithoutConsole,
    /// The console's thread has ended by itself.
    ConsoleGone,
}

impl Root {
    /// Gives the terminal back, then ends the workers; nothing is said to have ended before it has.
    pub(super) async fn end(self, ending: Ending, signals: &mut Signals, session: &Session) -> End {
        let Self { ui, workers, performer, listener, .. } = self;
        if let Some(listener) = listener {
            listener.abort();
        }
        let ended = ui.finish(RESTORE_WITHIN).await;
        let said = match ended {
            Ended::Panicked { said } => Some(said),
            Ended::Well | Ended::Stalled => None,
        };
        if said.is_some() {
            say("taskdeck: the console has broken; its workers are drained (Ctrl-C: cancel, again: leave)");
        }
        let (left, unanswered) = match ending {
            Ending::Leave { tasks, unanswered } if said.is_none() => {
                (leave(workers.as_ref(), tasks).await, unanswered.max(performer.writes.count()))
            }
            _ => {
                let left = drain(workers, signals).await;
                tokio::select! {
                    _ = timeout(WRITES_WITHIN, performer.writes.done()) => {}
                    _ = signals.next() => {}
                }
                (left, performer.writes.count())
            }
        };
        tell_left(&left, session);
        if unanswered > 0 {
            let writes = if unanswered == 1 { "1 write has" } else { "some writes have" };
            say(&format!(
                "taskdeck: {writes} no answer ({unanswered}); `taskdeck show ID` tells what became of a decision, \
                 `taskdeck list` what was submitted"
            ));
        }
        match said {
            Some(said) => End::Broken { said },
            None if left.is_empty() && unanswered == 0 => End::Clean,
            None => End::Left { tasks: left, unanswered },
        }
    }
}

/// Ends the workers at once, unless they have ended; what stays RUNNING.
async fn leave(workers: Option<&WorkerHandle>, tasks: Vec<TaskId>) -> Vec<TaskId> {
    let Some(workers) = workers else { return tasks };
    // Before `leave`, which would end them.
    match timeout(Duration::ZERO, workers.ended()).await {
        Ok(ended) => ended.left,
        Err(_) => workers.leave(),
    }
}

/// Ends the workers without a screen: signals make it graver, as everywhere.
async fn drain(workers: Option<WorkerHandle>, signals: &mut Signals) -> Vec<TaskId> {
    let Some(workers) = workers else { return Vec::new() };
    workers.shutdown(Shutdown::Drain);
    let mut asked = 0;
    loop {
        tokio::select! {
            ended = workers.ended() => {
                if ended.sign_off == SignOff::Unconfirmed {
                    say(
                        "taskdeck: the database did not answer at the end: what was claimed and not heard of runs \
                         again once the lease of this process passes",
                    );
                }
                return ended.left;
            }
            _ = signals.next() => {
                asked += 1;
                if asked > 1 {
                    return workers.leave();
                }
                workers.shutdown(Shutdown::Cancel);
            }
        }
    }
}

fn tell_left(left: &[TaskId], session: &Session) {
    if !left.is_empty() {
        let ids: Vec<String> = left.iter().map(ToString::to_string).collect();
        say(&format!(
            "taskdeck: left RUNNING on {} until the lease of this process passes; then they run again, or are CANCELED if \
             that was asked: {}",
            session.database_short,
            ids.join(", ")
        ));
    }
}

/// Says a line on standard error; where the terminal is gone nobody is there to hear it.
fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}
