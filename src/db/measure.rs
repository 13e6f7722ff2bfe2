//! What this process measures of its own pools and statements, for the Database screen.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::domain::observed::StatementFigures;

/// How many of the latest durations percentiles are taken over.
const KEPT: usize = 512;

/// The latest durations of something.
#[derive(Debug, Default)]
pub(crate) struct Durations {
    latest: Vec<Duration>,
    next: usize,
}

impl Durations {
    pub(crate) fn add(&mut self, duration: Duration) {
        if self.latest.len() < KEPT {
            self.latest.push(duration);
        } else {
            self.latest[self.next] = duration;
            self.next = (self.next + 1) % KEPT;
        }
    }

    /// The median and the 99th percentile; zeros if there is nothing.
    pub(crate) fn percentiles(&self) -> (Duration, Duration) {
        let mut sorted = self.latest.clone();
        sorted.sort_unstable();
        let at = |percent: usize| {
            let place = (sorted.len() * percent).div_ceil(100).saturating_sub(1);
            sorted.get(place).copied().unwrap_or_default()
        };
        (at(50), at(99))
    }
}

#[derive(Debug)]
struct Tally {
    calls: u64,
    errors: u64,
    rows: u64,
    times: Durations,
    since: Instant,
}

/// Calls, errors and times per statement.
#[derive(Debug, Default)]
pub(crate) struct StatementTallies(Mutex<HashMap<&'static str, Tally>>);

/// How a call of a statement ended.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Call {
    Answered { rows: usize },
    Failed,
}

impl StatementTallies {
    pub(crate) fn add(&self, name: &'static str, took: Duration, call: Call) {
        let mut tallies = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let tally = match tallies.entry(name) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => entry.insert(Tally {
                calls: 0,
                errors: 0,
                rows: 0,
                times: Durations::default(),
                since: Instant::now(),
            }),
        };
        tally.calls += 1;
        tally.times.add(took);
        match call {
            Call::Answered { rows } => tally.rows += rows as u64,
            Call::Failed => tally.errors += 1,
        }
    }

    pub(crate) fn figures(&self) -> Vec<StatementFigures> {
        let tallies = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let mut figures: Vec<_> = tallies
            .iter()
            .map(|(&name, tally)| {
                let (p50, p99) = tally.times.percentiles();
                let seconds = tally.since.elapsed().as_secs_f64().max(1.0);
                StatementFigures {
                    name,
                    calls: tally.calls,
                    errors: tally.errors,
                    per_s: tally.calls as f64 / seconds,
                    p50,
                    p99,
                    rows: tally.rows,
                }
            })
            .collect();
        figures.sort_by(|a, b| b.calls.cmp(&a.calls).then(a.name.cmp(b.name)));
        figures
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_of_the_latest() {
        let mut durations = Durations::default();
        assert_eq!(durations.percentiles(), (Duration::ZERO, Duration::ZERO));
        for ms in 1..=100 {
            durations.add(Duration::from_millis(ms));
        }
        assert_eq!(durations.percentiles(), (Duration::from_millis(50), Duration::from_millis(99)));
        for _ in 0..KEPT {
            durations.add(Duration::from_millis(7));
        }
        assert_eq!(durations.percentiles(), (Duration::from_millis(7), Duration::from_millis(7)));
    }
}
