//! Where log lines go: standard error or a file, and for the console a bounded channel that its screen reads.
//! Never the screen itself.

use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::{self, IsTerminal as _};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::field::MakeExt as _;
use tracing_subscriber::fmt;
use tracing_subscriber::fmt::format::{Writer, debug_fn};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt as _};
use tracing_subscriber::registry::Registry;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::config::{LogFormat, Verbosity};
use crate::domain::json;
use crate::domain::text::visible;

/// Lines that wait for the console; when it does not keep up the newest are counted and dropped.
const KEPT: usize = 1_024;

/// How many lines the console has missed since the start.
static MISSED: AtomicU64 = AtomicU64::new(0);

/// A log line for the console.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogLine {
    /// How grave it is.
    pub level: Level,
    /// The part of the program that says it.
    pub target: String,
    /// What it says, its fields behind it. It may hold text from outside.
    pub text: String,
}

/// For which way of running lines are logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// One command: only what is wrong.
    Command,
    /// A worker without a terminal: what it does.
    Headless,
    /// The console: its lines go to its screen, and to a file if one is named.
    Console,
}

/// What is logged, how, and where to.
#[derive(Debug, Clone, Copy)]
pub struct Plan<'a> {
    /// For which way of running.
    pub purpose: Purpose,
    /// The file, if one is named.
    pub file: Option<&'a Path>,
    /// How a line is written.
    pub format: LogFormat,
    /// How much.
    pub verbosity: Verbosity,
}

type Sink = Box<dyn Layer<Registry> + Send + Sync>;

/// Starts logging; for the console, returns the lines for its screen.
///
/// # Errors
/// The file cannot be opened.
pub fn start(plan: Plan<'_>) -> io::Result<Option<Receiver<LogLine>>> {
    let mut sinks: Vec<Sink> = Vec::new();
    let mut lines = None;
    if plan.purpose == Purpose::Console {
        let (sender, receiver) = sync_channel(KEPT);
        sinks.push(Box::new(ToConsole { sender }));
        lines = Some(receiver);
    }
    match plan.file {
        Some(path) => {
            let file = OpenOptions::new().create(true).append(true).open(path)?;
            sinks.push(written(fmt::layer().with_writer(Mutex::new(file)).with_ansi(false), plan.format));
        }
        None if plan.purpose == Purpose::Console => {}
        None => {
            let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
            let colours = io::stderr().is_terminal() && !no_color;
            sinks.push(written(fmt::layer().with_writer(io::stderr).with_ansi(colours), plan.format));
        }
    }
    // A second start in one process (tests) keeps the first.
    let _ = tracing_subscriber::registry().with(sinks).with(levels(plan)).try_init();
    Ok(lines)
}

fn written<W>(
    layer: fmt::Layer<Registry, fmt::format::DefaultFields, fmt::format::Format, W>,
    format: LogFormat,
) -> Sink
where
    W: for<'a> fmt::MakeWriter<'a> + Send + Sync + 'static,
{
    match format {
        LogFormat::Text => Box::new(layer.fmt_fields(debug_fn(shown).delimited(" "))),
        LogFormat::Json => Box::new(layer.json().flatten_event(true).map_writer(Escaping)),
    }
}

/// A field of a line for people: what came from outside (an error's text, what a command said) makes no line of its own
/// and nothing that a terminal acts on.
fn shown(writer: &mut Writer<'_>, field: &Field, value: &dyn std::fmt::Debug) -> std::fmt::Result {
    let value = format!("{value:?}");
    let value = visible(&value);
    match field.name() {
        "message" => writer.write_str(&value),
        name => write!(writer, "{name}={value}"),
    }
}

/// Where lines of JSON go, what a terminal would act on escaped.
struct Escaping<W>(W);

impl<'a, W: fmt::MakeWriter<'a>> fmt::MakeWriter<'a> for Escaping<W> {
    type Writer = Escaped<W::Writer>;

    fn make_writer(&'a self) -> Self::Writer {
        Escaped(self.0.make_writer())
    }
}

/// Takes a whole line at a time, as the formatter gives it.
struct Escaped<W>(W);

impl<W: io::Write> io::Write for Escaped<W> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.0.write_all(json::escaped(&String::from_utf8_lossy(line)).as_bytes())?;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// This program's own lines by its verbosity; those of crates only when they are grave, until everything is asked for.
fn levels(plan: Plan<'_>) -> Targets {
    let quiet = u8::from(plan.purpose != Purpose::Command);
    let own = match plan.verbosity.0.saturating_add(quiet) {
        0 => LevelFilter::WARN,
        1 => LevelFilter::INFO,
        2 => LevelFilter::DEBUG,
        _ => LevelFilter::TRACE,
    };
    let others = if plan.verbosity.0 > 2 { LevelFilter::DEBUG } else { LevelFilter::WARN };
    // The pool warns of each connection that it finds ended; the call that meets it says so already.
    let pool = others.min(LevelFilter::ERROR);
    Targets::new().with_target("taskdeck", own).with_target("deadpool", pool).with_default(others)
}

/// How many log lines the console has missed because it did not keep up.
pub fn missed() -> u64 {
    MISSED.load(Ordering::Relaxed)
}

struct ToConsole {
    sender: SyncSender<LogLine>,
}

impl<S: Subscriber> Layer<S> for ToConsole {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut text = Text::default();
        event.record(&mut text);
        let line = LogLine {
            level: *event.metadata().level(),
            target: event.metadata().target().to_owned(),
            text: text.message + &text.fields,
        };
        if self.sender.try_send(line).is_err() {
            MISSED.fetch_add(1, Ordering::Relaxed);
        }
    }
}

#[derive(Default)]
struct Text {
    message: String,
    fields: String,
}

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        // Writing to a String cannot fail.
        if field.name() == "message" {
            let _ = write!(self.message, "{value:?}");
        } else {
            let _ = write!(self.fields, " {}={value:?}", field.name());
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.record_debug(field, &format_args!("{value}"));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn the_console_gets_lines_and_counts_those_it_missed() {
        let (sender, receiver) = sync_channel(1);
        let subscriber = tracing_subscriber::registry().with(ToConsole { sender });
        let before = missed();
        tracing::subscriber::with_default(subscriber, || {
            tracing::warn!(task = 7, why = "late", "a lease has passed");
            tracing::info!("nobody reads");
        });
        let line = receiver.try_recv().expect("a line");
        assert_eq!((line.level, line.text.as_str()), (Level::WARN, "a lease has passed task=7 why=late"));
        assert_eq!(missed() - before, 1);
    }

    /// Keeps what is written.
    #[derive(Clone, Default)]
    struct Kept(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Kept {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().expect("no test panics here").write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn what_comes_from_outside_makes_no_line_and_moves_no_cursor() {
        for format in [LogFormat::Text, LogFormat::Json] {
            let kept = Kept::default();
            let writer = kept.clone();
            let layer = fmt::layer().with_ansi(false).with_writer(move || writer.clone());
            let subscriber = tracing_subscriber::registry().with(written(layer, format));
            let said = "no\u{1b}[31m\u{202e}\u{1b}]52;c;eA==\u{7}\n2026-11-30T00:00:00Z  INFO taskdeck: ended";
            tracing::subscriber::with_default(subscriber, || {
                tracing::error!(error = %said, task = %7, part = said, "{said}");
            });
            let line = String::from_utf8(kept.0.lock().expect("kept").clone()).expect("text");
            let line = line.strip_suffix('\n').expect("a line end");
            assert!(!line.chars().any(crate::domain::text::is_hostile), "{format:?}: {line}");
            assert!(line.contains("ended") && line.contains('7'), "{format:?}: {line}");
        }
    }

    #[test]
    fn a_command_is_quiet_and_a_worker_tells_what_it_does() {
        let plan = |purpose, verbosity| Plan {
            purpose,
            file: None,
            format: LogFormat::Text,
            verbosity: Verbosity(verbosity),
        };
        let command = levels(plan(Purpose::Command, 0));
        assert!(command.would_enable("taskdeck::db", &Level::WARN));
        assert!(!command.would_enable("taskdeck::db", &Level::INFO));
        let worker = levels(plan(Purpose::Headless, 0));
        assert!(worker.would_enable("taskdeck::db", &Level::INFO));
        assert!(!worker.would_enable("tokio_postgres", &Level::INFO));
        assert!(!worker.would_enable("deadpool.postgres", &Level::WARN));
        assert!(levels(plan(Purpose::Headless, 1)).would_enable("taskdeck::db", &Level::DEBUG));
    }
}
