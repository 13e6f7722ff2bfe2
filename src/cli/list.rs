//! `taskdeck list`: a page of tasks, newest first.

use std::fmt::Write as _;
use std::time::Duration;

use jiff::Timestamp;
use serde::Serialize;

use super::args::ListArgs;
use super::exit::{Exit, Failure};
use super::open::{SchemaCheck, open};
use super::output::note;
use super::run::Call;
use super::submit::value;
use super::table::Table;
use crate::config::{OutputFormat, whole};
use crate::db::{ListQuery, Preview};
use crate::domain::figure::age;
use crate::domain::observed::{Filter, Listed, Page};
use crate::domain::{Name, Status, Task, TaskId};

/// How many rows if nobody says.
const LIMIT: i64 = 50;

/// The most rows of a page: more would be a page that nobody reads and everybody waits for.
const MOST: i64 = 10_000;

#[derive(Debug, Serialize)]
struct Document<'a> {
    tasks: Vec<&'a Task>,
    next_before: Option<TaskId>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unreadable: Vec<Unreadable<'a>>,
}

/// A row with something in it that cannot be read.
#[derive(Debug, Serialize)]
struct Unreadable<'a> {
    id: TaskId,
    problem: &'a str,
}

/// Prints a page. The exit code is 1 if a row of it cannot be read; the others are printed all the same.
///
/// # Errors
/// A flag with a wrong value; what the database says.
pub(super) async fn run(call: &Call, args: &ListArgs) -> Result<Exit, Failure> {
    let query = ListQuery {
        filter: Filter {
            statuses: value("--status", args.status.as_deref(), statuses)?.unwrap_or_default(),
            tenant: call.settings.tenant.as_ref().map(ToString::to_string),
            queue: match &args.queue {
                Some(queue) => Some(Name::new("queue", queue)?.to_string()),
                None => None,
            },
            search: value("--search", args.search.as_deref(), search)?,
        },
        before: value("--before", args.before.as_deref(), |text| whole(text, 0, i64::MAX))?.map(TaskId),
        limit: value("--limit", args.limit.as_deref(), |text| whole(text, 1, MOST))?.unwrap_or(LIMIT),
        // A script gets the whole text; nothing is cut in silence.
        preview: match call.output.format {
            OutputFormat::Text => Preview::Beginning,
            OutputFormat::Json => Preview::Whole,
        },
    };
    let session = open(&call.settings, "list", SchemaCheck::First).await?;
    let page = session.db.list(&query).await;
    session.close().await;
    let page = page?;
    let document = document(&page);
    call.output.print(&document, || text(call, &page))?;
    if call.output.format == OutputFormat::Text {
        for bad in &document.unreadable {
            note(&format!("task {} cannot be read: {}", bad.id, bad.problem));
        }
    }
    Ok(if document.unreadable.is_empty() { Exit::Done } else { Exit::Unexpected })
}

/// Reads states parted by commas.
pub(super) fn statuses(text: &str) -> Result<Vec<Status>, String> {
    text.split(',')
        .map(|part| {
            part.parse().map_err(|error: crate::domain::status::UnknownStatus| {
                crate::domain::text::visible(&error.to_string()).into_owned()
            })
        })
        .collect()
}

/// Reads what is searched for.
pub(super) fn search(text: &str) -> Result<String, String> {
    if text.is_empty() {
        Err("is empty; leave it out to see every task".to_owned())
    } else if text.contains('\0') {
        Err("has a NUL, which no text holds".to_owned())
    } else {
        Ok(text.to_owned())
    }
}

fn document(page: &Page) -> Document<'_> {
    Document {
        tasks: page.rows.iter().filter_map(Listed::task).collect(),
        next_before: page.next_before,
        unreadable: page
            .rows
            .iter()
            .filter_map(|row| match row {
                Listed::Bad { id, problem } => Some(Unreadable { id: *id, problem }),
                Listed::Task(_) => None,
            })
            .collect(),
    }
}

fn text(call: &Call, page: &Page) -> String {
    let mut text = if page.rows.is_empty() {
        "no tasks\n".to_owned()
    } else {
        table(page, call.output.ellipsis).render(call.output)
    };
    if let Some(before) = page.next_before {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "\nmore: --before {before}");
    }
    text
}

fn table(page: &Page, ellipsis: &str) -> Table {
    let mut table =
        Table::new(&["ID", "STATE", "V", "TRIES", "AGE", "TENANT", "QUEUE", "WORKER", "TEXT"], &[0, 2, 4]);
    for row in &page.rows {
        match row {
            Listed::Task(task) => {
                table.push_coloured(fields(task, page.read_at, ellipsis), 1, colour(task.status));
            }
            Listed::Bad { id, .. } => {
                let mut fields = vec![id.to_string()];
                fields.resize(8, "?".to_owned());
                fields.push("(cannot be read)".to_owned());
                table.push(fields);
            }
        }
    }
    table
}

fn fields(task: &Task, now: Timestamp, ellipsis: &str) -> Vec<String> {
    let state = if task.cancel_requested { "RUNNING, to stop".to_owned() } else { task.status.to_string() };
    let worker = task.worker.clone().unwrap_or_else(|| "-".to_owned());
    vec![
        task.id.to_string(),
        state,
        task.version.to_string(),
        format!("{}/{}", task.attempt, task.max_attempts),
        since(task.created_at, now),
        task.tenant.clone(),
        task.queue.clone(),
        if task.status == Status::Running { worker } else { "-".to_owned() },
        if task.input_is_cut() { format!("{}{ellipsis}", task.input) } else { task.input.clone() },
    ]
}

/// How long before `now` something was, by the database's clock.
pub(super) fn since(then: Timestamp, now: Timestamp) -> String {
    age(Duration::try_from(now.duration_since(then)).unwrap_or_default())
}

/// The terminal's number for a state's colour.
pub(super) fn colour(status: Status) -> &'static str {
    match status {
        Status::Submitted => "35",
        Status::Queued => "36",
        Status::Running => "34",
        Status::Succeeded => "32",
        Status::Failed => "31",
        Status::Canceled | Status::Rejected => "33",
    }
}
