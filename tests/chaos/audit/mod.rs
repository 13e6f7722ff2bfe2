//! The audit: counts ids. It is given evidence and nothing else, so that it can be shown forged evidence and must say
//! what is wrong with it.
//!
//! The rules, by the numbers that a report names:
//! - **I1** One claim of a task is won by one, and run once. Of a claim the row keeps its number and owner, and nobody
//!   writes down who was told that they won it; so that two were told is seen only where a command ran, by the ledger
//!   (`default` and `ghosts`). Of the other queues it is seen that the row was claimed once, by one.
//! - **I2** A final state changes by an operator's requeue only; a recorded request to cancel is not overrun.
//! - **I3** Counts stand in SUCCEEDED only, and are those of the text.
//! - **I4** The command of a later claim begins after the earlier one was finished, given back or recovered; and only from
//!   an owner whose lease has passed is anything recovered.
//! - **I5** An acknowledged submit is there, once; one that was told to be unavailable is not.
//! - **I6** Every task comes to an end, and every worker that is drained.
//! - **I7** Of two decisions on one version one takes effect; the other is shown what stood in its way.
//! - **I8** Every change is one version, is recorded, and is a move of the contract.
//! - **I9** No write is applied twice.
//! - **I10** What the program says is what the database holds.
//! - **I12** No session outlives its process.

#[cfg(test)]
mod forge;
mod promises;
mod rows;
mod runs;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use rustix::process::Signal;

use crate::evidence::{Evidence, State};
use crate::fleet::{By, NO_SERVER};
use crate::plan::Micros;

/// A rule that was broken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Broken {
    /// As the contract numbers them.
    pub(crate) rule: &'static str,
    pub(crate) task: Option<i64>,
    pub(crate) what: String,
}

/// What the audit counted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Tallies {
    pub(crate) tasks: usize,
    pub(crate) states: BTreeMap<String, usize>,
    pub(crate) claims: usize,
    pub(crate) starts: usize,
    pub(crate) recoveries: usize,
    /// Runs of a command beyond a task's first.
    pub(crate) repeated: usize,
    /// Those of them that are explained by what ended the claim before.
    pub(crate) explained: usize,
    /// Runs that began while one that was recovered still ran.
    pub(crate) overlapping: usize,
    /// Runs that began after their own claim was recovered, as of a process that was frozen right before.
    pub(crate) belated: usize,
    pub(crate) acknowledged: usize,
    pub(crate) lost: usize,
    pub(crate) twice: usize,
    /// Calls that ended without knowing, and of those the ones that a later send of the same key cleared up.
    pub(crate) unknown: usize,
    pub(crate) unknown_resolved: usize,
    /// What those calls said.
    pub(crate) unknown_said: BTreeMap<String, usize>,
    /// Calls that lost an answer and found out by themselves.
    pub(crate) found_out: usize,
    pub(crate) decisions: BTreeMap<String, usize>,
    pub(crate) submits: BTreeMap<String, usize>,
    pub(crate) races: usize,
    /// Workers that ended as they found no server.
    pub(crate) unbegun: usize,
}

/// What the audit found.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    pub(crate) broken: Vec<Broken>,
    pub(crate) tallies: Tallies,
}

impl Findings {
    fn add(&mut self, rule: &'static str, task: i64, what: impl Into<String>) {
        self.broken.push(Broken { rule, task: Some(task), what: what.into() });
    }

    fn add_at_large(&mut self, rule: &'static str, what: impl Into<String>) {
        self.broken.push(Broken { rule, task: None, what: what.into() });
    }
}

/// Looks through everything.
pub(crate) fn audit(evidence: &Evidence) -> Findings {
    let mut findings = Findings::default();
    for (id, history) in &evidence.tasks {
        rows::check(*id, history, &mut findings);
        runs::check(*id, history, &mut findings);
    }
    promises::check(evidence, &mut findings);
    tested(evidence, &mut findings);
    for (at, lease) in &evidence.losses {
        if lease >= at {
            findings.add_at_large(
                "I4",
                format!("an instance was declared lost {} µs before its lease passed", lease - at),
            );
        }
    }
    for rise in &evidence.rises {
        findings.add_at_large("I4", format!("the instance {rise}"));
    }
    for end in &evidence.ends {
        let began = |(pid, at): &(i64, Micros)| {
            *pid == i64::from(end.pid) && (end.lived.0..=end.lived.1).contains(at)
        };
        findings.tallies.unbegun += usize::from(end.code == Some(NO_SERVER));
        let unregistered = !evidence.registered.iter().any(began);
        let term = Signal::TERM.as_raw();
        let right = match end.by {
            By::Kill => end.signal == Some(Signal::KILL.as_raw()),
            // One that had only just been started, and did not listen to signals yet, has nothing to leave.
            By::Drain => matches!(end.code, Some(0 | 1)) || end.signal == Some(term) && unregistered,
            By::LastDrain => end.code == Some(0),
            // Only one that never got as far as the table may say that there is no server.
            By::Itself => end.code == Some(NO_SERVER) && unregistered,
        };
        if !right {
            findings.add_at_large("I6", format!("a worker ended as it must not: {end:?}"));
        }
    }
    for instance in &evidence.open_instances {
        findings.add_at_large("I6", format!("an instance without a process: {instance}"));
    }
    if evidence.sessions > 0 {
        findings.add_at_large("I12", format!("{} sessions outlived every process", evidence.sessions));
    }
    findings
}

/// A run that broke nothing proves nothing.
fn tested(evidence: &Evidence, findings: &mut Findings) {
    let kills = evidence.ends.iter().any(|end| end.by == By::Kill && end.code.is_none());
    let committed = evidence.decisions.iter().any(|decide| decide.told.code() == Some(0));
    for (done, what) in [
        (kills, "no worker was killed"),
        (evidence.cuts > 0, "no line was cut"),
        (evidence.crashes > 0, "the server never crashed"),
        (findings.tallies.recoveries > 0, "nothing was recovered"),
        (committed, "no decision was committed"),
    ] {
        if !done {
            findings.add_at_large("test", format!("nothing was tested: {what}"));
        }
    }
}

/// Everything that is known about one task, for people.
pub(crate) fn tell(evidence: &Evidence, id: i64) -> String {
    let mut text = format!("task {id}\n");
    let Some(history) = evidence.tasks.get(&id) else { return text };
    let _ = writeln!(text, "  row     {:?}", history.task);
    for event in &history.events {
        let _ = writeln!(text, "  event   {event:?}");
    }
    for step in &history.steps {
        let _ = writeln!(text, "  witness {step:?}");
    }
    for line in &history.lines {
        let _ = writeln!(text, "  ledger  {line:?}");
    }
    let words = history.task.as_ref().map(|task| task.text.as_str());
    for submit in &evidence.submits {
        if submit.texts.iter().any(|text| Some(text.as_str()) == words) {
            let _ = writeln!(text, "  submit  at {} {:?}: {:?}", submit.at, submit.kind, submit.told);
        }
    }
    for decide in evidence.decisions.iter().filter(|decide| decide.rows.iter().any(|(row, _)| *row == id)) {
        let _ = writeln!(text, "  decide  {decide:?}");
    }
    text
}

/// The name of a state.
fn name(state: State) -> String {
    format!("{state:?}").to_uppercase()
}
