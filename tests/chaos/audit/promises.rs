//! What the program said against what the database holds.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde_json::Value;

use super::rows::decided;
use super::{Findings, Tallies, name};
use crate::evidence::{Event, Evidence, Side, State};
use crate::fleet::OPERATOR;
use crate::journal::{Decide, Kind, Submit, Told};
use crate::plan::Micros;

/// How many lines of a file go in by one statement, all or none.
const LINES_AT_ONCE: usize = 500;

/// How long a change may have been written before anybody else sees it: commits are held, and a busy machine is slow.
const UNSEEN_FOR: Micros = 10_000_000;

/// I5, I7, I9 and I10.
pub(super) fn check(evidence: &Evidence, findings: &mut Findings) {
    submits(evidence, findings);
    decisions(evidence, findings);
}

/// What is in the table of a text.
type Rows<'a> = HashMap<&'a str, Vec<i64>>;

fn submits(evidence: &Evidence, findings: &mut Findings) {
    let mut rows: Rows<'_> = HashMap::new();
    for (id, history) in &evidence.tasks {
        if let Some(task) = &history.task {
            rows.entry(&task.text).or_default().push(*id);
        }
    }
    // The sends of one key are one submit.
    let mut sends: BTreeMap<(&str, usize), Vec<&Submit>> = BTreeMap::new();
    for (place, submit) in evidence.submits.iter().enumerate() {
        let name = match &submit.kind {
            Kind::One { key: Some(key) } => (key.as_str(), 0),
            Kind::One { key: None } | Kind::Lines => ("", place),
        };
        sends.entry(name).or_default().push(submit);
        count(&submit.told, &mut findings.tallies);
        *findings.tallies.submits.entry(said(&submit.told)).or_default() += 1;
    }
    let none = Vec::new();
    let known: HashSet<&str> =
        evidence.submits.iter().flat_map(|submit| &submit.texts).map(String::as_str).collect();
    for (text, ids) in &rows {
        if !known.contains(text) {
            findings.add("I5", ids[0], format!("nobody submitted `{text}`"));
        }
        if ids.len() > 1 {
            findings.tallies.twice += ids.len() - 1;
            findings.add("I5", ids[1], format!("`{text}` is there {} times: {ids:?}", ids.len()));
        }
    }
    for sends in sends.values() {
        let first = sends[0];
        if first.kind == Kind::Lines {
            lines(first, &rows, findings);
        } else {
            one(sends, rows.get(first.texts[0].as_str()).unwrap_or(&none), findings);
        }
    }
}

/// One text, however often it was sent.
fn one(sends: &[&Submit], ids: &[i64], findings: &mut Findings) {
    let text = &sends[0].texts[0];
    let codes: Vec<Option<i32>> = sends.iter().map(|submit| submit.told.code()).collect();
    let unknown = codes.iter().filter(|code| **code == Some(6)).count();
    if codes.contains(&Some(0)) {
        findings.tallies.acknowledged += 1;
        findings.tallies.unknown_resolved += unknown;
        if ids.is_empty() {
            findings.tallies.lost += 1;
            findings.add_at_large("I5", format!("`{text}` was acknowledged and is not there"));
        }
    }
    if codes.iter().all(|code| *code == Some(5)) && !ids.is_empty() {
        findings.add("I5", ids[0], format!("`{text}` was told to be certainly not there"));
    }
    let created =
        sends.iter().filter(|submit| submit.told.document()["created"] == Value::Bool(true)).count();
    // Who made the row cannot be told where a call died or did not know, nor under a given key by one whose answer was
    // lost; else one of them was told that it did.
    let told = codes.contains(&Some(0)) && codes.iter().all(|code| matches!(code, Some(0 | 5)));
    let keyed = matches!(sends[0].kind, Kind::One { key: Some(_) });
    let lost = |submit: &&Submit| submit.told.document()["resolved_from_unknown"] == Value::Bool(true);
    let least = usize::from(told && !(keyed && sends.iter().any(lost)));
    if created > 1 || created < least {
        findings.add_at_large("I10", format!("`{text}` was told to be new {created} times"));
    }
    for submit in sends {
        expected(&submit.told, &[0, 5, 6], &format!("a submit of `{text}`"), findings);
        let told = submit.told.document()["task"]["id"].as_i64();
        if submit.told.code() == Some(0)
            && (told.is_none() || !ids.is_empty() && !ids.contains(&told.unwrap_or(0)))
        {
            findings.add_at_large("I10", format!("`{text}` was told to be task {told:?} and is {ids:?}"));
        }
    }
}

/// A file: what was counted is there, statement by statement, and of the rest each statement's lines or none.
fn lines(submit: &Submit, rows: &Rows<'_>, findings: &mut Findings) {
    let there: Vec<bool> = submit.texts.iter().map(|text| rows.contains_key(text.as_str())).collect();
    let what = format!("the file of lines with `{}`", submit.texts[0]);
    expected(&submit.told, &[0, 5, 6], &what, findings);
    let claimed = submit.told.document()["submitted"].as_u64().and_then(|count| usize::try_from(count).ok());
    let counted = if submit.told.code() == Some(0) { there.len() } else { claimed.unwrap_or(0) };
    if submit.told.code() == Some(0) && claimed != Some(there.len()) {
        findings
            .add_at_large("I10", format!("{what}: {claimed:?} of {} lines were told to be in", there.len()));
    }
    findings.tallies.acknowledged += counted;
    let missing = there.iter().take(counted).filter(|there| !**there).count();
    if missing > 0 {
        findings.tallies.lost += missing;
        findings
            .add_at_large("I5", format!("{what}: {missing} of {counted} acknowledged lines are not there"));
    }
    if submit.told.code() == Some(5) && there.iter().skip(counted).any(|there| *there) {
        findings.add_at_large("I5", format!("{what}: lines are there that were told to be certainly not"));
    }
    for part in there.chunks(LINES_AT_ONCE) {
        let count = part.iter().filter(|there| **there).count();
        if count != 0 && count != part.len() {
            findings.add_at_large(
                "I5",
                format!("{what}: {count} of a statement's {} lines are there", part.len()),
            );
        }
    }
}

fn decisions(evidence: &Evidence, findings: &mut Findings) {
    let mut events: HashMap<&str, Vec<(i64, &Event)>> = HashMap::new();
    for (id, history) in &evidence.tasks {
        for event in history.events.iter().filter(|event| decided(event)) {
            events.entry(&event.actor).or_default().push((*id, event));
        }
    }
    let none = Vec::new();
    let mut races: HashMap<(i64, i64), usize> = HashMap::new();
    for decide in &evidence.decisions {
        count(&decide.told, &mut findings.tallies);
        *findings.tallies.decisions.entry(said(&decide.told)).or_default() += 1;
        for (id, version) in &decide.rows {
            if let Some(version) = version {
                *races.entry((*id, *version)).or_default() += 1;
            }
        }
        decision(decide, events.get(decide.operator.as_str()).unwrap_or(&none), evidence, findings);
    }
    findings.tallies.races = races.values().filter(|count| **count > 1).count();
    let operators: HashSet<&str> = evidence.decisions.iter().map(|decide| decide.operator.as_str()).collect();
    for (operator, events) in &events {
        // A worker that shuts down asks what it runs to stop, and decides nothing else.
        let worker = |event: &Event| *operator == OPERATOR && event.act == "request-cancel";
        let unasked = events.iter().find(|(_, event)| !operators.contains(operator) && !worker(event));
        if let Some((id, event)) = unasked {
            findings.add("I10", *id, format!("{} by {operator}, who made no such decision", event.act));
        }
    }
}

fn decision(decide: &Decide, events: &[(i64, &Event)], evidence: &Evidence, findings: &mut Findings) {
    let Decide { operator, verb, rows, told, .. } = decide;
    let what = format!("{verb} of {rows:?} by {operator}");
    expected(told, &[0, 3, 4, 5, 6], &what, findings);
    let document = told.document();
    let word = document["outcome"].as_str();
    let wanted = match told.code() {
        Some(0) => Some("committed"),
        Some(3) => Some("conflict"),
        Some(4) => Some("not_found"),
        Some(6) => Some("unknown"),
        // Where no session could be had at all it is an error without an outcome.
        _ => word,
    };
    if word != wanted {
        findings.add_at_large("I10", format!("{what}: exit {:?} says {word:?}", told.code()));
    }
    let of =
        |id: i64| events.iter().filter(|(row, _)| *row == id).map(|(_, event)| *event).collect::<Vec<_>>();
    let made: Vec<usize> = rows.iter().map(|(id, _)| of(*id).len()).collect();
    for ((id, version), made) in rows.iter().zip(&made) {
        if *made > 1 {
            findings.add("I9", *id, format!("{what} was applied {made} times"));
        }
        for event in of(*id) {
            let act = event.act == *verb || event.act == "request-cancel" && *verb == "cancel";
            if !act || version.is_some_and(|version| version != event.before) {
                findings.add("I7", *id, format!("{what} became {event:?}"));
            }
        }
    }
    match told.code() {
        Some(0) => {
            for ((id, _), made) in rows.iter().zip(&made) {
                if *made == 0 {
                    findings.add("I10", *id, format!("{what} was told to be committed and left no event"));
                }
                let since = of(*id).first().map_or(0, |event| event.after);
                let after = |task: &&Value| {
                    task["id"].as_i64() == Some(*id)
                        && task["version"].as_i64() >= Some(since)
                        && sighting(task, evidence).is_some()
                };
                if !shown(document).iter().any(after) {
                    let problem =
                        "was told to be committed without the row as that left it, or as it was later";
                    findings.add("I10", *id, format!("{what} {problem}: {document}"));
                }
            }
        }
        Some(3..=5 | 7) => {
            if let Some(((id, _), _)) = rows.iter().zip(&made).find(|(_, made)| **made > 0) {
                findings.add("I10", *id, format!("{what} took effect and was told otherwise: {document}"));
            }
        }
        // Not known to whoever asked: all of it or nothing.
        _ => {
            if made.contains(&0) && made.iter().any(|made| *made > 0) {
                findings.add("I10", rows[0].0, format!("{what} took effect in part"));
            }
        }
    }
    let exists = |id: &i64| evidence.tasks.get(id).is_some_and(|history| history.task.is_some());
    if told.code() == Some(4) && rows.iter().all(|(id, _)| exists(id)) {
        findings.add("I10", rows[0].0, format!("{what}: rows that are there were not found"));
    }
    if told.code() == Some(3) {
        conflict(decide, evidence, findings);
    }
}

/// The rows that a decision's document shows.
fn shown(document: &Value) -> Vec<&Value> {
    match document["tasks"].as_array() {
        Some(rows) => rows.iter().map(|row| &row["task"]).filter(|task| !task.is_null()).collect(),
        None => Some(&document["task"]).filter(|task| !task.is_null()).into_iter().collect(),
    }
}

/// From when until when a row was what is shown of it, by the witness; nothing if it never was.
fn sighting(task: &Value, evidence: &Evidence) -> Option<(Micros, Micros)> {
    let steps = &evidence.tasks.get(&task["id"].as_i64()?)?.steps;
    let same = |side: &Side| {
        Some(side.version) == task["version"].as_i64()
            && task["status"] == name(side.state)
            && side.requested == (task["cancel_requested"] == Value::Bool(true))
    };
    let place = steps.iter().position(|step| step.new.as_ref().is_some_and(same))?;
    Some((steps[place].at, steps.get(place + 1).map_or(Micros::MAX, |next| next.at)))
}

/// Whoever is told of a conflict is shown rows as they were then, one of which stood in the way.
fn conflict(decide: &Decide, evidence: &Evidence, findings: &mut Findings) {
    let document = decide.told.document();
    // What was written before may have become visible only after it.
    let asked = decide.at - UNSEEN_FOR;
    let moved = |task: &Value| sighting(task, evidence).is_some_and(|(from, _)| from >= asked);
    let tasks = shown(document);
    for task in &tasks {
        let problem = match sighting(task, evidence) {
            None => "a row that never was",
            Some((_, until)) if until < asked => "a row that had long moved on",
            Some(_) => continue,
        };
        let what = format!("{} by {} was shown {problem}: {task}", decide.verb, decide.operator);
        findings.add("I7", decide.rows[0].0, what);
    }
    let in_the_way = tasks.iter().any(|task| {
        let seen = decide.rows.iter().find(|(id, _)| Some(*id) == task["id"].as_i64());
        let state = task["status"].as_str().map(State::parse);
        let requested = task["cancel_requested"] == Value::Bool(true);
        let may = match (decide.verb, state) {
            ("approve" | "reject", Some(state)) => state == State::Submitted,
            ("cancel", Some(State::Running)) => !requested,
            ("cancel", Some(state)) => matches!(state, State::Submitted | State::Queued),
            (_, Some(state)) => matches!(state, State::Failed | State::Canceled | State::Rejected),
            (_, None) => false,
        };
        seen.is_some_and(|(_, version)| match version {
            Some(version) => task["version"].as_i64() != Some(*version) || !may,
            // The row was read first, and moved on before the decision.
            None => moved(task) || !may,
        })
    });
    if !in_the_way {
        let what = format!(
            "{} by {} was told of a conflict that there is not: {document}",
            decide.verb, decide.operator
        );
        findings.add("I7", decide.rows[0].0, what);
    }
}

fn count(told: &Told, tallies: &mut Tallies) {
    if told.code() == Some(6) {
        tallies.unknown += 1;
        let said = told.document()["error"]["message"].as_str().unwrap_or_default();
        *tallies.unknown_said.entry(said.to_owned()).or_default() += 1;
    }
    tallies.found_out += usize::from(told.document()["resolved_from_unknown"] == Value::Bool(true));
}

fn said(told: &Told) -> String {
    match told {
        Told::Exit { code, .. } => format!("exit {code}"),
        Told::Killed => "killed".to_owned(),
        Told::Hung => "hung".to_owned(),
    }
}

fn expected(told: &Told, codes: &[i32], what: &str, findings: &mut Findings) {
    let fits = match told {
        Told::Exit { code, .. } => codes.contains(code),
        Told::Killed => true,
        Told::Hung => false,
    };
    if !fits {
        findings.add_at_large("I10", format!("{what} ended as nothing that was done explains: {told:?}"));
    }
}
