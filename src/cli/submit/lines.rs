//! `taskdeck submit --lines`: a task a line, with a report of what became of them.

use std::fmt::Write as _;
use std::io::{self, BufRead, BufReader};
use std::path::Path;
use std::pin::pin;

use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;
use tokio::sync::watch;

use super::{open_file, tell_unknown, unreadable};
use crate::cli::exit::{Exit, Failure};
use crate::cli::interrupt;
use crate::cli::open::{SchemaCheck, Session, open};
use crate::cli::outcome::{may_be_applied, with_rights};
use crate::cli::output::note;
use crate::cli::run::Call;
use crate::config::OutputFormat;
use crate::domain::figure::thousands;
use crate::domain::text::visible;
use crate::domain::{NewTask, TaskId};
use crate::signals::{Signal, name};
use crate::submit_lines::{Job, Keys, Step, Stopped, submit_lines};

/// The most refused lines that text output names.
const NAMED: usize = 20;

/// A line that was not submitted.
#[derive(Debug, Serialize)]
struct RefusedLine {
    line: u64,
    message: String,
}

#[derive(Debug, Default, Serialize)]
struct Report {
    /// Tasks that this run has made.
    submitted: u64,
    /// Lines whose tasks were there already; none without a key, as then each line is a new task.
    #[serde(skip_serializing_if = "Option::is_none")]
    known: Option<u64>,
    first_id: Option<TaskId>,
    last_id: Option<TaskId>,
    refused: Vec<RefusedLine>,
    /// Where another run goes on; none at the end of the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    stopped_at_line: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Failure>,
    /// The first line of those that are being sent.
    #[serde(skip)]
    under_way: Option<u64>,
}

impl Report {
    fn take(&mut self, step: Step<'_>, bar: &ProgressBar) {
        match step {
            Step::Refused { line, message } => self.refused.push(RefusedLine { line, message }),
            Step::Sending { from } => self.under_way = Some(from),
            Step::Sent { made, read } => {
                self.under_way = None;
                let new = || made.iter().filter(|submitted| submitted.created);
                let ids = || new().map(|submitted| submitted.task.id);
                let count = new().count() as u64;
                self.submitted += count;
                self.known = self.known.map(|known| known + made.len() as u64 - count);
                self.first_id = self.first_id.into_iter().chain(ids()).min();
                self.last_id = self.last_id.into_iter().chain(ids()).max();
                bar.set_position(read);
                bar.set_message(thousands(i64::try_from(self.submitted).unwrap_or(i64::MAX)));
            }
        }
    }
}

/// Submits every good line of a file; `-` is standard input.
///
/// The exit code is 0 if every line was submitted, 2 if some were refused (the others are submitted), 1 if a signal
/// ended it, and that of the failure where the database stopped it: then `submitted` says how many lines are in, and
/// `stopped_at_line` where to go on.
///
/// # Errors
/// The file cannot be read, or the database cannot be opened.
pub(super) async fn run(call: &Call, path: &Path, new: &NewTask, keys: Keys) -> Result<Exit, Failure> {
    let (source, length): (Box<dyn BufRead + Send>, Option<u64>) = if path == Path::new("-") {
        (Box::new(BufReader::new(io::stdin())), None)
    } else {
        let file = open_file(path)?;
        let length = file.metadata().ok().map(|metadata| metadata.len());
        (Box::new(BufReader::new(file)), length)
    };
    let session = open(&call.settings, "submit", SchemaCheck::First).await?;
    let known = matches!(keys, Keys::Named(_)).then_some(0);
    let mut report = Report { known, ..Report::default() };
    let bar = progress(length);
    let job = Job { task: new.clone(), max_input_bytes: call.settings.max_input_bytes, keys };
    let result = until_ended(&session, source, &job, &mut report, &bar).await;
    bar.finish_and_clear();
    let exit = match ended(result?, path, &report) {
        Ended::AtTheEnd if report.refused.is_empty() => Exit::Done,
        Ended::AtTheEnd => Exit::Usage,
        Ended::Before { failure, line } => {
            let failure = with_rights(failure, &session.db).await;
            let exit = failure.exit;
            let hint = go_on(&job.keys, path, line, exit);
            let hint = match &failure.hint {
                // What cannot be read is to be mended first.
                Some(first) if exit == Exit::Usage => first.clone(),
                Some(first) if exit != Exit::Unknown => format!("{first}; {hint}"),
                _ => hint,
            };
            report.error = Some(failure.hint(hint));
            report.stopped_at_line = Some(line);
            exit
        }
    };
    session.close().await;
    let text = text(&report);
    call.output.print(&report, || text)?;
    if call.output.format == OutputFormat::Text {
        complain(&report);
    }
    Ok(exit)
}

/// How it ended.
enum Ended {
    /// Every line was read and sent, or refused.
    AtTheEnd,
    /// Something ended it before.
    Before {
        /// What.
        failure: Failure,
        /// The first line of which it is not known that it is in.
        line: u64,
    },
}

/// Submits lines until their end or a signal, and says which signal came and where it stopped. What is under way when a
/// signal comes is waited for, so that it can be told what became of it; a second signal does not wait.
async fn until_ended(
    session: &Session,
    source: Box<dyn BufRead + Send>,
    job: &Job,
    report: &mut Report,
    bar: &ProgressBar,
) -> Result<(Option<Stopped>, Option<Signal>), Failure> {
    let mut signals = interrupt::listen()?;
    let (halt, mut halted) = watch::channel(false);
    let first = async {
        // The sender lives as long as this.
        let _ = halted.wait_for(|halted| *halted).await;
    };
    let mut asked: Option<Signal> = None;
    let tell = |step: Step<'_>| report.take(step, bar);
    let mut submitting = pin!(submit_lines(&session.db, source, job, first, &tell_unknown, tell));
    loop {
        tokio::select! {
            // First, so that a second signal finds it waiting for an answer and for nothing else.
            biased;
            result = &mut submitting => return Ok((result.err(), asked)),
            signal = signals.next() => {
                if asked.replace(signal).is_some() {
                    return Ok((None, asked));
                }
                let waits = format!("{}: what is under way is waited for; once more leaves at once", name(signal));
                bar.suspend(|| note(&waits));
                halt.send_replace(true);
            }
        }
    }
}

/// How it ended, in words.
fn ended((stopped, asked): (Option<Stopped>, Option<Signal>), path: &Path, report: &Report) -> Ended {
    match (stopped, asked, report.under_way) {
        (None, Some(signal), Some(line)) => {
            let message = format!("{} came twice: {} may have been submitted", name(signal), batch(line));
            Ended::Before { failure: Failure::new(Exit::Unknown, "unknown", message), line }
        }
        (None, ..) => Ended::AtTheEnd,
        (Some(Stopped::Asked { from }), asked, _) => {
            let what = format!("stopped before line {from}, from which on nothing is submitted");
            let failure = interrupt::ended(asked.unwrap_or(Signal::Terminate), &what);
            Ended::Before { failure, line: from }
        }
        (Some(Stopped::Reading { error, from }), ..) => {
            Ended::Before { failure: unreadable(path, &error), line: from }
        }
        (Some(Stopped::Sending { error, from }), ..) => {
            let failure = may_be_applied(error, &batch(from), String::new);
            let message = match failure.exit {
                Exit::Unknown => failure.message.clone(),
                _ => format!(
                    "{}; stopped before line {from}, from which on nothing is submitted",
                    failure.message
                ),
            };
            Ended::Before { failure: Failure { message, ..failure }, line: from }
        }
    }
}

/// Lines that were sent together.
fn batch(from: u64) -> String {
    format!("what begins with line {from} (one statement: all of its lines or none)")
}

/// How to go on from `line`.
fn go_on(keys: &Keys, path: &Path, line: u64, exit: Exit) -> String {
    if matches!(keys, Keys::Named(_)) {
        return "run the same command again: under the same --key no line becomes a second task".to_owned();
    }
    if exit == Exit::Unknown {
        return "`taskdeck list` has the newest tasks first: look whether that line is there before it is sent \
                again; with a --key the same command can simply be run again"
            .to_owned();
    }
    if path == Path::new("-") {
        return format!("send the lines from {line} on; with a --key the same command can be run again");
    }
    let file = path.display().to_string();
    let file = visible(&file);
    let file = shell_words::quote(&file);
    format!(
        "go on with `tail -n +{line} {file} | taskdeck submit --lines -` and the flags as before; with a --key the \
         same command can be run again"
    )
}

/// A bar on a terminal's standard error; nothing elsewhere.
fn progress(length: Option<u64>) -> ProgressBar {
    let bar = length.map_or_else(ProgressBar::new_spinner, ProgressBar::new);
    let template =
        if length.is_some() { "{wide_bar} {percent}%  {msg} submitted" } else { "{spinner} {msg} submitted" };
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar
}

fn text(report: &Report) -> String {
    let count = |n: u64| thousands(i64::try_from(n).unwrap_or(i64::MAX));
    let mut text = format!("submitted {}", count(report.submitted));
    if let (Some(first), Some(last)) = (report.first_id, report.last_id) {
        // Writing to a String cannot fail.
        let _ = write!(text, " (tasks {first} to {last})");
    }
    if let Some(known) = report.known {
        let _ = write!(text, "; {} were there before", count(known));
    }
    if !report.refused.is_empty() {
        let _ = write!(text, ", refused {}", count(report.refused.len() as u64));
    }
    if let Some(line) = report.stopped_at_line {
        let _ = write!(text, ", stopped at line {line}");
    }
    text.push('\n');
    text
}

fn complain(report: &Report) {
    for refused in report.refused.iter().take(NAMED) {
        note(&format!("line {}: {}", refused.line, refused.message));
    }
    if report.refused.len() > NAMED {
        note(&format!("and {} more; --output json names all", report.refused.len() - NAMED));
    }
    if let Some(failure) = &report.error {
        note(&format!("error: {}", failure.message));
        if let Some(hint) = &failure.hint {
            note(&format!("hint: {hint}"));
        }
    }
}
