//! `taskdeck submit --lines`: a task a line, several hundred in one statement, each with a key of its own.

use std::fmt::Write as _;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;

use super::line_reader::{Line, next_line};
use super::{open_file, tell_unknown, too_long, unreadable};
use crate::cli::exit::{Exit, Failure};
use crate::cli::open::{SchemaCheck, open};
use crate::cli::output::note;
use crate::cli::run::Call;
use crate::db::{Db, Preview};
use crate::domain::figure::thousands;
use crate::domain::input::{SubmissionKey, check_text, decode_text};
use crate::domain::{NewTask, TaskId};

/// The most lines in one statement.
const CHUNK_LINES: usize = 500;

/// The most bytes of text in one statement, so that long lines do not make a huge one.
const CHUNK_BYTES: usize = 4 * 1024 * 1024;

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

/// Lines that go into one statement.
#[derive(Debug, Default)]
struct Chunk {
    texts: Vec<String>,
    bytes: usize,
    /// The number of the first of its lines.
    from: u64,
}

/// Submits every good line of a file; `-` is standard input.
///
/// The exit code is 0 if every line was submitted, 2 if some were refused (the others are submitted), and that of
/// the failure where the database stopped it: then `submitted` says how many lines are in.
///
/// # Errors
/// The file cannot be read, or the database cannot be opened.
pub(super) async fn run(call: &Call, path: &Path, new: &NewTask) -> Result<Exit, Failure> {
    let (mut source, length): (Box<dyn BufRead>, Option<u64>) = if path == Path::new("-") {
        (Box::new(BufReader::new(io::stdin())), None)
    } else {
        let file = open_file(path)?;
        let length = file.metadata().ok().map(|metadata| metadata.len());
        (Box::new(BufReader::new(file)), length)
    };
    let session = open(&call.settings, "submit", SchemaCheck::First).await?;
    let mut report = Report::default();
    let bar = progress(length);
    let result = all(&session.db, &mut source, call.settings.max_input_bytes, new, &mut report, &bar).await;
    bar.finish_and_clear();
    session.close().await;
    let exit = match result {
        Ok(()) if report.refused.is_empty() => Exit::Done,
        Ok(()) => Exit::Usage,
        Err(Stopped::Reading(error)) => {
            let failure = unreadable(path, &error);
            let exit = failure.exit;
            report.error = Some(failure);
            exit
        }
        Err(Stopped::Sending { failure, from }) => {
            let exit = failure.exit;
            let message = format!(
                "{}; stopped before line {from}, from which on nothing is known to be submitted",
                failure.message
            );
            report.error = Some(Failure { message, ..failure });
            exit
        }
    };
    let text = text(&report);
    call.output.print(&report, || text)?;
    if call.output.format == crate::config::OutputFormat::Text {
        complain(&report);
    }
    Ok(exit)
}

/// Why it stopped before the end of the file.
#[derive(Debug)]
enum Stopped {
    Reading(io::Error),
    Sending { failure: Failure, from: u64 },
}

async fn all(
    db: &Db,
    source: &mut dyn BufRead,
    max: usize,
    new: &NewTask,
    report: &mut Report,
    bar: &ProgressBar,
) -> Result<(), Stopped> {
    let mut source = source;
    let mut chunk = Chunk::default();
    let mut number = 0;
    let mut read = 0;
    while let Some(line) = next_line(&mut source, max, &mut read).map_err(Stopped::Reading)? {
        number += 1;
        match checked(line, max) {
            Ok(text) => {
                if chunk.texts.is_empty() {
                    chunk.from = number;
                }
                chunk.bytes += text.len();
                chunk.texts.push(text);
            }
            Err(message) => report.refused.push(RefusedLine { line: number, message }),
        }
        if chunk.texts.len() >= CHUNK_LINES || chunk.bytes >= CHUNK_BYTES {
            send(db, std::mem::take(&mut chunk), new, report).await?;
            bar.set_position(read);
            bar.set_message(thousands(i64::try_from(report.submitted).unwrap_or(i64::MAX)));
        }
    }
    send(db, chunk, new, report).await
}

fn checked(line: Line, max: usize) -> Result<String, String> {
    let Line::Whole(bytes) = line else { return Err(too_long(max).to_string()) };
    let text = decode_text(bytes).map_err(|refusal| refusal.to_string())?;
    check_text(&text, max).map_err(|refusal| refusal.to_string())?;
    Ok(text)
}

async fn send(db: &Db, chunk: Chunk, new: &NewTask, report: &mut Report) -> Result<(), Stopped> {
    if chunk.texts.is_empty() {
        return Ok(());
    }
    let texts: Vec<(SubmissionKey, &str)> =
        chunk.texts.iter().map(|text| (SubmissionKey::fresh(), text.as_str())).collect();
    let made = db
        .submit_all(&texts, new, Preview::Beginning, &tell_unknown)
        .await
        .map_err(|error| Stopped::Sending { failure: error.into(), from: chunk.from })?;
    let ids = || made.iter().map(|submitted| submitted.task.id);
    report.submitted += made.len() as u64;
    report.first_id = report.first_id.into_iter().chain(ids()).min();
    report.last_id = report.last_id.into_iter().chain(ids()).max();
    Ok(())
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
