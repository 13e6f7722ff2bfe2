//! What the console and the headless worker are handed: plain data and an open database. The seam between the
//! command line and the two other roots.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::mpsc::Receiver;

use super::exit::{Exit, Failure};
use super::open::Session;
use crate::app::keys::Keymap;
pub use crate::app::state::FirstStart;
use crate::config::{self, WorkerSettings};
use crate::db::conninfo::process_env;
use crate::db::{Access, Db, NeededTo};
use crate::domain::observed::Filter;
use crate::domain::{Approval, Name, NewTask};
use crate::logging::LogLine;
use crate::signals::Signals;
use crate::{app, console, headless, ui, worker};

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
    /// Who may approve a held task.
    pub approval: Approval,
    /// Whether what is submitted here is to be told of.
    pub notify: bool,
    /// `auto`, `dark`, `light`, `plain` or a theme file's path.
    pub theme: String,
    /// Keys where they differ: an action with its keys.
    pub keys: BTreeMap<String, Vec<String>>,
    /// The configuration file that `keys` stand in, for error messages.
    pub config_file: Option<PathBuf>,
    /// Log lines for the console's screen 5; none for the headless worker.
    pub log_lines: Option<Receiver<LogLine>>,
    /// Whether this is the first start here.
    pub first_start: FirstStart,
}

impl Launch {
    /// What the worker floor is told.
    fn worker_config(&self, kind: &'static str) -> worker::Config {
        let settings = &self.workers;
        worker::Config {
            queues: settings.queues.clone(),
            tenant: self.tenant.clone(),
            workers: settings.slots,
            batch: settings.batch,
            poll: settings.poll,
            lease: settings.lease,
            grace: settings.grace,
            task_timeout: settings.task_timeout,
            work_delay: (!settings.work_delay.is_zero()).then_some(settings.work_delay),
            cancels: if settings.heeds_cancel { worker::Cancels::Heeded } else { worker::Cancels::Ignored },
            analyser: match &settings.analyser {
                config::Analyser::TextStats => worker::AnalyserKind::TextStats,
                config::Analyser::Command { line } => worker::AnalyserKind::Command { line: line.clone() },
            },
            host: self.host.clone(),
            operator: self.operator.clone(),
            kind,
            ..worker::Config::default()
        }
    }

    /// What a task gets that is submitted from the console.
    fn new_task(&self) -> NewTask {
        NewTask {
            tenant: self.tenant.clone().unwrap_or_else(Name::default_name),
            queue: self.workers.queues.first().cloned().unwrap_or_else(Name::default_name),
            submitted_by: Some(self.operator.clone()),
            approval: self.approval,
            notify: self.notify,
            ..NewTask::default()
        }
    }
}

/// Opens the console.
///
/// # Errors
/// Keys or theme cannot be used, or the terminal cannot be taken.
pub(super) async fn console(mut launch: Launch) -> Result<Exit, Failure> {
    let started = match start(&mut launch).await {
        Ok(start) => console::run(start).await.map_err(|error| Failure::unexpected(format!("{error:#}"))),
        Err(failure) => Err(failure),
    };
    launch.session.close().await;
    Ok(match started? {
        console::End::Clean => Exit::Done,
        console::End::Left { .. } | console::End::Broken { .. } => Exit::Unexpected,
    })
}

async fn start(launch: &mut Launch) -> Result<console::Start, Failure> {
    let keymap = Keymap::with_overrides(&launch.keys).map_err(|error| {
        let place =
            launch.config_file.as_deref().map_or_else(String::new, |path| format!("{}: ", path.display()));
        Failure::new(Exit::Usage, "config", format!("{place}{error}"))
    })?;
    let look =
        ui::Look { theme: theme(&launch.theme)?, glyphs: ui::Charset::of_environment(process_env).glyphs() };
    let db = launch.session.db.clone();
    let denied = denied(&db).await;
    let new_task = launch.new_task();
    let (access, workers) = match launch.access {
        Access::ReadWrite => (app::state::Access::ReadWrite, Some(launch.worker_config("console"))),
        Access::ReadOnly => {
            (app::state::Access::ReadOnly { reason: "started with --read-only".to_owned() }, None)
        }
    };
    let workers = workers
        .filter(|_| denied.work.is_none())
        .map(|config| match config.analyser() {
            Ok(analyser) => Ok(console::Workers { config, analyser }),
            Err(refusal) => Err(Failure::usage(refusal.to_string())),
        })
        .transpose()?;
    let session = app::state::Session {
        database: launch.session.long_label(),
        database_short: launch.session.short_label(),
        server: None,
        operator: launch.operator.clone(),
        access,
        decide_denied: denied.decide,
        submit_denied: denied.submit,
        stop_denied: denied.stop,
        queues_denied: denied.queues,
        workers: workers.as_ref().map_or(0, |workers| workers.config.workers),
        grace: launch.workers.grace,
        max_input_bytes: launch.max_input_bytes,
        approval: launch.approval,
        notify: launch.notify,
        tenant: new_task.tenant.clone(),
        queue: new_task.queue.clone(),
        max_attempts: new_task.max_attempts,
    };
    let filter = Filter { tenant: launch.tenant.as_ref().map(ToString::to_string), ..Filter::default() };
    Ok(console::Start {
        db,
        workers,
        setup: app::state::Setup { session, keymap, filter, first_start: launch.first_start },
        look,
        draw: ui::draw,
        samples: new_task,
        log_lines: launch.log_lines.take(),
    })
}

/// Why the role may not do what consoles do; nothing where it may.
#[derive(Debug, Default)]
struct Denied {
    decide: Option<String>,
    submit: Option<String>,
    stop: Option<String>,
    queues: Option<String>,
    work: Option<String>,
}

/// Asks which rights the role has. A database that cannot be asked denies nothing: it says so itself, later.
async fn denied(db: &Db) -> Denied {
    let Ok(privileges) = db.privileges().await else { return Denied::default() };
    let lacks = |needed: NeededTo, spared: &[(&str, &str)]| {
        let missing = privileges.iter().find(|privilege| {
            privilege.needed_to == needed
                && privilege.granted == Some(false)
                && !spared.contains(&(privilege.table, privilege.privilege))
        })?;
        Some(format!("the database role lacks {} on {}", missing.privilege, missing.table))
    };
    // A decision makes no task, a submit changes none and leaves no event; and one may be in charge of processes, of queues
    // or of limits alone.
    Denied {
        decide: lacks(NeededTo::Operate, &[("tasks", "INSERT"), ("task_inputs", "INSERT")]),
        submit: lacks(NeededTo::Operate, &[("tasks", "UPDATE"), ("events", "INSERT"), ("limits", "UPDATE")]),
        stop: lacks(NeededTo::Direct, &[("queues", "INSERT"), ("queues", "UPDATE"), ("limits", "INSERT")]),
        queues: lacks(NeededTo::Direct, &[("instances", "UPDATE"), ("limits", "INSERT")]),
        work: lacks(NeededTo::Work, &[]),
    }
}

/// The theme that is named, or that stands in the file that is named.
fn theme(name: &str) -> Result<ui::Theme, Failure> {
    let refuse = |problem: String| {
        Failure::new(Exit::Usage, "config", format!("theme: {problem}"))
            .hint("use auto, dark, light, plain, or the path of a theme file (assets/themes has two)")
    };
    match ui::Theme::of_environment(name, process_env) {
        Err(ui::ThemeError::Name { name: path }) => {
            let text = std::fs::read_to_string(&path).map_err(|error| refuse(format!("{path}: {error}")))?;
            let theme = text.parse().map_err(|error: ui::ThemeError| refuse(format!("{path}: {error}")))?;
            Ok(ui::Theme::under_no_color(theme, process_env))
        }
        other => other.map_err(|error| refuse(error.to_string())),
    }
}

/// Works without a terminal.
///
/// # Errors
/// The session is read-only, or the analyser cannot be.
pub(super) async fn headless(launch: Launch, signals: Signals) -> Result<Exit, Failure> {
    let db = launch.session.db.clone();
    let mut config = launch.worker_config("headless");
    if let Some(line) = &launch.workers.hook {
        let hook = worker::Hook::parse(line, launch.workers.hook_timeout, launch.workers.grace);
        config.hook = Some(match hook {
            Ok(hook) => hook,
            Err(refusal) => {
                launch.session.close().await;
                return Err(Failure::usage(refusal.to_string()));
            }
        });
    }
    if let Some(lacks) = denied(&db).await.work {
        launch.session.close().await;
        return Err(Failure::new(Exit::Refused, "refused", format!("this role may not run tasks: {lacks}"))
            .hint("`taskdeck doctor` says what it may; assets/sql/roles.sql makes a role for workers"));
    }
    let ended = headless::run(db, config, signals).await;
    launch.session.close().await;
    match ended {
        Ok(headless::Exit::Clean) => Ok(Exit::Done),
        Ok(headless::Exit::Left { .. } | headless::Exit::Unconfirmed) => Ok(Exit::Unexpected),
        Err(error) => Err(Failure::usage(format!("{error:#}"))),
    }
}
