//! `taskdeck cancel|approve|reject|requeue`: a decision about one row or several, all or none.

use serde::Serialize;
use uuid::Uuid;

use super::args::DecideArgs;
use super::changed::sentence;
use super::exit::{Exit, Failure};
use super::open::{SchemaCheck, Session, open};
use super::output::note;
use super::run::Call;
use super::show::task_id;
use super::submit::tell_unknown;
use crate::config::{OutputFormat, whole};
use crate::db::{Access, DbError, Preview};
use crate::domain::outcome::{Decided, DecisionOutcome, Verdict};
use crate::domain::text::visible;
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

/// One row was named.
#[derive(Debug, Serialize)]
struct One<'a> {
    outcome: &'static str,
    task: Option<&'a Task>,
    resolved_from_unknown: bool,
    retries: u32,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a Failure>,
}

/// Several rows were named.
#[derive(Debug, Serialize)]
struct Several<'a> {
    outcome: &'static str,
    tasks: Vec<RowDocument<'a>>,
    resolved_from_unknown: bool,
    retries: u32,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a Failure>,
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
    let named = named(&args.tasks)?;
    match decide(call, kind, &named, args.reason.as_deref()).await {
        Ok((decision, decided)) => print(call, &decision, &decided),
        // A failure on the way is the decision's outcome too: a script reads `outcome` whatever happened.
        Err(failure) => match (outcome_of(&failure), call.output.format) {
            (Some(outcome), OutputFormat::Json) => print_failure(call, outcome, &named, &failure),
            _ => Err(failure),
        },
    }
}

async fn decide(
    call: &Call,
    kind: DecisionKind,
    named: &[Named],
    reason: Option<&str>,
) -> Result<(Decision, Decided), Failure> {
    if call.settings.access == Access::ReadOnly {
        return Err(Failure::read_only(&format!("the {kind}")));
    }
    let session = open(&call.settings, kind.verb(), SchemaCheck::First).await?;
    let answer = ask(call, kind, named, reason, &session).await;
    session.close().await;
    Ok(answer?)
}

async fn ask(
    call: &Call,
    kind: DecisionKind,
    named: &[Named],
    reason: Option<&str>,
    session: &Session,
) -> Result<(Decision, Decided), DbError> {
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
    let decided = session.db.decide(&decision, &tell_unknown).await?;
    Ok((decision, decided))
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
    let message = message(&lines);
    let text = || {
        let mut text: String = lines.iter().flat_map(|line| [visible(line), "\n".into()]).collect();
        if decided.resolved_from_unknown {
            text.push_str("The first answer was lost; this is what the database says happened.\n");
        }
        match decided.retries {
            0 => {}
            1 => text.push_str("It was decided again once, as the server had rolled it back.\n"),
            times => {
                let again =
                    format!("It was decided again {times} times, as the server had rolled it back.\n");
                text.push_str(&again);
            }
        }
        text
    };
    let (resolved_from_unknown, retries) = (decided.resolved_from_unknown, decided.retries);
    match decided.rows.as_slice() {
        [(_, verdict)] => {
            let task = row(verdict).1;
            let document = One { outcome, task, resolved_from_unknown, retries, message, error: None };
            call.output.print(&document, text)?;
        }
        rows => {
            let tasks = rows
                .iter()
                .map(|(id, verdict)| {
                    let (outcome, task) = row(verdict);
                    RowDocument { id: *id, outcome, task }
                })
                .collect();
            let document = Several { outcome, tasks, resolved_from_unknown, retries, message, error: None };
            call.output.print(&document, text)?;
        }
    }
    Ok(exit)
}

/// The rows' sentences as one text.
fn message(lines: &[String]) -> String {
    lines.join(". ").replace(".. ", ". ")
}

fn row(verdict: &Verdict) -> (&'static str, Option<&Task>) {
    match verdict {
        Verdict::Committed { task, .. } => ("committed", Some(task)),
        Verdict::Conflict { task, .. } => ("conflict", Some(task)),
        Verdict::Refused { task } => ("refused", Some(task)),
        Verdict::Held { task } => ("not_applied", Some(task)),
        Verdict::NotFound => ("not_found", None),
    }
}

pub(super) fn outcome_of(failure: &Failure) -> Option<&'static str> {
    match failure.exit {
        Exit::Unavailable => Some("unavailable"),
        Exit::Unknown => Some("unknown"),
        Exit::Refused => Some("refused"),
        _ => None,
    }
}

fn print_failure(
    call: &Call,
    outcome: &'static str,
    named: &[Named],
    failure: &Failure,
) -> Result<Exit, Failure> {
    let message = failure.message.clone();
    let error = Some(failure);
    let (resolved_from_unknown, retries) = (false, failure.retries);
    let nothing = String::new;
    if let [_] = named {
        let document = One { outcome, task: None, resolved_from_unknown, retries, message, error };
        call.output.print(&document, nothing)?;
    } else {
        let tasks = named.iter().map(|row| RowDocument { id: row.id, outcome, task: None }).collect();
        let document = Several { outcome, tasks, resolved_from_unknown, retries, message, error };
        call.output.print(&document, nothing)?;
    }
    if let Some(hint) = &failure.hint {
        note(&format!("hint: {hint}"));
    }
    Ok(failure.exit)
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
