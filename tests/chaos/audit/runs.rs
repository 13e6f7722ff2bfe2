//! What really ran, by the ledger, against what was claimed.

use std::collections::BTreeMap;

use super::Findings;
use crate::analyser::{Line, What};
use crate::evidence::{History, State, Step, Task};
use crate::plan::Micros;

/// One run of the command.
#[derive(Debug, Clone, Copy)]
struct Run {
    start: Micros,
    /// The first line that says that it was over.
    end: Option<(Micros, What)>,
}

/// I1 and I4.
pub(super) fn check(id: i64, history: &History, findings: &mut Findings) {
    let runs = runs(id, &history.lines, findings);
    findings.tallies.starts += runs.len();
    let mut before: Option<(i64, Run)> = None;
    for (claim_no, run) in &runs {
        match claimed(&history.steps, *claim_no) {
            None => findings.add("I1", id, format!("claim {claim_no} ran and was never won")),
            Some(at) if at > run.start => {
                findings.add("I1", id, format!("claim {claim_no} ran before it was won"));
            }
            Some(_) => {}
        }
        left(id, *claim_no, *run, history, findings);
        if let Some((earlier, run_before)) = before {
            repeated(id, (earlier, run_before), (*claim_no, *run), history, findings);
        }
        before = Some((*claim_no, *run));
    }
    unrun(id, history, &runs, findings);
    result(id, history, &runs, findings);
}

/// The task, if its queue is one of those whose tasks the command runs.
fn commanded(history: &History) -> Option<&Task> {
    history.task.as_ref().filter(|task| matches!(task.queue.as_str(), "default" | "ghosts"))
}

/// What failed had run.
fn unrun(id: i64, history: &History, runs: &BTreeMap<i64, Run>, findings: &mut Findings) {
    if commanded(history).is_none() {
        return;
    }
    for event in history.events.iter().filter(|event| matches!(event.act.as_str(), "retry" | "fail")) {
        let made = history.steps.iter().filter_map(|step| step.new.as_ref());
        let Some(side) = made.into_iter().find(|side| side.version == event.after) else { continue };
        if !runs.contains_key(&side.claim_no) {
            let what = format!("claim {} was ended by {} and never ran", side.claim_no, event.act);
            findings.add("I4", id, what);
        }
    }
}

fn runs(id: i64, lines: &[Line], findings: &mut Findings) -> BTreeMap<i64, Run> {
    let mut runs: BTreeMap<i64, Run> = BTreeMap::new();
    for line in lines.iter().filter(|line| line.what == What::Start) {
        if runs.insert(line.claim_no, Run { start: line.at, end: None }).is_some() {
            findings.add("I1", id, format!("claim {} was run twice", line.claim_no));
        }
    }
    for line in lines.iter().filter(|line| line.what != What::Start) {
        // One that was asked to stop before it began says so without having begun.
        if let Some(run) = runs.get_mut(&line.claim_no) {
            run.end.get_or_insert((line.at, line.what));
        }
    }
    runs
}

/// When a claim was won.
fn claimed(steps: &[Step], claim_no: i64) -> Option<Micros> {
    let won = |step: &&Step| {
        let before = step.old.as_ref().map_or(0, |old| old.claim_no);
        step.new.as_ref().is_some_and(|new| new.claim_no == claim_no && before < claim_no)
    };
    steps.iter().find(won).map(|step| step.at)
}

/// The step that ended a claim.
fn ended(steps: &[Step], claim_no: i64) -> Option<&Step> {
    steps.iter().find(|step| match (&step.old, &step.new) {
        (Some(old), Some(new)) => {
            old.claim_no == claim_no && old.state == State::Running && new.state != State::Running
        }
        _ => false,
    })
}

/// What ended a claim, in the event's word.
fn ending<'a>(history: &'a History, step: &Step) -> &'a str {
    let version = step.new.as_ref().map_or(0, |new| new.version);
    history.events.iter().find(|event| event.after == version).map_or("success", |event| event.act.as_str())
}

/// A claim that its own worker ended had run to its end before.
fn left(id: i64, claim_no: i64, run: Run, history: &History, findings: &mut Findings) {
    let Some(step) = ended(&history.steps, claim_no) else { return };
    let how = ending(history, step);
    let over = run.end.is_some_and(|(at, _)| at <= step.at);
    let problem = match how {
        // Its process may be gone, or run on for nothing; one that was frozen in between begins only now.
        "recover" => {
            findings.tallies.belated += usize::from(run.start > step.at);
            return;
        }
        "release" | "stop" if run.start > step.at => {
            findings.add("I4", id, format!("claim {claim_no} began after {how} had ended it"));
            return;
        }
        // Where it had to be killed it has written nothing.
        "release" | "stop" => run.end.is_some_and(|(at, _)| at > step.at),
        _ => !over,
    };
    if problem {
        findings.add("I4", id, format!("claim {claim_no} was ended by {how} while it ran"));
    }
}

/// A run after another is explained by what ended the claim of the other, which was before.
fn repeated(
    id: i64,
    (earlier, run_before): (i64, Run),
    (claim_no, run): (i64, Run),
    history: &History,
    findings: &mut Findings,
) {
    findings.tallies.repeated += 1;
    match ended(&history.steps, earlier) {
        Some(step) if step.at <= run.start => {
            findings.tallies.explained += 1;
            if run_before.end.is_none_or(|(at, _)| at > run.start) {
                findings.tallies.overlapping += 1;
            }
        }
        _ => findings.add("I4", id, format!("claim {claim_no} began before claim {earlier} had ended")),
    }
}

/// The committed result is that of the claim that committed it.
fn result(id: i64, history: &History, runs: &BTreeMap<i64, Run>, findings: &mut Findings) {
    let Some(task) = commanded(history) else { return };
    if task.state != State::Succeeded {
        return;
    }
    let claim_no = task.claim_no;
    if !runs.get(&claim_no).is_some_and(|run| matches!(run.end, Some((_, What::End)))) {
        findings.add("I4", id, format!("it succeeded under claim {claim_no}, which did not run to its end"));
    }
    let wanted = format!("{id}/{claim_no} ");
    if !task.output.as_ref().is_some_and(|output| output.starts_with(&wanted)) {
        findings.add("I1", id, format!("its output is {:?} instead of `{wanted}…`", task.output));
    }
}
