//! What `events`, `outbox`, `pause`, `resume`, `limit` and `stop` are told: what is about the history, notifications,
//! queues, tenants and processes, not one task.

use std::path::PathBuf;

use clap::Args;
use clap::builder::PossibleValuesParser;

use crate::domain::lab::Kind;

/// Which events.
#[derive(Debug, Args)]
pub struct EventsArgs {
    /// Only about this task
    #[arg(long, value_name = "ID", allow_hyphen_values = true)]
    pub task: Option<String>,
    /// Only since then: a length of time back from now (2h), or a moment (2026-11-30T08:00:00Z)
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub since: Option<String>,
    /// Only with a lower number: the next page
    #[arg(long, value_name = "ID", conflicts_with = "follow", allow_hyphen_values = true)]
    pub before: Option<String>,
    /// The most events, the newest of them [default: 50]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub limit: Option<String>,
    /// Go on with what happens from now on, until a signal; in JSON a line each
    #[arg(long)]
    pub follow: bool,
}

/// Which notifications.
#[derive(Debug, Args)]
pub struct OutboxArgs {
    /// All of this task, delivered ones too (they are kept for a day)
    #[arg(long, value_name = "ID", allow_hyphen_values = true)]
    pub task: Option<String>,
    /// Only with a higher number: the next page
    #[arg(long, value_name = "ID", allow_hyphen_values = true)]
    pub after: Option<String>,
    /// The most notifications, the oldest of them [default: 50]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub limit: Option<String>,
}

/// Which queue to decide about.
#[derive(Debug, Args)]
pub struct QueueArgs {
    /// The queue; with @VERSION (`taskdeck queues` shows it) only if nobody has changed it since
    #[arg(value_name = "QUEUE[@VERSION]")]
    pub queue: String,
    /// Why; it is shown with the queue and stands in the history
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
}

/// Which tenant's limits to set.
#[derive(Debug, Args)]
pub struct TenantLimitArgs {
    /// The tenant; with @VERSION (`taskdeck limits` shows it) only if nobody has changed its limits since
    #[arg(value_name = "TENANT[@VERSION]")]
    pub whose: String,
    /// The most of its tasks that run at once, or none; 0 lets nothing run
    #[arg(long, value_name = "N|none", allow_hyphen_values = true)]
    pub max_running: Option<String>,
    /// The most of its held tasks that are let run in a day (UTC), or none
    #[arg(long, value_name = "N|none", allow_hyphen_values = true)]
    pub max_approved_per_day: Option<String>,
    /// Why; it is shown with the limit and stands in the history
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
}

/// Whom to ask to shut down.
#[derive(Debug, Args)]
pub struct StopArgs {
    /// Instances, each by its id, the beginning of it (from four characters), or host:pid; `taskdeck instances` lists them. With @VERSION
    /// (`stop_version` there) only if nobody has asked it since
    #[arg(value_name = "INSTANCE[@VERSION]", required_unless_present = "all", conflicts_with = "all")]
    pub instances: Vec<String>,
    /// Every instance that runs tasks
    #[arg(long)]
    pub all: bool,
    /// drain: claim nothing more, wait for what runs; cancel: ask what runs to stop, too
    #[arg(long, value_name = "MODE", default_value = "drain")]
    pub mode: String,
    /// Why; it stands in the history
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
    /// Wait until they have ended, with --all also those that were asked before; exit 0 only if they have
    #[arg(long)]
    pub wait: bool,
    /// The longest to wait [default: 60s]
    #[arg(long, value_name = "TIME", requires = "wait", allow_hyphen_values = true)]
    pub timeout: Option<String>,
}

/// Which experiment of the lab.
#[derive(Debug, Args)]
pub struct LabArgs {
    /// The experiment, or all of them, or show: draw a file that --save wrote
    #[arg(value_name = "EXPERIMENT", value_parser = PossibleValuesParser::new(names_in_the_lab()))]
    pub name: String,
    /// With show: the file
    #[arg(value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// Rounds of each experiment [default: 30 of a race, fewer of what takes long]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub rounds: Option<String>,
    /// Callers of each race, 2 to 16 [default: 2]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub callers: Option<String>,
    /// The longest that all of it may take [default: 2m]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub timeout: Option<String>,
    /// Write the evidence to this file; `taskdeck lab show FILE` judges and draws it again
    #[arg(long, value_name = "FILE")]
    pub save: Option<PathBuf>,
    /// Leave out the condition that claim-race is about, to see that it is seen: exit 1, BROKEN
    #[arg(long)]
    pub broken: bool,
}

/// What may stand for the experiment.
fn names_in_the_lab() -> Vec<&'static str> {
    Kind::ALL.iter().map(|kind| kind.name()).chain(["all", "show"]).collect()
}
