//! Whole reports: read again as they were written, judged by their evidence alone.

use super::evidence;
use super::made::{call, claimed, gated, row, server, with_states};
use crate::domain::Status::{Queued, Running};
use crate::domain::lab::{
    Answer, Evidence, Experiment, Kind, Outcome, Part, Report, Round, Server, Verdict, judge, lanes,
};

fn sound() -> Round {
    let (before, after) = (row(7, Queued, 0), claimed("B", 1, row(7, Running, 1)));
    let calls = vec![call("A", "claim", Answer::Lost, &[&after]), call("B", "claim", Answer::Won, &[&after])];
    with_states(gated(Part::Claim, calls), &[("before", &[&before]), ("after", &[&after])])
}

fn two_winners() -> Round {
    let mut round = sound();
    round.calls[0].answer = Answer::Won;
    round
}

fn report(rounds: Vec<Round>) -> Report {
    Report::of(server(), vec![evidence(Kind::ClaimRace, rounds)])
}

#[test]
fn what_is_written_is_read_again() {
    let report = report(vec![sound(), two_winners()]);
    let written = serde_json::to_string(&report).expect("JSON");
    let read: Report = serde_json::from_str(&written).expect("reads back");
    assert_eq!(read, report);
    let value: serde_json::Value = serde_json::from_str(&written).expect("JSON");
    let experiment = &value["experiments"][0];
    assert_eq!((&experiment["name"], &experiment["verdict"]), (&"claim-race".into(), &"broken".into()));
    assert_eq!((&experiment["proving"], &experiment["wins"]["B"]), (&1.into(), &2.into()));
    assert_eq!(
        (&experiment["rounds"][0]["calls"][1]["answer"], &value["outcome"]),
        (&"won".into(), &"broken".into())
    );
    assert_eq!((&experiment["waits"]["seen"], &experiment["waits"]["p50_ms"]), (&4.into(), &2.0.into()));
}

/// Whoever writes HOLDS into a file is not believed.
#[test]
fn a_verdict_that_was_forged_is_judged_again() {
    let mut forged = report(vec![two_winners()]);
    forged.experiments[0].judged = report(vec![sound()]).experiments[0].judged.clone();
    forged.outcome = Outcome::Holds;
    assert_eq!(forged.experiments[0].judged.verdict, Verdict::Holds);
    let again = forged.judged_again();
    assert_eq!((again.experiments[0].judged.verdict, again.outcome), (Verdict::Broken, Outcome::Broken));
}

#[test]
fn nothing_shown_is_not_shown_and_what_cannot_run_is_neither() {
    let empty = evidence(Kind::ClaimRace, Vec::new());
    assert_eq!(judge(&empty, &server()).verdict, Verdict::NotShown);
    let stopped = Evidence { stopped: Some("out of time".to_owned()), ..empty.clone() };
    assert!(judge(&stopped, &server()).message.contains("out of time"));
    let cannot = Evidence { cannot_run: Some("a standby".to_owned()), ..empty.clone() };
    let outcome = |evidences: Vec<Evidence>| Report::of(server(), evidences).outcome;
    assert_eq!(judge(&cannot, &server()).verdict, Verdict::CannotRunHere);
    assert_eq!(outcome(vec![cannot.clone()]), Outcome::CannotRunHere);
    let sound = evidence(Kind::ClaimRace, vec![sound()]);
    assert_eq!(outcome(vec![cannot.clone(), sound.clone()]), Outcome::Holds);
    assert_eq!(outcome(vec![cannot, sound.clone(), empty]), Outcome::NotShown);
    let broken_off = Evidence { stopped: Some("out of time".to_owned()), ..sound };
    assert_eq!(judge(&broken_off, &server()).verdict, Verdict::Holds, "what was run");
    assert_eq!(outcome(vec![broken_off]), Outcome::NotShown, "not all that was asked for");
}

/// One part that was shown does not stand for another.
#[test]
fn every_part_has_to_be_shown() {
    for kind in Kind::ALL {
        let rounds = kind.rounds(Some(1));
        let parts: Vec<Part> = (1..=rounds).map(|number| kind.part(number)).collect();
        assert!(kind.parts().iter().all(|part| parts.contains(part)), "{kind}");
        assert_eq!(kind.name().parse::<Kind>(), Ok(kind));
    }
    let (before, after) = (row(7, Queued, 0), claimed("B", 1, row(7, Running, 1)));
    let calls =
        vec![call("A", "cancel", Answer::Conflict, &[&after]), call("B", "claim", Answer::Won, &[&after])];
    let round =
        with_states(gated(Part::CancelAndClaim, calls), &[("before", &[&before]), ("after", &[&after])]);
    let judged = judge(&evidence(Kind::CancelRace, vec![round]), &server());
    assert_eq!((judged.verdict, judged.proving), (Verdict::NotShown, 1));
    assert!(judged.message.contains("cancel and finish"), "{}", judged.message);
}

#[test]
fn sessions_at_another_level_are_found() {
    let settings = evidence(Kind::Isolation, vec![Round::new(1, Part::Settings)]);
    assert_eq!(judge(&settings, &server()).verdict, Verdict::Holds);
    let serializable = Server { isolation: "serializable".to_owned(), ..server() };
    let experiment = Experiment::of(settings, &serializable);
    assert_eq!(experiment.judged.verdict, Verdict::Broken);
    assert!(experiment.judged.message.contains("serializable"), "{}", experiment.judged.message);
}

#[test]
fn lanes_stand_on_one_time_line() {
    let expected = "         0                              v                 1.5 ms  v: the holder lets go\n\
        A claim  >-----.......................------------------| 0 rows  LOST  (RUNNING v1 claim 1 by B)  waited for holder\n\
        B claim  >-----.......................------------------| 1 row  WON  (RUNNING v1 claim 1 by B)  waited for holder";
    assert_eq!(lanes(&sound(), 90).join("\n"), expected);
    assert_eq!(lanes(&Round::new(1, Part::Claim), 80), Vec::<String>::new());
    for columns in [0, 1, 30, 200] {
        assert_eq!(lanes(&sound(), columns).len(), 3);
    }
}
