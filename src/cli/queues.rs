//! `taskdeck queues`, `pause` and `resume`: what waits in each queue, who paused it, and deciding that.

use std::time::Duration;

use serde::Serialize;
use uuid::Uuid;

use super::args::QueueArgs;
use super::exit::{Exit, Failure};
use super::open::{SchemaCheck, Session, open};
use super::outcome::{self, Answer, may_be_applied};
use super::run::Call;
use super::submit::tell_unknown;
use super::table::Table;
use crate::config::whole;
use crate::domain::figure::{age, thousands};
use crate::domain::queue::{
    Queue, QueueAct, QueueChange, QueueDecided, QueueDecision, QueueOutcome, QueueState,
};
use crate::domain::{Name, OperationId};

#[derive(Debug, Serialize)]
struct List {
    queues: Vec<Queue>,
}

/// What a decision was about.
#[derive(Debug, Serialize)]
struct About<'a> {
    queue: Option<Named<'a>>,
}

#[derive(Debug, Serialize)]
struct Named<'a> {
    name: &'a str,
    #[serde(flatten)]
    state: &'a QueueState,
}

/// Prints every queue that holds something or that somebody has paused or resumed.
///
/// # Errors
/// What the database says.
pub(super) async fn list(call: &Call) -> Result<Exit, Failure> {
    let session = open(&call.settings, "queues", SchemaCheck::First).await?;
    let queues = session.db.queues(call.settings.tenant.as_ref().map(Name::as_str)).await;
    session.close().await;
    let list = List { queues: queues? };
    call.output.print(&list, || text(call, &list.queues))?;
    Ok(Exit::Done)
}

fn text(call: &Call, queues: &[Queue]) -> String {
    if queues.is_empty() {
        return "no queue holds anything, and none was ever paused\n".to_owned();
    }
    let heads = ["QUEUE", "STATE", "V", "WAITING", "OLDEST", "LATER", "RUNNING", "HELD", "WORKERS", "BY"];
    let mut table = Table::new(&heads, &[2, 3, 4, 5, 6, 7, 8]);
    for queue in queues {
        let oldest = queue
            .oldest_waiting_ms
            .map_or_else(|| "-".to_owned(), |ms| age(Duration::from_millis(u64::try_from(ms).unwrap_or(0))));
        let fields = vec![
            queue.name.clone(),
            if queue.state.paused { "paused" } else { "open" }.to_owned(),
            queue.state.version.to_string(),
            thousands(queue.waiting),
            oldest,
            thousands(queue.later),
            thousands(queue.running),
            thousands(queue.held),
            thousands(queue.takers),
            queue.state.changed.as_ref().map_or_else(|| "-".to_owned(), changed),
        ];
        if queue.state.paused {
            table.push_coloured(fields, 1, "33");
        } else {
            table.push(fields);
        }
    }
    table.render(call.output)
}

/// Who changed it last, when and why.
fn changed(change: &QueueChange) -> String {
    let why = change.reason.as_ref().map_or_else(String::new, |reason| format!(": {reason}"));
    format!("{} at {}{why}", change.by, change.at.strftime("%Y-%m-%d %H:%M:%SZ"))
}

/// Pauses or resumes, and says what became of it.
///
/// # Errors
/// A queue that is named wrongly. What the database says is printed as the decision's outcome.
pub(super) async fn decide(call: &Call, act: QueueAct, args: &QueueArgs) -> Result<Exit, Failure> {
    let (queue, version) = named(&args.queue)?;
    if call.settings.tenant.is_some() {
        return Err(Failure::no_tenants(act.verb(), "queues"));
    }
    outcome::write(
        call,
        act.verb(),
        |_| About { queue: None },
        async |session| {
            let decided = send(call, act, &queue, version, args.reason.as_deref(), session).await?;
            print(call, act, &queue, &decided)
        },
    )
    .await
}

/// Reads `QUEUE` or `QUEUE@VERSION`.
fn named(text: &str) -> Result<(Name, Option<i64>), Failure> {
    let (name, version) = text.split_once('@').map_or((text, None), |(name, v)| (name, Some(v)));
    let name = Name::new("queue", name)?;
    let version = version
        .map(|version| whole(version, 0, i64::MAX))
        .transpose()
        .map_err(|problem| Failure::usage(format!("version of queue {name}: {problem}")))?;
    Ok((name, version))
}

async fn send(
    call: &Call,
    act: QueueAct,
    queue: &Name,
    version: Option<i64>,
    reason: Option<&str>,
    session: &Session,
) -> Result<QueueDecided, Failure> {
    let version = match version {
        Some(version) => version,
        None => session.db.queue_state(queue).await?.version,
    };
    let decision = QueueDecision {
        act,
        queue: queue.clone(),
        version,
        operator: call.settings.operator.clone(),
        reason: reason.map(str::to_owned),
        operation: OperationId(Uuid::now_v7()),
    };
    session.db.decide_queue(&decision, &tell_unknown).await.map_err(|error| {
        let what = format!("the {} of queue {queue}", act.verb());
        may_be_applied(error, &what, || {
            "`taskdeck queues` tells whether it is paused, and by whom".to_owned()
        })
    })
}

fn print(call: &Call, act: QueueAct, queue: &Name, decided: &QueueDecided) -> Result<Exit, Failure> {
    let state = &decided.state;
    let version = state.version;
    let who = state.changed.as_ref().map_or_else(String::new, |change| format!(" by {}", changed(change)));
    let said = if state.paused { "paused" } else { "open" };
    let (outcome, exit, message) = match (decided.outcome, act) {
        (QueueOutcome::Committed, QueueAct::Pause) => (
            "committed",
            Exit::Done,
            format!("queue {queue}: paused (v{version}); what runs goes on, nothing more is claimed from it"),
        ),
        (QueueOutcome::Committed, QueueAct::Resume) => {
            ("committed", Exit::Done, format!("queue {queue}: resumed (v{version})"))
        }
        (QueueOutcome::Conflict, _) => (
            "conflict",
            Exit::Conflict,
            format!("queue {queue}: it is {said} (v{version}){who}. Nothing was changed."),
        ),
    };
    let (resolved_from_unknown, retries) = (decided.resolved_from_unknown, decided.retries);
    let about = About { queue: Some(Named { name: queue.as_str(), state }) };
    let answer = Answer { outcome, about, resolved_from_unknown, retries, message, error: None };
    outcome::print(call, &answer, std::slice::from_ref(&answer.message))?;
    Ok(exit)
}
