//! What a worker is told at its start.

use std::sync::Arc;
use std::time::Duration;

use super::analyser::Analyser;
use super::command::Command;
use super::hook::Hook;
use super::text_stats::{Deaf, Delayed, TextStats};
use crate::domain::Backoff;
use crate::domain::{Name, Refusal};

/// Everything that flags and configuration decide about a worker.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// Claim only from these queues.
    pub queues: Vec<Name>,
    /// Claim only this tenant's tasks.
    pub tenant: Option<Name>,
    /// Tasks run at once; 0 only watches.
    pub workers: usize,
    /// The most rows of one claim or finish, and the most that are claimed ahead of the slots.
    pub batch: usize,
    /// How often the tables are read when no wake-up comes.
    pub poll: Duration,
    /// How long the lease lasts without a heartbeat.
    pub lease: Duration,
    /// How long a drain waits before it becomes a cancel, and how long a command has between SIGTERM and SIGKILL.
    pub grace: Duration,
    /// The most time that one attempt may take.
    pub task_timeout: Option<Duration>,
    /// Simulated work before each analysis.
    pub work_delay: Option<Duration>,
    /// Whether the analyser gets to see cancels.
    pub cancels: Cancels,
    /// What is done with each text.
    pub analyser: AnalyserKind,
    /// When a failed attempt may be tried again.
    pub retry: Backoff,
    /// What delivers notifications; none delivers none.
    pub hook: Option<Hook>,
    /// The host's name, for `host:pid`.
    pub host: String,
    /// The process id, for `host:pid`.
    pub pid: i32,
    /// Who started it.
    pub operator: String,
    /// `console` or `headless`.
    pub kind: &'static str,
}

/// Whether an analyser gets to see cancels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Cancels {
    /// It does.
    #[default]
    Heeded,
    /// It does not (`--ignore-cancel`).
    Ignored,
}

/// Which analyser.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum AnalyserKind {
    /// Counts words, bytes and runes.
    #[default]
    TextStats,
    /// Runs a program with the text on its standard input.
    Command {
        /// The program and its arguments, as one line in the shell's quoting; no shell runs it.
        line: String,
    },
}

impl Default for Config {
    fn default() -> Self {
        Self {
            queues: vec![Name::default_name()],
            tenant: None,
            workers: std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
            batch: 500,
            poll: Duration::from_secs(1),
            lease: Duration::from_secs(30),
            grace: Duration::from_secs(30),
            task_timeout: None,
            work_delay: None,
            cancels: Cancels::Heeded,
            analyser: AnalyserKind::TextStats,
            retry: Backoff { base: Duration::from_secs(1), cap: Duration::from_mins(5) },
            hook: None,
            host: "localhost".to_owned(),
            pid: i32::try_from(std::process::id()).unwrap_or(i32::MAX),
            operator: "unknown".to_owned(),
            kind: "headless",
        }
    }
}

impl Config {
    /// `host:pid`, as it stands in events.
    pub fn actor(&self) -> String {
        format!("{}:{}", self.host, self.pid)
    }

    /// The analyser that this configuration asks for, in its wrappers.
    ///
    /// # Errors
    /// Refuses a command line that is empty or has an open quote.
    pub fn analyser(&self) -> Result<Arc<dyn Analyser>, Refusal> {
        let mut analyser: Arc<dyn Analyser> = match &self.analyser {
            AnalyserKind::TextStats => Arc::new(TextStats),
            AnalyserKind::Command { line } => Arc::new(Command::parse(line, self.grace)?),
        };
        if let Some(delay) = self.work_delay {
            analyser = Arc::new(Delayed { delay, then: analyser });
        }
        if self.cancels == Cancels::Ignored {
            analyser = Arc::new(Deaf(analyser));
        }
        Ok(analyser)
    }
}
