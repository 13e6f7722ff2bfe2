//! Forged evidence: each violation is found, each round without an overlap is not counted.

mod alone;
mod locks;
mod made;
mod races;
mod whole;

use super::{Evidence, Kind, Round, Verdict, judge};

/// What is to be said of a forgery, and the forgery.
type Change<'a> = (&'a str, &'a dyn Fn(&mut Round));

/// Evidence of one experiment with these rounds, numbered anew.
fn evidence(kind: Kind, rounds: Vec<Round>) -> Evidence {
    let rounds: Vec<Round> = (1..).zip(rounds).map(|(number, round)| Round { number, ..round }).collect();
    Evidence {
        kind,
        callers: 2,
        rounds_asked: u32::try_from(rounds.len()).expect("few"),
        cannot_run: None,
        stopped: None,
        rounds,
    }
}

/// What is said of `round` where it stands among `others` that are as they should be.
fn said(kind: Kind, others: &[Round], round: Round) -> (Verdict, String) {
    let rounds = others.iter().cloned().chain([round]).collect();
    let judged = judge(&evidence(kind, rounds), &made::server());
    let message =
        judged.broken.first().map_or(String::new(), |broken| format!("{}: {}", broken.rule, broken.message));
    (judged.verdict, message)
}

/// Each change of the sound `round` is found to break a rule whose words contain what stands beside it.
fn each_is_found(kind: Kind, others: &[Round], round: &Round, changes: &[Change<'_>]) {
    assert_eq!(said(kind, others, round.clone()).0, Verdict::Holds, "{kind}: it is sound as it is");
    for (words, change) in changes {
        let mut forged = round.clone();
        change(&mut forged);
        let (verdict, message) = said(kind, others, forged);
        assert_eq!(verdict, Verdict::Broken, "{kind}: {words}");
        assert!(message.contains(words), "{kind}: {words}: {message}");
    }
}

/// Each change makes the one round of its part prove nothing, for a reason that contains what stands beside it.
fn none_is_counted(kind: Kind, others: &[Round], round: &Round, changes: &[Change<'_>]) {
    for (words, change) in changes {
        let mut forged = round.clone();
        change(&mut forged);
        let rounds = others.iter().cloned().chain([forged]).collect();
        let judged = judge(&evidence(kind, rounds), &made::server());
        assert_eq!(judged.verdict, Verdict::NotShown, "{kind}: {words}: {:?}", judged.broken);
        let why = &judged.unproven.last().expect("a reason").message;
        assert!(why.contains(words), "{kind}: {words}: {why}");
    }
}
