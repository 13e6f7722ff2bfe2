//! What waits to be told to the database.

use std::collections::VecDeque;

use super::{Claim, Ledger, Stage};
use crate::db::{Finish, Release};

impl Ledger {
    /// The oldest `most` successes that wait. They stay in here until [`Ledger::settle`].
    pub(in crate::worker) fn successes(&self, most: usize) -> Vec<Finish> {
        self.finishes(&self.successes, most)
    }

    /// Likewise for every other end.
    pub(in crate::worker) fn others(&self, most: usize) -> Vec<Finish> {
        self.finishes(&self.others, most)
    }

    /// Likewise for what is given back.
    pub(in crate::worker) fn releases(&self, most: usize) -> Vec<Release> {
        self.releases
            .iter()
            .take(most)
            .filter_map(|claim| match self.claims.get(claim)? {
                Stage::Releasing { release } => Some(*release),
                _ => None,
            })
            .collect()
    }

    /// Puts the oldest entries behind the others, so that one that cannot be committed now (its row is locked by
    /// someone) does not hold them up.
    pub(in crate::worker) fn put_back(&mut self, claims: &[Claim]) {
        for queue in [&mut self.successes, &mut self.others, &mut self.releases] {
            let before = queue.len();
            queue.retain(|claim| !claims.contains(claim));
            if queue.len() < before {
                queue.extend(claims);
            }
        }
    }

    /// The database has said what became of these. They are the oldest of their queue, but where the lease was lost
    /// meanwhile: then they are known no more.
    pub(in crate::worker) fn settle(&mut self, claims: impl IntoIterator<Item = Claim>) {
        for claim in claims {
            if self.claims.remove(&claim).is_none() {
                continue;
            }
            let mut queues = [&mut self.successes, &mut self.others, &mut self.releases];
            if let Some(queue) = queues.iter_mut().find(|queue| queue.front() == Some(&claim)) {
                queue.pop_front();
            } else {
                for queue in queues {
                    queue.retain(|waiting| *waiting != claim);
                }
            }
        }
    }

    fn finishes(&self, queue: &VecDeque<Claim>, most: usize) -> Vec<Finish> {
        queue
            .iter()
            .take(most)
            .filter_map(|claim| match self.claims.get(claim)? {
                Stage::Finishing { finish } => Some((**finish).clone()),
                _ => None,
            })
            .collect()
    }
}
