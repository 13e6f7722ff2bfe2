//! Waits that grow and do not march in step.

use std::time::Duration;

/// An exponential wait with a cap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    /// Half of the wait after the first failure.
    pub base: Duration,
    /// The longest wait.
    pub cap: Duration,
}

impl Backoff {
    /// For a database that does not answer: a second later at most it is found to be back.
    pub const CALLS: Self = Self { base: Duration::from_millis(25), cap: Duration::from_secs(1) };

    /// The wait after `failures` failures in a row: base × 2^failures, three quarters of it to five quarters so that
    /// those that failed together do not come back together, and never more than the cap.
    pub fn after(&self, failures: u32) -> Duration {
        let factor = 2_u32.saturating_pow(failures.clamp(1, 31));
        // Five quarters of the longest are the cap itself: cut off there, most waits would be the same.
        jittered(self.base.saturating_mul(factor).min(self.cap / 5 * 4)).min(self.cap)
    }
}

/// Three quarters to five quarters of `wait`.
pub fn jittered(wait: Duration) -> Duration {
    wait.mul_f64(0.75 + fastrand::f64() / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_cap_and_differ() {
        let backoff = Backoff { base: Duration::from_secs(1), cap: Duration::from_mins(5) };
        let range = |failures, low: f64, high: f64| {
            let waits: Vec<Duration> = (0..50).map(|_| backoff.after(failures)).collect();
            assert!(
                waits.iter().all(|wait| (low..=high).contains(&wait.as_secs_f64())),
                "{failures}: {waits:?}"
            );
            let same = waits.iter().filter(|wait| **wait == waits[0]).count();
            assert!(same < 5, "{failures}: {same} alike");
        };
        range(1, 1.5, 2.5);
        range(3, 6.0, 10.0);
        range(9, 180.0, 300.0);
        range(u32::MAX, 180.0, 300.0);
    }
}
