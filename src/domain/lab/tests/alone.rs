//! Steps in one order.

use super::made::{call, claimed, code, counted, end, row, with_events, with_figures, with_states};
use super::{each_is_found, none_is_counted};
use crate::domain::Status::{Queued, Running, Submitted, Succeeded};
use crate::domain::lab::{Answer, Call, HOLDER, Kind, Part, Round, RowSeen};

fn alone(part: Part, calls: Vec<Call>) -> Round {
    Round { calls, ..Round::new(1, part) }
}

fn rolled_back() -> Round {
    let (running, after) =
        (claimed("A", 1, row(7, Running, 1)), counted(3, claimed("A", 1, row(7, Succeeded, 2))));
    let calls = vec![
        Call { rows: Some(1), ..call(HOLDER, "write a result", Answer::Read, &[]) },
        code("22012", call(HOLDER, "commit", Answer::RolledBack, &[])),
        call("A", "finish", Answer::Committed, &[]),
        call("A", "finish otherwise", Answer::LeaseLost, &[]),
    ];
    let states: [(&str, &[_]); 4] = [
        ("before", &[&running]),
        ("during", &[&running]),
        ("rolled back", &[&running]),
        ("after", &[&after]),
    ];
    with_figures(with_states(alone(Part::RolledBack, calls), &states), &[("words", 3)])
}

#[test]
fn what_a_failed_transaction_leaves_behind_is_found() {
    let result = counted(99, claimed("A", 1, row(7, Succeeded, 2)));
    let left = result.clone();
    each_is_found(
        Kind::Rollback,
        &[],
        &rolled_back(),
        &[
            ("another connection saw the uncommitted result", &|round| {
                round.states[1].rows[0] = result.clone();
            }),
            ("holder's commit was told COMMITTED", &|round| {
                round.calls[1] = call(HOLDER, "commit", Answer::Committed, &[]);
            }),
            ("after the rollback it is SUCCEEDED", &|round| round.states[2].rows[0] = left.clone()),
            ("A's finish was told LEASE LOST", &|round| round.calls[2].answer = Answer::LeaseLost),
            ("A's finish otherwise was told COMMITTED", &|round| round.calls[3].answer = Answer::Committed),
            ("the version went from 1 to 3", &|round| end(round).version = 3),
            ("I3: counts stand in SUCCEEDED alone", &|round| end(round).words = 99),
        ],
    );
    none_is_counted(
        Kind::Rollback,
        &[],
        &rolled_back(),
        &[
            ("changed no row before it failed", &|round| round.calls[0].rows = Some(0)),
            ("holder did not get as far", &|round| {
                round.calls.remove(1);
            }),
        ],
    );
}

fn half_read() -> Round {
    let next =
        Call { asked_us: 100, answered_us: 400_200, ..call("B", "read the clock", Answer::Unavailable, &[]) };
    let calls = vec![
        call("A", "read one row", Answer::Read, &[]),
        next,
        call("B", "read the clock again", Answer::Read, &[]),
    ];
    let figures = [("rows_read", 1), ("rows_asked", 1_000), ("deadline_ms", 400), ("in_use_after", 0)];
    with_figures(alone(Part::HalfRead, calls), &figures)
}

#[test]
fn a_place_that_is_not_free_again_is_found() {
    each_is_found(
        Kind::PoolStarvation,
        &[],
        &half_read(),
        &[
            ("the only connection was held, and B's read the clock was told READ", &|round| {
                round.calls[1].answer = Answer::Read;
            }),
            ("a call ends within its deadline", &|round| round.calls[1].answered_us = 60_000_000),
            ("B's read the clock again was told UNAVAILABLE", &|round| {
                round.calls[2].answer = Answer::Unavailable;
            }),
            ("connections in use afterwards: Some(1)", &|round| {
                round.figures.insert("in_use_after".to_owned(), 1);
            }),
        ],
    );
    none_is_counted(
        Kind::PoolStarvation,
        &[],
        &half_read(),
        &[
            ("not left half-read", &|round| {
                round.figures.insert("rows_read".to_owned(), 1_000);
            }),
            ("answered before its deadline", &|round| round.calls[1].answered_us = 1_000),
        ],
    );
}

fn unreadable() -> Round {
    let calls = vec![
        call("A", "read the bad row", Answer::BadRow, &[]),
        call("A", "read a missing row", Answer::NotFound, &[]),
        call("A", "read a sound row", Answer::Read, &[]),
    ];
    with_figures(alone(Part::Unreadable, calls), &[("spoiled", 1), ("in_use_after", 0)])
}

#[test]
fn a_bad_row_that_is_called_missing_is_found() {
    each_is_found(
        Kind::BadRow,
        &[],
        &unreadable(),
        &[
            ("A's read the bad row was told NOT FOUND", &|round| round.calls[0].answer = Answer::NotFound),
            ("A's read the bad row was told READ", &|round| round.calls[0].answer = Answer::Read),
            ("A's read a missing row was told BAD ROW", &|round| round.calls[1].answer = Answer::BadRow),
            ("A's read a sound row was told UNAVAILABLE", &|round| {
                round.calls[2].answer = Answer::Unavailable;
            }),
            ("connections in use afterwards: None", &|round| {
                round.figures.remove("in_use_after");
            }),
        ],
    );
    none_is_counted(
        Kind::BadRow,
        &[],
        &unreadable(),
        &[("no row was made unreadable", &|round| {
            round.figures.insert("spoiled".to_owned(), 0);
        })],
    );
}

fn lost(part: Part) -> Round {
    let (before, after) = (row(7, Submitted, 0), with_events(1, row(7, Queued, 1)));
    let call = Call { resolved_from_unknown: true, ..call("A", "approve", Answer::Committed, &[&after]) };
    let round = with_states(alone(part, vec![call]), &[("before", &[&before]), ("after", &[&after])]);
    with_figures(round, &[("cuts", 1), ("told_unknown", 1)])
}

fn submit_lost() -> Round {
    let after = row(7, Queued, 0);
    let call = Call { resolved_from_unknown: true, ..call("A", "submit", Answer::Committed, &[&after]) };
    let round = with_states(alone(Part::SubmitAnswerLost, vec![call]), &[("after", &[&after])]);
    with_figures(round, &[("cuts", 1), ("told_unknown", 1), ("rows_made", 1)])
}

#[test]
fn an_unknown_outcome_that_is_repeated_or_guessed_is_found() {
    each_is_found(
        Kind::LostReply,
        &[lost(Part::DecisionLost), submit_lost()],
        &lost(Part::DecisionAnswerLost),
        &[
            ("I9: nothing is repeated on a guess: one decision made 2 versions", &|round| {
                end(round).version = 2;
            }),
            ("one decision has Some(2) events", &|round| end(round).events = Some(2)),
            ("as if it had come", &|round| round.calls[0].resolved_from_unknown = false),
            ("COMMITTED, and the row is SUBMITTED v0", &|round| *end(round) = row(7, Submitted, 0)),
            ("UNAVAILABLE, and the row is QUEUED v1", &|round| round.calls[0].answer = Answer::Unavailable),
        ],
    );
    each_is_found(
        Kind::LostReply,
        &[lost(Part::DecisionLost), lost(Part::DecisionAnswerLost)],
        &submit_lost(),
        &[
            ("one submit made Some(2) rows", &|round| {
                round.figures.insert("rows_made".to_owned(), 2);
            }),
            ("there are Some(0) rows of it", &|round| {
                round.figures.insert("rows_made".to_owned(), 0);
            }),
            ("told COMMITTED, and there are Some(1) rows", &|round| end(round).id = 8),
            ("UNAVAILABLE, and there are Some(1) rows", &|round| round.calls[0].answer = Answer::Unavailable),
        ],
    );
    none_is_counted(
        Kind::LostReply,
        &[lost(Part::DecisionLost), submit_lost()],
        &lost(Part::DecisionAnswerLost),
        &[
            ("the wire was cut 0 times", &|round| {
                round.figures.insert("cuts".to_owned(), 0);
            }),
            ("nobody was told that the outcome is unknown", &|round| {
                round.figures.remove("told_unknown");
            }),
            ("the outcome was not found out", &|round| round.calls[0].answer = Answer::Unknown),
        ],
    );
}

fn lease_passed() -> Round {
    let before = row(7, Queued, 0);
    let back = with_events(1, RowSeen { claim_no: 1, ..row(7, Queued, 2) });
    let again = with_events(1, claimed("B", 2, row(7, Running, 3)));
    let after = with_events(1, counted(3, claimed("B", 2, row(7, Succeeded, 4))));
    let calls = vec![
        call("A", "claim", Answer::Won, &[]),
        call("B", "recover", Answer::Committed, &[]),
        call("A", "finish", Answer::LeaseLost, &[]),
        call("B", "claim", Answer::Won, &[]),
        call("A", "finish again", Answer::LeaseLost, &[]),
        call("A", "heartbeat", Answer::LeaseLost, &[]),
        call("B", "finish", Answer::Committed, &[]),
    ];
    let states: [(&str, &[_]); 6] = [
        ("before", &[&before]),
        ("taken back", &[&back]),
        ("after the late finish", &[&back]),
        ("claimed again", &[&again]),
        ("after the second late finish", &[&again]),
        ("after", &[&after]),
    ];
    with_figures(with_states(alone(Part::LeasePassed, calls), &states), &[("words", 3)])
}

#[test]
fn a_late_finish_that_changes_something_is_found() {
    each_is_found(
        Kind::LeaseLoss,
        &[],
        &lease_passed(),
        &[
            ("A's finish was told COMMITTED", &|round| round.calls[2].answer = Answer::Committed),
            ("A's finish again was told COMMITTED", &|round| round.calls[4].answer = Answer::Committed),
            ("the row went from QUEUED v2 claim 1 to SUCCEEDED", &|round| {
                round.states[2].rows[0] = counted(4, claimed("A", 1, row(7, Succeeded, 3)));
            }),
            ("the row went from RUNNING v3 claim 2 by B to SUCCEEDED", &|round| {
                round.states[4].rows[0] = counted(4, claimed("B", 2, row(7, Succeeded, 4)));
            }),
            ("A's heartbeat was told COMMITTED", &|round| round.calls[5].answer = Answer::Committed),
            ("B's finish was told LEASE LOST", &|round| round.calls[6].answer = Answer::LeaseLost),
            ("I3: counts stand in SUCCEEDED alone", &|round| end(round).words = 4),
            ("I4: a finish needs the row's present claim: the row is", &|round| {
                end(round).claimed_by = Some("A".to_owned());
            }),
            ("went from 0 to 5 in four changes", &|round| end(round).version = 5),
        ],
    );
    none_is_counted(
        Kind::LeaseLoss,
        &[],
        &lease_passed(),
        &[
            ("nothing was taken back", &|round| round.calls[1].rows = Some(0)),
            ("nothing was taken back", &|round| round.calls[0].answer = Answer::Lost),
        ],
    );
}
