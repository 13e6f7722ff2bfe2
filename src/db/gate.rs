//! The door through which every new connection of a process goes: its pools' and the listener's.
//!
//! Invariant: while connecting fails, one attempt is under way at a time, after waits that grow; what it says is the
//! answer to all who wait. Attempts that were under way when the door was shut, or outlast their right to the one, are no
//! word on it. Once one succeeds the door is open to everybody.
//!
//! Each part of a worker tries again by itself: fifty processes with a connection in each pool made 165 attempts a
//! second through an outage, and with more connections more. With the door they make 65, whatever their pools, and a
//! server that comes back is found within a second.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tokio::sync::Notify;
use tokio::time::sleep_until;

use super::error::DbError;
use crate::domain::Backoff;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Gate {
    state: Mutex<State>,
    /// Rung for all when an attempt has ended.
    turned: Notify,
}

#[derive(Debug, Default)]
struct State {
    /// Present while connecting fails.
    shut: Option<Shut>,
    /// How many attempts have failed so far that were told to all.
    failures: u64,
    /// How many trials there were.
    trials: u64,
}

#[derive(Debug)]
struct Shut {
    /// What the latest attempt said.
    error: DbError,
    in_a_row: u32,
    /// When the next attempt may be made.
    again: Instant,
    /// The number of the attempt that is being made.
    trial: Option<u64>,
    told: Told,
}

/// Whether it was logged that a pool goes on with the connections that it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Told {
    Yes,
    No,
}

#[derive(Debug)]
enum Answer {
    /// The door is open.
    Open,
    /// This caller makes the next attempt, which has this number.
    Try(u64),
    /// Ask again when an attempt has ended, or at this time.
    Wait { until: Option<Instant> },
    /// An attempt has failed since this caller came.
    Failed(DbError),
}

impl State {
    /// What a caller may do that came when `since` attempts had failed.
    fn ask(&mut self, since: u64, now: Instant) -> Answer {
        let Some(shut) = &mut self.shut else { return Answer::Open };
        if self.failures != since {
            return Answer::Failed(shut.error.clone());
        }
        match shut.trial {
            Some(_) => Answer::Wait { until: None },
            None if now < shut.again => Answer::Wait { until: Some(shut.again) },
            None => {
                self.trials += 1;
                shut.trial = Some(self.trials);
                Answer::Try(self.trials)
            }
        }
    }

    /// An attempt has failed: the one with the number `trial`, or one that was made while the door was open.
    fn failed(&mut self, error: DbError, trial: Option<u64>, now: Instant) {
        let Some(shut) = &mut self.shut else {
            self.failures += 1;
            let again = now + Backoff::CALLS.after(1);
            self.shut = Some(Shut { error, in_a_row: 1, again, trial: None, told: Told::No });
            return;
        };
        // One that was under way when the door was shut is no further round, and no word on the trial that runs.
        if trial.is_some() && shut.trial == trial {
            self.failures += 1;
            shut.error = error;
            shut.in_a_row += 1;
            shut.again = now + Backoff::CALLS.after(shut.in_a_row);
            shut.trial = None;
        }
    }

    /// The trial with this number has ended without an outcome.
    fn given_up(&mut self, trial: u64) {
        if let Some(shut) = &mut self.shut
            && shut.trial == Some(trial)
        {
            shut.trial = None;
        }
    }
}

impl Gate {
    /// Waits until a connection may be made. While it is held, what is returned is the right to the one attempt.
    ///
    /// # Errors
    /// What an attempt said that was made meanwhile.
    pub(super) async fn turn(&self) -> Result<Option<Trial<'_>>, DbError> {
        let since = self.lock().failures;
        loop {
            let mut turned = std::pin::pin!(self.turned.notified());
            // Registered before the state is read, so that an attempt that ends between the two is not missed.
            turned.as_mut().enable();
            let answer = self.lock().ask(since, Instant::now());
            match answer {
                Answer::Open => return Ok(None),
                Answer::Try(number) => return Ok(Some(Trial { gate: self, number })),
                Answer::Failed(error) => return Err(error),
                Answer::Wait { until: None } => turned.await,
                Answer::Wait { until: Some(at) } => tokio::select! {
                    () = turned => {}
                    () = sleep_until(at.into()) => {}
                },
            }
        }
    }

    /// A connection was made.
    pub(super) fn opened(&self) {
        let shut = self.lock().shut.take();
        let Some(shut) = shut else { return };
        if shut.told == Told::Yes {
            tracing::info!("new connections can be made again");
        }
        self.turned.notify_waiters();
    }

    /// A connection could not be made, by whoever held `trial` or came while the door was open.
    pub(super) fn failed(&self, error: DbError, trial: Option<&Trial<'_>>) {
        self.lock().failed(error, trial.map(|trial| trial.number), Instant::now());
        self.turned.notify_waiters();
    }

    /// What the latest attempt said, while connecting fails.
    pub(super) fn latest(&self) -> Option<DbError> {
        self.lock().shut.as_ref().map(|shut| shut.error.clone())
    }

    /// Whether it is to be logged now that a pool goes on with what it has: once an outage.
    pub(super) fn is_news(&self) -> bool {
        let mut state = self.lock();
        let shut = state.shut.as_mut();
        shut.is_some_and(|shut| std::mem::replace(&mut shut.told, Told::Yes) == Told::No)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The right to the one attempt; whoever drops it without an outcome leaves it to the next.
#[derive(Debug)]
pub(super) struct Trial<'a> {
    gate: &'a Gate,
    number: u64,
}

impl Drop for Trial<'_> {
    fn drop(&mut self) {
        self.gate.lock().given_up(self.number);
        self.gate.turned.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn error(text: &str) -> DbError {
        DbError::not_sent(text)
    }

    #[test]
    fn one_tries_at_a_time_and_its_failure_is_everybodys() {
        let (mut state, now) = (State::default(), Instant::now());
        assert!(matches!(state.ask(0, now), Answer::Open));
        state.failed(error("first"), None, now);
        state.failed(error("was under way"), None, now);
        let since = state.failures;
        let at = match state.ask(since, now) {
            Answer::Wait { until: Some(at) } => at,
            other => panic!("{other:?}"),
        };
        assert!(at > now && at <= now + Backoff::CALLS.base * 3, "the second failure is of the same round");
        let Answer::Try(number) = state.ask(since, at) else { panic!("it is time") };
        assert!(matches!(state.ask(since, at), Answer::Wait { until: None }), "one at a time");
        state.failed(error("again"), Some(number), at);
        assert!(matches!(state.ask(since, at), Answer::Failed(told) if told == error("again")));
        assert!(
            matches!(state.ask(state.failures, at), Answer::Wait { until: Some(_) }),
            "who comes now waits"
        );
    }

    /// Only who holds the trial ends it: not one whose attempt began before the door was shut, nor one whose own trial
    /// is over.
    #[test]
    fn a_straggler_ends_nobodys_trial() {
        let (mut state, now) = (State::default(), Instant::now());
        let later = |rounds: u32| now + Backoff::CALLS.cap * rounds;
        state.failed(error("first"), None, now);
        let Answer::Try(first) = state.ask(1, later(1)) else { panic!("it is time") };
        state.failed(error("a straggler"), None, later(1));
        assert!(matches!(state.ask(state.failures, later(2)), Answer::Wait { until: None }), "it still runs");
        state.given_up(first);
        let Answer::Try(second) = state.ask(state.failures, later(2)) else { panic!("it was given up") };
        state.given_up(first);
        state.failed(error("long after"), Some(first), later(2));
        assert!(matches!(state.ask(state.failures, later(3)), Answer::Wait { until: None }), "it still runs");
        state.failed(error("again"), Some(second), later(3));
        assert!(matches!(state.ask(1, later(3)), Answer::Failed(told) if told == error("again")));
    }

    #[tokio::test]
    async fn who_gives_the_attempt_up_leaves_it_to_the_next_and_a_success_lets_all_in() {
        let gate = Gate::default();
        gate.failed(error("refused"), None);
        let trial = gate.turn().await.expect("a turn").expect("the attempt");
        let next = tokio::time::timeout(Duration::from_mins(1), gate.turn());
        let (next, ()) = tokio::join!(next, async { drop(trial) });
        let next = next.expect("the attempt is handed on");
        let trial = next.expect("a turn").expect("the attempt");
        assert!(gate.is_news() && !gate.is_news(), "told once");
        let (all, ()) = tokio::join!(futures_util::future::join_all((0..5).map(|_| gate.turn())), async {
            gate.opened();
        });
        assert!(all.iter().all(|turn| matches!(turn, Ok(None))), "{all:?}");
        drop(trial);
        assert!(!gate.is_news(), "the door is open");
    }
}
