//! Races about one row, and about a sum.

use super::made::{
    OPENED, call, claimed, code, counted, end, gated, row, with_events, with_figures, with_states,
};
use super::{each_is_found, none_is_counted};
use crate::domain::Status::{Canceled, Queued, Rejected, Running, Submitted, Succeeded};
use crate::domain::lab::{Answer, Kind, Part, Round};

fn claim() -> Round {
    let (before, after) = (row(7, Queued, 0), claimed("A", 1, row(7, Running, 1)));
    let calls = vec![call("A", "claim", Answer::Won, &[&after]), call("B", "claim", Answer::Lost, &[&after])];
    with_states(gated(Part::Claim, calls), &[("before", &[&before]), ("after", &[&after])])
}

#[test]
fn a_claim_with_two_winners_or_none_or_a_wrong_end_is_found() {
    let second_winner = |round: &mut Round| {
        round.calls[1].answer = Answer::Won;
        round.calls[1].rows = Some(1);
        end(round).version = 2;
    };
    each_is_found(
        Kind::ClaimRace,
        &[],
        &claim(),
        &[
            ("I1: one claim has one winner: A and B were each told", &second_winner),
            ("nobody's took effect", &|round| {
                round.calls[0].answer = Answer::Lost;
                round.calls[0].rows = Some(0);
            }),
            ("the server said that 2 rows were changed", &|round| round.calls[1].rows = Some(1)),
            ("I8: the version rises by one at each change: the version went from 0 to 2", &|round| {
                let after = end(round);
                after.version = 2;
                let after = after.clone();
                round.calls[1].told = vec![after];
            }),
            ("I10: what was said is what the database holds: A was told that it won", &|round| {
                end(round).claimed_by = Some("B".to_owned());
                round.calls[1].told[0].claimed_by = Some("B".to_owned());
            }),
            ("I7: the loser is told the row as it is now: B was told QUEUED v0", &|round| {
                round.calls[1].told[0] = row(7, Queued, 0);
            }),
            ("B was told nothing", &|round| round.calls[1].told.clear()),
            ("B was told that there is no such task", &|round| round.calls[1].answer = Answer::NotFound),
            ("every caller is answered, not failed: B's claim ended with an error: 40001", &|round| {
                round.calls[1] = code("40001", call("B", "claim", Answer::Unavailable, &[]));
            }),
        ],
    );
}

#[test]
fn a_claim_whose_overlap_was_not_seen_is_not_counted() {
    none_is_counted(
        Kind::ClaimRace,
        &[],
        &claim(),
        &[
            ("B was not seen waiting", &|round| {
                round.waits.pop();
            }),
            ("B was not seen waiting", &|round| round.waits[1].blocked_by.clear()),
            ("B was not seen waiting", &|round| round.waits[1].first_us = OPENED + 1),
            ("B was not seen waiting", &|round| round.waits[1].since = Some(jiff::Timestamp::MAX)),
            ("nothing held the callers back", &|round| round.gate.opened_us = None),
            ("A was not under way", &|round| round.calls[0].answered_us = OPENED - 1),
            ("A was not under way", &|round| round.calls[0].asked_us = OPENED + 1),
            ("an answer before its question", &|round| round.calls[1].asked_us = OPENED + 5_000),
            ("B's claim was not answered: 55P03", &|round| {
                round.calls[1] = code("55P03", call("B", "claim", Answer::Unavailable, &[]));
            }),
            ("B's claim was not answered", &|round| {
                round.calls[1] = call("B", "claim", Answer::Unknown, &[]);
            }),
            ("the rows were not read (after)", &|round| {
                round.states.pop();
            }),
            ("the row was not found", &|round| round.states[1].rows.clear()),
            ("it broke off", &|round| round.trouble = Some("it broke off".to_owned())),
            ("is no part of claim-race", &|round| round.part = Part::Decide),
        ],
    );
}

fn decide() -> Round {
    let (before, after) = (row(7, Submitted, 0), with_events(1, row(7, Rejected, 1)));
    let calls = vec![
        call("A", "approve", Answer::Conflict, &[&after]),
        call("B", "reject", Answer::Committed, &[&after]),
    ];
    with_states(gated(Part::Decide, calls), &[("before", &[&before]), ("after", &[&after])])
}

#[test]
fn a_decision_that_takes_effect_twice_or_is_told_otherwise_is_found() {
    each_is_found(
        Kind::DecisionRace,
        &[],
        &decide(),
        &[
            ("I7: of two decisions on one version one takes effect: A and B", &|round| {
                round.calls[0].answer = Answer::Committed;
            }),
            ("nobody's took effect", &|round| {
                round.calls[1].answer = Answer::Conflict;
                round.calls[1].rows = Some(0);
            }),
            ("the version went from 0 to 2", &|round| {
                end(round).version = 2;
                round.calls[0].told[0].version = 2;
            }),
            ("B's reject took effect, and the row is QUEUED v1", &|round| {
                end(round).status = Queued;
                round.calls[0].told[0].status = Queued;
            }),
            ("the history has Some(2) events", &|round| end(round).events = Some(2)),
            ("A was told SUBMITTED v0", &|round| round.calls[0].told[0] = row(7, Submitted, 0)),
        ],
    );
}

fn cancel_and_claim() -> Round {
    let (before, after) = (row(7, Queued, 0), with_events(1, row(7, Canceled, 1)));
    let calls =
        vec![call("A", "cancel", Answer::Committed, &[&after]), call("B", "claim", Answer::Lost, &[&after])];
    with_states(gated(Part::CancelAndClaim, calls), &[("before", &[&before]), ("after", &[&after])])
}

fn cancel_and_finish() -> Round {
    let before = claimed("B", 1, row(7, Running, 1));
    let after = counted(3, claimed("B", 1, row(7, Succeeded, 2)));
    let calls =
        vec![call("A", "cancel", Answer::Conflict, &[&after]), call("B", "finish", Answer::Committed, &[])];
    let round =
        with_states(gated(Part::CancelAndFinish, calls), &[("before", &[&before]), ("after", &[&after])]);
    with_figures(round, &[("words", 3)])
}

fn cancel_then_finish() -> Round {
    let mut round = cancel_and_finish();
    let after = with_events(2, claimed("B", 1, row(7, Canceled, 3)));
    *end(&mut round) = after;
    round.calls[0] = call("A", "cancel", Answer::Committed, &[&claimed("B", 1, row(7, Running, 2))]);
    round
}

#[test]
fn a_cancel_that_has_its_way_together_with_another_is_found() {
    let both = |round: &mut Round| {
        round.calls[1].answer = Answer::Won;
        round.calls[1].rows = Some(1);
    };
    each_is_found(
        Kind::CancelRace,
        &[cancel_and_finish()],
        &cancel_and_claim(),
        &[
            ("A and B were each told", &both),
            ("A's cancel took effect, and the row is RUNNING", &|round| {
                *end(round) = claimed("B", 1, row(7, Running, 1));
                round.calls[1].told = vec![end(round).clone()];
            }),
            ("A's cancel took effect, and the row is CANCELED v1 claim 1", &|round| {
                end(round).claim_no = 1;
                round.calls[1].told[0].claim_no = 1;
            }),
        ],
    );
    each_is_found(
        Kind::CancelRace,
        &[cancel_and_claim()],
        &cancel_and_finish(),
        &[
            ("A was told that the cancel took effect, and the row is SUCCEEDED", &|round| {
                round.calls[0].answer = Answer::Committed;
            }),
            ("B's finish ended with an error: 23514", &|round| {
                round.calls[1] = code("23514", call("B", "finish", Answer::Unavailable, &[]));
            }),
            ("the claim's one finish was told 0 times", &|round| round.calls[1].answer = Answer::LeaseLost),
            ("I3: counts stand in SUCCEEDED alone", &|round| {
                end(round).words = 0;
                round.calls[0].told[0].words = 0;
            }),
            ("A was told RUNNING v1", &|round| round.calls[0].told[0] = claimed("B", 1, row(7, Running, 1))),
        ],
    );
    each_is_found(
        Kind::CancelRace,
        &[cancel_and_claim()],
        &cancel_then_finish(),
        &[
            ("I3: counts stand in SUCCEEDED alone", &|round| end(round).words = 3),
            ("0 cancels took effect, and the row is CANCELED", &|round| {
                round.calls[0].answer = Answer::Conflict;
            }),
            ("the version went from 1 to 2", &|round| end(round).version = 2),
        ],
    );
}

fn budget(part: Part, approved: bool) -> Round {
    let held = [row(7, Submitted, 0), row(8, Submitted, 0)];
    let second = if approved { row(8, Queued, 1) } else { row(8, Submitted, 0) };
    let after = [row(7, Queued, 1), second];
    let answer = if approved { Answer::Committed } else { Answer::OverLimit };
    let calls = vec![call("A", "approve", Answer::Committed, &[]), call("B", "approve", answer, &[])];
    let states: [(&str, &[_]); 2] = [("before", &[&held[0], &held[1]]), ("after", &[&after[0], &after[1]])];
    with_figures(with_states(gated(part, calls), &states), &[("limit", 1)])
}

#[test]
fn a_limit_that_is_overshot_is_found_where_it_is_to_hold() {
    each_is_found(
        Kind::Budget,
        &[budget(Part::ByCount, true)],
        &budget(Part::BySharedRow, false),
        &[
            ("a sum over rows stays within its limit: 2 were approved, the limit is 1", &|round| {
                *round = budget(Part::BySharedRow, true);
            }),
            ("only 0 were approved", &|round| {
                end(round).status = Submitted;
                round.calls[0].answer = Answer::Conflict;
            }),
            ("2 were told that they approved a task, and 1 are approved", &|round| {
                round.calls[1].answer = Answer::Committed;
            }),
        ],
    );
    none_is_counted(
        Kind::Budget,
        &[budget(Part::BySharedRow, false)],
        &budget(Part::ByCount, true),
        &[
            ("the limit was not overshot", &|round| *round = budget(Part::ByCount, false)),
            ("was not seen waiting", &|round| round.waits.clear()),
            ("the limit is not known", &|round| round.figures.clear()),
        ],
    );
}
