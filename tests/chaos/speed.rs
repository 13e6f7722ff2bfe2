//! How soon work is back at the pace from before a crash of the server: by the finish times of the meter's tasks, which
//! the database wrote. Only ratios within one run mean anything.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::faults::server::QUIET;
use crate::plan::{Micros, now, seconds};
use crate::stage::Stage;
use crate::support::PATIENCE;

/// A pace is measured over this much time.
const WINDOW: Micros = 1_000_000;

/// A crash of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Restart {
    pub(crate) down: Micros,
    pub(crate) up: Micros,
}

impl Restart {
    pub(crate) fn downtime(self) -> f64 {
        seconds(self.up - self.down)
    }
}

/// How the pace came back after a crash.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Recovery {
    /// How long the server was away, in seconds.
    pub(crate) away: f64,
    /// Tasks a second before it; 0 is no pace to compare with.
    pub(crate) before: f64,
    /// Tasks that were finished after it.
    pub(crate) after: usize,
    /// The best pace after it, as a share of that.
    pub(crate) best: f64,
    /// When a second began that had at least 80 % of it, in seconds after the server was up.
    pub(crate) most: Option<f64>,
    /// The same for all of it.
    pub(crate) full: Option<f64>,
}

impl Recovery {
    /// Whether there was a pace before it.
    pub(crate) fn compares(&self) -> bool {
        self.before > 0.0
    }
}

/// Judges one crash. `finished` is in ascending order; what came after `end` is some other fault's doing.
pub(crate) fn judge(finished: &[Micros], restart: Restart, end: Micros) -> Recovery {
    let between = |from: Micros, to: Micros| {
        finished.partition_point(|at| *at < to) - finished.partition_point(|at| *at < from)
    };
    let quiet = Micros::try_from(QUIET.as_micros()).expect("a short time");
    let before = between(restart.down - quiet, restart.down) as f64 / seconds(quiet);
    let after = between(restart.up, end);
    let mut recovery =
        Recovery { away: restart.downtime(), before, after, best: 0.0, most: None, full: None };
    if !recovery.compares() {
        return recovery;
    }
    let mut from = restart.up;
    while from + WINDOW <= end && recovery.full.is_none() {
        let share = between(from, from + WINDOW) as f64 / seconds(WINDOW) / before;
        let after = seconds(from - restart.up);
        recovery.best = recovery.best.max(share);
        if share >= 0.8 {
            recovery.most.get_or_insert(after);
        }
        if share >= 1.0 {
            recovery.full = Some(after);
        }
        from += 50_000;
    }
    recovery
}

/// The crashes of a run.
#[derive(Debug, Default)]
pub(crate) struct Speed {
    restarts: Mutex<Vec<(Restart, Micros)>>,
}

impl Speed {
    pub(crate) fn restarted(&self, restart: Restart) {
        let open = Micros::MAX;
        self.restarts.lock().unwrap_or_else(PoisonError::into_inner).push((restart, open));
    }

    /// Waits until the pace is back after the newest crash, or not to be expected any more.
    pub(crate) async fn wait_until_back(&self, stage: &Stage) {
        let newest = self.restarts.lock().unwrap_or_else(PoisonError::into_inner).last().copied();
        let Some((restart, _)) = newest else { return };
        let started = Instant::now();
        loop {
            tokio::time::sleep(Duration::from_millis(300)).await;
            let recovery = judge(&finished(stage, restart.down - 3_000_000).await, restart, now());
            // The whole pace is worth some patience, most of it is worth a lot, and so is any where none was before.
            let most = recovery.most.is_some() || !recovery.compares() && recovery.after > 0;
            let enough = started.elapsed() > Duration::from_secs(6) && most;
            if recovery.full.is_some() || enough || started.elapsed() > PATIENCE {
                break;
            }
        }
        if let Some(last) = self.restarts.lock().unwrap_or_else(PoisonError::into_inner).last_mut() {
            last.1 = now();
        }
    }

    /// How many crashes there were.
    pub(crate) fn crashes(&self) -> usize {
        self.restarts.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// How the pace came back after each crash.
    pub(crate) async fn recoveries(&self, stage: &Stage) -> Vec<Recovery> {
        let finished = finished(stage, 0).await;
        let restarts = self.restarts.lock().unwrap_or_else(PoisonError::into_inner).clone();
        restarts.into_iter().map(|(restart, end)| judge(&finished, restart, end)).collect()
    }
}

/// When the meter's tasks ended, from `since` on.
async fn finished(stage: &Stage, since: Micros) -> Vec<Micros> {
    let sql = format!(
        "SELECT (extract(epoch FROM finished_at) * 1000000)::bigint FROM taskdeck.tasks
         WHERE queue = 'meter' AND status = 'SUCCEEDED'
           AND finished_at >= to_timestamp({since} / 1000000.0) ORDER BY finished_at"
    );
    stage.rows_at_last(&sql).await.iter().map(|row| row.number(0)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A task every 10 ms before the crash, and after it `gap` microseconds later every `pace`.
    fn paced(gap: Micros, pace: Micros) -> Vec<Micros> {
        (0..300).map(|n| n * 10_000).chain((0..1_000).map(|n| 3_500_000 + gap + n * pace)).collect()
    }

    const CRASH: Restart = Restart { down: 3_000_000, up: 3_500_000 };

    #[test]
    fn a_pace_that_comes_back_is_seen_when_it_does() {
        let recovery = judge(&paced(1_000_000, 10_000), CRASH, 9_000_000);
        assert!((recovery.before - 100.0).abs() < 1.0, "{recovery:?}");
        let [most, full] = [recovery.most, recovery.full].map(|after| after.expect("it is back"));
        assert!((0.7..0.9).contains(&most) && (0.9..1.1).contains(&full), "{recovery:?}");
    }

    #[test]
    fn a_pace_that_does_not_come_back_is_seen_too() {
        let slower = judge(&paced(0, 11_500), CRASH, 9_000_000);
        assert!(slower.most.is_some() && slower.full.is_none(), "{slower:?}");
        let half = judge(&paced(0, 20_000), CRASH, 9_000_000);
        assert_eq!((half.most, half.full), (None, None), "{half:?}");
        assert!((0.4..0.6).contains(&half.best), "{half:?}");
        assert_eq!(half.after, 275, "{half:?}");
        let never = judge(&paced(9_000_000, 10_000), CRASH, 9_000_000);
        assert_eq!((never.after, never.most, never.full), (0, None, None), "{never:?}");
    }

    #[test]
    fn without_a_pace_before_there_is_none_to_compare() {
        let finished: Vec<Micros> = (0..100).map(|n| 4_000_000 + n * 10_000).collect();
        let recovery = judge(&finished, CRASH, 9_000_000);
        assert!(!recovery.compares(), "{recovery:?}");
        assert_eq!((recovery.after, recovery.most, recovery.full), (100, None, None), "{recovery:?}");
    }
}
