//! `taskdeck submit --lines`: a task a line, with a report of what became of them.

use std::fmt::Write as _;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;

use super::{open_file, tell_unknown, unreadable};
use crate::cli::exit::{Exit, Failure};
use crate::cli::open::{SchemaCheck, open};
use crate::cli::outcome::{may_be_applied, with_rights};
use crate::cli::output::note;
use crate::cli::run::Call;
use crate::domain::figure::thousands;
use crate::domain::{NewTask, TaskId};
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
    submitted: u64,
    first_id: Option<TaskId>,
    last_id: Option<TaskId>,
    refused: Vec<RefusedLine>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Failure>,
}

impl Report {
    fn take(&mut self, step: Step<'_>, bar: &ProgressBar) {
        match step {
            Step::Refused { line, message } => self.refused.push(RefusedLine { line, message }),
            Step::Sent { made, read } => {
                let ids = || made.iter().map(|submitted| submitted.task.id);
                self.submitted += made.len() as u64;
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
/// The exit code is 0 if every line was submitted, 2 if some were refused (the others are submitted), and that of
/// the failure where the database stopped it: then `submitted` says how many lines are in.
///
/// # Errors
/// The file cannot be read, or the database cannot be opened.
pub(super) async fn run(call: &Call, path: &Path, new: &NewTask) -> Result<Exit, Failure> {
    let (source, length): (Box<dyn BufRead + Send>, Option<u64>) = if path == Path::new("-") {
        (Box::new(BufReader::new(io::stdin())), None)
    } else {
        let file = open_file(path)?;
        let length = file.metadata().ok().map(|metadata| metadata.len());
        (Box::new(BufReader::new(file)), length)
    };
    let session = open(&call.settings, "submit", SchemaCheck::First).await?;
    let mut report = Report::default();
    let bar = progress(length);
    let job = Job { task: new.clone(), max_input_bytes: call.settings.max_input_bytes, keys: Keys::Fresh };
    let result = submit_lines(&session.db, source, &job, &tell_unknown, |step| report.take(step, &bar)).await;
    bar.finish_and_clear();
    let exit = match result {
        Ok(()) if report.refused.is_empty() => Exit::Done,
        Ok(()) => Exit::Usage,
        Err(Stopped::Reading(error)) => {
            let failure = unreadable(path, &error);
            let exit = failure.exit;
            report.error = Some(failure);
            exit
        }
        Err(Stopped::Sending { error, from }) => {
            let what = format!("what begins with line {from} (one statement: all of its lines or none)");
            let failure = may_be_applied(error, &what, || {
                "`taskdeck list` has the newest tasks first: look whether that line is there before it is sent again"
                    .to_owned()
            });
            let failure = with_rights(failure, &session.db).await;
            let exit = failure.exit;
            let message = match exit {
                Exit::Unknown => failure.message.clone(),
                _ => format!(
                    "{}; stopped before line {from}, from which on nothing is submitted",
                    failure.message
                ),
            };
            report.error = Some(Failure { message, ..failure });
            exit
        }
    };
    session.close().await;
    let text = text(&report);
    call.output.print(&report, || text)?;
    if call.output.format == crate::config::OutputFormat::Text {
        complain(&report);
    }
    Ok(exit)
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
    if !report.refused.is_empty() {
        let _ = write!(text, ", refused {}", count(report.refused.len() as u64));
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
