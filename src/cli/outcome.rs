//! What the answers of all writes have in common: a failure on the way is the write's outcome too, one that is not
//! known says how to find out, and it is told how the answer was come by.

use serde::Serialize;

use super::exit::{Exit, Failure};
use super::open::{SchemaCheck, Session, open};
use super::output::note;
use super::run::Call;
use crate::config::OutputFormat;
use crate::db::{Access, Db};
use crate::domain::text::visible;

/// What became of a write, and of what.
#[derive(Debug, Serialize)]
pub(super) struct Answer<T> {
    /// One word for all of it.
    pub(super) outcome: &'static str,
    /// What it was about.
    #[serde(flatten)]
    pub(super) about: T,
    /// The first answer was lost and the outcome was established afterwards.
    pub(super) resolved_from_unknown: bool,
    /// How often the whole was decided again, as the server had rolled it back.
    pub(super) retries: u32,
    /// The same in words.
    pub(super) message: String,
    /// Why it is not as it was wanted, where that is for the next step to know.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<Failure>,
}

/// Runs one write: opens the database for `verb`, has `ask` send it and print its answer, and only then waits for what
/// is still owed, so that no answer is held back. In JSON a failure on the way is printed as the outcome that it is,
/// about what `about` says.
///
/// # Errors
/// A failure that is no outcome of a write; in text every failure.
pub(super) async fn write<T: Serialize>(
    call: &Call,
    verb: &str,
    about: impl FnOnce(&'static str) -> T,
    ask: impl AsyncFnOnce(&Session) -> Result<Exit, Failure>,
) -> Result<Exit, Failure> {
    let asked = async {
        if call.settings.access == Access::ReadOnly {
            return Err(Failure::read_only(&format!("the {verb}")));
        }
        let session = open(&call.settings, verb, SchemaCheck::First).await?;
        let asked = match ask(&session).await {
            Err(failure) => Err(with_rights(failure, &session.db).await),
            asked => asked,
        };
        session.close().await;
        asked
    };
    let failure = match asked.await {
        Ok(exit) => return Ok(exit),
        Err(failure) => failure,
    };
    let (Some(outcome), OutputFormat::Json) = (of(&failure), call.output.format) else {
        return Err(failure);
    };
    let answer = Answer {
        outcome,
        about: about(outcome),
        resolved_from_unknown: false,
        retries: failure.retries,
        message: failure.message.clone(),
        error: Some(failure.clone()),
    };
    call.output.print(&answer, String::new)?;
    Ok(failure.exit)
}

/// A refusal by the server with the rights that are missing: the server names a table and no right. Asked only then, and
/// left as it is where that cannot be asked.
pub(super) async fn with_rights(failure: Failure, db: &Db) -> Failure {
    if failure.exit != Exit::Refused {
        return failure;
    }
    let Ok(privileges) = db.privileges().await else { return failure };
    let is_named = |table: &str| {
        failure.message.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').any(|word| word == table)
    };
    let mut lacks: Vec<String> = privileges
        .iter()
        .filter(|privilege| privilege.granted == Some(false) && is_named(privilege.table))
        .map(|privilege| format!("{} on {}", privilege.privilege, privilege.table))
        .collect();
    lacks.sort_unstable();
    lacks.dedup();
    if lacks.is_empty() {
        return failure;
    }
    failure.hint(format!(
        "the role lacks {}: ask the database's owner for it; assets/sql/roles.sql has roles, and after an upgrade it is \
         run again",
        lacks.join(", ")
    ))
}

/// The outcome that a failure is, if it is one.
pub(super) fn of(failure: &Failure) -> Option<&'static str> {
    match failure.exit {
        Exit::Unavailable => Some("unavailable"),
        Exit::Unknown => Some("unknown"),
        Exit::Refused => Some("refused"),
        _ => None,
    }
}

/// Prints `answer`; in text as `lines`, and how it was come by.
///
/// # Errors
/// The output cannot be written.
pub(super) fn print<T: Serialize>(call: &Call, answer: &Answer<T>, lines: &[String]) -> Result<(), Failure> {
    let text = || {
        let again = match answer.retries {
            0 => None,
            1 => Some("It was decided again once, as the server had rolled it back.".to_owned()),
            times => Some(format!("It was decided again {times} times, as the server had rolled it back.")),
        };
        let found = answer
            .resolved_from_unknown
            .then(|| "The first answer was lost; this is what the database says happened.".to_owned());
        lines.iter().chain(&found).chain(&again).flat_map(|line| [visible(line), "\n".into()]).collect()
    };
    call.output.print(answer, text)?;
    if let (Some(error), OutputFormat::Text) = (&answer.error, call.output.format) {
        note(&format!("error: {}", error.message));
        if let Some(hint) = &error.hint {
            note(&format!("hint: {hint}"));
        }
    }
    Ok(())
}

/// What is said at last of a write whose outcome could not be established: that `what` may have been applied, and how
/// to find out. Other failures stay as they are.
pub(super) fn may_be_applied(
    failure: impl Into<Failure>,
    what: &str,
    find_out: impl FnOnce() -> String,
) -> Failure {
    let failure = failure.into();
    if failure.exit != Exit::Unknown {
        return failure;
    }
    let message = format!(
        "{what} may have been applied: the answer was lost ({}), and asking again did not tell",
        failure.message
    );
    Failure { message, ..failure }.hint(find_out())
}
