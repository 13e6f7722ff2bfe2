//! What can go wrong around a statement, sorted by the one question that matters: was it applied?

use std::fmt;

use tokio_postgres::error::{Severity, SqlState};

use super::sql::Effect;

/// Why a call gave no answer of its own kind.
///
/// Above this floor nobody sees an SQLSTATE's meaning; the code is kept only to be shown after the words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DbError {
    /// Certainly not applied: no connection could be had, or the server refused or rolled back.
    #[error("{0}")]
    Unavailable(Trouble),
    /// The request was sent and no answer came: it may have been applied.
    #[error("{0}")]
    Unknown(Trouble),
    /// Not allowed: a read-only session or a missing privilege.
    #[error("{0}")]
    Refused(Trouble),
    /// Not applied: the submission id names a row of another tenant.
    #[error("{0}")]
    Taken(Trouble),
    /// The schema is missing, or older or newer than this program expects.
    #[error("{0}")]
    Schema(Trouble),
    /// A row came back that cannot be read; nothing is known to be wrong with the others.
    #[error("{what}: {problem}")]
    BadRow {
        /// Which row, as far as that could be read.
        what: String,
        /// Which column, and what is wrong with it.
        problem: String,
    },
}

/// What happened, in words first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trouble {
    /// What happened.
    pub message: String,
    /// What to do about it, where that is known.
    pub hint: Option<String>,
    /// The server's five-letter code, where it gave one.
    pub sqlstate: Option<String>,
    /// Whether and when another try may succeed.
    pub retry: Retry,
    /// How often it was, before this was given up.
    pub retries: u32,
}

/// Whether and when another try may succeed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retry {
    /// A deadlock or serialization failure: the server rolled back, another try may well succeed.
    Whole,
    /// The server is starting, recovering or stopping: it says so itself, and that it will pass.
    Starting,
    /// Nobody was there, or there was no room, or the connection was lost: it may pass by itself.
    Later,
    /// Another try at once would meet the same obstacle.
    No,
}

impl Retry {
    /// What an SQLSTATE says about trying again.
    fn of(code: &SqlState) -> Self {
        match *code {
            SqlState::T_R_DEADLOCK_DETECTED | SqlState::T_R_SERIALIZATION_FAILURE => Self::Whole,
            SqlState::CANNOT_CONNECT_NOW => Self::Starting,
            SqlState::ADMIN_SHUTDOWN | SqlState::CRASH_SHUTDOWN | SqlState::TOO_MANY_CONNECTIONS => {
                Self::Later
            }
            // A connection that failed at the other end of whoever answers: a pooler says so of a server that is away.
            _ if code.code().starts_with("08") => Self::Later,
            _ => Self::No,
        }
    }

    /// Whether a failure to connect may pass by itself: a name that nobody knows, a password that is wrong or a
    /// certificate that is not trusted does not.
    pub(super) fn of_connecting(error: &tokio_postgres::Error) -> Self {
        use std::io::ErrorKind;
        if let Some(db) = error.as_db_error() {
            return if is_for_good(db) { Self::No } else { Self::of(db.code()) };
        }
        let passes = |kind| {
            matches!(
                kind,
                ErrorKind::ConnectionRefused
                    | ErrorKind::ConnectionReset
                    | ErrorKind::ConnectionAborted
                    // Of a socket's file: the server makes it when it starts.
                    | ErrorKind::NotFound
                    | ErrorKind::TimedOut
                    | ErrorKind::HostUnreachable
                    | ErrorKind::NetworkUnreachable
                    | ErrorKind::NetworkDown
                    | ErrorKind::BrokenPipe
                    | ErrorKind::UnexpectedEof
            )
        };
        let mut cause: Option<&dyn std::error::Error> = Some(error);
        while let Some(error) = cause {
            if error
                .downcast_ref::<std::io::Error>()
                .is_some_and(|error| passes(error.kind()) || is_not_the_one_wanted(error))
            {
                return Self::Later;
            }
            cause = error.source();
        }
        // The driver hides its kinds; this text is its own for `connect_timeout`.
        let timed_out = error.to_string().starts_with("timeout waiting for server");
        if error.is_closed() || timed_out { Self::Later } else { Self::No }
    }
}

/// What `PgBouncer` before 1.21 refuses for good. It has one code for all that it refuses (08P01), also for what passes,
/// such as a server that is away; so only its words tell.
const FOR_GOOD: [&str; 6] = [
    "no such database",
    "no such user",
    "authentication failed",
    "bouncer config error",
    "ssl required",
    "unsupported startup parameter",
];

/// Whether a pooler says that something is wrong that does not pass by itself.
fn is_for_good(error: &tokio_postgres::error::DbError) -> bool {
    let says = error.message().to_ascii_lowercase();
    *error.code() == SqlState::PROTOCOL_VIOLATION && FOR_GOOD.iter().any(|words| says.contains(words))
}

/// Whether the driver found that a host takes no writes, or only reads, though another kind was asked for: during a
/// failover that passes. The system has its own number for what this program may not do (a socket's file).
pub(super) fn is_not_the_one_wanted(error: &std::io::Error) -> bool {
    error.kind() == std::io::ErrorKind::PermissionDenied && error.raw_os_error().is_none()
}

impl Trouble {
    /// Trouble with no code.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), hint: None, sqlstate: None, retry: Retry::No, retries: 0 }
    }

    /// Adds what to do.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        if let Some(code) = &self.sqlstate {
            write!(f, " ({code})")?;
        }
        match self.retries {
            0 => Ok(()),
            1 => f.write_str(", also when it was tried again"),
            times => write!(f, ", also when it was tried again {times} times"),
        }
    }
}

impl DbError {
    /// What happened and what to do, where it is not a row that cannot be read.
    pub fn trouble(&self) -> Option<&Trouble> {
        match self {
            Self::Unavailable(trouble)
            | Self::Unknown(trouble)
            | Self::Refused(trouble)
            | Self::Taken(trouble)
            | Self::Schema(trouble) => Some(trouble),
            Self::BadRow { .. } => None,
        }
    }

    /// What to do about it, where that is known.
    pub fn hint(&self) -> Option<&str> {
        self.trouble().and_then(|trouble| trouble.hint.as_deref())
    }

    /// Whether the server rolled back something that may be decided again at once.
    pub(crate) fn may_retry_whole(&self) -> bool {
        self.trouble().is_some_and(|trouble| trouble.retry == Retry::Whole)
    }

    /// The same, given up after so many tries more.
    pub(super) fn after(mut self, tries: u32) -> Self {
        if let Self::Unavailable(trouble)
        | Self::Unknown(trouble)
        | Self::Refused(trouble)
        | Self::Taken(trouble)
        | Self::Schema(trouble) = &mut self
        {
            trouble.retries = tries;
        }
        self
    }

    /// Whether somebody else held a row for longer than --lock-timeout.
    pub(super) fn is_lock_timeout(&self) -> bool {
        self.trouble().and_then(|trouble| trouble.sqlstate.as_deref())
            == Some(SqlState::LOCK_NOT_AVAILABLE.code())
    }

    /// Whether the server has no connection left to give.
    pub(super) fn is_full(&self) -> bool {
        self.trouble().and_then(|trouble| trouble.sqlstate.as_deref())
            == Some(SqlState::TOO_MANY_CONNECTIONS.code())
    }

    /// Not sent, as no answer comes or the connection is gone: that may pass by itself.
    pub(crate) fn away(message: impl Into<String>) -> Self {
        Self::Unavailable(Trouble { retry: Retry::Later, ..Trouble::new(message) })
    }

    /// Not sent: what is said in `message`.
    pub(crate) fn not_sent(message: impl Into<String>) -> Self {
        Self::Unavailable(Trouble::new(message))
    }
}

/// Sorts the error of a statement that was sent. What happened inside a transaction before its COMMIT, and to a
/// statement that only reads, is never unknown.
pub(crate) fn classify(error: &tokio_postgres::Error, effect: Effect) -> DbError {
    let Some(db) = error.as_db_error() else {
        let mut trouble = Trouble::new(describe(error));
        return if error.is_closed() || !was_not_sent(error) {
            trouble.retry = Retry::Later;
            trouble.hint = Some("the connection was lost; it is made again at the next call".to_owned());
            lost(trouble, effect)
        } else {
            DbError::Unavailable(trouble)
        };
    };
    let code = db.code();
    let trouble = Trouble {
        message: words(code)
            .map_or_else(|| db.message().to_owned(), |words| format!("{words}: {}", db.message())),
        hint: hint(code, db.message()).map(str::to_owned).or_else(|| db.hint().map(str::to_owned)),
        sqlstate: Some(code.code().to_owned()),
        retry: Retry::of(code),
        retries: 0,
    };
    // The severity is FATAL where the session ended with the statement: then the answer to it was lost. The
    // two codes are how some servers say that they do not know either.
    let ended =
        db.parsed_severity().is_some_and(|severity| matches!(severity, Severity::Fatal | Severity::Panic));
    let ambiguous = *code == SqlState::T_R_STATEMENT_COMPLETION_UNKNOWN
        || *code == SqlState::TRANSACTION_RESOLUTION_UNKNOWN;
    if ended || ambiguous {
        return lost(trouble, effect);
    }
    match *code {
        SqlState::INSUFFICIENT_PRIVILEGE => DbError::Refused(trouble),
        SqlState::UNDEFINED_TABLE
        | SqlState::UNDEFINED_COLUMN
        | SqlState::INVALID_SCHEMA_NAME
        | SqlState::UNDEFINED_FUNCTION => DbError::Schema(trouble),
        _ => DbError::Unavailable(trouble),
    }
}

/// No answer came to what was sent.
pub(crate) fn lost(trouble: Trouble, effect: Effect) -> DbError {
    match effect {
        Effect::Write => DbError::Unknown(trouble),
        Effect::Read => DbError::Unavailable(trouble),
    }
}

/// Whether the error arose while the request was put together, before anything was sent.
fn was_not_sent(error: &tokio_postgres::Error) -> bool {
    // The driver hides its kinds; these three texts are theirs.
    let text = error.to_string();
    ["error serializing parameter", "error encoding message", "expected "]
        .iter()
        .any(|start| text.starts_with(start))
}

/// The driver's message with its cause.
pub(crate) fn describe(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        source = cause.source();
    }
    text
}

fn words(code: &SqlState) -> Option<&'static str> {
    Some(match *code {
        SqlState::QUERY_CANCELED => "the server stopped the statement",
        SqlState::LOCK_NOT_AVAILABLE => "waited too long for a row lock",
        SqlState::T_R_DEADLOCK_DETECTED => "deadlock: the server rolled this back",
        SqlState::T_R_SERIALIZATION_FAILURE => "serialization failure: the server rolled this back",
        SqlState::READ_ONLY_SQL_TRANSACTION => "the server or session is read-only",
        SqlState::INSUFFICIENT_PRIVILEGE => "the database role may not do this",
        SqlState::ADMIN_SHUTDOWN | SqlState::CRASH_SHUTDOWN => "the server ended the session",
        SqlState::CANNOT_CONNECT_NOW => "the server is starting or stopping",
        SqlState::TOO_MANY_CONNECTIONS => "the server has no connection left",
        SqlState::DISK_FULL => "the server's disk is full",
        _ => return None,
    })
}

fn hint(code: &SqlState, message: &str) -> Option<&'static str> {
    Some(match *code {
        SqlState::INSUFFICIENT_PRIVILEGE if message.contains("row-level security") => {
            "that is another tenant's than those of this login; --tenant names which (assets/sql/tenants.sql)"
        }
        SqlState::QUERY_CANCELED => "it took longer than --statement-timeout, or someone canceled it",
        SqlState::LOCK_NOT_AVAILABLE => {
            "another session holds the row; screen 3 shows which (--lock-timeout)"
        }
        SqlState::READ_ONLY_SQL_TRANSACTION => {
            "connect to the primary (target_session_attrs=read-write), or leave out --read-only"
        }
        SqlState::INSUFFICIENT_PRIVILEGE => {
            "ask the database's owner for the privilege; after an upgrade assets/sql/roles.sql is run again"
        }
        SqlState::TOO_MANY_CONNECTIONS => "raise max_connections or lower --pool-size",
        SqlState::UNDEFINED_TABLE | SqlState::UNDEFINED_COLUMN | SqlState::INVALID_SCHEMA_NAME => {
            "run `taskdeck migrate`, or check --schema"
        }
        SqlState::INVALID_PASSWORD | SqlState::INVALID_AUTHORIZATION_SPECIFICATION => {
            "check the user and the password (PGPASSWORD, ~/.pgpass)"
        }
        _ => return None,
    })
}
