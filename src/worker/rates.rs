//! What was done, in all and lately.

use std::time::{Duration, Instant};

use crate::db::Heartbeat;
use crate::domain::InstanceState;

/// How far back rates look, in seconds.
const WINDOW: usize = 60;

/// Over how many of those a rate per second is taken, so that it follows what happens.
const LATELY: usize = 10;

/// How fast tasks must prove to be claimed ahead: as many are as were begun and finished within this time. Slow ones
/// that happen to end together prove nothing; what is claimed ahead of them would only wait, and be given back.
const AHEAD: Duration = Duration::from_millis(50);

/// In how many pieces [`AHEAD`] is counted.
const PIECES: usize = 5;

/// Totals since the instance began, and counts for each of the last seconds.
#[derive(Debug)]
pub(super) struct Rates {
    began: Instant,
    done: i64,
    failed: i64,
    seconds: [Second; WINDOW],
    recent: [(u64, usize); PIECES],
}

#[derive(Debug, Clone, Copy, Default)]
struct Second {
    /// Which second since the beginning.
    at: u64,
    claimed: u32,
    done: u32,
    failed: u32,
}

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Count {
    Claimed,
    Done,
    Failed,
}

impl Rates {
    pub(super) fn new(now: Instant) -> Self {
        Self {
            began: now,
            done: 0,
            failed: 0,
            seconds: [Second::default(); WINDOW],
            recent: [(0, 0); PIECES],
        }
    }

    /// Counts `n` of something.
    pub(super) fn add(&mut self, what: Count, n: usize, now: Instant) {
        let small = u32::try_from(n).unwrap_or(u32::MAX);
        let second = self.second(now);
        let field = match what {
            Count::Claimed => &mut second.claimed,
            Count::Done => &mut second.done,
            Count::Failed => &mut second.failed,
        };
        *field = field.saturating_add(small);
        match what {
            Count::Claimed => {}
            Count::Done => self.done += i64::from(small),
            Count::Failed => self.failed += i64::from(small),
        }
    }

    /// An analyser ran for `took` and has returned.
    pub(super) fn ran(&mut self, took: Duration, now: Instant) {
        if took > AHEAD {
            return;
        }
        let piece = self.piece(now);
        let place = &mut self.recent[index(piece, PIECES)];
        if place.0 != piece {
            *place = (piece, 0);
        }
        place.1 += 1;
    }

    /// How many fast runs returned within the last [`AHEAD`].
    pub(super) fn ahead(&self, now: Instant) -> usize {
        let piece = self.piece(now);
        self.recent.iter().filter(|(at, _)| at + PIECES as u64 > piece).map(|(_, count)| count).sum()
    }

    /// Tasks finished and attempts failed since the beginning.
    pub(super) fn totals(&self) -> (i64, i64) {
        (self.done, self.failed)
    }

    /// What a heartbeat publishes.
    pub(super) fn beat(&self, state: InstanceState, lease: Duration, now: Instant) -> Heartbeat {
        Heartbeat {
            lease,
            state,
            done_total: self.done,
            failed_total: self.failed,
            done_per_s: self.per_second(LATELY, now, |second| second.done),
            failed_per_min: self.within(WINDOW, now, |second| second.failed),
            claims_per_s: self.per_second(LATELY, now, |second| second.claimed),
        }
    }

    /// How many there were within the last `over` seconds.
    fn within(&self, over: usize, now: Instant, of: impl Fn(&Second) -> u32) -> f64 {
        let current = now.saturating_duration_since(self.began).as_secs();
        let counted = self.seconds.iter().filter(|second| second.at + over as u64 > current);
        counted.map(|second| f64::from(of(second))).sum()
    }

    fn per_second(&self, over: usize, now: Instant, of: impl Fn(&Second) -> u32) -> f64 {
        let elapsed = now.saturating_duration_since(self.began);
        let current = elapsed.as_secs();
        let count = self.within(over, now, of);
        // The window is the running second and the whole ones before it; a process that has just begun has less.
        let whole = (over - 1).min(usize::try_from(current).unwrap_or(over)) as f64;
        count / (whole + elapsed.as_secs_f64().fract()).max(1.0)
    }

    fn second(&mut self, now: Instant) -> &mut Second {
        let at = now.saturating_duration_since(self.began).as_secs();
        let second = &mut self.seconds[index(at, WINDOW)];
        if second.at != at {
            *second = Second { at, ..Second::default() };
        }
        second
    }

    fn piece(&self, now: Instant) -> u64 {
        let millis = now.saturating_duration_since(self.began).as_millis();
        // Counted from 1, as an empty place says 0.
        u64::try_from(millis * PIECES as u128 / AHEAD.as_millis()).unwrap_or(u64::MAX - 9) + PIECES as u64
    }
}

fn index(at: u64, length: usize) -> usize {
    usize::try_from(at % length as u64).expect("smaller than a length")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_follow_what_happens_and_totals_stay() {
        let start = Instant::now();
        let mut rates = Rates::new(start);
        for second in 0..20 {
            rates.add(Count::Done, 100, start + Duration::from_secs(second));
            rates.add(Count::Failed, 2, start + Duration::from_secs(second));
        }
        let near = |value: f64, expected: f64| (value - expected).abs() < expected * 0.12;
        let beat = rates.beat(
            InstanceState::Working,
            Duration::from_secs(30),
            start + Duration::from_millis(19_900),
        );
        assert!(near(beat.done_per_s, 100.0), "{beat:?}");
        assert!(
            (beat.failed_per_min - 40.0).abs() < 0.01,
            "those there were, not those there might be: {beat:?}"
        );
        let later =
            rates.beat(InstanceState::Working, Duration::from_secs(30), start + Duration::from_secs(200));
        assert!(later.done_per_s < 0.01 && later.failed_per_min < 0.01, "{later:?}");
        assert_eq!(rates.totals(), (2_000, 40));
    }

    #[test]
    fn only_fast_tasks_are_claimed_ahead() {
        let start = Instant::now();
        let mut rates = Rates::new(start);
        assert_eq!(rates.ahead(start), 0);
        for _ in 0..7 {
            rates.ran(Duration::from_millis(2), start + Duration::from_millis(5));
            rates.ran(Duration::from_secs(3), start + Duration::from_millis(5));
        }
        assert_eq!(rates.ahead(start + Duration::from_millis(20)), 7);
        assert_eq!(rates.ahead(start + Duration::from_millis(100)), 0);
    }
}
