//! `taskdeck lab`: runs experiments on the database, prints what they found, keeps the evidence, and draws it again.

mod text;

use std::path::Path;
use std::pin::pin;
use std::time::Duration;

use serde::Serialize;

use super::args::LabArgs;
use super::exit::{Exit, Failure};
use super::open::{SchemaCheck, open};
use super::output::{note, write_out};
use super::run::Call;
use crate::config::{OutputFormat, Verbosity, duration, whole};
use crate::db::Access;
use crate::domain::lab::{Experiment, Kind, Outcome, Report};
use crate::lab::{self, Finished, LEAST_CALLERS, LabError, MOST_CALLERS, Plan, Told, Variant};
use crate::signals::{Signals, name};

/// How long all of it may take where nobody says.
const USUAL_TIMEOUT: Duration = Duration::from_mins(2);

/// The most rounds of an experiment: what they leave behind is kept in memory.
const MOST_ROUNDS: u32 = 1_000;

/// What is printed as JSON and written to a file.
#[derive(Debug, Serialize)]
struct Document<'a> {
    #[serde(flatten)]
    report: &'a Report,
    /// Why it ended before everything was run.
    stopped: Option<&'a str>,
    /// Why the schema is still there, if it is.
    left_behind: Option<String>,
}

/// Runs what is asked for, or draws a file.
///
/// # Errors
/// What was asked for cannot be, another lab is at work, or what the database says before anything was run.
pub(super) async fn run(call: &Call, args: &LabArgs) -> Result<Exit, Failure> {
    if args.name == "show" {
        return show(call, args);
    }
    let (plan, within) = plan(call, args)?;
    if call.settings.access == Access::ReadOnly {
        return Err(Failure::read_only("the lab")
            .hint("the experiments make a schema of their own; leave out --read-only (TASKDECK_READ_ONLY, read_only in the configuration file)"));
    }
    if let Some(path) = &args.save {
        // Before anything is run, so that nothing is run in vain.
        let file = std::fs::OpenOptions::new().write(true).create(true).truncate(false).open(path);
        file.map_err(|error| cannot_write(path, &error))?;
    }
    let mut signals = Signals::install().map_err(|error| Failure::unexpected(error.to_string()))?;
    let session = tokio::select! {
        session = open(&call.settings, "lab", SchemaCheck::ByCommand) => session?,
        signal = signals.next() => {
            return Err(Failure::unexpected(format!("ended by {} before anything was run", name(signal))));
        }
    };
    let stop = async {
        tokio::select! {
            () = tokio::time::sleep(within) => {
                format!("the time that was given has passed (--timeout {})", duration::show(within))
            }
            signal = signals.next() => format!("ended by {}", name(signal)),
        }
    };
    let printer = text::Printer::new(call);
    let tell = |told: Told| printer.tell(&told);
    let finished = lab::run(&session.db, &plan, pin!(stop), &tell).await;
    session.close().await;
    let finished = finished?;
    end(call, args, &finished)
}

/// Prints, writes and says what a run found.
fn end(call: &Call, args: &LabArgs, finished: &Finished) -> Result<Exit, Failure> {
    let Finished { report, left_behind, stopped } = finished;
    let document = Document {
        report,
        stopped: stopped.as_deref(),
        left_behind: left_behind.as_ref().map(ToString::to_string),
    };
    if let Some(path) = &args.save {
        let bytes = serde_json::to_vec(&document).map_err(std::io::Error::from)?;
        std::fs::write(path, bytes).map_err(|error| cannot_write(path, &error))?;
    }
    if let Some(error) = left_behind {
        note(&format!("taskdeck: the lab's schema is still there; the next run removes it: {error}"));
    }
    call.output.print(&document, || text::last_line(call, report, stopped.as_deref()))?;
    Ok(if left_behind.is_some() { Exit::Unexpected } else { exit(report.outcome) })
}

fn exit(outcome: Outcome) -> Exit {
    match outcome {
        Outcome::Holds => Exit::Done,
        Outcome::Broken | Outcome::NotShown | Outcome::CannotRunHere => Exit::Unexpected,
    }
}

/// Judges the evidence in a file again and draws it.
fn show(call: &Call, args: &LabArgs) -> Result<Exit, Failure> {
    let Some(path) = &args.file else {
        return Err(Failure::usage("lab show draws a file that --save wrote, and none is named"));
    };
    if args.rounds.is_some()
        || args.callers.is_some()
        || args.timeout.is_some()
        || args.save.is_some()
        || args.broken
    {
        return Err(Failure::usage("lab show runs nothing: it takes a file and no other flag"));
    }
    let wrong = |what: String| {
        Failure::new(Exit::Usage, "input", format!("{}: {what}", path.display()))
            .hint("name a file that `taskdeck lab … --save FILE` wrote")
    };
    let bytes = std::fs::read(path).map_err(|error| wrong(error.to_string()))?;
    let kept: Report =
        serde_json::from_slice(&bytes).map_err(|error| wrong(format!("is no evidence: {error}")))?;
    let said: Vec<_> =
        kept.experiments.iter().map(|kept| (kept.evidence.kind, kept.judged.verdict)).collect();
    let report = kept.judged_again();
    for (experiment, (kind, verdict)) in report.experiments.iter().zip(said) {
        if experiment.judged.verdict != verdict {
            note(&format!(
                "taskdeck: {}: the file says {} of {kind}; its evidence says {}",
                path.display(),
                verdict.as_str(),
                experiment.judged.verdict.as_str()
            ));
        }
    }
    match call.output.format {
        OutputFormat::Json => call.output.print(&report, String::new)?,
        OutputFormat::Text => {
            write_out(&text::server(&report.server))?;
            for experiment in &report.experiments {
                write_out(&text::summary(call, experiment))?;
                write_out(&drawn(call, experiment, &report))?;
            }
            write_out(&text::last_line(call, &report, None))?;
        }
    }
    Ok(exit(report.outcome))
}

/// The rounds that are drawn: all of them with `-v`, else one of each part that proves something, and those that broke
/// a rule.
fn drawn(call: &Call, experiment: &Experiment, report: &Report) -> String {
    let mut shown = Vec::new();
    let mut text = String::new();
    for round in &experiment.evidence.rounds {
        let (broken, unproven) =
            crate::domain::lab::judge_round(experiment.evidence.kind, round, &report.server);
        let first_of_part = unproven.is_none() && !shown.contains(&round.part);
        if call.settings.verbosity > Verbosity(0) || first_of_part || !broken.is_empty() {
            shown.push(round.part);
            text.push_str(&text::round(call, experiment.evidence.kind, round, &broken, unproven.as_deref()));
            text.push_str(&text::lanes(call, round));
        }
    }
    text
}

/// What the arguments ask for, and how long it may take.
fn plan(call: &Call, args: &LabArgs) -> Result<(Plan, Duration), Failure> {
    if args.file.is_some() {
        return Err(Failure::usage("a file is for lab show; --save names where the evidence is written"));
    }
    let kinds = match args.name.as_str() {
        "all" => Kind::ALL.to_vec(),
        name => vec![name.parse().map_err(Failure::usage)?],
    };
    let number = |flag: &str, text: &Option<String>, least, most| {
        let read = text.as_deref().map(|text| whole::<u32>(text, least, most)).transpose();
        read.map_err(|problem| Failure::usage(format!("{flag} {problem}")))
    };
    let rounds = number("--rounds", &args.rounds, 1, MOST_ROUNDS)?;
    let callers = number("--callers", &args.callers, LEAST_CALLERS, MOST_CALLERS)?.unwrap_or(LEAST_CALLERS);
    let within = match &args.timeout {
        None => USUAL_TIMEOUT,
        Some(text) => {
            duration::parse(text).map_err(|problem| Failure::usage(format!("--timeout {problem}")))?
        }
    };
    let variant = match (args.broken, kinds.as_slice()) {
        (false, _) => Variant::Product,
        (true, [Kind::ClaimRace]) => Variant::ClaimWithoutStatus,
        (true, _) => return Err(Failure::usage("--broken is for claim-race alone")),
    };
    let settings = &call.settings;
    let plan = Plan {
        kinds,
        rounds,
        callers,
        variant,
        schema: settings.schema.clone(),
        acquire: settings.limits.acquire,
    };
    Ok((plan, within))
}

fn cannot_write(path: &Path, error: &std::io::Error) -> Failure {
    Failure::new(Exit::Usage, "config", format!("cannot write the evidence to {}: {error}", path.display()))
        .hint("name a file that this user may write with --save")
}

impl From<LabError> for Failure {
    fn from(error: LabError) -> Self {
        let message = error.to_string();
        match error {
            LabError::Db(error) => error.into(),
            LabError::Name(_) => Self::new(Exit::Usage, "config", format!("{message}, and the lab puts _lab behind it")),
            LabError::Taken { by } => Self::new(Exit::Conflict, "conflict", message).hint(match by {
                Some((pid, _)) => {
                    format!("wait until it has ended; if its host is gone, SELECT pg_terminate_backend({pid}) ends it")
                }
                None => "wait until it has ended".to_owned(),
            }),
        }
    }
}
