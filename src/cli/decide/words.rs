//! What is said of a decision about all that match: before it, of its sum, and of why it ended early.

use std::collections::BTreeMap;
use std::fmt::Display;

use crate::cli::changed::needs;
use crate::cli::exit::{Exit, Failure};
use crate::cli::outcome::may_be_applied;
use crate::domain::bulk::{Preview, Sum, Uncertain};
use crate::domain::figure::thousands;
use crate::domain::text::visible;
use crate::domain::{DecisionKind, Status, TaskId};

/// How to go on after it ended early.
const AGAIN: &str = "run it again to go on: what is done does not match any more, so nothing is done twice";

/// `1 task`, `1,204 tasks`.
pub(super) fn tasks(count: i64) -> String {
    let s = if count == 1 { "" } else { "s" };
    format!("{} task{s}", thousands(count))
}

/// How many match and in which states.
pub(super) fn found(preview: &Preview) -> String {
    let total = preview.total();
    let verb = if total.rows == 1 && total.complete { "matches" } else { "match" };
    if total.rows > 0 {
        let s = if total.rows == 1 { "" } else { "s" };
        return format!("{total} task{s} {verb}: {}", per_state(&preview.ready));
    }
    if preview.complete {
        return "nothing matches".to_owned();
    }
    let looked = thousands(preview.looked_at);
    format!("nothing matches among the first {looked} tasks that were looked at; there may be more")
}

/// What matches but for its state, if that is anything.
pub(super) fn left_as_they_are(preview: &Preview) -> Option<String> {
    let left = &preview.left_out;
    (!left.is_empty()).then(|| {
        let asked = if left.contains_key(&Status::Running)
            && preview.matching.kind.leads_to(Status::Running).is_some()
        {
            ", and not again those that run and were asked to stop already"
        } else {
            ""
        };
        format!("left as they are: {} ({}{asked})", per_state(left), needs(preview.matching.kind))
    })
}

fn per_state(counts: &BTreeMap<Status, impl Counted>) -> String {
    let parts: Vec<String> =
        counts.iter().map(|(status, count)| format!("{} {status}", count.shown())).collect();
    parts.join(", ")
}

/// A count as people read it.
trait Counted {
    fn shown(&self) -> String;
}

impl Counted for i64 {
    fn shown(&self) -> String {
        thousands(*self)
    }
}

impl Counted for crate::domain::bulk::Count {
    fn shown(&self) -> String {
        self.to_string()
    }
}

/// Whether it is known what became of those that the sum does not name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rest {
    /// Nothing else was changed.
    Known,
    /// An answer is missing.
    Unsure,
}

/// What became of all of them, a line each.
pub(super) fn sum(preview: &Preview, sum: &Sum, rest: Rest) -> Vec<String> {
    let kind = preview.matching.kind;
    if sum.committed == 0 && sum.left() == 0 {
        let nothing = match (rest, preview.total().rows) {
            (Rest::Unsure, _) => "nothing is known to have been changed",
            (Rest::Known, 0) => "nothing matches; nothing was changed",
            (Rest::Known, _) => "nothing was changed",
        };
        return vec![nothing.to_owned()];
    }
    let chunks = match sum.chunks {
        1 => String::new(),
        chunks => format!(" in {} chunks", thousands(chunks)),
    };
    let mut lines = vec![format!("{} {}{chunks}", kind.past(), tasks(sum.committed - sum.asked))];
    if sum.asked > 0 {
        lines.push(format!("asked {} to stop: RUNNING until the analyser has returned", tasks(sum.asked)));
    }
    let left = |count: i64, one: &str, several: &str| {
        (count > 0).then(|| format!("{} {}", tasks(count), if count == 1 { one } else { several }))
    };
    lines.extend(left(
        sum.conflicts,
        "had moved on after it was read and was left as it is",
        "had moved on after they were read and were left as they are",
    ));
    lines.extend(left(sum.not_found, "is not there any more", "are not there any more"));
    lines.extend(left(sum.refused, "was refused and left as it is", "were refused and left as they are"));
    lines
}

/// The lines as they are printed.
pub(super) fn text(lines: &[impl Display]) -> String {
    lines.iter().map(|line| format!("{}\n", visible(&line.to_string()))).collect()
}

/// Why the database ended it, what holds of the rest, and how to go on.
pub(super) fn ended(
    kind: DecisionKind,
    failure: Failure,
    sum: &Sum,
    uncertain: Option<Uncertain>,
) -> Failure {
    if let Some(Uncertain { from, to, rows }) = uncertain {
        let what = format!(
            "the {kind} of {} (the {} of them that match from {from} to {to}, one statement: all or none; nothing after it was sent)",
            if from == to { format!("task {from}") } else { format!("tasks {from} to {to}") },
            thousands(rows),
        );
        return may_be_applied(failure, &what, || {
            format!("`taskdeck show {from}` tells which; then {AGAIN}")
        });
    }
    if failure.exit == Exit::Unknown {
        return failure;
    }
    let done = match sum.committed {
        0 => "nothing was changed".to_owned(),
        done => format!("{} before that, and nothing else was changed", been(kind, done)),
    };
    let hint = failure.hint.clone().map_or_else(String::new, |hint| format!("{hint}; then "));
    let message = format!("{}; {done}", failure.message);
    Failure { message, ..failure }.hint(format!("{hint}{AGAIN}"))
}

fn been(kind: DecisionKind, count: i64) -> String {
    format!("{} {} {}", tasks(count), if count == 1 { "was" } else { "were" }, kind.past())
}

/// It was stopped by a signal with something left.
pub(super) fn stopped(signal: &str, after: Option<TaskId>) -> Failure {
    let after = after.map_or_else(String::new, |id| format!(" after task {id}"));
    let message = format!("stopped by {signal}{after}; nothing that comes after was changed");
    Failure::new(Exit::Unexpected, "stopped", message).hint(AGAIN)
}

/// A second signal: the chunk under way was not waited for.
pub(super) fn left_at_once(signal: &str, operator: &str, after: Option<TaskId>) -> Failure {
    let after = after.map_or_else(String::new, |id| format!(" after task {id}"));
    let message = format!(
        "{signal} came twice: what the chunk under way{after} has changed is not known; nothing after it was sent"
    );
    let operator = shell_words::quote(operator);
    let hint = format!("`taskdeck events --operator {operator} --since 5m` tells what it did; {AGAIN}");
    Failure::new(Exit::Unknown, "unknown", message).hint(hint)
}

/// Some were not approved, and who can.
pub(super) fn four_eyes(kind: DecisionKind) -> Failure {
    Failure::new(Exit::Refused, "refused", "nobody approves what they submitted themselves (four eyes)")
        .hint(format!("another operator may: `taskdeck {kind} --all` with the same flags"))
}
