//! Opening the database that is named, or the private server where none is, with a schema that fits.

use std::time::{Duration, Instant};

use super::exit::Failure;
use super::output::note;
use crate::app::state::FirstStart;
use crate::config::{Mode, Settings};
use crate::db::conninfo::{self, ConnInfo, Source, Sources, process_env};
use crate::db::private::{Kept, Origin, PrivateError, PrivateServer};
use crate::db::{Db, DbError, ListQuery, Migrated, Options, Preview, Retry, Trouble};
use crate::domain::observed::Filter;
use crate::domain::{Backoff, figure, process};
use crate::headless;

use super::exit::Exit;

/// Whether the schema is looked at before the command runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SchemaCheck {
    /// It is brought up to date, or checked, as the settings say.
    First,
    /// Left alone: the command itself looks.
    ByCommand,
}

/// How long a database is waited for that cannot be had now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Patience {
    /// A server that says that it is starting is asked again within `--acquire-timeout`; everything else is an error at
    /// once.
    Brief,
    /// For as long as it may still come: nobody who can be asked to mend it is there. Told once.
    Endless,
}

/// The waits between two tries to open the database.
const AGAIN: Backoff = Backoff { base: Duration::from_millis(50), cap: Duration::from_secs(2) };

/// How many different reasons of one wait are told.
const TOLD: usize = 4;

/// An open database.
#[derive(Debug)]
pub struct Session {
    /// Its statements.
    pub db: Db,
    /// `user@host/database`, for people.
    pub label: String,
    /// What named the database.
    pub source: Source,
    /// What opening did to the schema; none if it was left alone.
    pub migrated: Option<Migrated>,
    /// The private server, if it is one.
    pub server: Option<PrivateServer>,
}

impl Session {
    /// Whether samples are offered: this run made the tables, or the private server holds no task yet (whoever looked
    /// around with a command first is still new here).
    pub async fn first_start(&self) -> FirstStart {
        let made = self.migrated.is_some_and(|migrated| migrated.from == 0);
        if made || (self.server.is_some() && self.holds_nothing().await) {
            FirstStart::Yes
        } else {
            FirstStart::No
        }
    }

    async fn holds_nothing(&self) -> bool {
        let any =
            ListQuery { filter: Filter::default(), before: None, limit: 1, preview: Preview::Beginning };
        self.db.list(&any).await.is_ok_and(|page| page.rows.is_empty())
    }

    /// Has the private server, if it is one, started again whenever it has gone. Told in the log.
    ///
    /// # Errors
    /// If the system gives no thread.
    pub(super) fn keep_server(&mut self) -> Result<(), Failure> {
        let tell = |kept| match kept {
            Kept::Gone { pid } => {
                tracing::warn!(pid, "the private server has gone; it is started again");
            }
            Kept::Again { pid, origin: Origin::Adopted } => {
                tracing::info!(pid, "the private server runs again; it was found running");
            }
            Kept::Again { pid, .. } => tracing::info!(pid, "the private server runs again"),
            Kept::Failed { error } => {
                tracing::error!(hint = %error.hint(), "the private server cannot be started again: {error}");
            }
        };
        self.server.as_mut().map_or(Ok(()), |server| Ok(server.keep_running(tell)?))
    }

    /// The database for people with little room: `host/database`, or that it is the private server.
    pub fn short_label(&self) -> String {
        match &self.server {
            Some(_) => "private server".to_owned(),
            None => self.label.split_once('@').map_or(self.label.as_str(), |(_, place)| place).to_owned(),
        }
    }

    /// The database for people: `user@host/database`, or which private server it is.
    pub fn long_label(&self) -> String {
        match &self.server {
            Some(server) => format!("private server in {}", server.folder().display()),
            None => self.label.clone(),
        }
    }

    /// Sends what is owed, closes every connection and leaves the private server.
    pub async fn close(self) {
        self.db.settle_wakes().await;
        self.db.close();
        drop(self.db);
        if let Some(server) = self.server {
            leave(server).await;
        }
    }
}

/// What connections call themselves: `list bob@ops2:4402`.
fn application(purpose: &str, settings: &Settings) -> String {
    process::application(purpose, &settings.operator, &host(), std::process::id())
}

/// This host's name.
pub(super) fn host() -> String {
    hostname::get().map_or_else(|_| "localhost".to_owned(), |name| name.to_string_lossy().into_owned())
}

/// Finds the address that is named; none means the private server.
///
/// # Errors
/// The settings of the connection are malformed or cannot be honoured.
pub(super) fn resolve(settings: &Settings) -> Result<Option<ConnInfo>, Failure> {
    let sources = Sources {
        flag_url: settings.flag_url.as_ref().map(|url| url.expose().to_owned()),
        config_url: settings.file_url.as_ref().map(|url| url.expose().to_owned()),
        ..Sources::of_process(&process_env)
    };
    Ok(conninfo::resolve(&sources)?)
}

/// Opens the database for `purpose`. A server that says that it is starting is asked again within
/// `--acquire-timeout`.
///
/// # Errors
/// The settings are wrong, nobody answers there, or the schema does not fit.
pub(super) async fn open(settings: &Settings, purpose: &str, check: SchemaCheck) -> Result<Session, Failure> {
    open_patiently(settings, purpose, check, Patience::Brief).await
}

/// As [`open`], for a program that runs by itself: a database that cannot be reached is waited for, told in the log
/// and to the service manager.
///
/// # Errors
/// What does not pass by itself: wrong settings, a wrong password, an unknown database, a schema that does not fit.
pub(super) async fn open_when_there(
    settings: &Settings,
    purpose: &str,
    check: SchemaCheck,
) -> Result<Session, Failure> {
    open_patiently(settings, purpose, check, Patience::Endless).await
}

async fn open_patiently(
    settings: &Settings,
    purpose: &str,
    check: SchemaCheck,
    patience: Patience,
) -> Result<Session, Failure> {
    let named = resolve(settings)?;
    let (info, server) = match named {
        Some(info) => (info, None),
        None => start_private(settings).await?,
    };
    for warning in info.warnings() {
        note(&format!("taskdeck: {warning}"));
    }
    let (label, source) = (info.label(), info.source());
    match connect_patiently(&info, settings, purpose, check, patience).await {
        Ok((db, migrated)) => Ok(Session { db, label, source, migrated, server }),
        Err(failure) => {
            if let Some(server) = server {
                leave(server).await;
            }
            Err(failure)
        }
    }
}

/// Connects; waits and tries again while that may help.
async fn connect_patiently(
    info: &ConnInfo,
    settings: &Settings,
    purpose: &str,
    check: SchemaCheck,
    patience: Patience,
) -> Result<(Db, Option<Migrated>), Failure> {
    let began = Instant::now();
    let mut failures = 0;
    let mut told: Vec<String> = Vec::new();
    loop {
        let failure = match connect(info.clone(), settings, purpose, check).await {
            Ok(opened) => {
                if patience == Patience::Endless && failures > 0 {
                    let waited = figure::wait(began.elapsed());
                    tracing::info!(failures, %waited, "the database is there");
                }
                return Ok(opened);
            }
            Err(failure) => failure,
        };
        failures += 1;
        let wait = AGAIN.after(failures);
        let goes_on = match (patience, failure.retry) {
            (_, Retry::No) => false,
            (Patience::Brief, retry) => {
                retry == Retry::Starting && began.elapsed() + wait < settings.limits.acquire
            }
            (Patience::Endless, _) => true,
        };
        if !goes_on {
            return Err(failure);
        }
        if patience == Patience::Endless {
            headless::waits(&failure.message);
            if told.len() < TOLD && !told.contains(&failure.message) {
                let message = &failure.message;
                tracing::warn!(hint = failure.hint.as_deref(), "waiting for the database: {message}");
                told.push(failure.message);
            }
        }
        tokio::time::sleep(wait).await;
    }
}

async fn connect(
    info: ConnInfo,
    settings: &Settings,
    purpose: &str,
    check: SchemaCheck,
) -> Result<(Db, Option<Migrated>), Failure> {
    let source = info.source();
    let options = Options {
        schema: settings.schema.clone(),
        limits: settings.limits.clone(),
        access: settings.access,
        application: application(purpose, settings),
    };
    let db = Db::open(info, options).await.map_err(|error| with_hint(error, source))?;
    let migrated = match (check, settings.mode) {
        (SchemaCheck::ByCommand, _) => None,
        (SchemaCheck::First, Mode::Check) => {
            db.check_schema().await?;
            None
        }
        (SchemaCheck::First, Mode::Migrate) => Some(db.migrate().await?),
    };
    if let Some(done) = migrated.filter(|done| done.from != done.to) {
        let schema = settings.schema.name();
        note(&match done.from {
            0 => format!("taskdeck: made the schema `{schema}` (version {})", done.to),
            from => format!("taskdeck: brought the schema `{schema}` from version {from} to {}", done.to),
        });
    }
    Ok((db, migrated))
}

/// An error of connecting, with what to do where it does not say.
fn with_hint(error: DbError, source: Source) -> Failure {
    let advice = format!("is PostgreSQL running there? the address came from {source}");
    Failure::from(match error {
        DbError::Unavailable(trouble @ Trouble { hint: None, .. }) => {
            DbError::Unavailable(Trouble { hint: Some(advice), ..trouble })
        }
        other => other,
    })
}

async fn start_private(settings: &Settings) -> Result<(ConnInfo, Option<PrivateServer>), Failure> {
    let options = super::private::options(settings);
    let server = blocking(move || PrivateServer::start(&options)).await??;
    note(&format!("taskdeck: {}", server.announcement()));
    let info =
        ConnInfo::for_private_server(server.socket_dir(), server.port(), server.user(), server.database())?;
    Ok((info, Some(server)))
}

/// Leaves the private server. A server that could not be stopped is adopted by the next Taskdeck.
async fn leave(server: PrivateServer) {
    match blocking(move || server.leave()).await {
        Ok(Ok(_)) => {}
        Ok(Err(error)) => note(&format!("taskdeck: {error}; {}", error.hint())),
        Err(failure) => note(&format!("taskdeck: {failure}")),
    }
}

/// Runs what blocks on a thread that may.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Failure> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|error| Failure::unexpected(format!("a part of the program failed: {error}")))
}

impl From<PrivateError> for Failure {
    fn from(error: PrivateError) -> Self {
        let (exit, kind) = match &error {
            PrivateError::NoPrograms { .. }
            | PrivateError::NamedPrograms { .. }
            | PrivateError::UnsupportedVersions { .. }
            | PrivateError::ProgramsUnreachable { .. }
            | PrivateError::NoAccount
            | PrivateError::NoHome
            | PrivateError::FolderUnreachable { .. }
            | PrivateError::WrongOwner { .. }
            | PrivateError::NotOurs { .. } => (Exit::Usage, "config"),
            PrivateError::InUse { .. } => (Exit::Conflict, "conflict"),
            _ => (Exit::Unavailable, "unavailable"),
        };
        Self::new(exit, kind, error.to_string()).hint(error.hint())
    }
}
