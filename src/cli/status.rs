//! `taskdeck status`: the state of everything in one look, for people, scripts and monitors.

use std::fmt::Write as _;
use std::time::Duration;

use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};

use super::exit::{Exit, Failure};
use super::open::{SchemaCheck, open};
use super::run::Call;
use crate::domain::Status;
use crate::domain::figure::{age, rate, thousands};
use crate::domain::observed::{Health, OldTransaction, OldestDue, Overview, Tallies};
use crate::domain::outbox::OutboxTally;
use crate::domain::text::visible;

#[derive(Debug, Serialize)]
struct Document<'a> {
    read_at: jiff::Timestamp,
    counts: Counts,
    oldest_due: Option<Oldest<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    outbox: Option<&'a OutboxTally>,
    done_per_s: f64,
    failed_per_min: f64,
    instances: Instances,
    database: Database<'a>,
}

/// The tallies in the order of the states.
#[derive(Debug)]
struct Counts(Tallies);

impl Serialize for Counts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(Status::ALL.len()))?;
        for status in Status::ALL {
            map.serialize_entry(status.as_str(), &self.0.of(status))?;
        }
        map.end()
    }
}

#[derive(Debug, Serialize)]
struct Oldest<'a> {
    #[serde(flatten)]
    task: &'a OldestDue,
    why: String,
}

#[derive(Debug, Serialize)]
struct Instances {
    alive: i64,
    lost: i64,
}

#[derive(Debug, Serialize)]
struct Database<'a> {
    name: &'a str,
    role: &'a str,
    server_version: &'a str,
    is_replica: bool,
    is_read_only: bool,
    connections: i64,
    max_connections: i64,
    ours: i64,
    oldest_transaction: Option<&'a OldTransaction>,
    dead_rows: i64,
    lock_waits: usize,
}

/// Prints the state of everything, or of the tenant that is named.
///
/// # Errors
/// What the database says.
pub(super) async fn run(call: &Call) -> Result<Exit, Failure> {
    let session = open(&call.settings, "status", SchemaCheck::First).await?;
    let tenant = call.settings.tenant.as_ref().map(ToString::to_string);
    let overview = session.db.overview(tenant.as_deref()).await;
    let health = session.db.health().await;
    let label = session.label.clone();
    session.close().await;
    let (overview, health) = (overview?, health?);
    let document = Document {
        read_at: overview.read_at,
        counts: Counts(overview.tallies),
        oldest_due: overview.oldest_due.as_ref().map(|task| Oldest { task, why: task.why() }),
        outbox: overview.outbox.as_ref(),
        done_per_s: overview.done_per_s,
        failed_per_min: overview.failed_per_min,
        instances: Instances { alive: overview.alive_instances, lost: overview.lost_instances },
        database: Database {
            name: &health.database,
            role: &health.role,
            server_version: &health.server_version,
            is_replica: health.is_replica,
            is_read_only: health.is_read_only,
            connections: health.connections,
            max_connections: health.max_connections,
            ours: health.ours,
            oldest_transaction: health.oldest_transaction.as_ref(),
            dead_rows: health.dead_rows,
            lock_waits: health.waits.len(),
        },
    };
    call.output.print(&document, || text(call, &overview, &health, &label))?;
    Ok(Exit::Done)
}

fn text(call: &Call, overview: &Overview, health: &Health, label: &str) -> String {
    let mut text = String::new();
    let mut line = |name: &str, value: &str| {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{name:<11}{value}");
    };
    line("database", &visible(&format!("{label}, PostgreSQL {}{}", health.server_version, kind(health))));
    if let Some(tenant) = &call.settings.tenant {
        line("tenant", tenant.as_str());
    }
    for status in Status::ALL {
        let tally = overview.tallies.of(status);
        let about = if tally.estimated { "~" } else { "" };
        let name = format!("{:<11}", status.as_str());
        line(&call.output.status(status, &name), &format!("{about}{}", thousands(tally.count)));
    }
    line(
        "waiting",
        &match &overview.oldest_due {
            None => "nothing is due".to_owned(),
            Some(oldest) => {
                let waited = age(ms(oldest.waiting_ms));
                visible(&format!("task {} for {waited}: {}", oldest.id, oldest.why())).into_owned()
            }
        },
    );
    if let Some(outbox) = &overview.outbox {
        line("outbox", &visible(&outbox.words()));
    }
    line(
        "rates",
        &format!("{} done/s, {} failed/min", rate(overview.done_per_s), rate(overview.failed_per_min)),
    );
    line(
        "instances",
        &match overview.lost_instances {
            0 => format!("{} alive", overview.alive_instances),
            lost => format!("{} alive, {lost} lost within the last hour", overview.alive_instances),
        },
    );
    line(
        "sessions",
        &format!("{} of {}, {} of them taskdeck's", health.connections, health.max_connections, health.ours),
    );
    if let Some(oldest) = &health.oldest_transaction {
        line(
            "oldest tx",
            &visible(&format!(
                "{} by {} ({}, pid {})",
                age(ms(oldest.open_ms)),
                oldest.role,
                if oldest.application.is_empty() { "unnamed" } else { &oldest.application },
                oldest.pid,
            )),
        );
    }
    if !health.waits.is_empty() {
        line("locks", &format!("{} sessions wait", health.waits.len()));
    }
    text
}

fn kind(health: &Health) -> &'static str {
    if health.is_replica {
        ", a replica"
    } else if health.is_read_only {
        ", read-only"
    } else {
        ""
    }
}

fn ms(ms: i64) -> Duration {
    Duration::from_millis(u64::try_from(ms).unwrap_or(0))
}
