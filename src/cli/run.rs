//! One run: read the command line and the settings, do what is asked, say how it ended.

use std::ffi::{OsStr, OsString};
use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::sync::mpsc::Receiver;

use clap::Parser as _;
use clap::error::ErrorKind;
use serde::Serialize;

use super::args::{Cli, Command};
use super::exit::{Exit, Failure};
use super::launch::{self, Launch};
use super::open::{SchemaCheck, Session, host, open, open_when_there};
use super::output::{Output, note, write_out};
use super::{
    config_command, decide, doctor, events, instances, lab, limits, list, manual, migrate, outbox, private,
    queues, show, status, stop, submit,
};
use crate::config::{ConfigFile, Key, Layers, OutputFormat, Settings};
use crate::db::Access;
use crate::db::conninfo::process_env;
use crate::domain::queue::QueueAct;
use crate::domain::text::visible_lines;
use crate::domain::{DecisionKind, json};
use crate::logging::{self, LogLine, Plan, Purpose};
use crate::signals::{Signals, name};

/// What every command gets.
#[derive(Debug)]
pub(super) struct Call {
    /// The settings in force.
    pub(super) settings: Settings,
    /// How it prints.
    pub(super) output: Output,
}

/// The `error` document of JSON output.
#[derive(Debug, Serialize)]
struct ErrorDocument<'a> {
    error: &'a Failure,
}

/// Runs the command line `args` (the program's name first) and reports what went wrong.
pub async fn run(args: Vec<OsString>) -> Exit {
    let asked = asked_format(&args);
    let cli = match Cli::try_parse_from(&args) {
        Ok(cli) => cli,
        Err(error) => return explain_usage(&error, asked),
    };
    let mut format = asked;
    match prepared(&cli, &mut format).await {
        Ok(exit) => exit,
        Err(failure) => report(&failure, format),
    }
}

async fn prepared(cli: &Cli, format: &mut OutputFormat) -> Result<Exit, Failure> {
    let variable = process_env("TASKDECK_CONFIG").filter(|path| !path.is_empty()).map(PathBuf::from);
    let named = cli.settings.config.as_deref().or(variable.as_deref());
    let file = ConfigFile::find(named, &process_env, std::env::home_dir().as_deref())?;
    let layers = Layers::new(&cli.flags(), &process_env, &file);
    if let Some(Ok(asked)) = layers.raw(Key::Output).map(|raw| raw.text.parse()) {
        *format = asked;
    }
    let settings = Settings::read(&layers, &file)?;
    let call = Call { output: Output::of_process(settings.output), settings };
    check_combination(cli)?;
    match &cli.command {
        Some(Command::Config) => config_command::run(&call, &layers, &file),
        Some(Command::Completions { shell }) => manual::completions(*shell),
        Some(Command::Man) => manual::page(),
        Some(command) => {
            log(&call, Purpose::Command)?;
            dispatch(cli, command, &call).await
        }
        None if cli.no_ui => headless(call, &file).await,
        None => console(call, &file).await,
    }
}

async fn dispatch(cli: &Cli, command: &Command, call: &Call) -> Result<Exit, Failure> {
    match command {
        Command::Submit(args) => submit::run(call, args).await,
        Command::List(args) => list::run(call, args).await,
        Command::Show(args) => show::run(call, args).await,
        Command::Cancel(args) => decide::run(call, DecisionKind::Cancel, args).await,
        Command::Approve(args) => decide::run(call, DecisionKind::Approve, args).await,
        Command::Reject(args) => decide::run(call, DecisionKind::Reject, args).await,
        Command::Requeue(args) => decide::run(call, DecisionKind::Requeue, args).await,
        Command::Events(args) => events::run(call, args, cli.settings.operator.as_deref()).await,
        Command::Status => status::run(call).await,
        Command::Outbox(args) => outbox::run(call, args).await,
        Command::Instances => instances::run(call).await,
        Command::Queues => queues::list(call).await,
        Command::Pause(args) => queues::decide(call, QueueAct::Pause, args).await,
        Command::Resume(args) => queues::decide(call, QueueAct::Resume, args).await,
        Command::Limits => limits::list(call).await,
        Command::Limit(args) => limits::decide(call, args).await,
        Command::Stop(args) => stop::run(call, args).await,
        Command::Lab(args) => lab::run(call, args).await,
        Command::Doctor => doctor::run(call).await,
        Command::Migrate => migrate::run(call).await,
        Command::Private { command } => private::run(call, *command).await,
        Command::Config | Command::Completions { .. } | Command::Man => Ok(Exit::Done),
    }
}

/// Refuses flags that the command would silently not heed.
fn check_combination(cli: &Cli) -> Result<(), Failure> {
    let Some(command) = &cli.command else {
        return match &cli.workers.hook {
            Some(_) if !cli.no_ui => {
                Err(Failure::usage("--hook is for --no-ui: the console delivers no notifications")
                    .hint("run `taskdeck --no-ui --workers 0 --hook …` beside it, which does nothing else"))
            }
            _ => Ok(()),
        };
    };
    if cli.no_ui {
        return Err(Failure::usage("--no-ui runs workers and takes no command"));
    }
    if matches!(command, Command::Config) {
        return Ok(());
    }
    match cli.workers.flags().first() {
        Some((key, _)) => {
            let flag = key.spec().flag();
            Err(Failure::usage(format!("{flag} before a command is for workers, and this command runs none"))
                .hint(format!("leave {flag} out, or write it behind the command if that has such a flag")))
        }
        None => Ok(()),
    }
}

fn log(call: &Call, purpose: Purpose) -> Result<Option<Receiver<LogLine>>, Failure> {
    let settings = &call.settings;
    let plan = Plan {
        purpose,
        file: settings.log_file.as_deref(),
        format: settings.log_format,
        verbosity: settings.verbosity,
    };
    logging::start(plan).map_err(|error| {
        let path = settings.log_file.clone().unwrap_or_default();
        Failure::new(Exit::Usage, "config", format!("cannot write the log file {}: {error}", path.display()))
            .hint("name a file that this user may write with --log-file")
    })
}

async fn console(call: Call, file: &ConfigFile) -> Result<Exit, Failure> {
    if !(std::io::stdin().is_terminal() && std::io::stdout().is_terminal()) {
        return Err(Failure::new(
            Exit::Usage,
            "no_terminal",
            "the console needs a terminal on standard input and standard output",
        )
        .hint("use --no-ui to run workers without one, or a command such as `taskdeck status`"));
    }
    let log_lines = log(&call, Purpose::Console)?;
    let session = open(&call.settings, "console", SchemaCheck::First).await?;
    launch::console(prepare(call.settings, session, file, log_lines).await?).await
}

async fn headless(call: Call, file: &ConfigFile) -> Result<Exit, Failure> {
    // First of all, so that a signal that comes while this starts is not lost.
    let mut signals = Signals::install().map_err(|error| Failure::unexpected(error.to_string()))?;
    if call.settings.access == Access::ReadOnly {
        return Err(Failure::read_only("working"));
    }
    log(&call, Purpose::Headless)?;
    let opened = open_when_there(&call.settings, "headless", SchemaCheck::First);
    let launch = tokio::select! {
        session = opened => prepare(call.settings.clone(), session?, file, None).await?,
        // Nothing was begun, so there is nothing to drain; a private server that was being started is adopted by the
        // next Taskdeck.
        signal = signals.next() => {
            tracing::info!(signal = name(signal), "ended before the database was open");
            return Ok(Exit::Done);
        }
    };
    launch::headless(launch, signals).await
}

async fn prepare(
    settings: Settings,
    mut session: Session,
    file: &ConfigFile,
    log_lines: Option<Receiver<LogLine>>,
) -> Result<Launch, Failure> {
    session.keep_server()?;
    Ok(Launch {
        first_start: session.first_start().await,
        session,
        workers: settings.workers,
        tenant: settings.tenant,
        operator: settings.operator,
        host: host(),
        access: settings.access,
        max_input_bytes: settings.max_input_bytes,
        approval: settings.approval,
        notify: settings.notify,
        theme: settings.theme,
        keys: settings.keys,
        config_file: file.path.clone(),
        log_lines,
    })
}

/// Says on the right stream what went wrong.
fn report(failure: &Failure, format: OutputFormat) -> Exit {
    match format {
        OutputFormat::Text => {
            note(&format!("error: {}", failure.message));
            if let Some(hint) = &failure.hint {
                note(&format!("hint: {hint}"));
            }
        }
        OutputFormat::Json => {
            let printed = json::document(&ErrorDocument { error: failure }).and_then(|text| write_out(&text));
            if let Err(error) = printed {
                note(&format!("error: {}; and it could not be printed: {error}", failure.message));
            }
        }
    }
    failure.exit
}

/// The output format as far as it can be told before the command line is understood.
fn asked_format(args: &[OsString]) -> OutputFormat {
    let texts: Vec<&str> =
        args.iter().filter_map(|arg| arg.to_str()).take_while(|arg| *arg != "--").collect();
    let flag = texts.iter().enumerate().find_map(|(at, arg)| match arg.strip_prefix("--output") {
        Some("") => texts.get(at + 1).copied(),
        Some(rest) => rest.strip_prefix('='),
        None => None,
    });
    let variable = std::env::var_os("TASKDECK_OUTPUT");
    let asked = flag.or_else(|| variable.as_deref().and_then(OsStr::to_str));
    asked.and_then(|text| text.parse().ok()).unwrap_or(OutputFormat::Text)
}

/// Prints help and version, and what is wrong with a command line, made harmless and without a password.
fn explain_usage(error: &clap::Error, format: OutputFormat) -> Exit {
    let text = error.render().to_string();
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        return match write_out(&text) {
            Ok(()) => Exit::Done,
            Err(error) => report(&error.into(), format),
        };
    }
    let text = redacted(&text);
    if format == OutputFormat::Text {
        for line in visible_lines(text.trim_end()) {
            note(&line);
        }
        return Exit::Usage;
    }
    let what = text.split("\n\n").next().unwrap_or_default();
    let message = what.trim().trim_start_matches("error: ").replace('\n', " ");
    report(&Failure::usage(message), format)
}

/// Blots out what may be the password of an address that was put where none belongs.
fn redacted(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for piece in text.split_inclusive(char::is_whitespace) {
        let address = piece.split_once("://").and_then(|(scheme, rest)| {
            let (user, place) = rest.rsplit_once('@')?;
            let name = user.split(':').next().unwrap_or_default();
            Some(format!("{scheme}://{name}:***@{place}"))
        });
        let setting = piece.to_ascii_lowercase().find("password=").map(|at| {
            let end = piece.trim_end().len();
            format!("{}***{}", &piece[..at + "password=".len()], &piece[end..])
        });
        shown.push_str(address.or(setting).as_deref().unwrap_or(piece));
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_format_is_found_before_anything_else_is_understood() {
        let format = |args: &[&str]| asked_format(&args.iter().map(OsString::from).collect::<Vec<_>>());
        assert_eq!(format(&["t", "--output", "json", "--nonsense"]), OutputFormat::Json);
        assert_eq!(format(&["t", "nonsense", "--output=json"]), OutputFormat::Json);
        assert_eq!(format(&["t", "submit", "--", "--output=json"]), OutputFormat::Text);
        assert_eq!(format(&["t", "--output"]), OutputFormat::Text);
    }

    #[test]
    fn passwords_are_blotted_out_of_usage_errors() {
        let shown = redacted("unrecognized 'postgresql://a:s3cret@h/d' and password=s3cret x\n");
        assert_eq!(shown, "unrecognized 'postgresql://a:***@h/d' and password=*** x\n");
        assert_eq!(redacted("a@b c\n\nd"), "a@b c\n\nd");
    }
}
