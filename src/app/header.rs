//! What stands above every screen: is it well?

use std::time::Duration;

use super::link::{Link, Wakes};
use super::state::{Access, Screen, State};
use crate::domain::InstanceState;
use crate::domain::figure::{age, data_age};
use crate::domain::observed::Tallies;

/// From this age on data is called old: several reads have been missed.
pub const STALE: Duration = Duration::from_secs(5);

/// What stands above every screen.
#[derive(Debug, Clone, PartialEq)]
pub struct Header {
    /// Whether anything is wrong, so that the line changes its shape.
    pub health: Well,
    /// `link ok`, `NO ANSWER for 14 s, next try in 2 s (4th)`.
    pub link: String,
    /// The same where there is little room: `ok`, `NO ANSWER 14 s`.
    pub link_short: String,
    /// How old the rows on screen are; none before the first read.
    pub data_age: Option<Duration>,
    /// `data 0.2 s old`, `DATA 14 s OLD`, `no data yet`.
    pub data: String,
    /// `app@db1/jobs`.
    pub database: String,
    /// `db1/jobs`.
    pub database_short: String,
    /// `PostgreSQL 15.18 primary`, once known.
    pub server: Option<String>,
    /// The operator.
    pub operator: String,
    /// `read-write`, `READ-ONLY`.
    pub access: &'static str,
    /// `rw`, `RO`.
    pub access_short: &'static str,
    /// How long the oldest due task has waited and why: `oldest due 3 s`, `oldest due 4 m: no live worker takes
    /// queue mail`, `nothing due`.
    pub oldest: String,
    /// `due 3 s`.
    pub oldest_short: String,
    /// Whether the oldest due task waits for something that will not come by itself.
    pub oldest_health: Well,
    /// Rows per state; none before the first read.
    pub tallies: Option<Tallies>,
    /// Tasks finished per second; none before the first read.
    pub done_per_s: Option<f64>,
    /// Attempts failed per minute; none before the first read.
    pub failed_per_min: Option<f64>,
    /// This process's workers: `workers 3/4`, `draining 2/4`, `watching`, `workers: no lease, …`.
    pub workers: String,
    /// Who asked them to stop: `asked by bob`, `stopped by bob`; none where nobody did.
    pub workers_asked: Option<String>,
    /// Whether they work.
    pub workers_health: Well,
    /// What the list is narrowed to: `all states · all tenants · all queues`.
    pub filter: String,
}

/// Whether something is well.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Well {
    /// It is.
    Yes,
    /// It needs a look.
    Doubtful,
    /// It is not.
    No,
}

/// What stands above every screen now.
pub fn header(state: &State) -> Header {
    let session = &state.session;
    let (link_health, link, link_short) = link(state);
    let data_age = data_arrived(state).map(|arrived| state.since(arrived));
    let (data_health, data) = data(state, data_age);
    let (oldest_health, oldest, oldest_short) = oldest(state);
    let (workers_health, workers) = workers(state);
    let overview = state.overview.as_ref().map(|read| &read.value);
    let (access, access_short) = match session.access {
        Access::ReadWrite => ("read-write", "rw"),
        Access::ReadOnly { .. } => ("READ-ONLY", "RO"),
    };
    Header {
        health: link_health.max(data_health),
        link,
        link_short,
        data_age,
        data,
        database: session.database.clone(),
        database_short: session.database_short.clone(),
        server: session.server.clone(),
        operator: session.operator.clone(),
        access,
        access_short,
        oldest,
        oldest_short,
        oldest_health,
        tallies: overview.map(|overview| overview.tallies),
        done_per_s: overview.map(|overview| overview.done_per_s),
        failed_per_min: overview.map(|overview| overview.failed_per_min),
        workers,
        workers_asked: workers_asked(state),
        workers_health,
        filter: filter(state),
    }
}

/// When what the screen shows arrived.
fn data_arrived(state: &State) -> Option<Duration> {
    match state.screen {
        Screen::Tasks => state.list.read.map(|read| read.arrived),
        Screen::Workers => state.instances.read.as_ref().map(|read| read.arrived),
        Screen::Database => state.health.read.as_ref().map(|read| read.arrived),
        Screen::Log => state.overview.as_ref().map(|read| read.arrived),
    }
}

fn data_failed(state: &State) -> bool {
    match state.screen {
        Screen::Tasks => state.list.failure.is_some(),
        Screen::Workers => state.instances.failure.is_some(),
        Screen::Database => state.health.failure.is_some(),
        Screen::Log => state.overview_failure.is_some(),
    }
}

fn data(state: &State, age: Option<Duration>) -> (Well, String) {
    match age {
        None if data_failed(state) => (Well::No, "NO DATA: could not be read".to_owned()),
        None => (Well::Yes, "no data yet".to_owned()),
        Some(age) if age >= STALE || data_failed(state) => (Well::No, format!("DATA {} OLD", data_age(age))),
        Some(age) => (Well::Yes, format!("data {} old", data_age(age))),
    }
}

fn link(state: &State) -> (Well, String, String) {
    let due = state.refresh.overview.due;
    let next = |due: Duration| match state.refresh.overview.in_flight {
        Some(_) => "trying now".to_owned(),
        None => format!("next try in {}", age(due.saturating_sub(state.now) + Duration::from_millis(999))),
    };
    match &state.link {
        Link::Ok if state.overview_failure.is_some() => {
            let counts = match &state.overview {
                Some(read) => format!("COUNTS {} OLD", data_age(state.since(read.arrived))),
                None => "NO COUNTS".to_owned(),
            };
            (Well::Doubtful, format!("link ok, {counts}"), format!("ok, {counts}"))
        }
        Link::Ok if state.wakes == Wakes::Polled => {
            (Well::Yes, "link ok, polling".to_owned(), "ok".to_owned())
        }
        Link::Ok => (Well::Yes, "link ok".to_owned(), "ok".to_owned()),
        Link::Connecting { attempts: 0 } => {
            (Well::Doubtful, "connecting…".to_owned(), "connecting…".to_owned())
        }
        Link::Connecting { attempts } => (
            Well::No,
            format!("NO ANSWER yet, {} ({})", next(due), ordinal(attempts + 1)),
            "NO ANSWER yet".to_owned(),
        ),
        Link::NoAnswer { since, attempts, next_try, .. } => {
            let gap = age(state.since(*since));
            let next = next(*next_try);
            let nth = ordinal(attempts + 1);
            (Well::No, format!("NO ANSWER for {gap}, {next} ({nth})"), format!("NO ANSWER {gap}"))
        }
    }
}

fn ordinal(n: u32) -> String {
    let ending = match (n % 10, n % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("{n}{ending}")
}

fn oldest(state: &State) -> (Well, String, String) {
    let Some(read) = &state.overview else {
        return (Well::Yes, "oldest due not known yet".to_owned(), "due ?".to_owned());
    };
    let Some(oldest) = &read.value.oldest_due else {
        return (Well::Yes, "nothing due".to_owned(), "due none".to_owned());
    };
    let waiting =
        Duration::from_millis(oldest.waiting_ms.try_into().unwrap_or(0)) + state.since(read.arrived);
    let is_paused = oldest.paused_by.is_some();
    let health = match (oldest.takers, oldest.free_slots) {
        // A person wanted it so, and a person ends it.
        _ if is_paused => Well::Doubtful,
        (..=0, _) => Well::No,
        _ if oldest.at_limit.as_ref().is_some_and(|at| at.max_running <= 0) => Well::Doubtful,
        // One that runs has to end first: here a slot's, there its tenant's.
        (_, free) if (free <= 0 || oldest.at_limit.is_some()) && waiting >= Duration::from_mins(1) => {
            Well::Doubtful
        }
        _ => Well::Yes,
    };
    let why = if is_paused || waiting >= Duration::from_secs(3) {
        format!(": {}", oldest.why())
    } else {
        String::new()
    };
    let waiting = age(waiting);
    (health, format!("oldest due {waiting}{why}"), format!("due {waiting}"))
}

fn workers(state: &State) -> (Well, String) {
    let Some(read) = &state.local else {
        return match state.session.workers {
            0 => (Well::Yes, "watching".to_owned()),
            _ => (Well::Doubtful, "workers starting".to_owned()),
        };
    };
    let local = &read.value;
    let busy = format!("{}/{}", local.running.len(), local.slots);
    let lease_left = local.lease_left.saturating_sub(state.since(read.arrived));
    match local.state {
        InstanceState::Lost => (Well::No, "workers LOST their lease".to_owned()),
        // It was started to work, and does not any more.
        InstanceState::Watching if state.workers_ended.is_some() => (Well::Doubtful, "watching".to_owned()),
        InstanceState::Watching => (Well::Yes, "watching".to_owned()),
        InstanceState::Stopped => (Well::Doubtful, "workers stopped".to_owned()),
        state if local.trouble.is_some() || lease_left.is_zero() => {
            (Well::No, format!("{state_name} {busy} TROUBLE", state_name = word(state)))
        }
        state => {
            let health = if state == InstanceState::Working { Well::Yes } else { Well::Doubtful };
            (health, format!("{} {busy}", word(state)))
        }
    }
}

fn workers_asked(state: &State) -> Option<String> {
    let ended = state.workers_ended.as_ref();
    let (what, request) = match (&state.local.as_ref()?.value.asked_to_stop, ended) {
        (Some(request), _) => ("asked", request),
        (None, Some(ended)) if ended.is_well() => ("stopped", ended.asked.as_ref()?),
        (None, Some(ended)) => ("ended, not confirmed, asked", ended.asked.as_ref()?),
        (None, None) => return None,
    };
    Some(format!("{what} by {}", request.by))
}

const fn word(state: InstanceState) -> &'static str {
    match state {
        InstanceState::Working => "workers",
        other => other.as_str(),
    }
}

fn filter(state: &State) -> String {
    let filter = &state.list.filter;
    let statuses: Vec<_> = filter.statuses.iter().map(|status| status.as_str()).collect();
    let mut parts = vec![
        if statuses.is_empty() { "all states".to_owned() } else { statuses.join("+") },
        filter.tenant.as_ref().map_or_else(|| "all tenants".to_owned(), |tenant| format!("tenant {tenant}")),
        filter.queue.as_ref().map_or_else(|| "all queues".to_owned(), |queue| format!("queue {queue}")),
    ];
    parts.extend(filter.search.as_ref().map(|text| format!("text \"{text}\"")));
    parts.extend(state.list.before.map(|before| format!("below {before}")));
    parts.join(" · ")
}

#[cfg(test)]
#[path = "header_tests.rs"]
mod tests;
