//! `taskdeck show`: a task, its history, its text.

use std::fmt::Write as _;

use jiff::Timestamp;

use super::args::ShowArgs;
use super::exit::{Exit, Failure};
use super::list::since;
use super::open::{SchemaCheck, open};
use super::run::Call;
use super::table::Table;
use crate::config::whole;
use crate::domain::outcome::TaskHistory;
use crate::domain::text::{visible, visible_lines};
use crate::domain::{Process, Task, TaskId};

/// Prints a task.
///
/// # Errors
/// There is no such task (for this tenant); what the database says.
pub(super) async fn run(call: &Call, args: &ShowArgs) -> Result<Exit, Failure> {
    let id = task_id(&args.id)?;
    let session = open(&call.settings, "show", SchemaCheck::First).await?;
    let tenant = call.settings.tenant.as_ref().map(ToString::to_string);
    let found = session.db.history(id, tenant.as_deref()).await;
    session.close().await;
    let (found, read_at) = found?;
    let history = found.ok_or_else(|| not_found(id, tenant.as_deref()))?;
    call.output.print(&history, || text(call, &history, read_at))?;
    Ok(Exit::Done)
}

/// Reads a task's number.
pub(super) fn task_id(text: &str) -> Result<TaskId, Failure> {
    whole(text, 0, i64::MAX).map(TaskId).map_err(|problem| {
        Failure::usage(format!("id: {problem}"))
            .hint("a task's number is a whole number, as in `taskdeck list`")
    })
}

/// The failure for a task that is not there.
pub(super) fn not_found(id: TaskId, tenant: Option<&str>) -> Failure {
    let of = tenant.map(|tenant| format!(" of tenant {tenant}")).unwrap_or_default();
    Failure::new(Exit::NotFound, "not_found", format!("there is no task {id}{of}"))
        .hint("`taskdeck list` shows what there is")
}

fn text(call: &Call, history: &TaskHistory, now: Timestamp) -> String {
    let task = &history.task;
    let mut text = String::new();
    let mut line = |name: &str, value: &str| {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{name:<10}{value}");
    };
    let request = if task.cancel_requested { ", asked to stop" } else { "" };
    line("task", &format!("{} (version {})", task.id, task.version));
    line("state", &format!("{}{request}", call.output.status(task.status, task.status.as_str())));
    line("tenant", &visible(&task.tenant));
    line("queue", &format!("{}, priority {}", visible(&task.queue), task.priority));
    line("attempts", &format!("{} of {}, claimed {} times", task.attempt, task.max_attempts, task.claim_no));
    if let Some(instance) = task.claimed_by {
        line(
            "worker",
            &task.worker.as_deref().map_or_else(|| instance.to_string(), |name| visible(name).into_owned()),
        );
    }
    let by = task.submitted_by.as_ref().map_or_else(String::new, |by| format!(" by {}", visible(by)));
    line("created", &format!("{} ({} ago){by}", time(task.created_at), since(task.created_at, now)));
    if task.scheduled_at != task.created_at {
        line("due", &time(task.scheduled_at));
    }
    for (name, at) in [("started", task.started_at), ("finished", task.finished_at)] {
        if let Some(at) = at {
            line(name, &time(at));
        }
    }
    line("counts", &counts(task));
    if let Some(error) = &task.error {
        line("error", &visible(error));
    }
    section(&mut text, "history", &events(call, history));
    section(&mut text, "text", &lines(&task.input));
    if let Some(output) = &task.output {
        section(&mut text, "output", &lines(output));
    }
    text
}

fn counts(task: &Task) -> String {
    let counts = task.counts;
    format!("{} words, {} bytes, {} runes", counts.words, counts.bytes, counts.runes)
}

fn section(text: &mut String, name: &str, body: &str) {
    if !body.is_empty() {
        let _ = write!(text, "\n{name}\n{body}");
    }
}

fn lines(text: &str) -> String {
    visible_lines(text.trim_end_matches('\n')).fold(String::new(), |mut shown, line| {
        let _ = writeln!(shown, "  {line}");
        shown
    })
}

fn events(call: &Call, history: &TaskHistory) -> String {
    if history.events.is_empty() {
        return String::new();
    }
    let mut table = Table::new(&["WHEN", "WHO", "PROCESS", "WHAT", "FROM", "TO", "VERSION", "WHY"], &[]);
    for event in &history.events {
        table.push(vec![
            time(event.at),
            event.actor.clone(),
            event.process.as_ref().map(Process::brief).unwrap_or_default(),
            event.movement.clone(),
            event.from.to_string(),
            event.to.to_string(),
            format!("{} → {}", event.version_before, event.version_after),
            event.reason.clone().unwrap_or_default(),
        ]);
    }
    table.render(call.output)
}

/// A time in UTC to the second.
fn time(at: Timestamp) -> String {
    format!("{at:.0}")
}
