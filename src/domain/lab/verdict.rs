//! The verdict: evidence in, verdict out, and nothing else looked at.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Evidence, HOLDER, Kind, Part, Round, Server, rules};

/// How an experiment came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Nothing was broken in any round, and each part has a round that proves something.
    Holds,
    /// A rule was broken in at least one round.
    Broken,
    /// Nothing was broken, but no round proves that anything would have been.
    NotShown,
    /// It cannot run on this server: neither passed nor failed.
    CannotRunHere,
}

impl Verdict {
    /// The words in text output.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Holds => "HOLDS",
            Self::Broken => "BROKEN",
            Self::NotShown => "NOT SHOWN",
            Self::CannotRunHere => "CANNOT RUN HERE",
        }
    }
}

/// A rule that a round broke.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Broken {
    /// Which round.
    pub round: u32,
    /// Which rule, in words, with its number in `docs/proofs.md` where it has one.
    pub rule: String,
    /// What was seen instead.
    pub message: String,
}

/// A round that proves nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unproven {
    /// Which round.
    pub round: u32,
    /// Why.
    pub message: String,
}

/// How long was waited for locks, at least, by the database's clock.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Waits {
    /// How many waits were seen.
    pub seen: u32,
    /// The median, in milliseconds.
    pub p50_ms: f64,
    /// The 99th percentile.
    pub p99_ms: f64,
}

/// What follows from the evidence of one experiment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Judged {
    /// How it came out.
    pub verdict: Verdict,
    /// The same in a sentence.
    pub message: String,
    /// Rounds that prove something.
    pub proving: u32,
    /// How often each caller's act took effect.
    pub wins: BTreeMap<String, u32>,
    /// The waits of all rounds.
    pub waits: Waits,
    /// What was broken.
    pub broken: Vec<Broken>,
    /// Rounds that prove nothing, and why.
    pub unproven: Vec<Unproven>,
}

/// Judges one round by itself: what it broke, and why it proves nothing if it does not.
pub fn judge_round(kind: Kind, round: &Round, server: &Server) -> (Vec<Broken>, Option<String>) {
    rules::look(kind, round, server)
}

/// The first part of which no round proves anything; none where something is broken, as that is proof enough.
pub fn part_not_shown(evidence: &Evidence, server: &Server) -> Option<Part> {
    let mut missing = evidence.kind.parts().to_vec();
    for round in &evidence.rounds {
        match judge_round(evidence.kind, round, server) {
            (broken, _) if !broken.is_empty() => return None,
            (_, None) => missing.retain(|part| *part != round.part),
            (_, Some(_)) => {}
        }
    }
    missing.first().copied()
}

/// Judges an experiment by its evidence.
pub fn judge(evidence: &Evidence, server: &Server) -> Judged {
    let mut broken = Vec::new();
    let mut unproven = Vec::new();
    let mut proving = 0;
    for round in &evidence.rounds {
        let (found, why_not) = judge_round(evidence.kind, round, server);
        match why_not {
            Some(message) => unproven.push(Unproven { round: round.number, message }),
            None => proving += u32::from(found.is_empty()),
        }
        broken.extend(found);
    }
    let missing = part_not_shown(evidence, server);
    let verdict = if evidence.cannot_run.is_some() {
        Verdict::CannotRunHere
    } else if !broken.is_empty() {
        Verdict::Broken
    } else if missing.is_some() {
        Verdict::NotShown
    } else {
        Verdict::Holds
    };
    let rounds = evidence.rounds.len();
    let message = match (verdict, broken.first(), missing) {
        (Verdict::CannotRunHere, ..) => evidence.cannot_run.clone().unwrap_or_default(),
        (Verdict::Broken, Some(first), _) => {
            format!("round {}: {} ({})", first.round, first.message, first.rule)
        }
        (Verdict::NotShown, _, Some(part)) => {
            let why = unproven.iter().rev().map(|unproven| unproven.message.as_str()).next();
            let why = evidence.stopped.as_deref().or(why).unwrap_or("no round was run");
            match evidence.kind.parts() {
                [_] => format!("no round proves anything: {why}"),
                _ => format!("no round proves the part \"{part}\": {why}"),
            }
        }
        _ => format!("held in all of {proving} rounds that prove something, of {rounds}"),
    };
    Judged { verdict, message, proving, wins: wins(evidence), waits: waits(evidence), broken, unproven }
}

/// How often each caller's act took effect; the holder is nobody's rival.
fn wins(evidence: &Evidence) -> BTreeMap<String, u32> {
    let mut wins = BTreeMap::new();
    let calls = evidence.rounds.iter().flat_map(|round| &round.calls);
    for call in calls.filter(|call| call.who != HOLDER) {
        let wins = wins.entry(call.who.clone()).or_insert(0);
        *wins += u32::from(call.answer.took_effect());
    }
    wins
}

fn waits(evidence: &Evidence) -> Waits {
    let seen = evidence.rounds.iter().flat_map(|round| &round.waits);
    let mut lasted: Vec<f64> = seen.filter_map(super::Wait::at_least_ms).collect();
    lasted.sort_unstable_by(f64::total_cmp);
    let at = |percent: usize| {
        let place = (lasted.len() * percent).div_ceil(100).saturating_sub(1);
        // Microseconds are as much as the server's clock tells.
        lasted.get(place).map_or(0.0, |ms| (ms * 1e3).round() / 1e3)
    };
    Waits { seen: u32::try_from(lasted.len()).unwrap_or(u32::MAX), p50_ms: at(50), p99_ms: at(99) }
}
