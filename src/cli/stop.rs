//! `taskdeck stop`: asks workers elsewhere to shut down, and with `--wait` sees them do it.

mod named;

use std::time::{Duration, Instant};

use serde::Serialize;
use uuid::Uuid;

use super::args::StopArgs;
use super::exit::{Exit, Failure};
use super::interrupt;
use super::open::Session;
use super::outcome::{self, Answer, may_be_applied};
use super::run::Call;
use super::submit::{tell_unknown, value};
use crate::config::duration;
use crate::db::DbError;
use crate::domain::instance::Stop;
use crate::domain::outcome::{StopAnswer, StopVerdict, Stopping};
use crate::domain::text::visible;
use crate::domain::{Instance, InstanceId, InstanceState, OperationId, StopMode, StopRequest};
use crate::signals::Signals;

/// How long a wait lasts if nothing is said.
const WAIT: Duration = Duration::from_mins(1);

/// The pause between two looks of a wait.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// What was asked.
#[derive(Debug, Serialize)]
struct About {
    mode: StopMode,
    instances: Vec<Asked>,
}

/// One instance that was named, or one of all.
#[derive(Debug, Serialize)]
struct Asked {
    /// None where there is no such instance.
    id: Option<InstanceId>,
    /// What was written instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    outcome: &'static str,
    instance: Option<Stopping>,
    #[serde(skip)]
    awaited: Awaited,
    #[serde(skip)]
    sentence: String,
}

/// Whether `--wait` sees an instance end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Awaited {
    Yes,
    No,
}

/// Asks, and says what became of it.
///
/// # Errors
/// What was named means several instances. What the database says is printed as the request's outcome.
pub(super) async fn run(call: &Call, args: &StopArgs) -> Result<Exit, Failure> {
    let mode = mode(&args.mode)?;
    let within = value("--timeout", args.timeout.as_deref(), duration::parse)?.unwrap_or(WAIT);
    if call.settings.tenant.is_some() {
        return Err(Failure::no_tenants("stop", "instances"));
    }
    let nobody = |_| About { mode, instances: Vec::new() };
    outcome::write(call, "stop", nobody, async |session| {
        // From before they are asked, so that a signal meanwhile is answered with what became of it.
        let signals = if args.wait { Some(interrupt::listen()?) } else { None };
        let (mut answer, mut exit) = ask(call, args, mode, session).await?;
        if let Some(mut signals) = signals
            && let Err(failure) = wait(session, &mut answer.about.instances, within, &mut signals).await
        {
            exit = failure.exit;
            answer.error = Some(failure);
        }
        let lines = lines(&answer.about.instances);
        answer.message = lines.join(". ");
        outcome::print(call, &answer, &lines)?;
        Ok(exit)
    })
    .await
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
) -> Result<(Answer<About>, Exit), Failure> {
    // Instances are no tenant's.
    let known = session.db.instances(None).await?;
    let named = if args.all { named::all(&known, mode) } else { named::each(&known, &args.instances)? };
    let stop = Stop {
        mode,
        instances: named.to_ask,
        operator: call.settings.operator.clone(),
        reason: args.reason.clone(),
        operation: OperationId(Uuid::now_v7()),
    };
    // Also where nobody is there to be asked: whether the role may ask at all is the server's to say, and does not hang
    // on who happens to work.
    let answer = session.db.stop(&stop, &tell_unknown).await.map_err(|error| {
        may_be_applied(error, "the stop", || "`taskdeck instances` tells who was asked".to_owned())
    })?;
    let asked = answer.instances.iter().map(|(id, verdict)| asked(mode, *id, verdict, args));
    let before = named.asked_before.iter().map(|instance| asked_before(instance));
    let instances: Vec<Asked> = asked.chain(before).chain(named.unknown.into_iter().map(unknown)).collect();
    let has = |outcome| instances.iter().any(|asked| asked.outcome == outcome);
    let (outcome, exit) = if has("not_found") {
        ("not_found", Exit::NotFound)
    } else if has("conflict") {
        ("conflict", Exit::Conflict)
    } else {
        ("committed", Exit::Done)
    };
    let StopAnswer { resolved_from_unknown, retries, .. } = answer;
    let (about, message) = (About { mode, instances }, String::new());
    Ok((Answer { outcome, about, resolved_from_unknown, retries, message, error: None }, exit))
}

fn asked(mode: StopMode, id: InstanceId, verdict: &StopVerdict, args: &StopArgs) -> Asked {
    let (outcome, instance, awaited) = match verdict {
        StopVerdict::Committed { instance } => ("committed", Some(instance.clone()), Awaited::Yes),
        // Of all of them somebody else has asked this one meanwhile, or it has ended.
        StopVerdict::Conflict { instance } => {
            ("conflict", Some(instance.clone()), if args.all { Awaited::Yes } else { Awaited::No })
        }
        StopVerdict::NotFound => ("not_found", None, Awaited::No),
    };
    Asked { id: Some(id), name: None, outcome, instance, awaited, sentence: sentence(mode, id, verdict) }
}

fn asked_before(instance: &Instance) -> Asked {
    let who = instance.stop.as_ref().map_or_else(String::new, asked_by);
    let label = instance.label();
    Asked {
        id: Some(instance.id),
        name: None,
        outcome: "asked_before",
        sentence: format!("{label} is {} already, {who}", instance.state.as_str()),
        instance: Some(Stopping {
            id: instance.id,
            label,
            state: instance.state,
            lease_past: instance.lease_left_s < 0.0,
            stop_version: instance.stop_version,
            stop: instance.stop.clone(),
        }),
        awaited: Awaited::Yes,
    }
}

fn unknown(name: String) -> Asked {
    Asked {
        id: None,
        outcome: "not_found",
        instance: None,
        awaited: Awaited::No,
        sentence: format!(
            "there is no instance `{}`, and none of that name ended within the last hour; `taskdeck instances` lists them",
            visible(&name)
        ),
        name: Some(name),
    }
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

/// Waits until each instance that is awaited has ended, or until a signal, and takes over what it does.
async fn wait(
    session: &Session,
    asked: &mut [Asked],
    within: Duration,
    signals: &mut Signals,
) -> Result<(), Failure> {
    const GO_ON: &str = "they were asked and go on ending";
    let started = Instant::now();
    loop {
        match session.db.instances(None).await {
            Ok(now) => look(asked, &now),
            // It comes back, or the time passes.
            Err(DbError::Unavailable(_)) => {}
            Err(error) => return Err(error.into()),
        }
        let awaited = || asked.iter().filter(|asked| asked.awaited == Awaited::Yes);
        let living: Vec<&str> = awaited()
            .filter_map(|asked| asked.instance.as_ref())
            .filter(|instance| instance.state.runs_tasks())
            .map(|instance| instance.label.as_str())
            .collect();
        if living.is_empty() {
            let lost = |asked: &&Asked| {
                asked.instance.as_ref().is_some_and(|instance| instance.state == InstanceState::Lost)
            };
            return match awaited().find(lost) {
                Some(lost) => Err(Failure::new(Exit::Unexpected, "lost", lost.sentence.clone())),
                None => Ok(()),
            };
        }
        if started.elapsed() >= within {
            let message = format!("after {} still at work: {}", duration::show(within), living.join(", "));
            return Err(Failure::new(Exit::Unexpected, "timeout", message)
                .hint(format!("{GO_ON}: `taskdeck instances`; --mode cancel stops what they run")));
        }
        tokio::select! {
            signal = signals.next() => {
                let what = format!("still at work: {}", living.join(", "));
                let hint = format!("{GO_ON} without being watched: `taskdeck instances`");
                return Err(interrupt::ended(signal, &what).hint(hint));
            }
            () = tokio::time::sleep(LOOK_EVERY) => {}
        }
    }
}

/// Takes over what each instance does now.
fn look(asked: &mut [Asked], now: &[Instance]) {
    for asked in asked.iter_mut().filter(|asked| asked.awaited == Awaited::Yes) {
        let Some(instance) = &mut asked.instance else { continue };
        let Some(row) = now.iter().find(|row| row.id == instance.id) else { continue };
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
}

fn lines(asked: &[Asked]) -> Vec<String> {
    if asked.is_empty() {
        return vec!["no workers run, so nobody was asked".to_owned()];
    }
    asked.iter().map(|asked| asked.sentence.clone()).collect()
}
