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
    /// For calls to a database that does not answer. How often it is knocked on its door is not decided by this.
    pub(super) const CALLS: Self = Self { base: Duration::from_millis(25), cap: Duration::from_secs(1) };

    /// The wait after `failures` failures in a row: base × 2^failures, at most the cap, three quarters of it to
    /// five quarters so that those that failed together do not come back together.
    pub fn after(&self, failures: u32) -> Duration {
        let factor = 2_u32.saturating_pow(failures.clamp(1, 31));
        jittered(self.base.saturating_mul(factor).min(self.cap)).min(self.cap)
    }
}

/// Three quarters to five quarters of `wait`.
pub(super) fn jittered(wait: Duration) -> Duration {
    wait.mul_f64(0.75 + fastrand::f64() / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_cap() {
        let backoff = Backoff { base: Duration::from_secs(1), cap: Duration::from_mins(5) };
        let range = |failures, low: f64, high: f64| {
            for _ in 0..50 {
                let wait = backoff.after(failures).as_secs_f64();
                assert!((low..=high).contains(&wait), "{failures}: {wait}");
            }
        };
        range(1, 1.5, 2.5);
        range(3, 6.0, 10.0);
        range(9, 225.0, 300.0);
        range(u32::MAX, 225.0, 300.0);
    }
}
