//! What `cancel`, `approve`, `reject` and `requeue` are told: tasks by their numbers, or all that match.

use clap::Args;

/// Which tasks to decide about.
#[derive(Debug, Args)]
pub struct DecideArgs {
    /// Tasks, each with the version that you saw: 17@3. Without a version the row is read first. Of several all
    /// are changed or none
    #[arg(
        value_name = "ID[@VERSION]",
        required_unless_present = "all",
        conflicts_with = "all",
        allow_negative_numbers = true
    )]
    pub tasks: Vec<String>,
    /// Why; it stands in the task's history
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
    /// Which, instead of their numbers.
    #[command(flatten)]
    pub matching: MatchingArgs,
}

/// All that match. Each flag also conflicts with numbers by itself: clap does not ask for `--all` where that conflicts
/// with what is there.
#[derive(Debug, Args)]
#[command(next_help_heading = "All that match")]
pub struct MatchingArgs {
    /// Every task for which it is possible and that the flags below and --tenant leave, in chunks of at most 500, of
    /// each chunk all or none. What they are is shown and asked about first
    #[arg(long)]
    pub all: bool,
    /// Only these states
    #[arg(long, value_name = "STATE,…", requires = "all", conflicts_with = "tasks")]
    pub status: Option<String>,
    /// Only tasks whose text or error contains this, whatever the letter case
    #[arg(long, value_name = "TEXT", requires = "all", conflicts_with = "tasks")]
    pub search: Option<String>,
    /// Only this queue
    #[arg(long, value_name = "NAME", requires = "all", conflicts_with = "tasks")]
    pub queue: Option<String>,
    /// Only tasks that were submitted longer ago than this, by the database's clock
    #[arg(long, value_name = "TIME", requires = "all", conflicts_with = "tasks", allow_hyphen_values = true)]
    pub older_than: Option<String>,
    /// Show what matches and change nothing
    #[arg(long, requires = "all", conflicts_with_all = ["tasks", "yes"])]
    pub dry_run: bool,
    /// Do not ask
    #[arg(long, requires = "all", conflicts_with = "tasks")]
    pub yes: bool,
}
