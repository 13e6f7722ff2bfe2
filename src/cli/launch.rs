//! What the console and the headless worker are handed: plain data and an open database. The seam between the
//! command line and the two other roots.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::mpsc::Receiver;

use super::exit::{Exit, Failure};
use super::open::Session;
use crate::config::{LogFormat, WorkerSettings};
use crate::db::Access;
use crate::domain::Name;
use crate::logging::LogLine;

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

/// Opens the console.
///
/// # Errors
/// This build has none yet.
pub(super) async fn console(launch: Launch) -> Result<Exit, Failure> {
    launch.session.close().await;
    Err(Failure::unexpected("this build has no console yet"))
}

/// Works without a terminal.
///
/// # Errors
/// This build has no workers yet.
pub(super) async fn headless(launch: Launch) -> Result<Exit, Failure> {
    launch.session.close().await;
    Err(Failure::unexpected("this build has no workers yet"))
}
