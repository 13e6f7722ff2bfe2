//! Waits for locks: circles, an order without circles, and waits that take too long.

use super::{DECIDED_AGAIN, Look, NO_DEADLOCK, ONE_VERSION, SAID_IS_DONE, TOLD_APART, TOLD_THE_PRESENT};
use crate::domain::Status;
use crate::domain::lab::{Answer, Call, HOLDER, RowSeen, Wait};

/// A deadlock by the server's word.
const DEADLOCK: &str = "40P01";

/// A wait for a lock that took too long.
const TOO_LONG: &str = "55P03";

/// Whether a circle was seen: each of the two waits for the other, at the same time.
fn circle(look: &Look<'_>, one: &str, other: &str) -> bool {
    let waits = |who: &str, for_: &str| -> Vec<&Wait> {
        let of = |wait: &&Wait| wait.who == who && wait.blocked_by.iter().any(|blocker| blocker == for_);
        look.round.waits.iter().filter(of).collect()
    };
    let back = waits(other, one);
    waits(one, other).iter().any(|a| back.iter().any(|b| a.first_us <= b.last_us && b.first_us <= a.last_us))
}

fn unchanged(before: &[RowSeen], after: &[RowSeen]) -> bool {
    before.len() == after.len() && before.iter().zip(after).all(|(before, after)| before.is_as(after))
}

/// What both kinds of deadlock have in common: the decision A and the holder, of whom A is to be the victim.
fn victim<'a>(look: &mut Look<'a>) -> Option<(&'a Call, &'a [RowSeen], &'a [RowSeen])> {
    let (before, after) = (look.rows("before")?, look.rows("after")?);
    let (decision, holder) = (look.call("A", "cancel")?, look.call(HOLDER, "lock both")?);
    if !look.needs_to_know_deadlocks() {
        return None;
    }
    let formed = circle(look, "A", HOLDER);
    look.needs(formed, || "no circle was seen".to_owned());
    let (told, failed) = (decision.retries > 0, holder.sqlstate.as_deref() == Some(DEADLOCK));
    look.needs(told, || {
        if failed {
            "the holder was the victim this time".to_owned()
        } else if decision.sqlstate.as_deref() == Some(TOO_LONG) {
            "the wait took too long before the server looked for a deadlock".to_owned()
        } else {
            "the server ended nobody's wait with 40P01".to_owned()
        }
    });
    let given_up = decision.sqlstate.as_deref() == Some(DEADLOCK);
    look.must(DECIDED_AGAIN, !given_up, || {
        "A's decision ended with 40P01 and was not decided again".to_owned()
    });
    look.must(DECIDED_AGAIN, !(told && failed), || "both were told that they were the victim".to_owned());
    look.must(DECIDED_AGAIN, !told || holder.answer == Answer::Committed, || {
        format!("A was the victim, and the holder was told {}", holder.answer.as_str())
    });
    if given_up || !look.all_answered(&[decision]) {
        return None;
    }
    Some((decision, before, after))
}

pub(super) fn decided_again(look: &mut Look<'_>) {
    let Some((decision, before, after)) = victim(look) else { return };
    look.must(DECIDED_AGAIN, decision.answer == Answer::Committed, || {
        format!("nobody changed the rows, and A was told {}", decision.answer.as_str())
    });
    if decision.answer.took_effect() {
        let canceled = after.iter().all(|row| row.status == Status::Canceled);
        look.must(SAID_IS_DONE, canceled, || {
            "A's cancel took effect, and not every row is CANCELED".to_owned()
        });
        let once = before.iter().zip(after).all(|(before, after)| after.version == before.version + 1);
        look.must(ONE_VERSION, once, || "a row's version did not rise by one".to_owned());
    }
}

pub(super) fn moved_on(look: &mut Look<'_>) {
    let Some((decision, before, after)) = victim(look) else { return };
    if decision.retries == 0 {
        return;
    }
    look.must(DECIDED_AGAIN, decision.answer == Answer::Conflict, || {
        format!("a row had moved on, and A was told {}", decision.answer.as_str())
    });
    // The holder's own change is the one version more.
    let moved = before.iter().zip(after).map(|(before, after)| after.version - before.version).sum::<i64>();
    look.must(ONE_VERSION, moved == 1, || {
        format!("the holder changed one row, and there are {moved} versions more")
    });
    let kept = before.iter().zip(after).all(|(before, after)| before.status == after.status);
    look.must(SAID_IS_DONE, kept, || "A was told of a conflict, and a row has another state".to_owned());
    look.must(TOLD_THE_PRESENT, unchanged(&decision.told, after), || {
        "A was told other rows than there are".to_owned()
    });
}

pub(super) fn ascending(look: &mut Look<'_>) {
    let (Some(before), Some(after)) = (look.rows("before"), look.rows("after")) else { return };
    let Some(holder) = look.call(HOLDER, "lock both") else { return };
    let known = look.needs_to_know_deadlocks();
    for call in &look.round.calls {
        let (who, retries) = (&call.who, if known { call.retries } else { 0 });
        look.must(NO_DEADLOCK, retries == 0 && call.sqlstate.as_deref() != Some(DEADLOCK), || {
            format!("{who} met a deadlock, and was rolled back {retries} times")
        });
    }
    look.needs(holder.answer == Answer::Committed, || "the holder did not get both rows".to_owned());
    let calls: Vec<&Call> = look.round.calls.iter().filter(|call| call.who != HOLDER).collect();
    if look.all_answered(&calls) {
        let won = calls.iter().filter(|call| call.answer.took_effect()).count();
        look.must(SAID_IS_DONE, won == 1, || format!("{won} of the same decisions took effect"));
        let once = before
            .iter()
            .zip(after)
            .all(|(before, after)| after.version == before.version + 1 && after.status == Status::Canceled);
        look.must(ONE_VERSION, once && before.len() == after.len(), || {
            "a row was not canceled in one version".to_owned()
        });
    }
    look.needs_overlap(&calls);
    let second = look.round.figure("locked_second_us").and_then(|at| u64::try_from(at).ok());
    let (waits, opened) = (&look.round.waits, look.round.gate.opened_us);
    let while_waiting = second.is_some_and(|second| {
        calls.iter().all(|call| waits.iter().any(|wait| wait.who == call.who && wait.first_us <= second))
            && opened.is_some_and(|opened| second <= opened)
    });
    look.needs(while_waiting, || "the second row was not locked while the others waited".to_owned());
}

pub(super) fn held_too_long(look: &mut Look<'_>) {
    let (Some(before), Some(after)) = (look.rows("before"), look.rows("after")) else { return };
    let Some(call) = look.call("A", "cancel") else { return };
    let code = call.sqlstate.as_deref();
    look.must(TOLD_APART, code != Some(DEADLOCK), || "A's wait was called a deadlock".to_owned());
    look.needs(call.answer == Answer::Unavailable && code == Some(TOO_LONG), || {
        format!("A's wait did not end with 55P03 but with {}", code.unwrap_or(call.answer.as_str()))
    });
    look.must(TOLD_APART, call.retries == 0, || format!("A's wait was tried again {} times", call.retries));
    if call.answer == Answer::Unavailable {
        look.must(SAID_IS_DONE, unchanged(before, after), || {
            "A was told that nothing was applied, and the row has changed".to_owned()
        });
    }
    let seen = look.round.was_seen_waiting("A");
    look.needs(seen, || "A was not seen waiting".to_owned());
}

pub(super) fn held_in_a_circle(look: &mut Look<'_>) {
    let (Some(one), Some(other)) = (look.call("A", "lock both"), look.call(HOLDER, "lock both")) else {
        return;
    };
    let formed = circle(look, "A", HOLDER);
    look.needs(formed, || "no circle was seen".to_owned());
    let victims = [one, other].iter().filter(|call| call.sqlstate.as_deref() == Some(DEADLOCK)).count();
    let too_long = [one, other].iter().any(|call| call.sqlstate.as_deref() == Some(TOO_LONG));
    look.needs(!too_long && victims > 0, || {
        "the wait took too long before the server looked for a deadlock".to_owned()
    });
    look.must(TOLD_APART, victims <= 1, || "both were told that they were the victim".to_owned());
    let survived = [one, other].iter().filter(|call| call.answer == Answer::Committed).count();
    look.must(TOLD_APART, victims != 1 || survived == 1, || "the survivor did not commit".to_owned());
}

pub(super) fn waited_in_vain(look: &mut Look<'_>) {
    let (Some(before), Some(after)) = (look.row("before"), look.row("after")) else { return };
    let Some(call) = look.call("A", "cancel") else { return };
    look.needs(after.version > before.version, || "the holder changed nothing".to_owned());
    if look.all_answered(&[call]) {
        look.must(TOLD_APART, call.answer == Answer::Conflict && call.sqlstate.is_none(), || {
            format!("the row had moved on, and A was told {}", call.answer.as_str())
        });
        let told = call.told.first();
        look.must(TOLD_THE_PRESENT, told.is_some_and(|told| told.is_as(after)), || {
            let told = told.map_or_else(|| "nothing".to_owned(), RowSeen::words);
            format!("A was told {told}, and the row was {}", after.words())
        });
        look.must(ONE_VERSION, after.version == before.version + 1, || {
            format!("the version went from {} to {}", before.version, after.version)
        });
    }
    look.needs_overlap(&[call]);
}
