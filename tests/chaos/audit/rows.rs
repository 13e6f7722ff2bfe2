//! What rows, events and the witness say about a task, and whether they say the same.

use super::{Findings, name};
use crate::evidence::{Event, History, Side, State, Step, Task};
use crate::texts::counts;

/// I2, I3, I4 (who may take back), I6 and I8.
pub(super) fn check(id: i64, history: &History, findings: &mut Findings) {
    let Some(task) = &history.task else {
        findings.add("I5", id, "something is known of a task that is not in the table");
        return;
    };
    findings.tallies.tasks += 1;
    *findings.tallies.states.entry(name(task.state)).or_default() += 1;
    findings.tallies.recoveries += history.events.iter().filter(|event| event.act == "recover").count();
    if !task.state.is_final() {
        findings.add("I6", id, format!("it is {} for good", name(task.state)));
    }
    let right = if task.state == State::Succeeded { counts(&task.text) } else { [0; 3] };
    if task.counts != right {
        findings.add(
            "I3",
            id,
            format!("it is {} with {:?} instead of {right:?}", name(task.state), task.counts),
        );
    }
    versions(id, task, &history.events, findings);
    witnessed(id, task, history, findings);
}

/// A claim and a success change the row alone; every other change leaves an event.
fn versions(id: i64, task: &Task, events: &[Event], findings: &mut Findings) {
    let recorded = i64::try_from(events.len()).expect("a small number");
    let silent = task.claim_no + i64::from(task.state == State::Succeeded);
    if task.version != silent + recorded {
        findings.add(
            "I8",
            id,
            format!("version {} after {silent} claims and successes and {recorded} events", task.version),
        );
    }
    for event in events {
        if event.after != event.before + 1 || event.after > task.version {
            findings.add("I8", id, format!("an event from version {} to {}", event.before, event.after));
        }
    }
    for pair in events.windows(2) {
        if pair[0].after == pair[1].after {
            let rule = if decided(&pair[0]) && decided(&pair[1]) { "I7" } else { "I8" };
            let [one, other] = [&pair[0], &pair[1]].map(|event| format!("{} by {}", event.act, event.actor));
            findings.add(rule, id, format!("{one} and {other} both made version {}", pair[0].after));
        }
    }
}

/// Whether an operator made it.
pub(super) fn decided(event: &Event) -> bool {
    matches!(event.act.as_str(), "approve" | "reject" | "cancel" | "request-cancel" | "requeue")
}

/// Every step that the witness saw is one that the contract allows, follows the one before, and is recorded as it was.
fn witnessed(id: i64, task: &Task, history: &History, findings: &mut Findings) {
    let Some((first, changes)) = history.steps.split_first() else {
        findings.add("I8", id, "the witness has not seen it");
        return;
    };
    let mut side = match (&first.old, &first.new) {
        (None, Some(new)) if fresh(new) => new,
        _ => {
            findings.add("I8", id, format!("it did not begin as a submit does: {first:?}"));
            return;
        }
    };
    let mut recorded = 0;
    for step in changes {
        let (Some(old), Some(new)) = (&step.old, &step.new) else {
            findings.add("I8", id, format!("it was made again or removed: {step:?}"));
            return;
        };
        if old != side {
            findings.add(
                "I8",
                id,
                format!("a step from {old:?}, which is not where the one before led: {side:?}"),
            );
        }
        let event = history.events.iter().find(|event| event.after == new.version);
        recorded += usize::from(event.is_some());
        if let Err((rule, problem)) = allowed(step, old, new, event) {
            findings.add(rule, id, format!("{problem}: {old:?} became {new:?}, recorded as {event:?}"));
        }
        findings.tallies.claims += usize::from(new.claim_no > old.claim_no);
        side = new;
    }
    if recorded != history.events.len() {
        findings.add("I8", id, "an event is recorded for a step that the witness has not seen");
    }
    if (side.version, side.state, side.claim_no) != (task.version, task.state, task.claim_no) {
        findings.add("I8", id, format!("the witness saw {side:?} last, the row is {task:?}"));
    }
}

fn fresh(side: &Side) -> bool {
    let numbers = (side.version, side.claim_no, side.attempt);
    let nobodys = side.owner.is_none() && !side.requested;
    matches!(side.state, State::Submitted | State::Queued) && numbers == (0, 0, 0) && nobodys
}

/// The rule that is broken, and how.
type Verdict = Result<(), (&'static str, String)>;

/// Whether the contract allows this step, with this event.
fn allowed(step: &Step, old: &Side, new: &Side, event: Option<&Event>) -> Verdict {
    use State::{Canceled, Failed, Queued, Rejected, Running, Submitted, Succeeded};
    let refuse = |rule, problem: &str| Err((rule, problem.to_owned()));
    if new.version != old.version + 1 {
        return refuse("I8", "a step that is not one version");
    }
    if new.claim_no != old.claim_no && (old.state, new.state) != (Queued, Running) {
        return refuse("I1", "a claim of what was not there to be claimed");
    }
    let acts: &[&str] = match (old.state, new.state) {
        (Submitted, Queued) => &["approve"],
        (Submitted, Rejected) => &["reject"],
        (Submitted | Queued, Canceled) => &["cancel"],
        (Running, Running) => &["request-cancel"],
        (Queued, Running) | (Running, Succeeded) => &[],
        (Running, Queued) => &["retry", "release", "recover"],
        (Running, Failed) => &["fail", "recover"],
        (Running, Canceled) => &["stop", "recover"],
        (Failed | Canceled | Rejected, Queued) => &["requeue"],
        (from, _) if from.is_final() => return refuse("I2", "a final state changed"),
        _ => return refuse("I8", "no move of the contract"),
    };
    match event {
        None if acts.is_empty() => {}
        Some(event) if acts.contains(&event.act.as_str()) => {
            if (event.from, event.to) != (old.state, new.state) {
                return refuse("I10", "the event says otherwise");
            }
        }
        Some(_) => return refuse("I10", "an event that does not fit the step"),
        None => return refuse("I8", "a change without an event"),
    }
    asked(old, new)?;
    let act = match event {
        Some(event) => event.act.as_str(),
        None if new.state == Running => "claim",
        None => "success",
    };
    held(act, old, new)?;
    counted(act, old, new)?;
    match act {
        "claim" => claim(step, old, new),
        "recover" => recovery(step),
        _ => Ok(()),
    }
}

/// A request to cancel is recorded by that act alone, stands while the task runs, and whatever ends the run obeys it.
fn asked(old: &Side, new: &Side) -> Verdict {
    let runs = old.state == State::Running;
    let still = runs && new.state == State::Running;
    if new.requested != still || still && old.requested || old.requested && !runs {
        return Err(("I2", "a request to cancel where none can be".to_owned()));
    }
    let stopped = new.state == State::Canceled;
    if runs && !still && stopped != old.requested {
        let problem = if stopped {
            "stopped, and nobody had asked"
        } else {
            "a recorded request to cancel was overrun"
        };
        return Err(("I2", problem.to_owned()));
    }
    Ok(())
}

/// Whose the task is: a claim's until that ends, and after it that of whoever brought the task to its end.
fn held(act: &str, old: &Side, new: &Side) -> Verdict {
    let kept = new.owner == old.owner;
    let nobodys = new.owner.is_none();
    let right = match act {
        "claim" => old.owner.is_none() && !nobodys,
        "request-cancel" | "success" | "fail" => kept,
        // What had begun stays its worker's; what is given back is nobody's.
        "stop" => kept || nobodys,
        "retry" | "release" | "recover" | "requeue" => nobodys,
        _ => kept && nobodys,
    };
    if right { Ok(()) } else { Err(("I1", format!("{act} left it in the wrong hands"))) }
}

/// A claim is an attempt; what is given back spends none, and a requeue begins anew. While attempts are left nothing
/// fails for good, and then nothing is tried again.
fn counted(act: &str, old: &Side, new: &Side) -> Verdict {
    let attempt = match act {
        "claim" => old.attempt + 1,
        "release" => old.attempt - 1,
        "stop" if new.owner.is_none() => old.attempt - 1,
        "requeue" => 0,
        _ => old.attempt,
    };
    if new.attempt != attempt || new.max_attempts != old.max_attempts {
        return Err(("I8", format!("{act} miscounts the attempts")));
    }
    let left = old.attempt < old.max_attempts;
    match (act, new.state) {
        ("recover" | "retry", State::Queued) if !left => Err(("I8", "an attempt too many".to_owned())),
        ("recover" | "fail", State::Failed) if left => {
            Err(("I8", "it failed for good with attempts left".to_owned()))
        }
        _ => Ok(()),
    }
}

fn claim(step: &Step, old: &Side, new: &Side) -> Verdict {
    if new.claim_no != old.claim_no + 1 {
        return Err(("I1", "a claim that does not count as one".to_owned()));
    }
    match &step.owner {
        // A heartbeat only moves it on, so what it was then was no later.
        Some((_, lease)) if *lease >= step.began => Ok(()),
        Some(_) => Err(("I4", "a claim under a lease that had passed".to_owned())),
        None => Err(("I4", "a claim by an instance that there is not".to_owned())),
    }
}

/// Only from an instance that has ended or was declared lost, with its lease past by the database's clock.
fn recovery(step: &Step) -> Verdict {
    match &step.owner {
        // The statement allows it; but in a run no instance is ever removed.
        None => Err(("I4", "a recovery from an instance that there is not".to_owned())),
        Some((state, lease)) if matches!(state.as_str(), "lost" | "stopped") && *lease < step.at => Ok(()),
        Some((state, _)) => Err(("I4", format!("a recovery from an instance that is {state}"))),
    }
}
