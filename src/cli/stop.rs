//! `taskdeck stop`: asks workers elsewhere to shut down, and with `--wait` sees them do it.

mod named;

use std::time::{Duration, Instant};

use serde::Serialize;
use uuid::Uuid;

use super::args::StopArgs;
use super::decide::outcome_of;
use super::exit::{Exit, Failure};
use super::open::{SchemaCheck, Session, open};
use super::run::Call;
use super::submit::{tell_unknown, value};
use crate::config::{OutputFormat, duration};
use crate::db::{Access, DbError};
use crate::domain::instance::{SeenInstance, Stop};
use crate::domain::outcome::{StopAnswer, StopVerdict, Stopping};
use crate::domain::text::visible;
use crate::domain::{Instance, InstanceId, InstanceState, OperationId, StopMode, StopRequest};

/// How long a wait lasts if nothing is said.
const WAIT: Duration = Duration::from_mins(1);

/// The pause between two looks of a wait.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// What was asked and what came of it.
#[derive(Debug, Serialize)]
struct Document {
    outcome: &'static str,
    mode: StopMode,
    instances: Vec<Asked>,
    resolved_from_unknown: bool,
    retries: u32,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Failure>,
}

/// One instance that was named.
#[derive(Debug, Serialize)]
struct Asked {
    id: InstanceId,
    outcome: &'static str,
    instance: Option<Stopping>,
    #[serde(skip)]
    sentence: String,
}

/// Asks, and says what became of it.
///
/// # Errors
/// What was named does not exist, or means several instances. What the database says.
pub(super) async fn run(call: &Call, args: &StopArgs) -> Result<Exit, Failure> {
    let mode = mode(&args.mode)?;
    let within = value("--timeout", args.timeout.as_deref(), duration::parse)?.unwrap_or(WAIT);
    if call.settings.access == Access::ReadOnly {
        return Err(Failure::read_only("the stop"));
    }
    let session = open(&call.settings, "stop", SchemaCheck::First).await?;
    let answered = ask(call, args, mode, &session).await;
    let waited = match answered {
        Ok((mut document, exit)) => {
            if args.wait {
                document.error = wait(&session, &mut document, within).await.err();
            }
            Ok((document, exit))
        }
        Err(failure) => Err(failure),
    };
    session.close().await;
    let (document, exit) = match waited {
        Ok(answered) => answered,
        // A failure on the way is the request's outcome too: a script reads `outcome` whatever happened.
        Err(failure) => match (outcome_of(&failure), call.output.format) {
            (Some(outcome), OutputFormat::Json) => (failed(outcome, mode, failure), Exit::Unexpected),
            _ => return Err(failure),
        },
    };
    let exit = document.error.as_ref().map_or(exit, |failure| failure.exit);
    call.output.print(&document, || text(&document))?;
    Ok(exit)
}

fn mode(text: &str) -> Result<StopMode, Failure> {
    StopMode::ALL
        .into_iter()
        .find(|mode| mode.as_str() == text)
        .ok_or_else(|| Failure::usage(format!("--mode: `{}` is not drain or cancel", visible(text))))
}

async fn ask(
    call: &Call,
    args: &StopArgs,
    mode: StopMode,
    session: &Session,
) -> Result<(Document, Exit), Failure> {
    // Instances are no tenant's.
    let known = session.db.instances(None).await?;
    let seen: Vec<SeenInstance> =
        if args.all { named::all(&known, mode) } else { named::each(&known, &args.instances)? };
    let stop = Stop {
        mode,
        instances: seen,
        operator: call.settings.operator.clone(),
        reason: args.reason.clone(),
        operation: OperationId(Uuid::now_v7()),
    };
    if stop.instances.is_empty() {
        return Ok((nobody(&known, mode), Exit::Done));
    }
    let answer = session.db.stop(&stop, &tell_unknown).await?;
    Ok(document(&answer))
}

/// Nothing works, or everything that works was asked already.
fn nobody(known: &[Instance], mode: StopMode) -> Document {
    let stopping: Vec<String> = known
        .iter()
        .filter(|instance| instance.state.runs_tasks())
        .map(|instance| {
            let asked =
                instance.stop.as_ref().map_or_else(String::new, |stop| format!(", {}", asked_by(stop)));
            format!("{} is {} already{asked}", instance.label(), instance.state.as_str())
        })
        .collect();
    let message = if stopping.is_empty() { "no workers run".to_owned() } else { stopping.join(". ") };
    let (instances, resolved_from_unknown) = (Vec::new(), false);
    Document {
        outcome: "committed",
        mode,
        instances,
        resolved_from_unknown,
        retries: 0,
        message,
        error: None,
    }
}

fn failed(outcome: &'static str, mode: StopMode, failure: Failure) -> Document {
    let message = failure.message.clone();
    let (instances, resolved_from_unknown) = (Vec::new(), false);
    Document { outcome, mode, instances, resolved_from_unknown, retries: 0, message, error: Some(failure) }
}

fn document(answer: &StopAnswer) -> (Document, Exit) {
    let instances: Vec<Asked> = answer
        .instances
        .iter()
        .map(|(id, verdict)| {
            let (outcome, instance) = match verdict {
                StopVerdict::Committed { instance } => ("committed", Some(instance.clone())),
                StopVerdict::Conflict { instance } => ("conflict", Some(instance.clone())),
                StopVerdict::NotFound => ("not_found", None),
            };
            Asked { id: *id, outcome, instance, sentence: sentence(answer.mode, *id, verdict) }
        })
        .collect();
    let has = |outcome| instances.iter().any(|asked| asked.outcome == outcome);
    let (outcome, exit) = if has("not_found") {
        ("not_found", Exit::NotFound)
    } else if has("conflict") {
        ("conflict", Exit::Conflict)
    } else {
        ("committed", Exit::Done)
    };
    let sentences: Vec<&str> = instances.iter().map(|asked| asked.sentence.as_str()).collect();
    let message = sentences.join(". ");
    let (mode, resolved_from_unknown, retries) = (answer.mode, answer.resolved_from_unknown, answer.retries);
    (Document { outcome, mode, instances, resolved_from_unknown, retries, message, error: None }, exit)
}

fn sentence(mode: StopMode, id: InstanceId, verdict: &StopVerdict) -> String {
    match verdict {
        StopVerdict::Committed { instance } => {
            let how = match mode {
                StopMode::Drain => "to drain",
                StopMode::Cancel => "to stop what it runs and end",
            };
            let obeys = if instance.lease_past {
                "its lease has passed: perhaps nobody is there to obey"
            } else {
                "it obeys at its next heartbeat"
            };
            format!("{}: asked {how}; {obeys}", instance.label)
        }
        StopVerdict::Conflict { instance } => format!("{}: not asked: {}", instance.label, why_not(instance)),
        StopVerdict::NotFound => format!("instance {id}: there is no such instance"),
    }
}

fn why_not(instance: &Stopping) -> String {
    match (instance.state, &instance.stop) {
        (InstanceState::Stopped, _) => "it has stopped".to_owned(),
        (InstanceState::Lost, _) => "it is lost, and what it held is taken back".to_owned(),
        (InstanceState::Watching, _) => "it runs no tasks, it only watches".to_owned(),
        (_, Some(stop)) => asked_by(stop),
        (_, None) => "it has changed since it was read".to_owned(),
    }
}

fn asked_by(stop: &StopRequest) -> String {
    let why = stop.reason.as_ref().map_or_else(String::new, |reason| format!(": {reason}"));
    format!("{} asked it to {} at {}{why}", stop.by, stop.mode.as_str(), stop.at.strftime("%H:%M:%SZ"))
}

/// Waits until each instance that was asked has ended, and puts its state into the document.
async fn wait(session: &Session, document: &mut Document, within: Duration) -> Result<(), Failure> {
    let started = Instant::now();
    loop {
        match session.db.instances(None).await {
            Ok(now) => look(document, &now),
            // It comes back, or the time passes.
            Err(DbError::Unavailable(_)) => {}
            Err(error) => return Err(error.into()),
        }
        let asked = || document.instances.iter().filter(|asked| asked.outcome == "committed");
        let lives =
            |asked: &&Asked| asked.instance.as_ref().is_some_and(|instance| instance.state.runs_tasks());
        let living: Vec<&str> = asked()
            .filter(lives)
            .filter_map(|asked| asked.instance.as_ref().map(|instance| instance.label.as_str()))
            .collect();
        if living.is_empty() {
            return match asked().find(|asked| {
                asked.instance.as_ref().is_some_and(|instance| instance.state == InstanceState::Lost)
            }) {
                Some(lost) => Err(Failure::new(Exit::Unexpected, "lost", lost.sentence.clone())),
                None => Ok(()),
            };
        }
        if started.elapsed() >= within {
            let message = format!("after {} still at work: {}", duration::show(within), living.join(", "));
            return Err(Failure::new(Exit::Unexpected, "timeout", message).hint(
                "they were asked and go on ending: `taskdeck instances`; --mode cancel stops what they run",
            ));
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

/// Takes over what each instance does now.
fn look(document: &mut Document, now: &[Instance]) {
    for asked in document.instances.iter_mut().filter(|asked| asked.outcome == "committed") {
        let (Some(row), Some(instance)) = (now.iter().find(|row| row.id == asked.id), &mut asked.instance)
        else {
            continue;
        };
        instance.state = row.state;
        instance.lease_past = row.lease_left_s < 0.0;
        asked.sentence = match row.state {
            InstanceState::Stopped => format!("{}: has stopped", instance.label),
            InstanceState::Lost => format!(
                "{}: was lost before it had ended; {} of its tasks were taken back",
                instance.label, row.recovered
            ),
            other => format!("{}: {}, {} in flight", instance.label, other.as_str(), row.running),
        };
    }
    let sentences: Vec<&str> = document.instances.iter().map(|asked| asked.sentence.as_str()).collect();
    document.message = sentences.join(". ");
}

fn text(document: &Document) -> String {
    let mut lines: Vec<String> = if document.instances.is_empty() {
        vec![document.message.clone()]
    } else {
        document.instances.iter().map(|asked| asked.sentence.clone()).collect()
    };
    if document.resolved_from_unknown {
        lines.push("The first answer was lost; this is what the database says happened.".to_owned());
    }
    if let Some(failure) = &document.error {
        lines.push(failure.message.clone());
        lines.extend(failure.hint.iter().map(|hint| format!("hint: {hint}")));
    }
    lines.iter().flat_map(|line| [visible(line), "\n".into()]).collect()
}
