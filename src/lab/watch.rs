//! The third connection's looks at who waits for whom: observed, not asserted.

use std::time::Instant;

use super::cast::Cast;
use crate::db::DbError;
use crate::db::lab::Looked;
use crate::domain::lab::Wait;

/// The client's clock of one round.
#[derive(Debug, Clone, Copy)]
pub(super) struct Clock(Instant);

impl Clock {
    /// Begins now.
    pub(super) fn start() -> Self {
        Self(Instant::now())
    }

    /// Microseconds since then.
    pub(super) fn us(self) -> u64 {
        u64::try_from(self.0.elapsed().as_micros()).unwrap_or(u64::MAX)
    }
}

/// What was seen so far in one round.
#[derive(Debug)]
pub(super) struct Watch<'a> {
    cast: &'a Cast,
    clock: Clock,
    /// The server's processes that are known, with whom they serve.
    known: Vec<(i32, String)>,
    /// The transactions' processes, which are looked at whatever their sessions call themselves.
    pids: Vec<i32>,
    waits: Vec<Wait>,
}

impl<'a> Watch<'a> {
    /// Begins to watch; `transactions` are the lab's own, each with whose it is.
    pub(super) async fn begin(
        cast: &'a Cast,
        clock: Clock,
        transactions: &[(i32, &str)],
    ) -> Result<Self, DbError> {
        let mut known: Vec<(i32, String)> =
            transactions.iter().map(|(pid, who)| (*pid, (*who).to_owned())).collect();
        let pids = transactions.iter().map(|(pid, _)| *pid).collect();
        for (pid, application) in cast.witness.lab().sessions(&cast.prefix).await? {
            if let Some(who) = cast.who(&application) {
                known.push((pid, who));
            }
        }
        Ok(Self { cast, clock, known, pids, waits: Vec::new() })
    }

    /// Looks once.
    pub(super) async fn look(&mut self) -> Result<(), DbError> {
        let looked = self.cast.witness.lab().waits(&self.cast.prefix, &self.pids).await?;
        self.add(looked);
        Ok(())
    }

    fn add(&mut self, looked: Looked) {
        let now = self.clock.us();
        for seen in looked.waits {
            let who = self.known_as(seen.pid).or_else(|| self.cast.who(&seen.application));
            let Some(who) = who else { continue };
            let blocked_by: Vec<String> = seen
                .blocked_by
                .iter()
                .map(|pid| self.known_as(*pid).unwrap_or_else(|| format!("pid {pid}")))
                .collect();
            let same = self.waits.iter_mut().rev().find(|wait| wait.who == who);
            match same {
                Some(wait)
                    if wait.lock == seen.lock
                        && wait.blocked_by == blocked_by
                        && (wait.since == seen.since || wait.since.is_none()) =>
                {
                    wait.since = seen.since;
                    wait.last = looked.at;
                    wait.last_us = now;
                }
                _ => self.waits.push(Wait {
                    who,
                    lock: seen.lock,
                    blocked_by,
                    since: seen.since,
                    last: looked.at,
                    first_us: now,
                    last_us: now,
                }),
            }
        }
    }

    fn known_as(&self, pid: i32) -> Option<String> {
        self.known.iter().find(|(known, _)| *known == pid).map(|(_, who)| who.clone())
    }

    /// Whether each of `callers` was seen waiting for somebody.
    pub(super) fn has_seen(&self, callers: &[String]) -> bool {
        callers.iter().all(|who| self.waits.iter().any(|wait| wait.who == *who && !wait.blocked_by.is_empty()))
    }

    /// What was seen.
    pub(super) fn into_waits(self) -> Vec<Wait> {
        self.waits
    }
}
