//! What may be said on the command line. Values of settings stay text here: `config` reads them, so that a flag, a
//! variable and the file are refused with the same words.

mod decide;
mod oversight;

use std::path::PathBuf;

use clap::{ArgAction, Args, Parser, Subcommand};

use crate::config::Key;

pub use decide::{DecideArgs, MatchingArgs};
pub use oversight::{EventsArgs, LabArgs, OutboxArgs, QueueArgs, StopArgs, TenantLimitArgs};

/// What the whole command line says.
#[derive(Debug, Parser)]
#[command(
    name = "taskdeck",
    version,
    about = "Terminal console and worker for tasks kept in PostgreSQL",
    long_about = "Terminal console and worker for tasks kept in PostgreSQL.\n\n\
        Without a command it opens the console; with --no-ui it only works, with logs on standard error. \
        Without a database it starts a private PostgreSQL server of its own.",
    after_help = "Exit codes: 0 done, 1 unexpected (or a task that was waited for did not succeed), 2 usage, \
        configuration or refused input, 3 conflict, 4 not found, 5 unavailable, 6 outcome unknown, 7 not allowed \
        (read-only, privileges, four eyes, a limit).\n\
        Every setting may also stand in the environment as TASKDECK_NAME and in the configuration file; \
        `taskdeck config` shows what is in force and from where.",
    max_term_width = 100,
    disable_help_subcommand = true
)]
pub struct Cli {
    /// Work without a terminal: run workers, log to standard error, until SIGTERM or SIGINT
    #[arg(long)]
    pub no_ui: bool,
    /// What workers are told.
    #[command(flatten)]
    pub workers: WorkerArgs,
    /// What every command takes.
    #[command(flatten)]
    pub settings: SettingsArgs,
    /// The command; without one the console opens.
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// Settings that every command takes.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Everywhere")]
pub struct SettingsArgs {
    /// The database.
    #[arg(
        long,
        global = true,
        value_name = "URL",
        help = "The database: postgresql://user@host/name, or host=… dbname=… [default: DATABASE_URL, PG* variables, \
            the configuration file, else a private server]"
    )]
    pub database_url: Option<String>,
    /// The schema with Taskdeck's tables [default: taskdeck]
    #[arg(long, global = true, value_name = "NAME")]
    pub schema: Option<String>,
    /// Only this tenant's tasks; submits go to it [default: every tenant; submits go to `default`]
    #[arg(long, global = true, value_name = "NAME")]
    pub tenant: Option<String>,
    /// Who you are in a task's history [default: the user name]
    #[arg(long, global = true, value_name = "NAME")]
    pub operator: Option<String>,
    /// Change nothing; the database session is read-only too
    #[arg(long, global = true)]
    pub read_only: bool,
    /// Leave the schema as it is, for a role that may not change it
    #[arg(long, global = true)]
    pub no_migrate: bool,
    /// Where the private server keeps its files
    #[arg(long, global = true, value_name = "FOLDER")]
    pub data_dir: Option<String>,
    /// The configuration file [default: ~/.config/taskdeck/config.toml]
    #[arg(long, global = true, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// text or json [default: text]
    #[arg(long, global = true, value_name = "FORMAT")]
    pub output: Option<String>,
    /// Write log lines to this file
    #[arg(long, global = true, value_name = "FILE")]
    pub log_file: Option<String>,
    /// text or json [default: text]
    #[arg(long, global = true, value_name = "FORMAT")]
    pub log_format: Option<String>,
    /// Log more; may be given several times
    #[arg(short, long, global = true, action = ArgAction::Count)]
    pub verbose: u8,
    /// Deadlines and sizes.
    #[command(flatten)]
    pub limits: LimitArgs,
}

/// Deadlines and sizes.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Limits")]
pub struct LimitArgs {
    /// Connections for the workers; the operator has half as many, at least 3 [default: 4]
    #[arg(long, global = true, value_name = "N", allow_hyphen_values = true)]
    pub pool_size: Option<String>,
    /// The longest wait for a connection [default: 5s]
    #[arg(long, global = true, value_name = "TIME", allow_hyphen_values = true)]
    pub acquire_timeout: Option<String>,
    /// The longest that one statement may take [default: 10s]
    #[arg(long, global = true, value_name = "TIME", allow_hyphen_values = true)]
    pub statement_timeout: Option<String>,
    /// The longest wait for a row that another session holds [default: 2s]
    #[arg(long, global = true, value_name = "TIME", allow_hyphen_values = true)]
    pub lock_timeout: Option<String>,
}

/// What workers are told; for the console and for --no-ui.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Workers")]
pub struct WorkerArgs {
    /// The queues to take tasks from [default: default]
    #[arg(long, value_name = "QUEUE,…")]
    pub queue: Option<String>,
    /// How many tasks run at once; 0 only watches [default: one a core]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub workers: Option<String>,
    /// The most tasks in one claim [default: 500]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub batch: Option<String>,
    /// How often to look for tasks that nothing announced [default: 1s]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub poll: Option<String>,
    /// How long others wait for a sign of life before they take this process's tasks back [default: 30s]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub lease: Option<String>,
    /// How long a shutdown waits for tasks that run [default: 30s]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub grace: Option<String>,
    /// text-stats counts words, bytes and runes; command runs --exec [default: text-stats]
    #[arg(long, value_name = "NAME")]
    pub analyser: Option<String>,
    /// The command that gets each text on its standard input
    #[arg(long, value_name = "CMD")]
    pub exec: Option<String>,
    /// With --no-ui: the command that gets each notification on its standard input, as JSON; at least once, those of one
    /// task in order. A task has some if it was submitted with --notify
    #[arg(long, value_name = "CMD")]
    pub hook: Option<String>,
    /// The longest that one delivery may take [default: 30s]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub hook_timeout: Option<String>,
    /// The longest that one task may run [default: no limit]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub task_timeout: Option<String>,
    /// Simulated work, for trying things out [default: 0s]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub work_delay: Option<String>,
    /// Simulated stubbornness, for trying things out: do not heed a cancel
    #[arg(long)]
    pub ignore_cancel: bool,
}

/// A command.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Submit one task, or one a line of a file
    Submit(SubmitArgs),
    /// List tasks, newest first
    List(ListArgs),
    /// Show a task: the row, its history, its text
    Show(ShowArgs),
    /// Cancel tasks: a waiting one at once, a running one is asked to stop
    Cancel(DecideArgs),
    /// Let held tasks run
    Approve(DecideArgs),
    /// Refuse held tasks for good
    Reject(DecideArgs),
    /// Put failed, canceled or rejected tasks back in the queue
    Requeue(DecideArgs),
    /// Who did what to which task, queue, process or tenant; here --operator NAME means: only what NAME did
    Events(EventsArgs),
    /// Counts, the oldest waiting task, rates, instances and the database, in one look
    Status,
    /// Notifications that wait to be delivered, the oldest first
    Outbox(OutboxArgs),
    /// Running processes, their leases and what they have in flight
    Instances,
    /// Queues: how much waits in each, for how long, and who paused it
    Queues,
    /// Let workers claim nothing more from a queue; what runs goes on
    Pause(QueueArgs),
    /// Let workers claim from it again
    Resume(QueueArgs),
    /// Tenants with a limit: how many of their tasks may run at once and be approved in a day, and how many do and were
    Limits,
    /// Set how many of a tenant's tasks may run at once, or be approved in a day; what is not named stays
    Limit(TenantLimitArgs),
    /// Ask workers elsewhere to shut down; they obey at their next heartbeat
    Stop(StopArgs),
    /// Watch races on this database, in a schema of their own, and keep the evidence
    Lab(LabArgs),
    /// Check the database and say what is wrong and how to mend it
    Doctor,
    /// Bring the schema to this program's version
    Migrate,
    /// Look after the private server
    Private {
        /// What to do with it.
        #[command(subcommand)]
        command: PrivateCommand,
    },
    /// Show every setting in force and where it was given
    Config,
    /// Print completions for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page
    Man,
}

/// What to do with the private server.
#[derive(Debug, Clone, Copy, Subcommand)]
pub enum PrivateCommand {
    /// Say whether there is one and whether it runs
    Status,
    /// Stop it, if no Taskdeck uses it
    Stop,
    /// Stop it and remove it with every task in it
    Destroy {
        /// Do not ask
        #[arg(long)]
        yes: bool,
    },
    /// Print its address, for psql
    Url,
}

/// What to submit.
#[derive(Debug, Args)]
pub struct SubmitArgs {
    /// The text; several words are joined by a space; `-` reads standard input
    #[arg(value_name = "TEXT", conflicts_with_all = ["file", "lines"])]
    pub text: Vec<String>,
    /// Read the text from this file
    #[arg(long, value_name = "FILE", conflicts_with = "lines")]
    pub file: Option<PathBuf>,
    /// One task a line of this file; `-` reads standard input. Lines that are refused are reported, the others
    /// submitted, and the exit code is then 2
    #[arg(long, value_name = "FILE", conflicts_with = "wait")]
    pub lines: Option<PathBuf>,
    /// Hold it until an operator approves it
    #[arg(long)]
    pub hold: bool,
    /// Which workers may take it [default: default]
    #[arg(long, value_name = "NAME")]
    pub queue: Option<String>,
    /// Larger runs first [default: 0]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub priority: Option<String>,
    /// Your own name for this submit: sending it again never makes a second task. With --lines, line 7 has the name
    /// KEY:7, so that the same command can be run again
    #[arg(long, value_name = "KEY")]
    pub key: Option<String>,
    /// How many attempts may fail before the task is FAILED [default: 3]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub max_attempts: Option<String>,
    /// Do not run it before this much time has passed
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub delay: Option<String>,
    /// Have decisions about it and its final state told to whoever `--hook` tells
    #[arg(long)]
    pub notify: bool,
    /// Wait until it has ended; exit 0 only if it succeeded
    #[arg(long)]
    pub wait: bool,
    /// The longest to wait [default: 60s]
    #[arg(long, value_name = "TIME", requires = "wait", allow_hyphen_values = true)]
    pub timeout: Option<String>,
}

/// What to list.
#[derive(Debug, Args)]
pub struct ListArgs {
    /// Only these states
    #[arg(long, value_name = "STATE,…")]
    pub status: Option<String>,
    /// Only tasks with a lower number: the next page
    #[arg(long, value_name = "ID", allow_hyphen_values = true)]
    pub before: Option<String>,
    /// The most rows [default: 50]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub limit: Option<String>,
    /// Only tasks whose text or error contains this, whatever the letter case
    #[arg(long, value_name = "TEXT")]
    pub search: Option<String>,
    /// Only this queue
    #[arg(long, value_name = "NAME")]
    pub queue: Option<String>,
}

/// Which task to show.
#[derive(Debug, Args)]
pub struct ShowArgs {
    /// The task's number
    #[arg(value_name = "ID", allow_negative_numbers = true)]
    pub id: String,
}

impl Cli {
    /// The settings that were given as flags.
    pub fn flags(&self) -> Vec<(Key, String)> {
        let mut flags = self.workers.flags();
        flags.extend(self.settings.flags());
        flags
    }
}

impl WorkerArgs {
    /// The settings that were given.
    pub fn flags(&self) -> Vec<(Key, String)> {
        given([
            (Key::Queue, &self.queue),
            (Key::Workers, &self.workers),
            (Key::Batch, &self.batch),
            (Key::Poll, &self.poll),
            (Key::Lease, &self.lease),
            (Key::Grace, &self.grace),
            (Key::Analyser, &self.analyser),
            (Key::Exec, &self.exec),
            (Key::Hook, &self.hook),
            (Key::HookTimeout, &self.hook_timeout),
            (Key::TaskTimeout, &self.task_timeout),
            (Key::WorkDelay, &self.work_delay),
            (Key::IgnoreCancel, &switched(self.ignore_cancel)),
        ])
    }
}

impl SettingsArgs {
    fn flags(&self) -> Vec<(Key, String)> {
        let limits = &self.limits;
        given([
            (Key::DatabaseUrl, &self.database_url),
            (Key::Schema, &self.schema),
            (Key::Tenant, &self.tenant),
            (Key::Operator, &self.operator),
            (Key::ReadOnly, &switched(self.read_only)),
            (Key::NoMigrate, &switched(self.no_migrate)),
            (Key::DataDir, &self.data_dir),
            (Key::Output, &self.output),
            (Key::LogFile, &self.log_file),
            (Key::LogFormat, &self.log_format),
            (Key::Verbose, &(self.verbose > 0).then(|| self.verbose.min(9).to_string())),
            (Key::PoolSize, &limits.pool_size),
            (Key::AcquireTimeout, &limits.acquire_timeout),
            (Key::StatementTimeout, &limits.statement_timeout),
            (Key::LockTimeout, &limits.lock_timeout),
        ])
    }
}

fn given<const N: usize>(settings: [(Key, &Option<String>); N]) -> Vec<(Key, String)> {
    settings.into_iter().filter_map(|(key, text)| Some((key, text.clone()?))).collect()
}

fn switched(on: bool) -> Option<String> {
    on.then(|| "true".to_owned())
}
