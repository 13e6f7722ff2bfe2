//! How a run ends: an exit code, and for what went wrong one kind, message and hint, in text and in JSON.

use std::process::ExitCode;

use serde::Serialize;

use crate::config::ConfigError;
use crate::db::conninfo::ConnInfoError;
use crate::db::{DbError, Retry};
use crate::domain::Refusal;

/// The exit codes; their numbers are fixed, scripts depend on them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// Done.
    Done = 0,
    /// Unexpected; or waited for in vain; or the task that was waited for did not succeed.
    Unexpected = 1,
    /// Usage, configuration or input that is not taken; also a schema of another version.
    Usage = 2,
    /// The row is there and the condition did not hold; nothing was changed.
    Conflict = 3,
    /// No such row (for this tenant).
    NotFound = 4,
    /// Certainly not applied: the database could not be reached or refused.
    Unavailable = 5,
    /// Sent, and not even asking again told whether it was applied.
    Unknown = 6,
    /// Not allowed.
    Refused = 7,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// Why a command did not do what was asked; the serialised form is the `error` of JSON output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    /// The exit code.
    #[serde(skip)]
    pub exit: Exit,
    /// A word for scripts: `usage`, `config`, `input`, `not_found`, `unavailable`, …
    pub kind: &'static str,
    /// What happened.
    pub message: String,
    /// What to do next.
    pub hint: Option<String>,
    /// How often the whole was decided again before this was given up.
    #[serde(skip)]
    pub retries: u32,
    /// Whether and when another try may succeed.
    #[serde(skip)]
    pub retry: Retry,
}

impl Failure {
    /// A failure of a kind.
    pub fn new(exit: Exit, kind: &'static str, message: impl Into<String>) -> Self {
        Self { exit, kind, message: message.into(), hint: None, retries: 0, retry: Retry::No }
    }

    /// Adds what to do next.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// A command line that asks for something impossible.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(Exit::Usage, "usage", message).hint("`taskdeck --help` shows what there is")
    }

    /// `verb` decides about what belongs to no tenant, and a tenant was named.
    pub fn no_tenants(verb: &str, what: &str) -> Self {
        Self::new(
            Exit::Usage,
            "usage",
            format!("{verb}: {what} are no tenant's, and what is done with one concerns every tenant"),
        )
        .hint("leave out --tenant (TASKDECK_TENANT, tenant in the configuration file)")
    }

    /// What this program itself did not expect.
    pub fn unexpected(message: impl Into<String>) -> Self {
        Self::new(Exit::Unexpected, "unexpected", message)
    }

    /// A write that `--read-only` does not allow.
    pub fn read_only(what: &str) -> Self {
        Self::new(Exit::Refused, "refused", format!("read-only: {what} was not done"))
            .hint("leave out --read-only (TASKDECK_READ_ONLY, read_only in the configuration file)")
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        let kind = match &error {
            ConfigError::Value { origin: crate::config::Origin::Flag { .. }, .. } => "usage",
            _ => "config",
        };
        Self::new(Exit::Usage, kind, error.to_string()).hint(error.hint())
    }
}

impl From<ConnInfoError> for Failure {
    fn from(error: ConnInfoError) -> Self {
        Self::new(Exit::Usage, "config", error.to_string()).hint(error.hint())
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        let hint = format!("mend the {} and send it again; nothing was submitted", refusal.field);
        Self::new(Exit::Usage, "input", refusal.to_string()).hint(hint)
    }
}

impl From<DbError> for Failure {
    fn from(error: DbError) -> Self {
        let (exit, kind) = match &error {
            DbError::Unavailable(_) => (Exit::Unavailable, "unavailable"),
            DbError::Unknown(_) => (Exit::Unknown, "unknown"),
            DbError::Refused(_) => (Exit::Refused, "refused"),
            DbError::Taken(_) => (Exit::Conflict, "conflict"),
            DbError::Schema(_) => (Exit::Usage, "schema"),
            DbError::BadRow { .. } => (Exit::Unexpected, "bad_row"),
        };
        let trouble = error.trouble();
        Self {
            hint: error.hint().map(str::to_owned),
            retries: trouble.map_or(0, |trouble| trouble.retries),
            retry: trouble.map_or(Retry::No, |trouble| trouble.retry),
            ..Self::new(exit, kind, error.to_string())
        }
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self::unexpected(format!("the output could not be written: {error}"))
    }
}
