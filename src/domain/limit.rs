//! Limits that span a tenant's tasks: how many may run at once, how many may be approved in a day.

use jiff::Timestamp;
use serde::Serialize;

use super::{Name, OperationId};

/// What operators said of a tenant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LimitState {
    /// The most tasks of it that are RUNNING at once; none: no limit.
    pub max_running: Option<i64>,
    /// The most of its held tasks that are let run in a day (UTC, by the database's clock); none: no limit.
    pub max_approved_per_day: Option<i64>,
    /// +1 at each change; 0 where nobody ever set one.
    pub version: i64,
    /// Who changed it last and when; none where nobody ever set one.
    pub changed: Option<LimitChange>,
}

impl LimitState {
    /// A tenant of whom nobody ever said anything.
    pub const NONE: Self = Self { max_running: None, max_approved_per_day: None, version: 0, changed: None };

    /// `at most 2 running and 5 approvals a day`, `no limit`.
    pub fn words(&self) -> String {
        let running = self.max_running.map(|most| format!("{most} running"));
        let approved = self.max_approved_per_day.map(|most| match most {
            1 => "1 approval a day".to_owned(),
            most => format!("{most} approvals a day"),
        });
        match (running, approved) {
            (None, None) => "no limit".to_owned(),
            (Some(one), None) | (None, Some(one)) => format!("at most {one}"),
            (Some(running), Some(approved)) => format!("at most {running} and {approved}"),
        }
    }
}

/// Who set a limit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LimitChange {
    /// Who.
    pub by: String,
    /// When, by the database's clock.
    pub at: Timestamp,
    /// Why, as they put it.
    pub reason: Option<String>,
}

/// A tenant's limits with their use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TenantLimits {
    /// The tenant.
    pub tenant: String,
    /// Its limits, and who set them.
    #[serde(flatten)]
    pub state: LimitState,
    /// How many of its tasks run now.
    pub running: i64,
    /// How many of its held tasks were let run today; counted since the tenant got its first limit.
    pub approved_today: i64,
}

impl TenantLimits {
    /// Whether nothing more of it may run now.
    pub fn runs_all(&self) -> bool {
        self.state.max_running.is_some_and(|most| self.running >= most)
    }

    /// Whether nothing more of it may be approved today.
    pub fn approved_all(&self) -> bool {
        self.state.max_approved_per_day.is_some_and(|most| self.approved_today >= most)
    }
}

/// One decision about one tenant's limits: both as they are to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LimitDecision {
    /// About which tenant.
    pub tenant: Name,
    /// The most tasks RUNNING at once, not negative; none: no limit.
    pub max_running: Option<i64>,
    /// The most approvals a day, not negative; none: no limit.
    pub max_approved_per_day: Option<i64>,
    /// Their version as it was seen.
    pub version: i64,
    /// Who decides.
    pub operator: String,
    /// Why, as the operator put it.
    pub reason: Option<String>,
    /// Names this decision, so that sending it again is harmless.
    pub operation: OperationId,
}

/// The answer to a decision about a tenant's limits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LimitDecided {
    /// Whether it took effect; if not, they had moved on or were as asked already.
    pub outcome: LimitOutcome,
    /// The limits as they are now.
    pub state: LimitState,
    /// The first answer was lost and the outcome was established afterwards.
    pub resolved_from_unknown: bool,
    /// How often it was decided again after a deadlock or serialization failure.
    pub retries: u32,
}

/// Whether a decision about a tenant's limits took effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitOutcome {
    /// It did.
    Committed,
    /// It did not, and nothing was changed.
    Conflict,
}

/// A tenant at its limit of tasks that run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AtLimit {
    /// The tenant.
    pub tenant: String,
    /// How many of its tasks run.
    pub running: i64,
    /// How many may.
    pub max_running: i64,
}

impl AtLimit {
    /// `tenant billing runs 2 of 2`.
    pub fn words(&self) -> String {
        format!("tenant {} runs {} of {}", self.tenant, self.running, self.max_running)
    }
}

/// A decision that asked for more approvals than a tenant has left today.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OverLimit {
    /// How many of its held tasks were let run today.
    pub used: i64,
    /// How many may be in a day.
    pub most: i64,
    /// How many the decision asked for.
    pub asked: i64,
}

impl OverLimit {
    /// `tenant billing has 5 of 5 approvals today`, and how many were asked for where that is what is too many.
    pub fn words(&self, tenant: &str) -> String {
        let Self { used, most, asked } = self;
        let has = format!("tenant {tenant} has {used} of {most} approvals today");
        if *asked > 1 && used < most { format!("{has}, and {asked} were asked for") } else { has }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_told_in_words() {
        let words = |max_running, max_approved_per_day| {
            LimitState { max_running, max_approved_per_day, ..LimitState::NONE }.words()
        };
        assert_eq!(words(None, None), "no limit");
        assert_eq!(words(Some(2), None), "at most 2 running");
        assert_eq!(words(None, Some(1)), "at most 1 approval a day");
        assert_eq!(words(Some(0), Some(5)), "at most 0 running and 5 approvals a day");
    }

    #[test]
    fn what_is_too_many_is_told_where_there_was_something_left() {
        let words = |used, asked| OverLimit { used, most: 5, asked }.words("billing");
        assert_eq!(words(5, 1), "tenant billing has 5 of 5 approvals today");
        assert_eq!(words(5, 3), "tenant billing has 5 of 5 approvals today");
        assert_eq!(words(3, 3), "tenant billing has 3 of 5 approvals today, and 3 were asked for");
    }
}
