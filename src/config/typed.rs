//! Settings with their types, each read by one parser whatever layer it came from.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use super::file::ConfigFile;
use super::layers::Layers;
use super::setting::Key;
use super::{ConfigError, Origin, duration};
use crate::db::conninfo::Secret;
use crate::db::{Access, Limits, Schema};
use crate::domain::text::visible;
use crate::domain::{Approval, Name};

/// How a command prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputFormat {
    /// For people.
    Text,
    /// One JSON document.
    Json,
}

/// How a log line is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    /// For people.
    Text,
    /// One JSON object a line.
    Json,
}

/// How much is logged: the number of `-v`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Verbosity(pub u8);

/// Whether this process may change the schema by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// It brings the schema up to date at its start.
    Migrate,
    /// It only checks (`--no-migrate`, or a read-only session).
    Check,
}

/// What workers do with a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Analyser {
    /// Counts words, bytes and runes.
    TextStats,
    /// Runs a command with the text on its standard input.
    Command {
        /// The program and its arguments in the shell's quoting; no shell runs it.
        line: String,
    },
}

/// What workers are told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerSettings {
    /// Queues to claim from; at least one.
    pub queues: Vec<Name>,
    /// How many tasks run at once; 0 means that this process only watches.
    pub slots: usize,
    /// The most tasks in one claim; at least 1.
    pub batch: usize,
    /// How often the queue is looked at without being woken.
    pub poll: Duration,
    /// How long the lease lasts without a heartbeat.
    pub lease: Duration,
    /// How long a shutdown waits for what runs.
    pub grace: Duration,
    /// What is done with a text.
    pub analyser: Analyser,
    /// What delivers notifications in a process without a terminal: the program and its arguments in the shell's
    /// quoting; no shell runs it.
    pub hook: Option<String>,
    /// The longest that one delivery may take.
    pub hook_timeout: Duration,
    /// The longest that one task may run.
    pub task_timeout: Option<Duration>,
    /// Simulated work.
    pub work_delay: Duration,
    /// Whether the simulated work heeds a cancel.
    pub heeds_cancel: bool,
}

/// Every setting in force.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The address on the command line.
    pub flag_url: Option<Secret>,
    /// The address in the configuration file.
    pub file_url: Option<Secret>,
    /// Where the tables are.
    pub schema: Schema,
    /// Only this tenant's tasks.
    pub tenant: Option<Name>,
    /// Who decides.
    pub operator: String,
    /// Whether anything may be changed.
    pub access: Access,
    /// Whether the schema may be brought up to date.
    pub mode: Mode,
    /// Where the private server keeps its files.
    pub data_dir: Option<PathBuf>,
    /// How commands print.
    pub output: OutputFormat,
    /// Where log lines go.
    pub log_file: Option<PathBuf>,
    /// How log lines are written.
    pub log_format: LogFormat,
    /// How much is logged.
    pub verbosity: Verbosity,
    /// For workers.
    pub workers: WorkerSettings,
    /// Deadlines and sizes.
    pub limits: Limits,
    /// The longest text that is taken.
    pub max_input_bytes: usize,
    /// Who may approve a held task.
    pub approval: Approval,
    /// Whether decisions about what is submitted and its final state are to be told.
    pub notify: bool,
    /// The console's theme: `auto`, `dark`, `light`, `plain` or a file's path.
    pub theme: String,
    /// The console's keys where they differ: an action with its keys.
    pub keys: BTreeMap<String, Vec<String>>,
}

impl Settings {
    /// Reads the layers.
    ///
    /// # Errors
    /// The first value that a setting does not take, with its place.
    pub fn read(layers: &Layers, file: &ConfigFile) -> Result<Self, ConfigError> {
        let url = |from: fn(&Origin) -> bool| {
            layers.raw(Key::DatabaseUrl).filter(|raw| from(&raw.origin)).map(|raw| Secret::new(&raw.text))
        };
        let access =
            if layers.require(Key::ReadOnly, switch)? { Access::ReadOnly } else { Access::ReadWrite };
        let no_migrate = layers.require(Key::NoMigrate, switch)?;
        Ok(Self {
            flag_url: url(|origin| matches!(origin, Origin::Flag { .. })),
            file_url: file
                .values
                .iter()
                .find(|(key, _)| *key == Key::DatabaseUrl)
                .map(|(_, text)| Secret::new(text)),
            schema: layers
                .require(Key::Schema, |text| Schema::new(text).map_err(|refusal| refusal.problem))?,
            tenant: layers.read(Key::Tenant, |text| name("tenant", text))?,
            operator: match layers.read(Key::Operator, operator)? {
                Some(operator) => operator,
                None => default_operator(),
            },
            mode: if no_migrate || access == Access::ReadOnly { Mode::Check } else { Mode::Migrate },
            access,
            data_dir: layers.read(Key::DataDir, path)?,
            output: layers.require(Key::Output, OutputFormat::from_str)?,
            log_file: layers.read(Key::LogFile, path)?,
            log_format: layers.require(Key::LogFormat, LogFormat::from_str)?,
            verbosity: layers.require(Key::Verbose, |text| whole(text, 0, 9).map(Verbosity))?,
            workers: workers(layers)?,
            limits: limits(layers)?,
            max_input_bytes: layers.require(Key::MaxInputBytes, |text| whole(text, 1, 512 * 1024 * 1024))?,
            approval: if layers.require(Key::FourEyes, switch)? {
                Approval::Another
            } else {
                Approval::Anybody
            },
            notify: layers.require(Key::Notify, switch)?,
            theme: layers.require(Key::Theme, |text| Ok(text.to_owned()))?,
            keys: file.keys.clone(),
        })
    }
}

fn workers(layers: &Layers) -> Result<WorkerSettings, ConfigError> {
    let exec = layers.read(Key::Exec, command)?;
    let analyser = layers.require(Key::Analyser, |text| match (text, exec) {
        // A command that was named and would not be run is a surprise, so it is an error.
        ("text-stats", None) => Ok(Analyser::TextStats),
        ("text-stats", Some(line)) if layers.origin(Key::Analyser) == Origin::Default => {
            Ok(Analyser::Command { line })
        }
        ("text-stats", Some(_)) => Err("is text-stats, which runs no --exec; use command".to_owned()),
        ("command", Some(line)) => Ok(Analyser::Command { line }),
        ("command", None) => Err("is command, so --exec must name one".to_owned()),
        (other, _) => Err(format!("`{}` is neither text-stats nor command", visible(other))),
    })?;
    let task_timeout = layers.read(Key::TaskTimeout, |text| at_least_one_ms(text).map(Some))?.flatten();
    Ok(WorkerSettings {
        queues: layers.require(Key::Queue, queues)?,
        slots: layers.read(Key::Workers, |text| whole(text, 0, 10_000))?.unwrap_or_else(cores),
        batch: layers.require(Key::Batch, |text| whole(text, 1, 10_000))?,
        poll: layers.require(Key::Poll, at_least_one_ms)?,
        lease: layers.require(Key::Lease, a_lease)?,
        grace: layers.require(Key::Grace, duration::parse)?,
        analyser,
        hook: layers.read(Key::Hook, command)?,
        hook_timeout: layers.require(Key::HookTimeout, at_least_one_ms)?,
        task_timeout,
        work_delay: layers.require(Key::WorkDelay, duration::parse)?,
        heeds_cancel: !layers.require(Key::IgnoreCancel, switch)?,
    })
}

fn limits(layers: &Layers) -> Result<Limits, ConfigError> {
    let size: usize = layers.require(Key::PoolSize, |text| whole(text, 1, 1_000))?;
    let least = Limits::default().operator_pool;
    Ok(Limits {
        // A small size is meant: whoever asks for two connections does not get five.
        operator_pool: if size < least { size } else { (size / 2).max(least) },
        workers_pool: size,
        acquire: layers.require(Key::AcquireTimeout, at_least_one_ms)?,
        statement: layers.require(Key::StatementTimeout, at_least_one_ms)?,
        lock: layers.require(Key::LockTimeout, at_least_one_ms)?,
    })
}

/// How many tasks run at once if nobody says.
pub(super) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// The user's name.
pub(super) fn default_operator() -> String {
    whoami::username().ok().filter(|name| operator(name).is_ok()).unwrap_or_else(|| "unknown".to_owned())
}

/// Reads a whole number between `least` and `most`.
///
/// # Errors
/// Says that it is negative, no number, or outside.
pub fn whole<T>(text: &str, least: T, most: T) -> Result<T, String>
where
    T: FromStr + PartialOrd + std::fmt::Display + Copy,
{
    let text = text.trim();
    let shown = visible(text);
    let number: T = text.parse().map_err(|_| {
        let digits = text.strip_prefix('-').unwrap_or(text);
        if !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) {
            format!("`{shown}` is out of range; give {least} to {most}")
        } else {
            format!("`{shown}` is not a whole number; give {least} to {most}")
        }
    })?;
    if number < least || number > most {
        return Err(format!("`{shown}` is out of range; give {least} to {most}"));
    }
    Ok(number)
}

fn switch(text: &str) -> Result<bool, String> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "yes" | "on" | "1" => Ok(true),
        "false" | "no" | "off" | "0" => Ok(false),
        _ => Err(format!("`{}` is neither true nor false", visible(text))),
    }
}

/// A program with its arguments, in the shell's quoting.
fn command(text: &str) -> Result<String, String> {
    let argv = shell_words::split(text).map_err(|_| "has a quote that is not closed".to_owned())?;
    if argv.is_empty() { Err("is empty; give a program".to_owned()) } else { Ok(text.to_owned()) }
}

/// A lease is renewed several times while it lasts; below a second a busy machine would lose it for no reason.
fn a_lease(text: &str) -> Result<Duration, String> {
    let duration = duration::parse(text)?;
    if duration < Duration::from_secs(1) {
        return Err(format!("`{}` is too short for a lease; give 1s or more", visible(text)));
    }
    Ok(duration)
}

fn at_least_one_ms(text: &str) -> Result<Duration, String> {
    let duration = duration::parse(text)?;
    if duration < Duration::from_millis(1) {
        return Err(format!("`{}` is too short; give {}", visible(text), duration::EXAMPLES));
    }
    Ok(duration)
}

fn name(field: &'static str, text: &str) -> Result<Name, String> {
    Name::new(field, text).map_err(|refusal| refusal.problem)
}

fn queues(text: &str) -> Result<Vec<Name>, String> {
    let mut queues: Vec<Name> = Vec::new();
    for part in text.split(',') {
        let queue = name("queue", part.trim())?;
        if !queues.contains(&queue) {
            queues.push(queue);
        }
    }
    Ok(queues)
}

fn path(text: &str) -> Result<PathBuf, String> {
    if text.is_empty() { Err("is empty; give a path".to_owned()) } else { Ok(PathBuf::from(text)) }
}

fn operator(text: &str) -> Result<String, String> {
    let fits = !text.trim().is_empty() && text.len() <= 200 && !text.chars().any(char::is_control);
    if fits { Ok(text.to_owned()) } else { Err("use 1 to 200 bytes without control characters".to_owned()) }
}

impl FromStr for OutputFormat {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "text" => Ok(Self::Text),
            "json" => Ok(Self::Json),
            _ => Err(format!("`{}` is neither text nor json", visible(text))),
        }
    }
}

impl FromStr for LogFormat {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "text" => Ok(Self::Text),
            "json" => Ok(Self::Json),
            _ => Err(format!("`{}` is neither text nor json", visible(text))),
        }
    }
}

#[cfg(test)]
#[path = "typed_tests.rs"]
mod tests;
