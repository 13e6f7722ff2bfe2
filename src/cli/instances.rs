//! `taskdeck instances`: processes, their leases, what they have in flight.

use serde::Serialize;

use super::exit::{Exit, Failure};
use super::open::{SchemaCheck, open};
use super::run::Call;
use super::table::Table;
use crate::domain::figure::{rate, thousands};
use crate::domain::{Instance, InstanceState, Name};

/// The most tasks in flight that a line of text names.
const NAMED: usize = 8;

#[derive(Debug, Serialize)]
struct Document {
    instances: Vec<Instance>,
}

/// Prints instances that live, and those that ended within the last hour.
///
/// # Errors
/// What the database says.
pub(super) async fn run(call: &Call) -> Result<Exit, Failure> {
    let session = open(&call.settings, "instances", SchemaCheck::First).await?;
    let instances = session.db.instances(call.settings.tenant.as_ref().map(Name::as_str)).await;
    session.close().await;
    let document = Document { instances: instances? };
    call.output.print(&document, || text(call, &document.instances))?;
    Ok(Exit::Done)
}

fn text(call: &Call, instances: &[Instance]) -> String {
    if instances.is_empty() {
        return "no instance runs, and none ended within the last hour\n".to_owned();
    }
    let heads = [
        "INSTANCE",
        "STATE",
        "KIND",
        "OPERATOR",
        "QUEUES",
        "SLOTS",
        "LEASE",
        "DONE",
        "FAILED",
        "DONE/S",
        "IN FLIGHT",
    ];
    let mut table = Table::new(&heads, &[5, 6, 7, 8, 9]);
    for instance in instances {
        let fields = vec![
            instance.label(),
            state(instance),
            instance.kind.clone(),
            instance.operator.clone(),
            instance.queues.join(","),
            format!("{}/{}", instance.running, instance.slots),
            lease(instance),
            thousands(instance.done_total),
            thousands(instance.failed_total),
            rate(instance.done_per_s),
            in_flight(instance),
        ];
        match instance.state {
            InstanceState::Lost => table.push_coloured(fields, 1, "31"),
            InstanceState::Draining | InstanceState::Canceling => table.push_coloured(fields, 1, "33"),
            _ => table.push(fields),
        }
    }
    table.render(call.output)
}

/// What it does, and who asked it to stop.
fn state(instance: &Instance) -> String {
    let state = instance.state.as_str();
    match &instance.stop {
        Some(stop) if instance.state == InstanceState::Working => {
            format!("{state}, {} asked it to {}", stop.by, stop.mode.as_str())
        }
        Some(stop) => format!("{state}, asked by {}", stop.by),
        None => state.to_owned(),
    }
}

fn lease(instance: &Instance) -> String {
    if !instance.state.is_alive() {
        "-".to_owned()
    } else if instance.lease_left_s < 0.0 {
        "passed".to_owned()
    } else {
        format!("{:.0} s", instance.lease_left_s)
    }
}

fn in_flight(instance: &Instance) -> String {
    let mut shown: Vec<String> = instance
        .in_flight
        .iter()
        .take(NAMED)
        .map(
            |task| if task.cancel_requested { format!("{} (to stop)", task.id) } else { task.id.to_string() },
        )
        .collect();
    let named = i64::try_from(shown.len()).unwrap_or(i64::MAX);
    let others = instance.of_other_tenants;
    if instance.running > named + others {
        shown.push(format!("and {} more", instance.running - named - others));
    }
    if others > 0 {
        shown.push(format!("{others} of other tenants"));
    }
    if instance.recovered > 0 {
        let taken: Vec<String> = instance
            .recovered_tasks
            .iter()
            .take(NAMED)
            .map(|task| format!("{} {}", task.id, task.status))
            .collect();
        shown.push(format!("{} taken back: {}", instance.recovered, taken.join(", ")));
    }
    if shown.is_empty() { "-".to_owned() } else { shown.join(" ") }
}
