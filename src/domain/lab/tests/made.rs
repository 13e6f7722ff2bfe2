//! Evidence as sound rounds leave it.

use jiff::{SignedDuration, Timestamp};

use crate::domain::Status;
use crate::domain::lab::{Answer, Call, Gate, HOLDER, Part, Round, RowSeen, Server, State, Wait};

/// When the holder of every made round lets go.
pub(super) const OPENED: u64 = 1_000;

pub(super) fn server() -> Server {
    Server {
        version: "15.18".to_owned(),
        isolation: "read committed".to_owned(),
        isolation_set: None,
        pooler: false,
        role: "tester".to_owned(),
        recovery: false,
        read_only: false,
        may_create: true,
        deadlock_timeout_ms: 1_000,
        schema: "taskdeck_lab".to_owned(),
    }
}

/// The row with this id.
pub(super) fn row(id: i64, status: Status, version: i64) -> RowSeen {
    RowSeen {
        id,
        status,
        version,
        claim_no: 0,
        claimed_by: None,
        cancel_requested: false,
        words: 0,
        events: Some(0),
    }
}

/// The same with so many events.
pub(super) fn with_events(events: i64, row: RowSeen) -> RowSeen {
    RowSeen { events: Some(events), ..row }
}

/// The same, claimed.
pub(super) fn claimed(by: &str, claim_no: i64, mut row: RowSeen) -> RowSeen {
    row.claimed_by = Some(by.to_owned());
    row.claim_no = claim_no;
    row
}

/// The same with counts.
pub(super) fn counted(words: i64, row: RowSeen) -> RowSeen {
    RowSeen { words, ..row }
}

/// An answer after the gate was opened.
pub(super) fn call(who: &str, act: &str, answer: Answer, told: &[&RowSeen]) -> Call {
    let rows = match answer {
        Answer::Won | Answer::Committed => Some(1),
        Answer::Lost | Answer::Conflict | Answer::OverLimit | Answer::LeaseLost => Some(0),
        _ => None,
    };
    Call {
        who: who.to_owned(),
        act: act.to_owned(),
        asked_us: 10,
        answered_us: OPENED + 500,
        answer,
        rows,
        sqlstate: None,
        message: None,
        retries: 0,
        resolved_from_unknown: false,
        told: told.iter().map(|row| RowSeen { events: None, ..(*row).clone() }).collect(),
    }
}

/// The same with an error's code.
pub(super) fn code(sqlstate: &str, call: Call) -> Call {
    Call { sqlstate: Some(sqlstate.to_owned()), rows: None, ..call }
}

/// A wait that was seen for some time before the gate was opened.
pub(super) fn wait(who: &str, for_: &str) -> Wait {
    let since = Timestamp::UNIX_EPOCH;
    Wait {
        who: who.to_owned(),
        lock: "transactionid".to_owned(),
        blocked_by: vec![for_.to_owned()],
        since: Some(since),
        last: since + SignedDuration::from_millis(2),
        first_us: 200,
        last_us: 900,
    }
}

/// A round with a gate, whose callers all wait for the holder.
pub(super) fn gated(part: Part, calls: Vec<Call>) -> Round {
    let waits = calls.iter().filter(|call| call.who != HOLDER).map(|call| wait(&call.who, HOLDER)).collect();
    Round { gate: Gate { opened_us: Some(OPENED), all_waited: true }, calls, waits, ..Round::new(1, part) }
}

/// The same with the rows at these moments.
pub(super) fn with_states(round: Round, states: &[(&str, &[&RowSeen])]) -> Round {
    let states = states.iter().map(|(when, rows)| State {
        when: (*when).to_owned(),
        rows: rows.iter().map(|row| (*row).clone()).collect(),
    });
    Round { states: states.collect(), ..round }
}

/// The same with figures.
pub(super) fn with_figures(mut round: Round, figures: &[(&str, i64)]) -> Round {
    round.figures.extend(figures.iter().map(|(name, figure)| ((*name).to_owned(), *figure)));
    round
}

/// The last state's first row.
pub(super) fn end(round: &mut Round) -> &mut RowSeen {
    round.states.last_mut().expect("a state").rows.first_mut().expect("a row")
}
