//! The way out: what the end is, and what is said of it on standard error once the terminal is given back.

use std::io::Write as _;
use std::time::Duration;

use tokio::time::timeout;

use super::{End, Root};
use crate::app::state::Session;
use crate::domain::TaskId;
use crate::domain::text::visible;
use crate::signals::Signals;
use crate::ui::Ended;
use crate::worker::{self, LastClaim, Shutdown, SignOff, WorkerHandle};

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
        let Self { ui, workers, predecessor, performer, listener, farewells, .. } = self;
        if let Some(listener) = listener {
            listener.abort();
        }
        let ended = ui.finish(RESTORE_WITHIN).await;
        let said = match ended {
            Ended::Panicked { said } => Some(said),
            Ended::Well | Ended::Stalled => None,
        };
        for farewell in &farewells {
            say(&format!("taskdeck: {}", visible(farewell)));
        }
        if said.is_some() {
            say("taskdeck: the console has broken; its workers are drained (Ctrl-C: cancel, again: leave)");
        }
        let (ended, unanswered) = match ending {
            Ending::Leave { tasks, unanswered } if said.is_none() => {
                (leave(workers.as_ref(), tasks).await, unanswered.max(performer.writes.count()))
            }
            _ => {
                let ended = drain(workers, signals).await;
                tokio::select! {
                    _ = timeout(WRITES_WITHIN, performer.writes.done()) => {}
                    _ = signals.next() => {}
                }
                (ended, performer.writes.count())
            }
        };
        // Workers that were asked to stop have ended before: what they left is left by this process.
        let ended = predecessor.into_iter().fold(ended, both);
        let well = tell_left(&ended, session);
        if unanswered > 0 {
            let writes = if unanswered == 1 { "1 write has" } else { "some writes have" };
            say(&format!(
                "taskdeck: {writes} no answer ({unanswered}); `taskdeck show ID` tells what became of a decision, \
                 `taskdeck list` what was submitted"
            ));
        }
        match said {
            Some(said) => End::Broken { said },
            None if well == Told::Nothing && unanswered == 0 => End::Clean,
            None => End::Left { tasks: ended.left, unanswered },
        }
    }
}

/// Ends the workers at once, unless they have ended; what stays RUNNING.
async fn leave(workers: Option<&WorkerHandle>, tasks: Vec<TaskId>) -> worker::Ended {
    let Some(workers) = workers else { return worker::Ended { left: tasks, ..worker::Ended::default() } };
    // Before `leave`, which would end them.
    match timeout(Duration::ZERO, workers.ended()).await {
        Ok(ended) => ended,
        Err(_) => workers.leave(),
    }
}

/// Ends the workers without a screen: signals make it graver, as everywhere.
async fn drain(workers: Option<WorkerHandle>, signals: &mut Signals) -> worker::Ended {
    let Some(workers) = workers else { return worker::Ended::default() };
    workers.shutdown(Shutdown::Drain);
    let mut asked = 0;
    loop {
        tokio::select! {
            ended = workers.ended() => return ended,
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

/// What two instances of this process left behind.
fn both(one: worker::Ended, other: worker::Ended) -> worker::Ended {
    worker::Ended {
        left: [one.left, other.left].concat(),
        unanswered: [one.unanswered, other.unanswered].concat(),
        undelivered: [one.undelivered, other.undelivered].concat(),
        sign_off: if one.sign_off == SignOff::Confirmed { other.sign_off } else { one.sign_off },
        last_claim: if one.last_claim == LastClaim::Heard { other.last_claim } else { one.last_claim },
    }
}

/// Whether there was anything to tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Told {
    Nothing,
    Something,
}

/// Says what the workers left behind, or what nobody confirmed.
fn tell_left(ended: &worker::Ended, session: &Session) -> Told {
    let list = |ids: &[TaskId]| ids.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    if !ended.left.is_empty() {
        say(&format!(
            "taskdeck: left RUNNING on {} until the lease of this process passes; then they run again, or are CANCELED if \
             that was asked: {}",
            session.database_short,
            list(&ended.left)
        ));
    }
    if !ended.unanswered.is_empty() {
        say(&format!(
            "taskdeck: no answer told whether the end of these has arrived; those that have not ended run again: {}",
            list(&ended.unanswered)
        ));
    }
    let known = ended.left.is_empty() && ended.unanswered.is_empty();
    if ended.last_claim == LastClaim::Unheard || (known && ended.sign_off == SignOff::Unconfirmed) {
        say(
            "taskdeck: the database did not answer at the end: what was claimed and not heard of runs again once the \
             lease of this process passes",
        );
    } else if known {
        return Told::Nothing;
    }
    Told::Something
}

/// Says a line on standard error; where the terminal is gone nobody is there to hear it.
fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_first_left_is_not_forgotten_for_the_second() {
        let left = worker::Ended { left: vec![TaskId(7)], ..worker::Ended::default() };
        let unanswered = worker::Ended { unanswered: vec![TaskId(8)], ..worker::Ended::default() };
        let unconfirmed = worker::Ended { sign_off: SignOff::Unconfirmed, ..worker::Ended::default() };
        let unheard = worker::Ended { last_claim: LastClaim::Unheard, ..worker::Ended::default() };
        for ended in [left, unanswered, unconfirmed, unheard] {
            assert_eq!(both(worker::Ended::default(), ended.clone()), ended);
            assert_eq!(both(ended.clone(), worker::Ended::default()), ended);
        }
    }
}
