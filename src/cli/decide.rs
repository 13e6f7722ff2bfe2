//! `taskdeck cancel|approve|reject|requeue`: a decision about one row or several, all or none; or about all that match
//! ([`all`]).

mod all;
mod words;

use serde::Serialize;
use uuid::Uuid;

use super::args::DecideArgs;
use super::changed::sentence;
use super::exit::{Exit, Failure};
use super::open::Session;
use super::outcome::{self, Answer, may_be_applied};
use super::run::Call;
use super::show::task_id;
use super::submit::tell_unknown;
use crate::config::whole;
use crate::db::Preview;
use crate::domain::outcome::{Decided, DecisionOutcome, Verdict};
use crate::domain::{Decision, DecisionKind, OperationId, Seen, Task, TaskId};

/// The version of a row that was not found when it was read: no row ever has it, so a row that appears meanwhile
/// is not decided about unseen.
const NEVER: i64 = -1;

/// A row as it was named: with the version that was seen, or without.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Named {
    id: TaskId,
    version: Option<i64>,
}

/// What a decision was about.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum About<'a> {
    /// One row was named.
    One { task: Option<&'a Task> },
    /// Several were.
    Several { tasks: Vec<RowDocument<'a>> },
}

#[derive(Debug, Serialize)]
struct RowDocument<'a> {
    id: TaskId,
    outcome: &'static str,
    task: Option<&'a Task>,
}

/// Decides and says what became of it.
///
/// # Errors
/// A task that is named wrongly. What the database says is printed as the decision's outcome.
pub(super) async fn run(call: &Call, kind: DecisionKind, args: &DecideArgs) -> Result<Exit, Failure> {
    if args.matching.all {
        return all::run(call, kind, args).await;
    }
    let named = named(&args.tasks)?;
    let failed = |outcome| match named.as_slice() {
        [_] => About::One { task: None },
        rows => About::Several {
            tasks: rows.iter().map(|row| RowDocument { id: row.id, outcome, task: None }).collect(),
        },
    };
    outcome::write(call, kind.verb(), failed, async |session| {
        let (decision, decided) = ask(call, kind, &named, args.reason.as_deref(), session).await?;
        print(call, &decision, &decided)
    })
    .await
}

async fn ask(
    call: &Call,
    kind: DecisionKind,
    named: &[Named],
    reason: Option<&str>,
    session: &Session,
) -> Result<(Decision, Decided), Failure> {
    let tenant = call.settings.tenant.as_ref().map(ToString::to_string);
    let mut rows = Vec::with_capacity(named.len());
    for row in named {
        let version = match row.version {
            Some(version) => version,
            None => session
                .db
                .task(row.id, tenant.as_deref(), Preview::Beginning)
                .await?
                .map_or(NEVER, |task| task.version),
        };
        rows.push(Seen { id: row.id, version });
    }
    let decision = Decision {
        kind,
        rows,
        tenant,
        operator: call.settings.operator.clone(),
        approval: call.settings.approval,
        reason: reason.map(str::to_owned),
        operation: OperationId(Uuid::now_v7()),
    };
    let find_out = || {
        let all = if named.len() > 1 { "; either all were changed or none" } else { "" };
        format!("`taskdeck show {}` tells what is true now{all}", named[0].id)
    };
    let decided = session.db.decide(&decision, &tell_unknown).await;
    match decided {
        Ok(decided) => Ok((decision, decided)),
        Err(error) => Err(may_be_applied(error, &format!("the {kind}"), find_out)),
    }
}

fn print(call: &Call, decision: &Decision, decided: &Decided) -> Result<Exit, Failure> {
    let (exit, outcome) = match decided.outcome() {
        DecisionOutcome::Committed => (Exit::Done, "committed"),
        DecisionOutcome::Conflict => (Exit::Conflict, "conflict"),
        DecisionOutcome::NotFound => (Exit::NotFound, "not_found"),
        DecisionOutcome::Refused => (Exit::Refused, "refused"),
    };
    let mut lines: Vec<String> =
        decided.rows.iter().map(|(id, verdict)| sentence(decision, *id, verdict)).collect();
    if exit != Exit::Done {
        lines.push("Nothing was changed.".to_owned());
    }
    let about = match decided.rows.as_slice() {
        [(_, verdict)] => About::One { task: row(verdict).1 },
        rows => {
            let tasks = rows.iter().map(|(id, verdict)| {
                let (outcome, task) = row(verdict);
                RowDocument { id: *id, outcome, task }
            });
            About::Several { tasks: tasks.collect() }
        }
    };
    let (resolved_from_unknown, retries) = (decided.resolved_from_unknown, decided.retries);
    let error = (exit == Exit::Refused).then(|| {
        over_limit(decided.rows.iter().map(|(_, verdict)| verdict)).unwrap_or_else(|| four_eyes(decision))
    });
    let message = message(&lines);
    let answer = Answer { outcome, about, resolved_from_unknown, retries, message, error };
    outcome::print(call, &answer, &lines)?;
    Ok(exit)
}

/// Why nothing was approved, and who can.
fn four_eyes(decision: &Decision) -> Failure {
    let ids: Vec<String> = decision.rows.iter().map(|row| row.id.to_string()).collect();
    Failure::new(Exit::Refused, "refused", "nobody approves what they submitted themselves (four eyes)")
        .hint(format!("another operator may: `taskdeck {} {}`", decision.kind, ids.join(" ")))
}

/// Which tenant has no room left today and how to see and raise its limit, if that is why.
fn over_limit<'a>(mut verdicts: impl Iterator<Item = &'a Verdict>) -> Option<Failure> {
    let (task, over) = verdicts.find_map(|verdict| match verdict {
        Verdict::OverLimit { task, over } => Some((task, over)),
        _ => None,
    })?;
    let tenant = &task.tenant;
    let hint = format!(
        "`taskdeck limits` shows who set it; the day ends at midnight UTC, or `taskdeck limit {tenant} \
         --max-approved-per-day N` sets another"
    );
    Some(Failure::new(Exit::Refused, "refused", over.words(tenant)).hint(hint))
}

/// The rows' sentences as one text.
fn message(lines: &[String]) -> String {
    lines.join(". ").replace(".. ", ". ")
}

fn row(verdict: &Verdict) -> (&'static str, Option<&Task>) {
    match verdict {
        Verdict::Committed { task, .. } => ("committed", Some(task)),
        Verdict::Conflict { task, .. } => ("conflict", Some(task)),
        Verdict::Refused { task } | Verdict::OverLimit { task, .. } => ("refused", Some(task)),
        Verdict::Held { task } => ("not_applied", Some(task)),
        Verdict::NotFound => ("not_found", None),
    }
}

/// Reads `ID` or `ID@VERSION`; naming a row twice is refused, because two versions of it cannot both be meant.
fn named(texts: &[String]) -> Result<Vec<Named>, Failure> {
    let mut rows: Vec<Named> = Vec::with_capacity(texts.len());
    for text in texts {
        let (id, version) = text.split_once('@').map_or((text.as_str(), None), |(id, v)| (id, Some(v)));
        let id = task_id(id)?;
        let version = version
            .map(|version| whole(version, 0, i64::MAX))
            .transpose()
            .map_err(|problem| Failure::usage(format!("version of task {id}: {problem}")))?;
        if rows.iter().any(|row| row.id == id) {
            return Err(Failure::usage(format!("task {id} is named twice")));
        }
        rows.push(Named { id, version });
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(texts: &[&str]) -> Result<Vec<Named>, Failure> {
        named(&texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn rows_are_named_with_or_without_a_version() {
        let rows = read(&["17", "18@3"]).expect("good");
        assert_eq!(rows[0], Named { id: TaskId(17), version: None });
        assert_eq!(rows[1], Named { id: TaskId(18), version: Some(3) });
        for bad in ["", "x", "1@", "@1", "-1", "1@-1", "1@2@3", "9223372036854775808"] {
            assert_eq!(read(&[bad]).expect_err(bad).exit, Exit::Usage, "{bad}");
        }
        assert!(read(&["1@2", "1@3"]).is_err());
    }

    #[test]
    fn sentences_are_joined_without_double_stops() {
        assert_eq!(message(&["a".to_owned(), "b.".to_owned()]), "a. b.");
        assert_eq!(
            message(&["why?.".to_owned(), "Nothing was changed.".to_owned()]),
            "why?. Nothing was changed."
        );
    }
}
