//! `taskdeck outbox`: which notifications wait to be delivered, since when, and why.

use serde::Serialize;

use super::args::OutboxArgs;
use super::exit::{Exit, Failure};
use super::open::{SchemaCheck, open};
use super::output::note;
use super::run::Call;
use super::submit::value;
use super::table::Table;
use crate::config::{OutputFormat, whole};
use crate::domain::TaskId;
use crate::domain::outbox::{OutboxEntry, OutboxPage, OutboxQuery};

/// How many rows if nobody says.
const LIMIT: i64 = 50;

/// The most rows of one answer.
const MOST: i64 = 10_000;

#[derive(Debug, Serialize)]
struct Document<'a> {
    notifications: &'a [OutboxEntry],
    next_after: Option<i64>,
}

/// Prints what is not delivered, or everything about one task, the oldest first.
///
/// # Errors
/// A flag with a wrong value; what the database says.
pub(super) async fn run(call: &Call, args: &OutboxArgs) -> Result<Exit, Failure> {
    let query = OutboxQuery {
        task: value("--task", args.task.as_deref(), |text| whole(text, 0, i64::MAX))?.map(TaskId),
        tenant: call.settings.tenant.as_ref().map(ToString::to_string),
        after: value("--after", args.after.as_deref(), |text| whole(text, 0, i64::MAX))?,
        limit: value("--limit", args.limit.as_deref(), |text| whole(text, 1, MOST))?.unwrap_or(LIMIT),
    };
    let session = open(&call.settings, "outbox", SchemaCheck::First).await?;
    let page = session.db.outbox(&query).await;
    session.close().await;
    let OutboxPage { rows, next_after } = page?;
    call.output.print(&Document { notifications: &rows, next_after }, || text(call, &query, &rows))?;
    if let Some(after) = next_after
        && call.output.format == OutputFormat::Text
    {
        note(&format!("newer ones: --after {after}"));
    }
    Ok(Exit::Done)
}

fn text(call: &Call, query: &OutboxQuery, rows: &[OutboxEntry]) -> String {
    if rows.is_empty() {
        return match query.task {
            Some(id) => {
                format!("nothing was to be told of task {id}, or it was delivered more than a day ago\n")
            }
            None => "nothing waits to be delivered\n".to_owned(),
        };
    }
    let heads = ["ID", "TASK", "V", "MOVE", "TO", "BY", "AT", "TRIES", "STATE", "ERROR"];
    let mut table = Table::new(&heads, &[0, 1, 2, 7]);
    for row in rows {
        let told = &row.notification;
        let fields = vec![
            row.id.to_string(),
            told.task_id.to_string(),
            told.version.to_string(),
            told.movement.clone(),
            told.to.to_string(),
            told.actor.clone(),
            told.at.strftime("%Y-%m-%d %H:%M:%SZ").to_string(),
            row.deliveries.to_string(),
            state(row),
            row.error.clone().unwrap_or_else(|| "-".to_owned()),
        ];
        if row.error.is_some() {
            table.push_coloured(fields, 8, "31");
        } else {
            table.push(fields);
        }
    }
    table.render(call.output)
}

/// Where its delivery is.
fn state(row: &OutboxEntry) -> String {
    let owner = || row.owner.clone().unwrap_or_else(|| "an unknown instance".to_owned());
    match (row.delivered_at, row.claimed_by) {
        (Some(at), _) => format!("delivered {} by {}", at.strftime("%H:%M:%SZ"), owner()),
        (None, Some(_)) => format!("with {}", owner()),
        (None, None) if row.error.is_some() => format!("again at {}", row.due_at.strftime("%H:%M:%SZ")),
        (None, None) => "waits".to_owned(),
    }
}
