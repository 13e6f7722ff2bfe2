//! Races about one row, and about a sum over several.

use super::{
    COUNTS, Look, ONE_DECISION, ONE_VERSION, ONE_WINNER, SAID_IS_DONE, TOLD_THE_PRESENT, WITHIN_THE_LIMIT,
};
use crate::domain::Status;
use crate::domain::lab::{Answer, Call, RowSeen};

/// `A and B`.
fn names(calls: &[&Call]) -> String {
    calls.iter().map(|call| call.who.as_str()).collect::<Vec<_>>().join(" and ")
}

fn that_took_effect<'a>(calls: &[&'a Call]) -> Vec<&'a Call> {
    calls.iter().copied().filter(|call| call.answer.took_effect()).collect()
}

/// Who did not have their way was told the row as it is.
fn told_the_present(look: &mut Look<'_>, calls: &[&Call], after: &RowSeen) {
    for call in calls.iter().filter(|call| matches!(call.answer, Answer::Lost | Answer::Conflict)) {
        let (who, told) = (&call.who, call.told.first());
        look.must(TOLD_THE_PRESENT, told.is_some_and(|told| told.is_as(after)), || {
            let told = told.map_or_else(|| "nothing".to_owned(), RowSeen::words);
            format!("{who} was told {told}, and the row was {}", after.words())
        });
    }
    for call in calls.iter().filter(|call| call.answer == Answer::NotFound) {
        let who = &call.who;
        look.must(SAID_IS_DONE, false, || format!("{who} was told that there is no such task"));
    }
}

/// Exactly one of `calls` took effect, once; returns it.
fn one_of<'a>(look: &mut Look<'_>, rule: &str, calls: &[&'a Call]) -> Option<&'a Call> {
    let answered = look.all_answered(calls);
    let winners = that_took_effect(calls);
    look.must(rule, winners.len() <= 1, || format!("{} were each told that it took effect", names(&winners)));
    look.must(rule, !winners.is_empty() || !answered, || "nobody's took effect".to_owned());
    let changed: i64 = calls.iter().filter_map(|call| call.rows).sum();
    look.must(rule, changed <= 1, || format!("the server said that {changed} rows were changed"));
    match winners.as_slice() {
        [winner] => Some(winner),
        _ => None,
    }
}

fn one_version(look: &mut Look<'_>, before: &RowSeen, after: &RowSeen, changes: i64) {
    look.must(ONE_VERSION, after.version == before.version + changes, || {
        format!("the version went from {} to {}", before.version, after.version)
    });
}

pub(super) fn claim(look: &mut Look<'_>) {
    let (Some(before), Some(after)) = (look.row("before"), look.row("after")) else { return };
    let calls: Vec<&Call> = look.round.calls.iter().collect();
    let winner = one_of(look, ONE_WINNER, &calls);
    if let Some(winner) = winner {
        one_version(look, before, after, 1);
        let claimed = after.status == Status::Running
            && after.claim_no == before.claim_no + 1
            && after.claimed_by.as_deref() == Some(winner.who.as_str());
        look.must(SAID_IS_DONE, claimed, || {
            format!("{} was told that it won, and the row is {}", winner.who, after.words())
        });
    } else if that_took_effect(&calls).len() > 1 {
        one_version(look, before, after, 1);
    }
    told_the_present(look, &calls, after);
    look.needs_overlap(&calls);
}

pub(super) fn decide(look: &mut Look<'_>) {
    let (Some(before), Some(after)) = (look.row("before"), look.row("after")) else { return };
    let calls: Vec<&Call> = look.round.calls.iter().collect();
    if let Some(winner) = one_of(look, ONE_DECISION, &calls) {
        one_version(look, before, after, 1);
        let wanted = if winner.act == "approve" { Status::Queued } else { Status::Rejected };
        look.must(SAID_IS_DONE, after.status == wanted, || {
            format!("{}'s {} took effect, and the row is {}", winner.who, winner.act, after.words())
        });
        look.must(ONE_DECISION, after.events == before.events.map(|events| events + 1), || {
            format!("the history has {:?} events, before {:?}", after.events, before.events)
        });
    } else if that_took_effect(&calls).len() > 1 {
        one_version(look, before, after, 1);
    }
    told_the_present(look, &calls, after);
    look.needs_overlap(&calls);
}

pub(super) fn cancel_and_claim(look: &mut Look<'_>) {
    let (Some(before), Some(after)) = (look.row("before"), look.row("after")) else { return };
    let calls: Vec<&Call> = look.round.calls.iter().collect();
    if let Some(winner) = one_of(look, ONE_DECISION, &calls) {
        one_version(look, before, after, 1);
        let as_said = if winner.act == "cancel" {
            after.status == Status::Canceled && after.claim_no == before.claim_no
        } else {
            after.status == Status::Running && after.claimed_by.as_deref() == Some(winner.who.as_str())
        };
        look.must(SAID_IS_DONE, as_said, || {
            format!("{}'s {} took effect, and the row is {}", winner.who, winner.act, after.words())
        });
    }
    told_the_present(look, &calls, after);
    look.needs_overlap(&calls);
}

pub(super) fn cancel_and_finish(look: &mut Look<'_>) {
    let (Some(before), Some(after)) = (look.row("before"), look.row("after")) else { return };
    let calls: Vec<&Call> = look.round.calls.iter().collect();
    let (finishes, cancels): (Vec<&Call>, Vec<&Call>) =
        calls.iter().copied().partition(|call| call.act == "finish");
    if look.all_answered(&calls) {
        let finished = that_took_effect(&finishes).len();
        look.must(ONE_WINNER, finished == 1, || {
            format!("the claim's one finish was told {finished} times that it took effect")
        });
        let canceled = that_took_effect(&cancels);
        look.must(ONE_DECISION, canceled.len() <= 1, || {
            format!(
                "{} each asked the same version to stop, and were told that it took effect",
                names(&canceled)
            )
        });
        if after.status == Status::Succeeded {
            look.must(SAID_IS_DONE, canceled.is_empty(), || {
                format!("{} was told that the cancel took effect, and the row is SUCCEEDED", names(&canceled))
            });
            one_version(look, before, after, 1);
            told_the_present(look, &cancels, after);
        } else {
            look.must(SAID_IS_DONE, after.status == Status::Canceled && canceled.len() == 1, || {
                format!("{} cancels took effect, and the row is {}", canceled.len(), after.words())
            });
            one_version(look, before, after, 2);
        }
    }
    let words = look.round.figure("words").unwrap_or(0);
    let expected = if after.status == Status::Succeeded { words } else { 0 };
    look.must(COUNTS, after.words == expected, || format!("{} with {} words", after.words(), after.words));
    look.needs_overlap(&calls);
}

/// How many of the rows are approved, and how many callers were told so.
fn approvals(look: &mut Look<'_>) -> Option<(i64, i64, bool)> {
    let calls: Vec<&Call> = look.round.calls.iter().collect();
    let answered = look.all_answered(&calls);
    let after = look.rows("after")?;
    let count = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
    let approved = count(after.iter().filter(|row| row.status == Status::Queued).count());
    let told = count(that_took_effect(&calls).len());
    look.must(SAID_IS_DONE, approved == told || !answered, || {
        format!("{told} were told that they approved a task, and {approved} are approved")
    });
    look.needs_overlap(&calls);
    let limit = look.round.figure("limit");
    look.needs(limit.is_some(), || "the limit is not known".to_owned());
    Some((approved, limit?, answered))
}

/// What goes wrong where each statement counts for itself: it proves something only if it does go wrong.
pub(super) fn by_count(look: &mut Look<'_>) {
    let Some((approved, limit, _)) = approvals(look) else { return };
    look.needs(approved > limit, || {
        format!("{approved} of {limit} were approved: the limit was not overshot")
    });
}

pub(super) fn by_shared_row(look: &mut Look<'_>) {
    let Some((approved, limit, answered)) = approvals(look) else { return };
    look.must(WITHIN_THE_LIMIT, approved <= limit, || {
        format!("{approved} were approved, the limit is {limit}")
    });
    let callers = i64::try_from(look.round.calls.len()).unwrap_or(i64::MAX);
    look.must(WITHIN_THE_LIMIT, approved >= limit.min(callers) || !answered, || {
        format!("only {approved} were approved of {limit} that the limit allows")
    });
}
