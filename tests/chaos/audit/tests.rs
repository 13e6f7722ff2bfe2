//! Forged evidence: each lie must be found, and by the rule that it breaks.

use serde_json::{Value, json};

use super::forge::{Tale, exit, history, right, task};
use super::{audit, tell};
use crate::analyser::{Line, What};
use crate::evidence::{Evidence, State, Step};
use crate::journal::{Decide, Told};

use State::Queued;

/// Lies, and then what the audit says.
fn forged(lie: impl FnOnce(&mut Evidence)) -> Vec<&'static str> {
    let mut evidence = right();
    lie(&mut evidence);
    audit(&evidence).broken.iter().map(|broken| broken.rule).collect()
}

#[track_caller]
fn breaks(rule: &str, lie: impl FnOnce(&mut Evidence)) {
    let found = forged(lie);
    assert!(found.contains(&rule), "{rule} is not among {found:?}");
}

/// As [`breaks`], in so many words: others may break the same rule.
#[track_caller]
fn says(rule: &str, words: &str, lie: impl FnOnce(&mut Evidence)) {
    let mut evidence = right();
    lie(&mut evidence);
    let broken = audit(&evidence).broken;
    let found = broken.iter().any(|broken| broken.rule == rule && broken.what.contains(words));
    assert!(found, "{rule} `{words}` is not among {broken:?}");
}

/// Task 5 has another history.
fn five(tale: Tale) -> impl FnOnce(&mut Evidence) {
    move |evidence| drop(evidence.tasks.insert(5, tale.end(5, "counting").1))
}

#[test]
fn what_is_right_is_found_right() {
    let findings = audit(&right());
    assert_eq!(findings.broken, []);
    let tallies = findings.tallies;
    assert_eq!((tallies.tasks, tallies.claims, tallies.starts, tallies.recoveries), (5, 5, 2, 1));
    assert_eq!((tallies.repeated, tallies.explained, tallies.overlapping), (1, 1, 1));
    assert_eq!((tallies.acknowledged, tallies.lost, tallies.twice, tallies.races), (2, 0, 0, 1));
    assert_eq!((tallies.unknown, tallies.unknown_resolved), (3, 1));
}

#[test]
fn a_claim_that_ran_twice_or_unclaimed_is_found() {
    breaks("I1", |evidence| {
        let line = Line { task: 1, claim_no: 2, pid: 2, at: 311, what: What::Start };
        history(evidence, 1).lines.push(line);
    });
    breaks("I1", |evidence| {
        let line = Line { task: 1, claim_no: 3, pid: 2, at: 900, what: What::Start };
        history(evidence, 1).lines.push(line);
    });
    breaks("I1", |evidence| history(evidence, 1).lines[0].at = 50);
    breaks("I1", |evidence| task(evidence, 1).output = Some("1/1 is".to_owned()));
}

#[test]
fn a_claim_that_is_no_claim_is_found() {
    // RUNNING again under another claim, without ever having been given back.
    let twice = Tale::begin("five", Queued).claim().claim().success();
    breaks("I1", move |evidence| drop(evidence.tasks.insert(5, twice.end(5, "counting").1)));
    breaks("I4", |evidence| history(evidence, 5).steps[1].owner = Some(("working".to_owned(), 98)));
    breaks("I4", |evidence| history(evidence, 5).steps[1].owner = None);
}

#[test]
fn a_final_state_that_changed_is_found() {
    let again =
        Tale::begin("five", Queued).claim().success().event("requeue", "op-5", Queued).claim().success();
    breaks("I2", move |evidence| drop(evidence.tasks.insert(5, again.end(5, "counting").1)));
}

#[test]
fn counts_that_are_wrong_or_of_another_state_are_found() {
    breaks("I3", |evidence| task(evidence, 2).counts = [1, 9, 9]);
    breaks("I3", |evidence| task(evidence, 3).counts = [1, 5, 5]);
}

#[test]
fn a_run_that_begins_too_early_is_found() {
    breaks("I4", |evidence| {
        // Before the recovery of the claim before.
        let lines = &mut history(evidence, 1).lines;
        lines.iter_mut().filter(|line| line.claim_no == 2).for_each(|line| line.at -= 180);
    });
    breaks("I4", |evidence| {
        history(evidence, 1).lines.retain(|line| line.what != What::End || line.claim_no == 1);
    });
    breaks("I4", |evidence| {
        // Its own worker committed what had not ended yet.
        let lines = &mut history(evidence, 1).lines;
        let end = lines.iter_mut().find(|line| line.claim_no == 2 && line.what == What::End);
        end.expect("it ended").at = 450;
    });
}

#[test]
fn a_recovery_from_the_living_is_found() {
    breaks("I4", |evidence| history(evidence, 1).steps[2].owner = Some(("working".to_owned(), 150)));
    breaks("I4", |evidence| history(evidence, 1).steps[2].owner = Some(("lost".to_owned(), 250)));
    says("I4", "there is not", |evidence| history(evidence, 1).steps[2].owner = None);
    breaks("I4", |evidence| evidence.losses.push((100, 101)));
    breaks("I4", |evidence| evidence.rises.push("one was lost and became working".to_owned()));
}

#[test]
fn a_submit_that_is_lost_twice_or_unasked_is_found() {
    breaks("I5", |evidence| drop(evidence.tasks.remove(&2)));
    breaks("I5", |evidence| history(evidence, 2).task = None);
    breaks("I5", |evidence| task(evidence, 2).text = "one".to_owned());
    breaks("I5", |evidence| task(evidence, 2).text = "never".to_owned());
    breaks("I5", |evidence| task(evidence, 2).text = "nobody's".to_owned());
    breaks("I5", |evidence| drop(evidence.tasks.remove(&5)));
    breaks("I5", |evidence| {
        evidence.submits[5].told = exit(0, json!({"submitted": 2}));
        evidence.tasks.remove(&4);
        evidence.tasks.remove(&5);
    });
    breaks("I5", |evidence| evidence.submits[5].told = exit(5, json!({"submitted": 0})));
}

#[test]
fn what_has_no_end_is_found() {
    let waits = Tale::begin("five", Queued);
    breaks("I6", move |evidence| drop(evidence.tasks.insert(5, waits.end(5, "counting").1)));
    breaks("I6", |evidence| evidence.ends[3].code = Some(1));
    breaks("I6", |evidence| {
        (evidence.ends[0].code, evidence.ends[0].signal) = (Some(101), None);
    });
    breaks("I6", |evidence| evidence.ends[2].code = Some(1));
    says("I6", "code: Some(5)", |evidence| evidence.registered.push((7, 150)));
    says("I6", "signal: Some(15)", |evidence| evidence.registered.push((7, 150)));
    breaks("I6", |evidence| evidence.ends[3].code = Some(5));
    breaks("I6", |evidence| evidence.ends[4].signal = Some(9));
    breaks("I6", |evidence| evidence.ends[0].signal = Some(15));
    breaks("I6", |evidence| evidence.open_instances.push("host:1 is working".to_owned()));
    breaks("I12", |evidence| evidence.sessions = 1);
}

#[test]
fn two_decisions_on_one_version_are_found() {
    breaks("I7", |evidence| {
        let mut event = history(evidence, 2).events[0].clone();
        (event.actor, event.act) = ("op-2".to_owned(), "reject".to_owned());
        history(evidence, 2).events.push(event);
    });
    breaks("I7", |evidence| evidence.decisions[0].rows[0].1 = Some(7));
    breaks("I7", |evidence| {
        // Nobody was first.
        let row = json!({"id": 2, "status": "SUBMITTED", "version": 0});
        evidence.decisions[1].told = exit(3, json!({"outcome": "conflict", "task": row}));
    });
}

#[test]
fn a_version_that_does_not_add_up_is_found() {
    breaks("I8", |evidence| task(evidence, 2).version += 1);
    breaks("I8", |evidence| drop(history(evidence, 3).events.remove(1)));
    breaks("I8", |evidence| drop(history(evidence, 2).steps.remove(1)));
    breaks("I8", |evidence| history(evidence, 2).steps.clear());
    breaks("I8", |evidence| history(evidence, 3).events[0].before = 5);
    breaks("I8", |evidence| {
        let step = history(evidence, 5).steps[1].clone();
        history(evidence, 5).steps.push(Step { new: None, ..step });
    });
}

#[test]
fn a_decision_applied_twice_is_found() {
    breaks("I9", |evidence| history(evidence, 3).events[2].actor = "op-3".to_owned());
}

#[test]
fn words_that_the_database_does_not_hold_are_found() {
    let document = || json!({"outcome": "committed"});
    breaks("I10", |evidence| evidence.decisions[1].told = exit(0, document()));
    breaks("I10", |evidence| evidence.decisions[0].told = exit(5, json!({"outcome": "unavailable"})));
    breaks("I10", |evidence| evidence.decisions[0].told = exit(3, document()));
    breaks("I10", |evidence| evidence.decisions[5].rows[0].0 = 3);
    breaks("I10", |evidence| evidence.decisions[0].operator = "op-0".to_owned());
    breaks("I10", |evidence| evidence.decisions[2].told = Told::Hung);
    breaks("I10", |evidence| evidence.submits[3].told = exit(1, json!({})));
    breaks("I10", |evidence| evidence.submits[2].told = exit(0, json!({"task": {"id": 1}})));
    breaks("I10", |evidence| {
        evidence.submits[0].told = exit(0, json!({"created": true, "task": {"id": 1}}));
        evidence.submits[1].told = evidence.submits[0].told.clone();
    });
    breaks("I10", |evidence| history(evidence, 3).events[0].to = State::Failed);
    breaks("I10", |evidence| history(evidence, 3).events[0].act = "reject".to_owned());
}

#[test]
fn a_decision_in_part_is_found() {
    breaks("I10", |evidence| evidence.decisions[3].rows.push((4, Some(0))));
}

#[test]
fn the_evidence_of_a_task_is_told_whole() {
    let told = tell(&right(), 1);
    for part in ["Task {", "recover", "claim_no: 2", "what: Start", "created"] {
        assert!(told.contains(part), "{part} is not in:\n{told}");
    }
}

#[test]
fn a_request_to_cancel_that_is_forgotten_or_made_up_is_found() {
    let runs = || Tale::begin("five", Queued).claim();
    let asked = || runs().event("request-cancel", "op-5", State::Running);
    let again = |tale: Tale| five(tale.claim().success());
    says("I2", "overrun", again(asked().event("recover", "host", Queued)));
    says("I2", "overrun", again(asked().event("release", "host", Queued)));
    says("I2", "overrun", again(asked().event("retry", "host", Queued)));
    says("I2", "overrun", five(asked().event("recover", "host", State::Failed)));
    says("I2", "overrun", five(asked().event("fail", "host", State::Failed)));
    says("I2", "overrun", five(asked().success()));
    says("I2", "nobody had asked", five(runs().event("stop", "host", State::Canceled)));
    says("I2", "nobody had asked", five(runs().event("recover", "host", State::Canceled)));
    says("I2", "where none can be", five(asked().but(|side| side.requested = false).success()));
    says("I2", "where none can be", five(runs().but(|side| side.requested = true).success()));
}

#[test]
fn attempts_that_are_miscounted_are_found() {
    let runs = || Tale::begin("five", Queued).claim();
    let again = |tale: Tale| five(tale.claim().success());
    says("I8", "miscounts", again(runs().event("release", "host", Queued).but(|side| side.attempt = 1)));
    says("I8", "miscounts", again(runs().event("retry", "host", Queued).but(|side| side.attempt = 0)));
    says("I8", "miscounts", five(runs().but(|side| side.attempt = 0).success()));
    says("I8", "miscounts", five(runs().success().but(|side| side.attempt = 2)));
    says("I8", "miscounts", five(runs().success().but(|side| side.max_attempts = 4)));
    let canceled = Tale::begin("five", Queued).claim().event("release", "host", Queued);
    let canceled = canceled.claim().event("recover", "host", Queued).event("cancel", "op-5", State::Canceled);
    let requeued = canceled.event("requeue", "op-5", Queued).but(|side| side.attempt = 1);
    says("I8", "miscounts", again(requeued));
    let asked = runs().event("request-cancel", "op-5", State::Running);
    let stopped = asked.event("stop", "host", State::Canceled).but(|side| side.owner = None);
    says("I8", "miscounts", five(stopped));
    says("I8", "attempts left", five(runs().event("fail", "host", State::Failed)));
    says("I8", "attempts left", five(runs().event("recover", "host", State::Failed)));
    let last = || runs().but(|side| side.attempt = 3);
    says("I8", "too many", again(last().event("retry", "host", Queued)));
    says("I8", "too many", again(last().event("recover", "host", Queued)));
}

#[test]
fn a_task_in_the_wrong_hands_is_found() {
    let runs = || Tale::begin("five", Queued).claim();
    let again = |tale: Tale| five(tale.claim().success());
    let other = || Some("other".to_owned());
    says("I1", "success left it", five(runs().success().but(|side| side.owner = other())));
    says("I1", "claim left it", five(runs().but(|side| side.owner = None).success()));
    for act in ["retry", "release", "recover"] {
        let left = runs().event(act, "host", Queued).but(|side| side.owner = other());
        says("I1", &format!("{act} left it"), again(left));
    }
    let asked = runs().event("request-cancel", "op-5", State::Running).but(|side| side.owner = other());
    says("I1", "request-cancel left it", five(asked.event("stop", "host", State::Canceled)));
    let canceled = Tale::begin("five", Queued).event("cancel", "op-5", State::Canceled);
    says("I1", "cancel left it", five(canceled.but(|side| side.owner = other())));
}

#[test]
fn a_run_of_a_claim_that_was_over_is_found() {
    let runs = || Tale::begin("one", Queued).claim();
    let one =
        |tale: Tale| move |evidence: &mut Evidence| drop(evidence.tasks.insert(1, tale.end(1, "default").1));
    let late = |tale: Tale| tale.claim().ran().success();
    // The line of the claim that was given back before.
    let released = runs().event("release", "host", Queued).line(10, What::Start);
    says("I4", "after release", one(late(released)));
    let asked = runs().event("request-cancel", "op-7", State::Running);
    says("I4", "after stop", one(asked.event("stop", "host", State::Canceled).line(10, What::Start)));
    says("I4", "by retry and never ran", one(late(runs().event("retry", "host", Queued))));
    says("I4", "by fail and never ran", one(runs().event("fail", "host", State::Failed)));
    let mut evidence = right();
    history(&mut evidence, 1).lines[0].at = 290;
    assert_eq!(audit(&evidence).tallies.belated, 1);
}

#[test]
fn a_worker_that_decides_is_found() {
    let decided = |act: &str, to| Tale::begin("five", State::Submitted).event(act, "fleet", to);
    says("I10", "approve by fleet", five(decided("approve", Queued).claim().success()));
    says("I10", "cancel by fleet", five(decided("cancel", State::Canceled)));
    let stopped = Tale::begin("five", Queued).claim().event("request-cancel", "fleet", State::Running);
    let mut evidence = right();
    five(stopped.event("stop", "host", State::Canceled))(&mut evidence);
    assert_eq!(audit(&evidence).broken, []);
}

#[test]
fn a_submit_that_is_new_to_nobody_is_found() {
    let known = || json!({"created": false, "task": {"id": 1}});
    says("I10", "new 0 times", |evidence| {
        evidence.submits[2].told = exit(0, json!({"created": false, "task": {"id": 2}}));
    });
    says("I10", "new 0 times", |evidence| {
        // Without a key it is this submit's own row, lost answer or not.
        let told = json!({"created": false, "resolved_from_unknown": true, "task": {"id": 2}});
        evidence.submits[2].told = exit(0, told);
    });
    says("I10", "new 0 times", |evidence| evidence.submits[0].told = exit(0, known()));
    says("I10", "new 0 times", |evidence| evidence.submits[0].told = exit(5, json!({})));
    let mut evidence = right();
    let found_out = json!({"created": false, "resolved_from_unknown": true, "task": {"id": 1}});
    evidence.submits[0].told = exit(0, found_out);
    assert_eq!(audit(&evidence).broken, []);
}

#[test]
fn a_row_that_never_was_is_found_where_it_is_told_to_be_committed() {
    let says_of = |task: Value| {
        says("I10", "without the row", |evidence| {
            evidence.decisions[0].told = exit(0, json!({"outcome": "committed", "task": task}));
        });
    };
    says_of(Value::Null);
    says_of(json!({"id": 1, "status": "QUEUED", "version": 0}));
    says_of(json!({"id": 2, "status": "SUBMITTED", "version": 0}));
    says_of(json!({"id": 2, "status": "QUEUED", "version": 2}));
    says_of(json!({"id": 2, "status": "QUEUED", "version": 999}));
    says_of(json!({"id": 2, "status": "RUNNING", "version": 2, "cancel_requested": true}));
    let mut evidence = right();
    // An answer that was lost is found out later, when the row has moved on.
    let later = json!({"outcome": "committed", "task": {"id": 2, "status": "RUNNING", "version": 2}});
    evidence.decisions[0].told = exit(0, later);
    assert_eq!(audit(&evidence).broken, []);
}

#[test]
fn a_conflict_with_what_never_was_is_found() {
    let conflict = |task: &Value| exit(3, json!({"outcome": "conflict", "task": task}));
    let now = json!({"id": 2, "status": "SUCCEEDED", "version": 3});
    for (words, task) in [
        ("never was", json!({"id": 2, "status": "QUEUED", "version": 999})),
        ("never was", json!({"id": 2, "status": "CANCELED", "version": 1})),
        ("never was", json!({"id": 77, "status": "QUEUED", "version": 1})),
        ("there is not", Value::Null),
        ("there is not", now.clone()),
    ] {
        says("I7", words, |evidence| {
            evidence.decisions[1].told = conflict(&task);
            if task == now {
                // Not the row that it was about.
                evidence.decisions[1].rows = vec![(4, Some(0))];
            }
        });
    }
    let long_after = 50_000_000;
    says("I7", "long moved on", |evidence| evidence.decisions[1].at = long_after);
    says("I7", "there is not", |evidence| {
        // Nothing was named, so it may, and nothing moved.
        let row = json!({"id": 3, "status": "CANCELED", "version": 3});
        let told = conflict(&row);
        let at = long_after;
        evidence.decisions.push(Decide {
            at,
            operator: "op-8".to_owned(),
            verb: "requeue",
            rows: vec![(3, None)],
            told,
        });
    });
}

#[test]
fn a_run_that_broke_nothing_is_found() {
    says("test", "no worker was killed", |evidence| drop(evidence.ends.remove(0)));
    says("test", "no line was cut", |evidence| evidence.cuts = 0);
    says("test", "never crashed", |evidence| evidence.crashes = 0);
    says("test", "nothing was recovered", |evidence| drop(evidence.tasks.remove(&1)));
    says("test", "no decision was committed", |evidence| evidence.decisions.clear());
}
