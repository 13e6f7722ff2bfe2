//! `--all`: a decision about all that match, in chunks; with a look beforehand, a question, progress, and a sum that says
//! what the database holds.

use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::FutureExt as _;
use indicatif::{ProgressBar, ProgressStyle};
use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

use super::message;
use super::words::{self, Rest, found, left_as_they_are, tasks};
use crate::cli::args::{DecideArgs, MatchingArgs};
use crate::cli::changed::{needs, sentence_of};
use crate::cli::exit::{Exit, Failure};
use crate::cli::list::{search, statuses};
use crate::cli::open::{SchemaCheck, Session, open};
use crate::cli::outcome::{self, Answer};
use crate::cli::output::note;
use crate::cli::prompt::{ask, ask_for, can_ask};
use crate::cli::run::Call;
use crate::cli::submit::{tell_unknown, value};
use crate::config::duration;
use crate::domain::bulk::{Bulk, Left, Preview, Sum, Uncertain};
use crate::domain::observed::Filter;
use crate::domain::outcome::{DecisionOutcome, Verdict};
use crate::domain::{DecisionKind, Name, Status, TaskId};
use crate::signals::{Signal, Signals, name};

/// What a look beforehand found; nothing is decided.
#[derive(Debug, Serialize)]
struct Found {
    #[serde(flatten)]
    matched: Matches,
    looked_at: i64,
    up_to: TaskId,
    message: String,
}

/// What was there to be decided about.
#[derive(Debug, Default, Serialize)]
struct Matches {
    matched: BTreeMap<Status, i64>,
    /// Whether those are all; if not, each count is at least that.
    complete: bool,
    left_out: BTreeMap<Status, i64>,
    left_out_complete: bool,
}

impl Matches {
    fn of(preview: &Preview) -> Self {
        Self {
            matched: preview.ready.clone(),
            complete: preview.complete,
            left_out: preview.left_out.iter().map(|(status, count)| (*status, count.rows)).collect(),
            left_out_complete: preview.left_out.values().all(|count| count.complete),
        }
    }
}

/// What became of it.
#[derive(Debug, Default, Serialize)]
struct About {
    #[serde(flatten)]
    matched: Matches,
    decided: i64,
    asked_to_stop: i64,
    conflicts: i64,
    refused: i64,
    not_found: i64,
    chunks: i64,
    stopped: bool,
    next_after: Option<TaskId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    uncertain: Option<Range>,
    examples: Vec<Example>,
}

/// Tasks of which all were changed or none, and it is not known which.
#[derive(Debug, Serialize)]
struct Range {
    from: TaskId,
    to: TaskId,
    tasks: i64,
}

/// A task that was not decided about, and why.
#[derive(Debug, Serialize)]
struct Example {
    id: TaskId,
    outcome: &'static str,
    status: Option<Status>,
    version: Option<i64>,
    message: String,
}

/// How the chunks ended.
#[derive(Debug, Default)]
struct Ran {
    sum: Sum,
    /// Stopped by this, with something left.
    stopped: Option<Signal>,
    /// Ended by the database.
    ended: Option<Failure>,
    uncertain: Option<Uncertain>,
}

/// Decides about all that match, or shows them.
///
/// # Errors
/// A flag with a wrong value; nobody said yes. What the database says is printed as the outcome.
pub(super) async fn run(call: &Call, kind: DecisionKind, args: &DecideArgs) -> Result<Exit, Failure> {
    let flags = &args.matching;
    let filter = filter(call, kind, flags)?;
    let older_than = value("--older-than", flags.older_than.as_deref(), duration::parse)?;
    if flags.dry_run {
        let session = open(&call.settings, kind.verb(), SchemaCheck::First).await?;
        let preview = look(&session, kind, &filter, older_than).await;
        session.close().await;
        return show(call, &preview?);
    }
    if !flags.yes && !can_ask() {
        let message =
            format!("{kind} --all asks before it changes anything, and there is nobody here to ask");
        return Err(Failure::usage(message)
            .hint("say --yes if that is meant; --dry-run shows what matches and changes nothing"));
    }
    outcome::write(
        call,
        kind.verb(),
        |_| About::default(),
        async |session| {
            let preview = look(session, kind, &filter, older_than).await?;
            if !flags.yes && !agreed(&preview)? {
                return Err(Failure::new(Exit::Unexpected, "declined", "nothing was changed"));
            }
            let bulk = Bulk {
                matching: preview.matching.clone(),
                operator: call.settings.operator.clone(),
                approval: call.settings.approval,
                reason: args.reason.clone(),
            };
            let ran = decide(session, &bulk, &preview).await?;
            print(call, &bulk, &preview, ran)
        },
    )
    .await
}

fn filter(call: &Call, kind: DecisionKind, flags: &MatchingArgs) -> Result<Filter, Failure> {
    let statuses = value("--status", flags.status.as_deref(), statuses)?.unwrap_or_default();
    if !statuses.is_empty() && statuses.iter().all(|status| kind.leads_to(*status).is_none()) {
        return Err(Failure::usage(format!("--status: {}", needs(kind))));
    }
    Ok(Filter {
        statuses,
        tenant: call.settings.tenant.as_ref().map(ToString::to_string),
        queue: match &flags.queue {
            Some(queue) => Some(Name::new("queue", queue)?.to_string()),
            None => None,
        },
        search: value("--search", flags.search.as_deref(), search)?,
    })
}

async fn look(
    session: &Session,
    kind: DecisionKind,
    filter: &Filter,
    older_than: Option<Duration>,
) -> Result<Preview, Failure> {
    let created_before = match older_than {
        Some(ago) => Some(before(session.db.clock().await?, ago)),
        None => None,
    };
    Ok(session.db.preview(kind, filter, created_before).await?)
}

fn before(now: Timestamp, ago: Duration) -> Timestamp {
    SignedDuration::try_from(ago).ok().and_then(|ago| now.checked_sub(ago).ok()).unwrap_or(Timestamp::MIN)
}

/// Shows what matches.
fn show(call: &Call, preview: &Preview) -> Result<Exit, Failure> {
    let kind = preview.matching.kind;
    let mut lines = vec![found(preview)];
    lines.extend(left_as_they_are(preview));
    lines.push(format!("Nothing was changed (--dry-run); {kind} --all without it asks first"));
    let document = Found {
        matched: Matches::of(preview),
        looked_at: preview.looked_at,
        up_to: preview.matching.up_to,
        message: message(&lines),
    };
    call.output.print(&document, || words::text(&lines))?;
    Ok(Exit::Done)
}

/// Asks the operator, if there is something to ask about.
fn agreed(preview: &Preview) -> Result<bool, Failure> {
    if preview.complete && preview.ready.is_empty() {
        return Ok(true);
    }
    note(&found(preview));
    if let Some(line) = left_as_they_are(preview) {
        note(&line);
    }
    let verb = preview.matching.kind.verb();
    let agreed = if preview.matching.is_everything() {
        let question = format!(
            "No flag narrows this: it is about every task of every tenant. Type {verb} to {verb} them all: "
        );
        ask_for(verb, &question)?
    } else {
        ask(&format!("Do you want to {verb} all of them? [y/N] "))?
    };
    Ok(agreed)
}

/// Decides chunk by chunk until nothing is left, a signal comes or the database ends it.
async fn decide(session: &Session, bulk: &Bulk, preview: &Preview) -> Result<Ran, Failure> {
    let mut signals = Signals::install().map_err(|error| Failure::unexpected(error.to_string()))?;
    let bar = progress(preview);
    let mut ran = Ran::default();
    let mut after = None;
    loop {
        let mut chunk = Box::pin(session.db.decide_chunk(bulk, after, &tell_unknown));
        let answered = tokio::select! {
            answered = &mut chunk => answered,
            signal = signals.next() => {
                let stopping = "stopping after the chunk that is under way; once more leaves at once";
                bar.suspend(|| note(&format!("{}: {stopping}", name(signal))));
                ran.stopped = Some(signal);
                // What was sent is answered: to leave it is not to know what it did.
                tokio::select! {
                    answered = &mut chunk => answered,
                    signal = signals.next() => {
                        ran.ended = Some(words::left_at_once(name(signal), &bulk.operator, after));
                        break;
                    }
                }
            }
        };
        match answered {
            Ok(chunk) => {
                after = chunk.next_after;
                ran.sum.take(chunk);
            }
            Err(ended) => {
                ran.sum.take(ended.chunk);
                ran.uncertain = ended.uncertain;
                ran.ended = Some(outcome::with_rights(ended.error.into(), &session.db).await);
                break;
            }
        }
        bar.set_position(u64::try_from(ran.sum.committed + ran.sum.left()).unwrap_or(0));
        if after.is_none() {
            // It came too late to stop anything.
            ran.stopped = None;
            break;
        }
        ran.stopped = ran.stopped.or_else(|| signals.next().now_or_never());
        if ran.stopped.is_some() {
            break;
        }
    }
    bar.finish_and_clear();
    Ok(ran)
}

/// A bar on a terminal's standard error; nothing elsewhere.
fn progress(preview: &Preview) -> ProgressBar {
    let past = preview.matching.kind.past();
    let (bar, template) = if preview.complete {
        let total = u64::try_from(preview.total().rows).unwrap_or(0);
        (ProgressBar::new(total), format!("{{wide_bar}} {{percent}}%  {{human_pos}} {past}"))
    } else {
        (ProgressBar::new_spinner(), format!("{{spinner}} {{human_pos}} {past}"))
    };
    if let Ok(style) = ProgressStyle::with_template(&template) {
        bar.set_style(style);
    }
    bar
}

fn print(call: &Call, bulk: &Bulk, preview: &Preview, ran: Ran) -> Result<Exit, Failure> {
    let kind = bulk.matching.kind;
    let (sum_exit, word) = match ran.sum.outcome() {
        DecisionOutcome::Committed => (Exit::Done, "committed"),
        DecisionOutcome::Conflict | DecisionOutcome::NotFound => (Exit::Conflict, "conflict"),
        DecisionOutcome::Refused => (Exit::Refused, "refused"),
    };
    let stopped = ran.stopped.filter(|_| ran.ended.is_none());
    let unsure = ran.ended.as_ref().is_some_and(|failure| failure.exit == Exit::Unknown);
    let rest = if unsure { Rest::Unsure } else { Rest::Known };
    let (exit, outcome, error) = match (ran.ended, stopped) {
        (Some(failure), _) => {
            // Whatever it was that ended it: not all that match was decided about.
            let outcome = outcome::of(&failure).unwrap_or("unavailable");
            let failure = words::ended(kind, failure, &ran.sum, ran.uncertain);
            (failure.exit, outcome, Some(failure))
        }
        (None, Some(signal)) => {
            (Exit::Unexpected, word, Some(words::stopped(name(signal), ran.sum.next_after)))
        }
        (None, None) if sum_exit == Exit::Refused => {
            let verdicts = ran.sum.examples.iter().map(|left| &left.verdict);
            (sum_exit, word, Some(super::over_limit(verdicts).unwrap_or_else(|| words::four_eyes(kind))))
        }
        (None, None) => (sum_exit, word, None),
    };
    let mut lines = words::sum(preview, &ran.sum, rest);
    let examples: Vec<Example> = ran.sum.examples.iter().map(|left| example(bulk, left)).collect();
    lines.extend(examples.iter().map(|example| example.message.clone()));
    let more = ran.sum.left() - i64::try_from(examples.len()).unwrap_or(0);
    if more > 0 {
        lines.push(format!("… and {} more", tasks(more)));
    }
    let about = About {
        matched: Matches::of(preview),
        decided: ran.sum.committed,
        asked_to_stop: ran.sum.asked,
        conflicts: ran.sum.conflicts,
        refused: ran.sum.refused,
        not_found: ran.sum.not_found,
        chunks: ran.sum.chunks,
        stopped: stopped.is_some(),
        next_after: ran.sum.next_after,
        uncertain: ran.uncertain.map(|Uncertain { from, to, rows }| Range { from, to, tasks: rows }),
        examples,
    };
    let Sum { resolved_from_unknown, retries, .. } = ran.sum;
    let message = message(&lines);
    let answer = Answer { outcome, about, resolved_from_unknown, retries, message, error };
    outcome::print(call, &answer, &lines)?;
    Ok(exit)
}

fn example(bulk: &Bulk, left: &Left) -> Example {
    let Left { seen, verdict } = left;
    let (outcome, task) = super::row(verdict);
    let Bulk { matching, operator, .. } = bulk;
    let message = match verdict {
        // It stood alone, and its state allows it: something else than its row was in the way.
        Verdict::Held { task } => {
            format!("task {}: left {}: it kept being changed by others; run it again", task.id, task.status)
        }
        verdict => sentence_of(
            matching.kind,
            operator,
            matching.filter.tenant.as_deref(),
            Some(*seen),
            seen.id,
            verdict,
        ),
    };
    Example {
        id: seen.id,
        outcome,
        status: task.map(|task| task.status),
        version: task.map(|task| task.version),
        message,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn longer_ago_than_time_itself_is_before_everything() {
        let now: Timestamp = "2026-11-30T12:00:00Z".parse().expect("a time");
        assert_eq!(before(now, Duration::from_hours(2)).to_string(), "2026-11-30T10:00:00Z");
        assert_eq!(before(now, Duration::MAX), Timestamp::MIN);
    }
}
