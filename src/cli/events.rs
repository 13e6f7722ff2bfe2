//! `taskdeck events`: who did what to which task, queue or process; with `--follow` as it happens.

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

use super::args::EventsArgs;
use super::exit::{Exit, Failure};
use super::json;
use super::open::{SchemaCheck, Session, open};
use super::output::{note, write_out};
use super::run::Call;
use super::submit::value;
use super::table::Table;
use crate::config::{OutputFormat, duration, whole};
use crate::db::DbError;
use crate::domain::TaskId;
use crate::domain::audit::{AuditEvent, AuditQuery};
use crate::domain::text::visible;
use crate::signals::Signals;

/// How many events if nobody says.
const LIMIT: i64 = 50;

/// The most events of one answer.
const MOST: i64 = 10_000;

/// How often it is looked for new ones.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// How far back each look goes. An event is seen when its transaction has ended, and its time is from before that; no
/// statement of this program lasts as long as this.
const LOOK_BACK: SignedDuration = SignedDuration::from_mins(1);

#[derive(Debug, Serialize)]
struct Document<'a> {
    events: &'a [AuditEvent],
    next_before: Option<i64>,
}

/// Prints events, the oldest of them first; of `actor` alone if one was named by a flag.
///
/// # Errors
/// A flag with a wrong value; what the database says.
pub(super) async fn run(call: &Call, args: &EventsArgs, actor: Option<&str>) -> Result<Exit, Failure> {
    let limit = value("--limit", args.limit.as_deref(), |text| whole(text, 1, MOST))?.unwrap_or(LIMIT);
    let mut query = AuditQuery {
        task: value("--task", args.task.as_deref(), |text| whole(text, 0, i64::MAX))?.map(TaskId),
        actor: actor.map(str::to_owned),
        since: None,
        before: value("--before", args.before.as_deref(), |text| whole(text, 0, i64::MAX))?,
        tenant: call.settings.tenant.as_ref().map(ToString::to_string),
        limit,
    };
    let since = value("--since", args.since.as_deref(), Since::parse)?;
    let session = open(&call.settings, "events", SchemaCheck::First).await?;
    let printed = async {
        if let Some(since) = since {
            query.since = Some(since.by(session.db.clock().await?));
        }
        let mut events = session.db.audit(&query).await?;
        events.reverse();
        if args.follow {
            return follow(call, &session, query, events).await;
        }
        let full = i64::try_from(events.len()).is_ok_and(|count| count == limit);
        let next_before = events.first().filter(|_| full).map(|event| event.id);
        call.output.print(&Document { events: &events, next_before }, || text(call, &events))?;
        if let Some(before) = next_before
            && call.output.format == OutputFormat::Text
        {
            note(&format!("older ones: --before {before}"));
        }
        Ok(Exit::Done)
    }
    .await;
    session.close().await;
    printed
}

/// Since when: a length of time back from now, or a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Since {
    Ago(Duration),
    At(Timestamp),
}

impl Since {
    fn parse(text: &str) -> Result<Self, String> {
        if let Ok(at) = text.parse::<Timestamp>() {
            return Ok(Self::At(at));
        }
        duration::parse(text).map(Self::Ago).map_err(|problem| {
            format!("{problem}; a length of time such as 2h, or a moment such as 2026-11-30T08:00:00Z")
        })
    }

    /// The moment, where the database's clock says `now`.
    fn by(self, now: Timestamp) -> Timestamp {
        match self {
            Self::At(at) => at,
            Self::Ago(ago) => SignedDuration::try_from(ago)
                .ok()
                .and_then(|ago| now.checked_sub(ago).ok())
                .unwrap_or(Timestamp::MIN),
        }
    }
}

/// Prints what there is, then what comes, until a signal; in JSON a line each.
async fn follow(
    call: &Call,
    session: &Session,
    mut query: AuditQuery,
    before: Vec<AuditEvent>,
) -> Result<Exit, Failure> {
    let mut signals = Signals::install().map_err(|error| Failure::unexpected(error.to_string()))?;
    let mut seen = Seen::default();
    let mut trouble = false;
    print(call, &seen.unseen(before))?;
    if seen.newest.is_none() {
        seen.newest = Some(session.db.clock().await?);
    }
    loop {
        tokio::select! {
            _ = signals.next() => return Ok(Exit::Done),
            () = tokio::time::sleep(LOOK_EVERY) => {}
        }
        match news(session, &mut query, &mut seen).await {
            Ok(events) => {
                if std::mem::take(&mut trouble) {
                    note("the database answers again; nothing was missed");
                }
                print(call, &events)?;
            }
            // It comes back, and what came meanwhile is read then.
            Err(error @ DbError::Unavailable(_)) => {
                if !std::mem::replace(&mut trouble, true) {
                    note(&format!("{error}; trying again"));
                }
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// The events that were not seen yet, the oldest first.
async fn news(
    session: &Session,
    query: &mut AuditQuery,
    seen: &mut Seen,
) -> Result<Vec<AuditEvent>, DbError> {
    query.since = seen.newest.and_then(|at| at.checked_sub(LOOK_BACK).ok());
    query.limit = MOST;
    query.before = None;
    let mut events = Vec::new();
    loop {
        let page = session.db.audit(query).await?;
        let full = i64::try_from(page.len()).is_ok_and(|count| count == MOST);
        query.before = page.last().map(|event| event.id);
        events.extend(page);
        if !full {
            events.reverse();
            return Ok(seen.unseen(events));
        }
    }
}

/// What was printed already.
#[derive(Debug, Default)]
struct Seen {
    newest: Option<Timestamp>,
    lately: BTreeSet<(Timestamp, i64)>,
}

impl Seen {
    /// Those of `events` that are new.
    fn unseen(&mut self, events: Vec<AuditEvent>) -> Vec<AuditEvent> {
        let unseen: Vec<AuditEvent> =
            events.into_iter().filter(|event| self.lately.insert((event.at, event.id))).collect();
        self.newest = self.newest.max(self.lately.last().map(|(at, _)| *at));
        if let Some(oldest) = self.newest.and_then(|at| at.checked_sub(LOOK_BACK).ok()) {
            self.lately = self.lately.split_off(&(oldest, i64::MIN));
        }
        unseen
    }
}

fn print(call: &Call, events: &[AuditEvent]) -> Result<(), Failure> {
    for event in events {
        match call.output.format {
            OutputFormat::Json => write_out(&json::document(event)?)?,
            OutputFormat::Text => write_out(&format!("{}\n", visible(&line(event))))?,
        }
    }
    Ok(())
}

fn text(call: &Call, events: &[AuditEvent]) -> String {
    if events.is_empty() {
        return "no such event\n".to_owned();
    }
    let mut table = Table::new(&["WHEN", "WHO", "ROLE", "WHAT", "OF", "FROM", "TO", "VERSION", "WHY"], &[]);
    for event in events {
        table.push(vec![
            format!("{:.0}", event.at),
            event.actor.clone(),
            event.role.clone(),
            event.movement.clone(),
            subject(event),
            event.from.clone(),
            event.to.clone(),
            format!("{} → {}", event.version_before, event.version_after),
            event.reason.clone().unwrap_or_default(),
        ]);
    }
    table.render(call.output)
}

fn line(event: &AuditEvent) -> String {
    let AuditEvent { actor, movement, from, to, version_before, version_after, .. } = event;
    let why = event.reason.as_ref().map_or_else(String::new, |reason| format!(": {reason}"));
    format!(
        "{:.0}  {actor}  {movement}  {}  {from} → {to} (v{version_before} → v{version_after}){why}",
        event.at,
        subject(event)
    )
}

/// What it is about.
fn subject(event: &AuditEvent) -> String {
    match (event.task, &event.queue, event.instance) {
        (Some(task), ..) => format!("task {task}"),
        (None, Some(queue), _) => format!("queue {queue}"),
        (None, None, Some(instance)) => format!("instance {instance}"),
        (None, None, None) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn since_is_a_moment_or_a_length_of_time() {
        let now: Timestamp = "2026-11-30T12:00:00Z".parse().expect("a time");
        let by = |text: &str| Since::parse(text).expect(text).by(now).to_string();
        assert_eq!(by("2h"), "2026-11-30T10:00:00Z");
        assert_eq!(by("90"), "2026-11-30T11:58:30Z");
        assert_eq!(by("2026-11-29T00:00:00+01:00"), "2026-11-28T23:00:00Z");
        assert!(Since::parse("yesterday").expect_err("no time").contains("2h"));
    }
}
