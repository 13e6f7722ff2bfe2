//! The third connection's looks at who waits for whom: observed, not asserted.

use std::collections::HashMap;
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
    /// The lab's own transactions: their processes are theirs until they end, through a pooler too.
    transactions: Vec<(i32, String)>,
    /// Other processes, with whom they served last. A pooler in transaction mode gives them to somebody else at every
    /// statement, so what a look itself says goes before this.
    known: HashMap<i32, String>,
    waits: Vec<Wait>,
}

impl<'a> Watch<'a> {
    /// Begins to watch; `transactions` are the lab's own, each with whose it is.
    pub(super) async fn begin(
        cast: &'a Cast,
        clock: Clock,
        transactions: &[(i32, &str)],
    ) -> Result<Self, DbError> {
        let transactions = transactions.iter().map(|(pid, who)| (*pid, (*who).to_owned())).collect();
        let mut watch = Self { cast, clock, transactions, known: HashMap::new(), waits: Vec::new() };
        watch.learn(cast.witness.lab().sessions(&cast.prefix).await?);
        Ok(watch)
    }

    /// Looks once.
    pub(super) async fn look(&mut self) -> Result<(), DbError> {
        let pids: Vec<i32> = self.transactions.iter().map(|(pid, _)| *pid).collect();
        let looked = self.cast.witness.lab().waits(&self.cast.prefix, &pids).await?;
        self.learn(looked.waits.iter().map(|seen| (seen.pid, seen.application.clone())));
        self.add(looked);
        Ok(())
    }

    fn add(&mut self, looked: Looked) {
        let now = self.clock.us();
        for seen in looked.waits {
            let Some(who) = self.known_as(seen.pid) else { continue };
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

    /// Takes down whom processes serve, by what their sessions call themselves.
    fn learn(&mut self, sessions: impl IntoIterator<Item = (i32, String)>) {
        for (pid, application) in sessions {
            if let Some(who) = self.cast.who(&application) {
                self.known.insert(pid, who);
            }
        }
    }

    fn known_as(&self, pid: i32) -> Option<String> {
        let own = self.transactions.iter().find(|(own, _)| *own == pid).map(|(_, who)| who);
        own.or_else(|| self.known.get(&pid)).cloned()
    }

    /// Whether each of `callers` was seen waiting for somebody.
    pub(super) fn has_seen(&self, callers: &[String]) -> bool {
        callers
            .iter()
            .all(|who| self.waits.iter().any(|wait| wait.who == *who && !wait.blocked_by.is_empty()))
    }

    /// What was seen.
    pub(super) fn into_waits(self) -> Vec<Wait> {
        self.waits
    }
}
