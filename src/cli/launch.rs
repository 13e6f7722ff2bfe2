//! What the console and the headless worker are handed: plain data and an open database. The seam between the
//! command line and the two other roots.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::mpsc::Receiver;

use super::exit::{Exit, Failure};
use super::open::Session;
use crate::config::{Analyser, LogFormat, WorkerSettings};
use crate::db::Access;
use crate::domain::Name;
use crate::headless::{self, Signals};
use crate::logging::LogLine;
use crate::worker::{AnalyserKind, Cancels, Config};

/// Whether this run made what it found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FirstStart {
    /// The private server or the schema was made just now: there are no tasks yet.
    Yes,
    /// All was there.
    No,
}

/// Everything a root starts with.
#[derive(Debug)]
pub struct Launch {
    /// The database, open and with a schema that fits; the root closes it at its end.
    pub session: Session,
    /// What workers are told.
    pub workers: WorkerSettings,
    /// Only this tenant.
    pub tenant: Option<Name>,
    /// Who decides.
    pub operator: String,
    /// This host's name.
    pub host: String,
    /// Whether anything may be changed.
    pub access: Access,
    /// The longest text that is taken.
    pub max_input_bytes: usize,
    /// `auto`, `dark`, `light`, `plain` or a theme file's path.
    pub theme: String,
    /// Keys where they differ: an action with its keys.
    pub keys: BTreeMap<String, Vec<String>>,
    /// The configuration file that `keys` stand in, for error messages.
    pub config_file: Option<PathBuf>,
    /// Log lines for the console's screen 5; none for the headless worker.
    pub log_lines: Option<Receiver<LogLine>>,
    /// How log lines are written.
    pub log_format: LogFormat,
    /// Whether this is the first start here.
    pub first_start: FirstStart,
}

impl Launch {
    /// What the worker floor is told; `kind` is `console` or `headless`.
    pub fn worker_config(&self, kind: &'static str) -> Config {
        let told = &self.workers;
        Config {
            queues: told.queues.clone(),
            tenant: self.tenant.clone(),
            workers: told.slots,
            batch: told.batch,
            poll: told.poll,
            lease: told.lease,
            grace: told.grace,
            task_timeout: told.task_timeout,
            work_delay: Some(told.work_delay).filter(|delay| !delay.is_zero()),
            cancels: if told.heeds_cancel { Cancels::Heeded } else { Cancels::Ignored },
            analyser: match &told.analyser {
                Analyser::TextStats => AnalyserKind::TextStats,
                Analyser::Command { line } => AnalyserKind::Command { line: line.clone() },
            },
            host: self.host.clone(),
            operator: self.operator.clone(),
            kind,
            ..Config::default()
        }
    }
}

/// Opens the console.
///
/// # Errors
/// This build has none yet.
pub(super) async fn console(launch: Launch) -> Result<Exit, Failure> {
    launch.session.close().await;
    Err(Failure::unexpected("this build has no console yet"))
}

/// Works without a terminal until a signal.
///
/// # Errors
/// The configuration asks for an analyser that cannot be.
pub(super) async fn headless(launch: Launch, signals: Signals) -> Result<Exit, Failure> {
    let config = launch.worker_config("headless");
    let ended = headless::run(launch.session.db.clone(), config, signals).await;
    launch.session.close().await;
    match ended {
        Ok(headless::Exit::Clean) => Ok(Exit::Done),
        Ok(headless::Exit::Left { .. }) => Ok(Exit::Unexpected),
        Err(error) => Err(Failure::unexpected(format!("{error:#}"))),
    }
}
