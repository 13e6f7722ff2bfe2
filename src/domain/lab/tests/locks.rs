//! Circles, an order without circles, and waits that take too long.

use super::made::{OPENED, call, code, end, gated, row, wait, with_events, with_figures, with_states};
use super::{each_is_found, none_is_counted};
use crate::domain::Status::{Canceled, Queued};
use crate::domain::lab::{Answer, Call, HOLDER, Kind, Part, Round};

fn holder(answer: Answer) -> Call {
    Call { rows: None, ..call(HOLDER, "lock both", answer, &[]) }
}

fn in_a_circle(round: Round) -> Round {
    let mut waits = round.waits.clone();
    waits.push(wait(HOLDER, "A"));
    Round { waits, ..round }
}

fn decided_again() -> Round {
    let (before, after) =
        ([row(7, Queued, 0), row(8, Queued, 0)], [row(7, Canceled, 1), row(8, Canceled, 1)]);
    let decision = Call { retries: 1, ..call("A", "cancel", Answer::Committed, &[&after[0], &after[1]]) };
    let states: [(&str, &[_]); 2] =
        [("before", &[&before[0], &before[1]]), ("after", &[&after[0], &after[1]])];
    in_a_circle(with_states(gated(Part::DecidedAgain, vec![decision, holder(Answer::Committed)]), &states))
}

fn moved_on() -> Round {
    let (before, after) = ([row(7, Queued, 0), row(8, Queued, 0)], [row(7, Queued, 0), row(8, Queued, 1)]);
    let decision = Call { retries: 1, ..call("A", "cancel", Answer::Conflict, &[&after[0], &after[1]]) };
    let states: [(&str, &[_]); 2] =
        [("before", &[&before[0], &before[1]]), ("after", &[&after[0], &after[1]])];
    in_a_circle(with_states(gated(Part::MovedOn, vec![decision, holder(Answer::Committed)]), &states))
}

#[test]
fn a_victim_that_does_not_decide_the_whole_again_is_found() {
    let given_up =
        |round: &mut Round| round.calls[0] = code("40P01", call("A", "cancel", Answer::Unavailable, &[]));
    each_is_found(
        Kind::Deadlock,
        &[moved_on()],
        &decided_again(),
        &[
            ("A's decision ended with 40P01 and was not decided again", &given_up),
            ("nobody changed the rows, and A was told CONFLICT", &|round| {
                round.calls[0].answer = Answer::Conflict;
            }),
            ("A was the victim, and the holder was told UNAVAILABLE", &|round| {
                round.calls[1].answer = Answer::Unavailable;
            }),
            ("both were told that they were the victim", &|round| {
                round.calls[1] = code("40P01", holder(Answer::RolledBack));
            }),
            ("not every row is CANCELED", &|round| end(round).status = Queued),
            ("I8: the version rises by one at each change", &|round| end(round).version = 2),
        ],
    );
    each_is_found(
        Kind::Deadlock,
        &[decided_again()],
        &moved_on(),
        &[
            ("a row had moved on, and A was told COMMITTED", &|round| {
                round.calls[0].answer = Answer::Committed;
            }),
            ("there are 2 versions more", &|round| end(round).version = 1),
            ("a row has another state", &|round| end(round).status = Canceled),
            ("A was told other rows than there are", &|round| round.calls[0].told[1].version = 0),
        ],
    );
}

#[test]
fn a_circle_that_did_not_form_is_not_counted() {
    none_is_counted(
        Kind::Deadlock,
        &[moved_on()],
        &decided_again(),
        &[
            ("no circle was seen", &|round| {
                round.waits.pop();
            }),
            ("no circle was seen", &|round| {
                let wait = round.waits.last_mut().expect("a wait");
                (wait.first_us, wait.last_us) = (OPENED, OPENED + 1);
            }),
            ("no circle was seen", &|round| round.waits[0].blocked_by = vec!["B".to_owned()]),
            ("the holder was the victim this time", &|round| {
                round.calls[0].retries = 0;
                round.calls[1] = code("40P01", holder(Answer::RolledBack));
            }),
            ("the server ended nobody's wait with 40P01", &|round| round.calls[0].retries = 0),
            ("the wait took too long", &|round| {
                round.calls[0] = code("55P03", call("A", "cancel", Answer::Unavailable, &[]));
            }),
        ],
    );
}

fn ascending() -> Round {
    let (before, after) =
        ([row(7, Queued, 0), row(8, Queued, 0)], [row(7, Canceled, 1), row(8, Canceled, 1)]);
    let calls = vec![
        call("A", "cancel", Answer::Committed, &[&after[0], &after[1]]),
        call("B", "cancel", Answer::Conflict, &[&after[0], &after[1]]),
        holder(Answer::Committed),
    ];
    let states: [(&str, &[_]); 2] =
        [("before", &[&before[0], &before[1]]), ("after", &[&after[0], &after[1]])];
    with_figures(with_states(gated(Part::Ascending, calls), &states), &[("locked_second_us", 950)])
}

#[test]
fn a_deadlock_in_ascending_order_is_found() {
    each_is_found(
        Kind::Ordered,
        &[],
        &ascending(),
        &[
            ("locks in ascending order never deadlock: A met a deadlock", &|round| {
                round.calls[0].retries = 1;
            }),
            ("locks in ascending order never deadlock: B met a deadlock", &|round| {
                round.calls[1] = code("40P01", call("B", "cancel", Answer::Unavailable, &[]));
            }),
            ("2 of the same decisions took effect", &|round| round.calls[1].answer = Answer::Committed),
            ("not canceled in one version", &|round| end(round).version = 3),
        ],
    );
    none_is_counted(
        Kind::Ordered,
        &[],
        &ascending(),
        &[
            ("was not seen waiting", &|round| round.waits.clear()),
            ("the second row was not locked while", &|round| {
                round.figures.insert("locked_second_us".to_owned(), 100);
            }),
            ("the second row was not locked while", &|round| round.figures.clear()),
            ("the holder did not get both rows", &|round| round.calls[2].answer = Answer::Unavailable),
        ],
    );
}

fn held_too_long() -> Round {
    let before = row(7, Queued, 0);
    let mut call = code("55P03", call("A", "cancel", Answer::Unavailable, &[]));
    // Its wait ends while the row is still held.
    call.answered_us = OPENED - 50;
    with_states(gated(Part::HeldTooLong, vec![call]), &[("before", &[&before]), ("after", &[&before])])
}

fn held_in_a_circle() -> Round {
    let row = row(7, Queued, 0);
    let victim = code("40P01", call("A", "lock both", Answer::Unavailable, &[]));
    let round = gated(Part::HeldInACircle, vec![victim, holder(Answer::Committed)]);
    in_a_circle(with_states(round, &[("before", &[&row]), ("after", &[&row])]))
}

fn waited_in_vain() -> Round {
    let (before, after) = (row(7, Queued, 0), row(7, Queued, 1));
    let calls = vec![call("A", "cancel", Answer::Conflict, &[&after])];
    with_states(gated(Part::WaitedInVain, calls), &[("before", &[&before]), ("after", &[&after])])
}

#[test]
fn ends_of_a_wait_that_are_not_told_apart_are_found() {
    each_is_found(
        Kind::LockTimeout,
        &[held_in_a_circle(), waited_in_vain()],
        &held_too_long(),
        &[
            ("A's wait was called a deadlock", &|round| round.calls[0].sqlstate = Some("40P01".to_owned())),
            ("A's wait was tried again 3 times", &|round| round.calls[0].retries = 3),
            ("nothing was applied, and the row has changed", &|round| {
                *end(round) = with_events(1, row(7, Canceled, 1));
            }),
        ],
    );
    each_is_found(
        Kind::LockTimeout,
        &[held_too_long(), waited_in_vain()],
        &held_in_a_circle(),
        &[
            ("both were told that they were the victim", &|round| {
                round.calls[1] = code("40P01", holder(Answer::RolledBack));
            }),
            ("the survivor did not commit", &|round| round.calls[1].answer = Answer::Unavailable),
        ],
    );
    each_is_found(
        Kind::LockTimeout,
        &[held_too_long(), held_in_a_circle()],
        &waited_in_vain(),
        &[
            ("the row had moved on, and A was told COMMITTED", &|round| {
                round.calls[0].answer = Answer::Committed;
            }),
            ("A was told QUEUED v0", &|round| round.calls[0].told[0].version = 0),
            ("the version went from 0 to 2", &|round| {
                end(round).version = 2;
                round.calls[0].told[0].version = 2;
            }),
            ("ended with an error: 40001", &|round| {
                round.calls[0] = code("40001", call("A", "cancel", Answer::Unavailable, &[]));
            }),
        ],
    );
    none_is_counted(
        Kind::LockTimeout,
        &[held_in_a_circle(), waited_in_vain()],
        &held_too_long(),
        &[
            ("did not end with 55P03 but with CONFLICT", &|round| {
                round.calls[0] = call("A", "cancel", Answer::Conflict, &[]);
            }),
            ("A was not seen waiting", &|round| round.waits.clear()),
        ],
    );
}
