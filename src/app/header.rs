//! What stands above every screen: is it well?

use std::time::Duration;

use super::state::State;
use crate::domain::observed::Tallies;

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
    Header {
        health: Well::Yes,
        link: String::new(),
        link_short: String::new(),
        data_age: None,
        data: String::new(),
        database: session.database.clone(),
        database_short: session.database_short.clone(),
        server: session.server.clone(),
        operator: session.operator.clone(),
        access: "read-write",
        access_short: "rw",
        oldest: String::new(),
        oldest_short: String::new(),
        oldest_health: Well::Yes,
        tallies: None,
        done_per_s: None,
        failed_per_min: None,
        workers: String::new(),
        workers_health: Well::Yes,
        filter: String::new(),
    }
}
