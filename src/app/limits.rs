//! Tenants with a limit on screen 2: what each may use and uses. The pane is there only while there is such a tenant.

use super::fleet::why;
use super::list::Step;
use super::message::ReadFailure;
use super::state::{Read, State, WorkersPane};
use crate::domain::figure::thousands;
use crate::domain::limit::TenantLimits;

impl State {
    /// The tenants that have a limit now, as they were read last.
    pub fn limited(&self) -> &[TenantLimits] {
        self.limits.read.as_ref().map_or(&[][..], |read| &read.value)
    }

    /// Whether there is anything to tell of limits.
    pub fn tells_limits(&self) -> bool {
        !self.limited().is_empty() || self.limits.failure.is_some()
    }

    /// The tenant that the cursor of that pane is on.
    pub fn limit_under_cursor(&self) -> Option<&TenantLimits> {
        let tenant = self.limit.as_deref()?;
        self.limited().iter().find(|limits| limits.tenant == tenant)
    }

    /// `3 tenants limited, 1 at its limit: billing`.
    pub fn limits_summary(&self) -> String {
        let limited = self.limited();
        let full: Vec<&str> = limited
            .iter()
            .filter(|limits| limits.runs_all() || limits.approved_all())
            .map(|limits| limits.tenant.as_str())
            .collect();
        let all = match limited.len() {
            1 => "1 tenant".to_owned(),
            all => format!("{all} tenants"),
        };
        match full.as_slice() {
            [] => format!("{all}, none at its limit"),
            full => format!("{all}, {} at the limit: {}", full.len(), full.join(" ")),
        }
    }

    /// Who set it last: `by bob 4 m ago: "bad import"`.
    pub fn limit_changed(&self, limits: &TenantLimits) -> Option<String> {
        let change = limits.state.changed.as_ref()?;
        Some(format!("by {} {}{}", change.by, self.ago(change.at), why(change.reason.as_deref())))
    }

    /// What a tenant may and what that means now, as sentences.
    pub fn standing_of_limit(&self, limits: &TenantLimits) -> String {
        let TenantLimits { tenant, state, running, approved_today } = limits;
        let mut said = Vec::new();
        match state.max_running {
            Some(0) => said.push("Nothing of it may run.".to_owned()),
            Some(_) if limits.runs_all() => {
                said.push("What waits is not claimed until one of those that run has ended.".to_owned());
            }
            Some(most) => said.push(format!("{} more may run.", thousands(most - running))),
            None => {}
        }
        match state.max_approved_per_day {
            Some(0) => said.push("Nothing of it may be approved.".to_owned()),
            Some(_) if limits.approved_all() => {
                said.push("What is held cannot be approved before midnight UTC.".to_owned());
            }
            Some(most) => {
                said.push(format!("{} more may be approved today (UTC).", thousands(most - approved_today)));
            }
            None => {}
        }
        let who = self.limit_changed(limits).map_or_else(String::new, |who| format!("Set {who} "));
        said.push(format!("{who}(v{}); `taskdeck limit {tenant}` changes it.", state.version));
        said.join(" ")
    }

    pub(super) fn limits_loaded(&mut self, limits: Vec<TenantLimits>) {
        self.refresh.limits.answered(self.now);
        self.needs_draw = true;
        self.limits.failure = None;
        let at = self.limit_position();
        // One whose limits were taken away has none; who did it is in the history.
        let limits: Vec<_> = limits
            .into_iter()
            .filter(|limits| {
                limits.state.max_running.is_some() || limits.state.max_approved_per_day.is_some()
            })
            .collect();
        self.limits.read = Some(Read { value: limits, arrived: self.now });
        if self.limit_under_cursor().is_none() {
            let place = at.min(self.limited().len().saturating_sub(1));
            self.limit = self.limited().get(place).map(|limits| limits.tenant.clone());
        }
        if !self.tells_limits() && self.workers_pane == WorkersPane::Limits {
            self.workers_pane = WorkersPane::Instances;
        }
    }

    pub(super) fn limits_failed(&mut self, failure: ReadFailure) {
        self.refresh.limits.failed(self.now);
        self.needs_draw |= self.limits.failure.as_ref() != Some(&failure);
        self.limits.failure = Some(failure);
    }

    fn limit_position(&self) -> usize {
        self.limited().iter().position(|limits| Some(&limits.tenant) == self.limit.as_ref()).unwrap_or(0)
    }

    /// Moves the cursor of that pane.
    pub(super) fn move_limit(&mut self, step: Step) {
        let to = step.from(self.limit_position(), self.limited().len());
        self.limit = self.limited().get(to).map(|limits| limits.tenant.clone());
        let rows = self.viewport.list_rows.max(1);
        self.limits.offset = self.limits.offset.clamp((to + 1).saturating_sub(rows), to);
    }

    /// Gives the keys to the next pane of screen 2.
    pub(super) fn next_workers_pane(&mut self) {
        self.workers_pane = match self.workers_pane {
            WorkersPane::Instances => WorkersPane::Queues,
            WorkersPane::Queues if self.tells_limits() => WorkersPane::Limits,
            WorkersPane::Queues | WorkersPane::Limits => WorkersPane::Instances,
        };
    }

    /// Gives the keys to the pane before.
    pub(super) fn previous_workers_pane(&mut self) {
        self.workers_pane = match self.workers_pane {
            WorkersPane::Instances if self.tells_limits() => WorkersPane::Limits,
            WorkersPane::Instances | WorkersPane::Limits => WorkersPane::Queues,
            WorkersPane::Queues => WorkersPane::Instances,
        };
    }
}
