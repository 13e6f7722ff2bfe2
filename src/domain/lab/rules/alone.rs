//! Steps in one order: nothing here depends on who comes first.

use super::{
    COUNTS, FENCED, IN_TIME, Look, NOT_REPEATED, ONE_VERSION, ROLLED_BACK, SAID_IS_DONE, SLOT_IS_BACK,
};
use crate::domain::Status;
use crate::domain::lab::{Answer, Call, HOLDER, RowSeen};

/// For how much longer than its deadline a call may take on a machine with other work.
const SLACK_US: u64 = 5_000_000;

fn told(call: &Call) -> String {
    let code = call.sqlstate.as_ref().map_or_else(String::new, |code| format!(" ({code})"));
    format!("{}'s {} was told {}{code}", call.who, call.act, call.answer.as_str())
}

pub(super) fn rolled_back(look: &mut Look<'_>) {
    let (Some(before), Some(during)) = (look.row("before"), look.row("during")) else { return };
    let (Some(left), Some(after)) = (look.row("rolled back"), look.row("after")) else { return };
    let (Some(write), Some(commit)) = (look.call(HOLDER, "write a result"), look.call(HOLDER, "commit"))
    else {
        return;
    };
    look.needs(write.rows == Some(1), || "the transaction changed no row before it failed".to_owned());
    look.must(ROLLED_BACK, before.is_as(during), || {
        format!("another connection saw the uncommitted result: {}", during.words())
    });
    look.must(ROLLED_BACK, commit.answer == Answer::RolledBack, || told(commit));
    look.must(ROLLED_BACK, before.is_as(left) && left.words == 0, || {
        format!("the row was {}, and after the rollback it is {}", before.words(), left.words())
    });
    let (Some(finish), Some(second)) = (look.call("A", "finish"), look.call("A", "finish otherwise")) else {
        return;
    };
    if !look.all_answered(&[finish, second]) {
        return;
    }
    look.must(SAID_IS_DONE, finish.answer == Answer::Committed, || told(finish));
    look.must(FENCED, second.answer == Answer::LeaseLost, || told(second));
    look.must(ONE_VERSION, after.version == before.version + 1, || {
        format!("the version went from {} to {}", before.version, after.version)
    });
    let words = look.round.figure("words");
    look.must(COUNTS, after.status == Status::Succeeded && Some(after.words) == words, || {
        format!("{} with {} words, and the input has {words:?}", after.words(), after.words)
    });
}

pub(super) fn half_read(look: &mut Look<'_>) {
    let (Some(half), Some(next)) = (look.call("A", "read one row"), look.call("B", "read the clock")) else {
        return;
    };
    let Some(again) = look.call("B", "read the clock again") else { return };
    let (read, asked) = (look.round.figure("rows_read"), look.round.figure("rows_asked"));
    let half_way =
        half.answer == Answer::Read && read.zip(asked).is_some_and(|(read, asked)| read > 0 && read < asked);
    look.needs(half_way, || "the result was not left half-read".to_owned());
    look.must(SLOT_IS_BACK, next.answer == Answer::Unavailable && next.sqlstate.is_none(), || {
        format!("the only connection was held, and {}", told(next))
    });
    let deadline =
        look.round.figure("deadline_ms").and_then(|ms| u64::try_from(ms).ok()).unwrap_or(0) * 1_000;
    let took = next.answered_us.saturating_sub(next.asked_us);
    look.must(IN_TIME, took <= deadline + SLACK_US, || {
        format!("the deadline was {} ms, and the answer came after {} ms", deadline / 1_000, took / 1_000)
    });
    look.needs(took >= deadline / 2, || "it was answered before its deadline".to_owned());
    slot_is_back(look, again);
}

fn slot_is_back(look: &mut Look<'_>, again: &Call) {
    look.must(SLOT_IS_BACK, again.answer == Answer::Read, || told(again));
    let in_use = look.round.figure("in_use_after");
    look.must(SLOT_IS_BACK, in_use == Some(0), || format!("connections in use afterwards: {in_use:?}"));
}

pub(super) fn unreadable(look: &mut Look<'_>) {
    let (Some(bad), Some(absent)) =
        (look.call("A", "read the bad row"), look.call("A", "read a missing row"))
    else {
        return;
    };
    let Some(again) = look.call("A", "read a sound row") else { return };
    let spoiled = look.round.figure("spoiled");
    look.needs(spoiled == Some(1), || "no row was made unreadable".to_owned());
    look.must(SAID_IS_DONE, bad.answer == Answer::BadRow, || told(bad));
    look.must(SAID_IS_DONE, absent.answer == Answer::NotFound, || told(absent));
    slot_is_back(look, again);
}

/// The answer was cut off once, the caller was told that it is not known, and then found out.
fn was_lost(look: &mut Look<'_>, call: &Call) {
    let cuts = look.round.figure("cuts");
    look.needs(cuts == Some(1), || format!("the wire was cut {} times, not once", cuts.unwrap_or(0)));
    let unknown = look.round.figure("told_unknown");
    look.needs(unknown.unwrap_or(0) > 0, || "nobody was told that the outcome is unknown".to_owned());
    look.needs(call.answer != Answer::Unknown, || "the outcome was not found out".to_owned());
    look.must(
        SAID_IS_DONE,
        !call.answer.took_effect() || cuts != Some(1) || call.resolved_from_unknown,
        || format!("the answer was cut off, and {} as if it had come", told(call)),
    );
}

pub(super) fn decision_lost(look: &mut Look<'_>) {
    let (Some(before), Some(after)) = (look.row("before"), look.row("after")) else { return };
    let Some(call) = look.call("A", "approve") else { return };
    was_lost(look, call);
    let changes = after.version - before.version;
    look.must(NOT_REPEATED, changes <= 1, || format!("one decision made {changes} versions"));
    let events = after.events.zip(before.events).map(|(after, before)| after - before);
    look.must(NOT_REPEATED, events.is_some_and(|events| events <= 1), || {
        format!("one decision has {events:?} events")
    });
    match call.answer {
        Answer::Committed => {
            look.must(SAID_IS_DONE, changes == 1 && after.status == Status::Queued, || {
                format!("{}, and the row is {}", told(call), after.words())
            });
        }
        Answer::Unknown => {}
        _ => {
            look.must(SAID_IS_DONE, changes == 0, || {
                format!("{}, and the row is {}", told(call), after.words())
            });
            look.needs(false, || told(call));
        }
    }
}

pub(super) fn submit_lost(look: &mut Look<'_>) {
    let (Some(call), Some(after)) = (look.call("A", "submit"), look.rows("after")) else { return };
    was_lost(look, call);
    let rows = look.round.figure("rows_made");
    look.must(NOT_REPEATED, rows.is_some_and(|rows| rows <= 1), || format!("one submit made {rows:?} rows"));
    match call.answer {
        Answer::Committed => {
            let told = call.told.first();
            let there = told.is_some_and(|told| after.iter().any(|row| row.is_as(told)));
            look.must(SAID_IS_DONE, rows == Some(1) && there, || {
                format!("the submit was told COMMITTED, and there are {rows:?} rows of it")
            });
        }
        Answer::Unknown => {}
        _ => {
            look.must(SAID_IS_DONE, rows == Some(0), || {
                format!("{}, and there are {rows:?} rows", told(call))
            });
            look.needs(false, || told(call));
        }
    }
}

pub(super) fn lease_passed(look: &mut Look<'_>) {
    let calls: Vec<&Call> = look.round.calls.iter().collect();
    let (Some(claim), Some(recover)) = (look.call("A", "claim"), look.call("B", "recover")) else { return };
    let (Some(late), Some(later)) = (look.call("A", "finish"), look.call("A", "finish again")) else {
        return;
    };
    let (Some(beat), Some(finish)) = (look.call("A", "heartbeat"), look.call("B", "finish")) else { return };
    if !look.all_answered(&calls) {
        return;
    }
    let (Some(before), Some(back)) = (look.row("before"), look.row("taken back")) else { return };
    let (Some(still), Some(claimed)) = (look.row("after the late finish"), look.row("claimed again")) else {
        return;
    };
    let (Some(held), Some(after)) = (look.row("after the second late finish"), look.row("after")) else {
        return;
    };
    // Where the lease had passed before the claim, or was not seen to pass, there is nothing to be late for.
    let taken_back = claim.answer == Answer::Won && recover.rows == Some(1) && back.status == Status::Queued;
    look.needs(taken_back, || "nothing was taken back".to_owned());
    if !taken_back {
        return;
    }
    for (call, was, is) in [(late, back, still), (later, claimed, held)] {
        look.must(FENCED, call.answer == Answer::LeaseLost, || told(call));
        unchanged(look, call, was, is);
    }
    look.must(FENCED, beat.answer == Answer::LeaseLost, || told(beat));
    look.must(SAID_IS_DONE, finish.answer == Answer::Committed, || told(finish));
    let words = look.round.figure("words");
    look.must(COUNTS, after.status == Status::Succeeded && Some(after.words) == words, || {
        format!("{} with {} words, and B counted {words:?}", after.words(), after.words)
    });
    look.must(
        FENCED,
        after.claim_no == before.claim_no + 2 && after.claimed_by.as_deref() == Some("B"),
        || format!("the row is {}", after.words()),
    );
    // Claimed, taken back, claimed, finished.
    look.must(ONE_VERSION, after.version == before.version + 4, || {
        format!("the version went from {} to {} in four changes", before.version, after.version)
    });
}

fn unchanged(look: &mut Look<'_>, call: &Call, was: &RowSeen, is: &RowSeen) {
    look.must(FENCED, was.is_as(is), || {
        format!("{}, and the row went from {} to {}", told(call), was.words(), is.words())
    });
}
