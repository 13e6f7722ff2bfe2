//! `taskdeck submit`: one task from the arguments, a file or standard input; or one a line ([`lines`]).

mod lines;

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::time::Duration;

use serde::Serialize;

use super::args::SubmitArgs;
use super::exit::{Exit, Failure};
use super::interrupt;
use super::open::{SchemaCheck, Session, open};
use super::outcome::{may_be_applied, with_rights};
use super::output::{Output, note};
use super::run::Call;
use super::wait::{self, Waited};
use crate::config::{OutputFormat, duration};
use crate::db::{Access, Trouble};
use crate::domain::input::{Admission, LineKeys, SubmissionKey, check_text, decode_text};
use crate::domain::outcome::Submitted;
use crate::domain::text::visible;
use crate::domain::{Name, NewTask, Status, Task};
use crate::submit_lines::{Keys, too_long};

/// How long `--wait` waits if nobody says.
const WAIT: Duration = Duration::from_mins(1);

#[derive(Debug, Serialize)]
struct Document<'a> {
    task: &'a Task,
    created: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    resolved_from_unknown: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a Failure>,
}

/// Submits what the arguments say.
///
/// # Errors
/// Bad input, before anything is sent; a read-only session; what the database says.
pub(super) async fn run(call: &Call, args: &SubmitArgs) -> Result<Exit, Failure> {
    if call.settings.access == Access::ReadOnly {
        return Err(Failure::read_only("the submit"));
    }
    let new = new_task(call, args)?;
    let max = call.settings.max_input_bytes;
    if let Some(path) = &args.lines {
        let keys = match &args.key {
            Some(key) => Keys::Named(LineKeys::new(&new.tenant, key)?),
            None => Keys::Fresh,
        };
        return lines::run(call, path, &new, keys).await;
    }
    let key = match &args.key {
        Some(key) => SubmissionKey::given(&new.tenant, key)?,
        None => SubmissionKey::fresh(),
    };
    let timeout = value("--timeout", args.timeout.as_deref(), duration::parse)?.unwrap_or(WAIT);
    let text = read_text(args, max)?;
    check_text(&text, max)?;
    let session = open(&call.settings, "submit", SchemaCheck::First).await?;
    let exit = submit_one(call, args, &session, Wanted { text: &text, new: &new, key: &key, timeout }).await;
    let exit = match exit {
        Err(failure) => Err(with_rights(failure, &session.db).await),
        exit => exit,
    };
    session.close().await;
    exit
}

/// One submit.
#[derive(Debug, Clone, Copy)]
struct Wanted<'a> {
    text: &'a str,
    new: &'a NewTask,
    key: &'a SubmissionKey,
    timeout: Duration,
}

async fn submit_one(
    call: &Call,
    args: &SubmitArgs,
    session: &Session,
    wanted: Wanted<'_>,
) -> Result<Exit, Failure> {
    // From before it is sent, so that a signal meanwhile is answered once it is known what became of it.
    let signals = if args.wait { Some(interrupt::listen()?) } else { None };
    let submitted = session.db.submit(wanted.text, wanted.new, wanted.key, &tell_unknown).await;
    let submitted =
        submitted.map_err(|error| may_be_applied(error, "the submit", || find_out(args.key.as_deref())))?;
    let said = said(&submitted, wanted, args.key.as_deref());
    let Submitted { task, created, resolved_from_unknown } = submitted;
    let document = |task, error| {
        call.output.print(&Document { task, created, resolved_from_unknown, error }, || {
            if args.wait { ended(task, call.output) } else { format!("{said}\n") }
        })
    };
    let Some(mut signals) = signals else {
        document(&task, None)?;
        return Ok(Exit::Done);
    };
    note(&format!("{said}; waiting for its end"));
    let (task, failure) = match wait::until_final(&session.db, task, wanted.timeout, &mut signals).await? {
        Waited::Ended(task) => {
            document(&task, None)?;
            return Ok(if task.status == Status::Succeeded { Exit::Done } else { Exit::Unexpected });
        }
        Waited::Interrupted { task, signal } => {
            let failure = wait::interrupted(&task, signal);
            (task, failure)
        }
        Waited::TimedOut { task, trouble } => {
            let failure = wait::timed_out(&task, wanted.timeout, trouble.as_ref());
            (task, failure)
        }
    };
    match call.output.format {
        OutputFormat::Json => document(&task, Some(&failure))?,
        OutputFormat::Text => return Err(failure),
    }
    Ok(failure.exit)
}

/// How to find out whether a submit is in the table.
fn find_out(key: Option<&str>) -> String {
    match key {
        Some(key) => {
            format!("send it again with --key {}: it never makes a second task", visible(key))
        }
        None => "look before it is sent again: `taskdeck list` has the newest tasks first, `--search TEXT` finds one \
                 by its text; what has a --key may simply be sent again"
            .to_owned(),
    }
}

/// Said once, when an answer was lost and its outcome is being established.
pub(super) fn tell_unknown(trouble: &Trouble) {
    note(&format!("the answer was lost ({trouble}); asking the database what happened…"));
}

fn said(submitted: &Submitted, wanted: Wanted<'_>, key: Option<&str>) -> String {
    let task = &submitted.task;
    let (id, status) = (task.id, task.status);
    match (submitted.created, status) {
        (true, Status::Submitted) => format!("task {id} is SUBMITTED and waits for approval"),
        (true, _) => format!("task {id} is {status}"),
        (false, _) => {
            let key = visible(key.unwrap_or_default()).into_owned();
            let differs = if task.input == wanted.text { "" } else { ", with another text than this one" };
            // The row's own text tells; which of two sends of one key made it, nobody can.
            if submitted.resolved_from_unknown {
                return format!(
                    "task {id} is {status}: there under the key {key}{differs}, made now or before"
                );
            }
            format!(
                "task {id} was submitted before under the key {key}{differs}; it is {status}, and no task was added"
            )
        }
    }
}

/// How a task ended, for people.
fn ended(task: &Task, output: Output) -> String {
    let id = task.id;
    let status = output.status(task.status, task.status.as_str());
    let mut text = match (task.status, &task.error) {
        (Status::Succeeded, _) => {
            let counts = task.counts;
            format!(
                "task {id} {status}: {} words, {} bytes, {} runes\n",
                counts.words, counts.bytes, counts.runes
            )
        }
        (Status::Failed, Some(error)) => {
            format!(
                "task {id} {status} after {} of {} attempts: {}\n",
                task.attempt,
                task.max_attempts,
                visible(error)
            )
        }
        _ => format!("task {id} {status}\n"),
    };
    if let Some(written) = &task.output {
        for line in crate::domain::text::visible_lines(written.trim_end_matches('\n')) {
            text.push_str(&line);
            text.push('\n');
        }
    }
    text
}

fn new_task(call: &Call, args: &SubmitArgs) -> Result<NewTask, Failure> {
    let standard = NewTask::default();
    Ok(NewTask {
        tenant: call.settings.tenant.clone().unwrap_or(standard.tenant),
        queue: match &args.queue {
            Some(queue) => Name::new("queue", queue)?,
            None => standard.queue,
        },
        priority: value("--priority", args.priority.as_deref(), |text| {
            crate::config::whole(text, -1_000_000, 1_000_000)
        })?
        .unwrap_or(standard.priority),
        max_attempts: value("--max-attempts", args.max_attempts.as_deref(), |text| {
            crate::config::whole(text, 1, 1_000)
        })?
        .unwrap_or(standard.max_attempts),
        delay: value("--delay", args.delay.as_deref(), duration::parse)?.unwrap_or(standard.delay),
        admission: if args.hold { Admission::Hold } else { Admission::Queue },
        submitted_by: Some(call.settings.operator.clone()),
        approval: call.settings.approval,
        notify: args.notify || call.settings.notify,
    })
}

/// Reads a flag that is no setting.
pub(super) fn value<T>(
    flag: &str,
    text: Option<&str>,
    parse: impl FnOnce(&str) -> Result<T, String>,
) -> Result<Option<T>, Failure> {
    text.map(|text| parse(text).map_err(|problem| Failure::usage(format!("{flag}: {problem}")))).transpose()
}

fn read_text(args: &SubmitArgs, max: usize) -> Result<String, Failure> {
    match (&args.file, args.text.as_slice()) {
        (Some(path), _) => read_limited(open_file(path)?, path, max),
        (None, []) => Err(Failure::usage("submit: there is no text")
            .hint("give it as arguments, with --file FILE, with --lines FILE, or as - for standard input")),
        (None, [dash]) if dash == "-" => read_limited(io::stdin().lock(), Path::new("standard input"), max),
        (None, words) => Ok(words.join(" ")),
    }
}

fn open_file(path: &Path) -> Result<File, Failure> {
    File::open(path).map_err(|error| unreadable(path, &error))
}

fn unreadable(path: &Path, error: &io::Error) -> Failure {
    Failure::new(Exit::Usage, "input", format!("{} cannot be read: {error}", path.display()))
        .hint("name a file that this user may read")
}

/// Reads all of `source`, but no more than decides that it is too long.
fn read_limited(source: impl Read, path: &Path, max: usize) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    let most = u64::try_from(max).unwrap_or(u64::MAX).saturating_add(1);
    source.take(most).read_to_end(&mut bytes).map_err(|error| unreadable(path, &error))?;
    if bytes.len() > max {
        return Err(too_long(max).into());
    }
    Ok(decode_text(bytes)?)
}
