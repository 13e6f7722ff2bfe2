//! What a read found: lists, counts, health and this process's own slots, each with when it was read.

use std::time::Duration;

use jiff::Timestamp;
use serde::Serialize;

use super::limit::AtLimit;
use super::outbox::OutboxTally;
use super::{InstanceId, InstanceState, Status, StopRequest, Task, TaskId};

/// Which tasks a list shows.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Filter {
    /// Only these states; empty means all.
    pub statuses: Vec<Status>,
    /// Only this tenant.
    pub tenant: Option<String>,
    /// Only this queue.
    pub queue: Option<String>,
    /// Only tasks whose text or error contains this, whatever the letter case.
    pub search: Option<String>,
}

/// One line of a list: a task, or a row that could not be decoded (the rest of the page still works).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Listed {
    /// A row.
    Task(Box<Task>),
    /// A row with something in it that cannot be read.
    Bad {
        /// Its number.
        id: TaskId,
        /// What cannot be read.
        problem: String,
    },
}

impl Listed {
    /// The row's number.
    pub fn id(&self) -> TaskId {
        match self {
            Self::Task(task) => task.id,
            Self::Bad { id, .. } => *id,
        }
    }

    /// The row, if it could be read.
    pub fn task(&self) -> Option<&Task> {
        match self {
            Self::Task(task) => Some(task),
            Self::Bad { .. } => None,
        }
    }
}

/// A page of a list, newest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// The rows, by descending id.
    pub rows: Vec<Listed>,
    /// Where the next page begins; none at the end. A search may return a short page with a continuation.
    pub next_before: Option<TaskId>,
    /// The database's clock when it was read.
    pub read_at: Timestamp,
}

/// How many rows there are in a state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Tally {
    /// Rows.
    pub count: i64,
    /// Whether `count` is an estimate from the planner's statistics (shown with `~`).
    pub estimated: bool,
}

/// How many rows there are in each state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tallies([Tally; 7]);

impl Tallies {
    /// The tally of one state.
    pub fn of(&self, status: Status) -> Tally {
        self.0[status as usize]
    }

    /// Sets the tally of one state.
    pub fn set(&mut self, status: Status, tally: Tally) {
        self.0[status as usize] = tally;
    }
}

/// The due task that has waited longest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OldestDue {
    /// The task.
    pub id: TaskId,
    /// Its queue.
    pub queue: String,
    /// How long it has been due, in milliseconds.
    pub waiting_ms: i64,
    /// Live instances that claim from its queue.
    pub takers: i64,
    /// Slots of those instances that run nothing.
    pub free_slots: i64,
    /// Who paused its queue, if it is paused.
    pub paused_by: Option<String>,
    /// As many of its tenant's tasks run as may, if so.
    pub at_limit: Option<AtLimit>,
}

impl OldestDue {
    /// Why it still waits, in words.
    pub fn why(&self) -> String {
        if let Some(by) = &self.paused_by {
            format!("queue {} is paused by {by}", self.queue)
        } else if self.takers == 0 {
            format!("no live worker takes queue {}", self.queue)
        } else if let Some(at) = &self.at_limit {
            at.words()
        } else if self.free_slots <= 0 {
            "all slots are busy".to_owned()
        } else {
            "about to be claimed".to_owned()
        }
    }
}

/// The state of everything in one look.
#[derive(Debug, Clone, PartialEq)]
pub struct Overview {
    /// The database's clock when it was read.
    pub read_at: Timestamp,
    /// Rows per state.
    pub tallies: Tallies,
    /// The due task that has waited longest; none if nothing is due.
    pub oldest_due: Option<OldestDue>,
    /// What waits to be told; none if nothing does.
    pub outbox: Option<OutboxTally>,
    /// Tasks finished per second: the sum of what live instances measured at their last heartbeat.
    pub done_per_s: f64,
    /// Attempts failed per minute: likewise.
    pub failed_per_min: f64,
    /// Instances whose lease has not passed.
    pub alive_instances: i64,
    /// Instances that were declared lost in the last hour.
    pub lost_instances: i64,
}

/// The database server as a session sees it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Health {
    /// The database's clock when it was read.
    pub read_at: Timestamp,
    /// For example `15.18`.
    pub server_version: String,
    /// The database's name.
    pub database: String,
    /// The role of this session.
    pub role: String,
    /// Whether the server is a hot standby.
    pub is_replica: bool,
    /// Whether sessions are read-only by default here.
    pub is_read_only: bool,
    /// The default isolation level.
    pub isolation: String,
    /// Client connections of the whole server.
    pub connections: i64,
    /// Its limit.
    pub max_connections: i64,
    /// Connections of this program, of all its processes.
    pub ours: i64,
    /// The transaction that has been open longest, other than this one.
    pub oldest_transaction: Option<OldTransaction>,
    /// Dead rows in `tasks` that vacuum has not removed yet.
    pub dead_rows: i64,
    /// Sessions that wait for a lock, and for whom.
    pub waits: Vec<LockWait>,
}

/// An open transaction.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OldTransaction {
    /// Its backend.
    pub pid: i32,
    /// How long it has been open, in milliseconds.
    pub open_ms: i64,
    /// Its role.
    pub role: String,
    /// What the client calls itself.
    pub application: String,
    /// For example `idle in transaction`.
    pub state: String,
}

/// A session that waits for a lock.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LockWait {
    /// The waiting backend.
    pub pid: i32,
    /// What the waiting client calls itself.
    pub application: String,
    /// How long its statement has run, in milliseconds.
    pub waiting_ms: i64,
    /// The backend that it waits for.
    pub blocked_by: i32,
    /// What that client calls itself.
    pub blocker_application: String,
    /// The kind of lock: `row`, `transactionid`, `relation`, …
    pub lock: String,
}

/// How one pool of this process does.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PoolFigures {
    /// `operator`, `workers` or `listen`.
    pub name: &'static str,
    /// The most connections that it may have.
    pub max: usize,
    /// Connections that it has.
    pub size: usize,
    /// Connections that a call holds.
    pub in_use: usize,
    /// Calls that wait for one.
    pub waiting: usize,
    /// Median wait for a connection over the last calls.
    pub wait_p50: Duration,
    /// 99th percentile of the same.
    pub wait_p99: Duration,
    /// Calls that got none within their deadline, since the start.
    pub timed_out: u64,
}

/// How one statement did in this process.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StatementFigures {
    /// The name of its file in `db/sql`.
    pub name: &'static str,
    /// Calls since the start.
    pub calls: u64,
    /// Calls that failed since the start.
    pub errors: u64,
    /// Calls per second since its first call.
    pub per_s: f64,
    /// Median time over the last calls, the reply included.
    pub p50: Duration,
    /// 99th percentile of the same.
    pub p99: Duration,
    /// Rows returned or changed since the start.
    pub rows: u64,
}

/// This process's workers.
#[derive(Debug, Clone, PartialEq)]
pub struct LocalWorkers {
    /// Its instance; new after its lease was lost.
    pub instance: InstanceId,
    /// What it does.
    pub state: InstanceState,
    /// How many tasks it runs at once.
    pub slots: usize,
    /// What runs in each busy slot, by slot.
    pub running: Vec<SlotRun>,
    /// Claimed tasks that wait for a slot here.
    pub buffered: usize,
    /// What somebody asked of it.
    pub asked_to_stop: Option<StopRequest>,
    /// Time until its lease passes, by its own monotonic clock; zero once it may have passed.
    pub lease_left: Duration,
    /// Why it cannot work now, where it cannot: the latest failure of claim or heartbeat.
    pub trouble: Option<String>,
    /// The latest loss of a lease of this process, if it ever lost one.
    pub lost: Option<LostLease>,
}

/// A lease that this process lost; another instance of it works on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LostLease {
    /// How long ago it was noticed.
    pub ago: Duration,
    /// How many tasks it had in flight: their results were discarded.
    pub discarded: usize,
}

/// A task in a slot of this process.
#[derive(Debug, Clone, PartialEq)]
pub struct SlotRun {
    /// The slot, from 1.
    pub slot: usize,
    /// The task.
    pub id: TaskId,
    /// The claim under which it runs.
    pub claim_no: i64,
    /// How long it has run.
    pub for_: Duration,
    /// What its analyser does: `counting`, `command pid 5123`, `waiting 2 s`, …
    pub doing: String,
    /// Whether it was asked to stop.
    pub cancel_requested: bool,
    /// Whether the analyser has returned and its result is being written.
    pub finishing: bool,
}
