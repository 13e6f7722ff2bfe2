//! `taskdeck events`: who did what to which task, queue, process or tenant; with `--follow` as it happens.

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

use super::args::EventsArgs;
use super::exit::{Exit, Failure};
use super::open::{SchemaCheck, Session, open};
use super::output::{self, Reader, note, write_while_read};
use super::run::Call;
use super::submit::value;
use super::table::Table;
use crate::config::{OutputFormat, duration, whole};
use crate::db::DbError;
use crate::domain::audit::{AuditEvent, AuditPage, AuditQuery};
use crate::domain::text::visible;
use crate::domain::{Process, TaskId, json};
use crate::signals::Signals;

/// How many events if nobody says.
const LIMIT: i64 = 50;

/// The most events of one answer.
const MOST: i64 = 10_000;

/// How often it is looked for new ones.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// How much further back each look goes than a statement of this program may take.
const MARGIN: Duration = Duration::from_mins(1);

/// The furthest that a look goes back, whatever --statement-timeout says, so that each look stays a small one.
const FURTHEST: Duration = Duration::from_hours(1);

/// How many events a look reads at a time.
const WINDOW: i64 = 2_000;

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
        before: value("--before", args.before.as_deref(), |text| whole(text, 0, i64::MAX))?,
        tenant: call.settings.tenant.as_ref().map(ToString::to_string),
        limit,
        ..AuditQuery::default()
    };
    let since = value("--since", args.since.as_deref(), Since::parse)?;
    let session = open(&call.settings, "events", SchemaCheck::First).await?;
    let printed = async {
        if let Some(since) = since {
            query.since = Some(since.by(session.db.clock().await?));
        }
        if args.follow {
            until_ended(call, &session, query).await
        } else {
            once(call, &session, &query).await
        }
    }
    .await;
    session.close().await;
    printed
}

async fn once(call: &Call, session: &Session, query: &AuditQuery) -> Result<Exit, Failure> {
    let AuditPage { mut events, next_before } = session.db.audit(query).await?;
    events.reverse();
    call.output.print(&Document { events: &events, next_before }, || text(call, &events))?;
    if let Some(before) = next_before
        && call.output.format == OutputFormat::Text
    {
        note(&format!("older ones: --before {before}"));
    }
    Ok(Exit::Done)
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

/// Prints what there is, then what comes, until a signal or until nobody reads it.
async fn until_ended(call: &Call, session: &Session, query: AuditQuery) -> Result<Exit, Failure> {
    let mut signals = Signals::install().map_err(|error| Failure::unexpected(error.to_string()))?;
    tokio::select! {
        // Also while a read is under way, which may wait long for its answer.
        _ = signals.next() => Ok(Exit::Done),
        followed = follow(call, session, query) => followed,
    }
}

async fn follow(call: &Call, session: &Session, query: AuditQuery) -> Result<Exit, Failure> {
    let mut seen = Seen::new(session.db.clock().await?, look_back(session.db.limits().statement));
    // What is there already is known before any of it is printed, so that nothing of it is taken for news; what comes
    // between the two reads is news.
    let known = since_back_then(session, &query, &seen).await?;
    seen.take(known);
    let mut first = session.db.audit(&query).await?.events;
    first.reverse();
    let mut reader = print(call, &first)?;
    seen.take(first);
    let mut trouble = false;
    while reader == Reader::There && output::reader() == Reader::There {
        tokio::time::sleep(LOOK_EVERY).await;
        match since_back_then(session, &query, &seen).await {
            Ok(events) => {
                if std::mem::take(&mut trouble) {
                    note("the database answers again");
                }
                reader = print(call, &seen.take(events))?;
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
    Ok(Exit::Done)
}

/// How far back each look goes. An event has the time at which its statement wrote it and is seen once that is
/// committed: at most a statement's time later, and the commit's own, which nothing bounds where it waits for a standby.
/// So this finds what ends in reasonable time, and promises no more.
fn look_back(statement: Duration) -> SignedDuration {
    let back = statement.saturating_add(MARGIN).min(FURTHEST);
    SignedDuration::try_from(back).unwrap_or(SignedDuration::MAX)
}

/// Every event since as far back as a look goes, the oldest first.
async fn since_back_then(
    session: &Session,
    query: &AuditQuery,
    seen: &Seen,
) -> Result<Vec<AuditEvent>, DbError> {
    let since = query.since.max(Some(seen.horizon()));
    let mut query = AuditQuery { since, before: None, limit: MOST, window: WINDOW, ..query.clone() };
    let mut events = Vec::new();
    loop {
        let page = session.db.audit(&query).await?;
        events.extend(page.events);
        if page.next_before.is_none() {
            events.reverse();
            return Ok(events);
        }
        query.before = page.next_before;
    }
}

/// What was there or printed already.
#[derive(Debug)]
struct Seen {
    newest: Timestamp,
    back: SignedDuration,
    lately: BTreeSet<(Timestamp, i64)>,
}

impl Seen {
    /// Nothing yet, at `now` by the database's clock.
    fn new(now: Timestamp, back: SignedDuration) -> Self {
        Self { newest: now, back, lately: BTreeSet::new() }
    }

    /// What is older is not looked for any more.
    fn horizon(&self) -> Timestamp {
        self.newest.checked_sub(self.back).unwrap_or(Timestamp::MIN)
    }

    /// Those of `events` that are new.
    fn take(&mut self, events: Vec<AuditEvent>) -> Vec<AuditEvent> {
        let new: Vec<AuditEvent> =
            events.into_iter().filter(|event| self.lately.insert((event.at, event.id))).collect();
        if let Some((at, _)) = self.lately.last() {
            self.newest = self.newest.max(*at);
        }
        self.lately = self.lately.split_off(&(self.horizon(), i64::MIN));
        new
    }
}

/// Prints events as long as somebody reads them, in JSON a line each.
fn print(call: &Call, events: &[AuditEvent]) -> Result<Reader, Failure> {
    for event in events {
        let line = match call.output.format {
            OutputFormat::Json => json::document(event)?,
            OutputFormat::Text => format!("{}\n", visible(&line(event))),
        };
        if write_while_read(&line)? == Reader::Gone {
            return Ok(Reader::Gone);
        }
    }
    Ok(Reader::There)
}

fn text(call: &Call, events: &[AuditEvent]) -> String {
    if events.is_empty() {
        return "no such event\n".to_owned();
    }
    let mut table =
        Table::new(&["WHEN", "WHO", "ROLE", "PROCESS", "WHAT", "OF", "FROM", "TO", "VERSION", "WHY"], &[]);
    for event in events {
        table.push(vec![
            format!("{:.0}", event.at),
            event.actor.clone(),
            event.role.clone(),
            event.process.as_ref().map(Process::brief).unwrap_or_default(),
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
    let process =
        event.process.as_ref().map_or_else(String::new, |process| format!(" ({})", process.brief()));
    format!(
        "{:.0}  {actor}{process}  {movement}  {}  {from} → {to} (v{version_before} → v{version_after}){why}",
        event.at,
        subject(event)
    )
}

/// What it is about.
fn subject(event: &AuditEvent) -> String {
    match (event.task, &event.queue, &event.tenant, event.instance) {
        (Some(task), ..) => format!("task {task}"),
        (None, Some(queue), ..) => format!("queue {queue}"),
        (None, None, Some(tenant), _) => format!("tenant {tenant}"),
        (None, None, None, Some(instance)) => format!("instance {instance}"),
        (None, None, None, None) => String::new(),
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

    #[test]
    fn a_look_goes_back_further_than_a_statement_may_take_and_no_further_than_an_hour() {
        assert_eq!(look_back(Duration::from_secs(10)), SignedDuration::from_secs(70));
        assert_eq!(look_back(Duration::from_mins(10)), SignedDuration::from_mins(11));
        assert_eq!(look_back(Duration::MAX), SignedDuration::from_hours(1));
    }
}
