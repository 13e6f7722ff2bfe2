//! A running process as the others see it.

use std::fmt;

use jiff::Timestamp;
use serde::Serialize;
use uuid::Uuid;

use super::{OperationId, Status, TaskId};

/// Identifies one running process; new at each start, never configured, so that a restarted process can
/// never make a dead one's rows look alive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct InstanceId(pub Uuid);

impl fmt::Display for InstanceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// What an instance says of itself, or what was found out about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum InstanceState {
    /// Claims and runs tasks.
    Working,
    /// A console that only watches (`--workers 0`).
    Watching,
    /// Claims nothing more and waits for what it runs.
    Draining,
    /// Claims nothing more and has asked what it runs to stop.
    Canceling,
    /// Ended in good order; nothing of it runs.
    Stopped,
    /// Its lease passed and another instance declared it lost.
    Lost,
}

impl InstanceState {
    /// Every state.
    pub const ALL: [Self; 6] =
        [Self::Working, Self::Watching, Self::Draining, Self::Canceling, Self::Stopped, Self::Lost];

    /// The name in the database, in JSON and on screen.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Working => "working",
            Self::Watching => "watching",
            Self::Draining => "draining",
            Self::Canceling => "canceling",
            Self::Stopped => "stopped",
            Self::Lost => "lost",
        }
    }

    /// Whether it claims or runs tasks, so that it can be asked to stop.
    pub const fn runs_tasks(self) -> bool {
        matches!(self, Self::Working | Self::Draining | Self::Canceling)
    }

    /// Whether the process said that it still runs.
    pub const fn is_alive(self) -> bool {
        !matches!(self, Self::Stopped | Self::Lost)
    }
}

/// How an instance is to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum StopMode {
    /// Claim nothing more and wait for what runs.
    Drain,
    /// Claim nothing more and ask what runs to stop.
    Cancel,
}

impl StopMode {
    /// Every mode, the milder first.
    pub const ALL: [Self; 2] = [Self::Drain, Self::Cancel];

    /// The name in the database, in JSON and on the command line.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Drain => "drain",
            Self::Cancel => "cancel",
        }
    }
}

/// What somebody asked of an instance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StopRequest {
    /// How it is to stop.
    pub mode: StopMode,
    /// Who asked.
    pub by: String,
    /// When, by the database's clock.
    pub at: Timestamp,
    /// Why, as they put it.
    pub reason: Option<String>,
}

/// An instance as an operator saw it when they asked it to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SeenInstance {
    /// Its id.
    pub id: InstanceId,
    /// How often it had been asked before ([`Instance::stop_version`]).
    pub stop_version: i64,
}

/// An operator's request to one or several instances; each is asked by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stop {
    /// How they are to stop.
    pub mode: StopMode,
    /// Which, each as it was seen. Ids are distinct.
    pub instances: Vec<SeenInstance>,
    /// Who asks.
    pub operator: String,
    /// Why, as the operator put it.
    pub reason: Option<String>,
    /// Names this request, so that sending it again is harmless.
    pub operation: OperationId,
}

/// A task that was taken back from an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct TakenBack {
    /// The task.
    pub id: TaskId,
    /// The state that the recovery left it in.
    pub status: Status,
}

/// One task that an instance has in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct InFlight {
    /// The task.
    pub id: TaskId,
    /// The claim under which it runs.
    pub claim_no: i64,
    /// Whether it was asked to stop.
    pub cancel_requested: bool,
    /// Its state: RUNNING unless it moved on between two reads.
    #[serde(skip)]
    pub status: Status,
}

/// A row of `instances` with the tasks it holds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Instance {
    /// Its id.
    pub id: InstanceId,
    /// The host's name.
    pub host: String,
    /// The process id on that host.
    pub pid: i32,
    /// The program's version.
    pub version: String,
    /// `console` or `headless`.
    pub kind: String,
    /// Who started it.
    pub operator: String,
    /// The queues it claims from.
    pub queues: Vec<String>,
    /// How many tasks it runs at once.
    pub slots: i32,
    /// What it does.
    pub state: InstanceState,
    /// When it started.
    pub started_at: Timestamp,
    /// When it last renewed its lease.
    pub heartbeat_at: Timestamp,
    /// Seconds until its lease passes by the database's clock; negative once it has.
    pub lease_left_s: f64,
    /// Tasks finished since it started.
    pub done_total: i64,
    /// Attempts failed since it started.
    pub failed_total: i64,
    /// Tasks finished per second, as it measured at its last heartbeat.
    pub done_per_s: f64,
    /// Attempts failed per minute, as it measured at its last heartbeat.
    pub failed_per_min: f64,
    /// Tasks it claimed per second, as it measured at its last heartbeat.
    pub claims_per_s: f64,
    /// Tasks that were recovered from it.
    pub recovered: i64,
    /// The latest of those, newest first (at most 20 are listed).
    pub recovered_tasks: Vec<TakenBack>,
    /// How often it was asked to stop: a request carries what was seen of it.
    pub stop_version: i64,
    /// What it was asked for last.
    pub stop: Option<StopRequest>,
    /// What it has in flight, lowest id first (at most 100 are listed).
    pub in_flight: Vec<InFlight>,
    /// How many it has in flight.
    pub running: i64,
    /// How many of those are not named since they are another tenant's; 0 where every tenant's are named.
    pub of_other_tenants: i64,
}

impl Instance {
    /// `host:pid`, which tells two processes of one host apart.
    pub fn label(&self) -> String {
        format!("{}:{}", self.host, self.pid)
    }
}
