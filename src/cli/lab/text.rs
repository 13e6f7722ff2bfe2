//! The lab's text output: a summary an experiment, a line a round with `-v`, and lanes.

use std::fmt::Write as _;
use std::sync::{Mutex, PoisonError};

use super::super::output::write_out;
use super::super::run::Call;
use crate::config::{OutputFormat, Verbosity};
use crate::domain::lab::{
    Broken, Experiment, Kind, Report, Round, Server, Verdict, judge_round, lanes as drawn,
};
use crate::domain::text::{visible, wrap};

/// Columns where the output is not a terminal.
const COLUMNS: usize = 100;

/// Prints what a run tells, as it is told.
pub(super) struct Printer<'a> {
    call: &'a Call,
    server: Mutex<Option<Server>>,
}

impl<'a> Printer<'a> {
    pub(super) fn new(call: &'a Call) -> Self {
        Self { call, server: Mutex::new(None) }
    }

    /// Prints it, where text is asked for; JSON is one document at the end.
    pub(super) fn tell(&self, told: &crate::lab::Told) {
        use crate::lab::Told;
        if self.call.output.format == OutputFormat::Json {
            return;
        }
        let mut known = self.server.lock().unwrap_or_else(PoisonError::into_inner);
        let text = match (told, known.as_ref()) {
            (Told::Server(server), _) => {
                let text = self::server(server);
                *known = Some(server.clone());
                text
            }
            (Told::Round { kind, round }, Some(server)) if self.call.settings.verbosity > Verbosity(0) => {
                let (broken, unproven) = judge_round(*kind, round, server);
                self::round(self.call, *kind, round, &broken, unproven.as_deref())
            }
            (Told::Ended(evidence), Some(server)) => {
                summary(self.call, &Experiment::of(evidence.as_ref().clone(), server))
            }
            _ => return,
        };
        // A reader that went away is no reason to leave anything behind: the run goes on to its end.
        let _ = write_out(&text);
    }
}

/// The server in a line.
pub(super) fn server(server: &Server) -> String {
    let Server { version, role, isolation, isolation_set, pooler, recovery, schema, .. } = server;
    let kind = if *recovery { "standby" } else { "primary" };
    let mut line = format!("PostgreSQL {version} {kind}, role {role}, {isolation}");
    if let Some(set) = isolation_set.as_ref().filter(|set| *set != isolation) {
        let _ = write!(line, " (the database or role has {set}, which the program's sessions override)");
    }
    if *pooler {
        line.push_str(", behind a pooler in transaction mode");
    }
    format!("{}\nschema {}\n\n", visible(&line), visible(schema))
}

/// An experiment in a few lines.
pub(super) fn summary(call: &Call, experiment: &Experiment) -> String {
    let Experiment { claim, evidence, judged } = experiment;
    let (colour, word) = match judged.verdict {
        Verdict::Holds => ("32", "HOLDS"),
        Verdict::Broken => ("31", "BROKEN"),
        Verdict::NotShown => ("33", "NOT SHOWN"),
        Verdict::CannotRunHere => ("33", "CANNOT RUN HERE"),
    };
    let mut line =
        format!("{:<16} {}", evidence.kind.name(), call.output.coloured(colour, &format!("{word:<15}")));
    if judged.verdict != Verdict::CannotRunHere {
        let _ = write!(line, "  rounds that prove something {} of {}", judged.proving, evidence.rounds.len());
        let wins: Vec<String> = judged.wins.iter().map(|(who, wins)| format!("{who} {wins}")).collect();
        if evidence.kind.is_race() && !wins.is_empty() {
            let _ = write!(line, "  took effect {}", visible(&wins.join("  ")));
        }
        if judged.waits.seen > 0 {
            let _ = write!(line, "  waited p50 {:.1} p99 {:.1} ms", judged.waits.p50_ms, judged.waits.p99_ms);
        }
    }
    // Made here, but for the callers' letters; its colours are to stay.
    let mut text = format!("{}\n", line.trim_end());
    paragraph(call, &mut text, claim);
    if judged.verdict != Verdict::Holds {
        paragraph(call, &mut text, &format!("{word}: {}", judged.message));
        for broken in judged.broken.iter().skip(1).take(4) {
            paragraph(
                call,
                &mut text,
                &format!("round {}: {} ({})", broken.round, broken.message, broken.rule),
            );
        }
    }
    if let Some(stopped) = &evidence.stopped {
        let rounds =
            format!("{} of {} rounds were run: {stopped}", evidence.rounds.len(), evidence.rounds_asked);
        paragraph(call, &mut text, &rounds);
    }
    text.push('\n');
    text
}

fn paragraph(call: &Call, text: &mut String, words: &str) {
    let columns = call.output.columns.unwrap_or(COLUMNS).saturating_sub(2);
    for row in wrap(&visible(words), columns) {
        let _ = writeln!(text, "  {}", row.trim_end());
    }
}

/// A round in a line.
pub(super) fn round(
    call: &Call,
    kind: Kind,
    round: &Round,
    broken: &[Broken],
    unproven: Option<&str>,
) -> String {
    let answers: Vec<String> = round
        .calls
        .iter()
        .map(|call| format!("{} {} {}", call.who, call.act, call.answer.as_str()))
        .collect();
    let end = match (broken.first(), unproven) {
        (Some(broken), _) => format!("BROKEN: {}", broken.message),
        (None, Some(why)) => format!("proves nothing: {why}"),
        (None, None) => "proves it".to_owned(),
    };
    let line = format!("  round {:>3}  {}  {}  {end}", round.number, part(kind, round), answers.join(", "));
    let line = visible(&line).into_owned();
    match call.output.columns {
        Some(columns) => format!("{}\n", crate::domain::text::cut(&line, columns, call.output.ellipsis)),
        None => format!("{line}\n"),
    }
}

fn part(kind: Kind, round: &Round) -> String {
    if kind.parts().len() > 1 { round.part.to_string() } else { String::new() }
}

/// A round's lanes, and the row at its end.
pub(super) fn lanes(call: &Call, round: &Round) -> String {
    let columns = call.output.columns.unwrap_or(COLUMNS);
    let mut text = String::new();
    for line in drawn(round, columns.saturating_sub(4)) {
        let _ = writeln!(text, "    {}", visible(line.trim_end()));
    }
    if let Some(state) = round.states.last() {
        let rows: Vec<String> = state.rows.iter().map(|row| format!("{} {}", row.id, row.words())).collect();
        let _ =
            writeln!(text, "    third connection, {}: {}", visible(&state.when), visible(&rows.join("; ")));
    }
    text.push('\n');
    text
}

/// How all of it came out.
pub(super) fn last_line(call: &Call, report: &Report, stopped: Option<&str>) -> String {
    let colour = match report.outcome {
        crate::domain::lab::Outcome::Holds => "32",
        crate::domain::lab::Outcome::Broken => "31",
        _ => "33",
    };
    let mut text = call.output.coloured(colour, report.outcome.as_str());
    if let Some(stopped) = stopped {
        let _ = write!(text, " ({})", visible(stopped));
    }
    text.push('\n');
    text
}
