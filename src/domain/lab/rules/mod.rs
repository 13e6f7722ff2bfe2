//! The rules, part by part: what a round of it must show, and without what it proves nothing.

mod alone;
mod locks;
mod races;

use super::{Answer, Broken, Call, Kind, Part, Round, RowSeen, Server};

/// At most one claimer is told that it won, and somebody does.
const ONE_WINNER: &str = "I1: one claim has one winner";
/// Counts are there in SUCCEEDED alone, and are the input's.
const COUNTS: &str = "I3: counts stand in SUCCEEDED alone";
/// A finish of a claim that is no longer the row's changes nothing.
const FENCED: &str = "I4: a finish needs the row's present claim";
/// Of two decisions about one version one takes effect.
const ONE_DECISION: &str = "I7: of two decisions on one version one takes effect";
/// Who did not have their way is told the row as it is.
const TOLD_THE_PRESENT: &str = "I7: the loser is told the row as it is now";
/// A change is one version.
const ONE_VERSION: &str = "I8: the version rises by one at each change";
/// What was asked once is done once.
const NOT_REPEATED: &str = "I9: nothing is repeated on a guess";
/// What was said is what the database holds.
const SAID_IS_DONE: &str = "I10: what was said is what the database holds";
/// A slot is free after the call.
const SLOT_IS_BACK: &str = "I12: a connection's place is free after the call";
/// A refusal by the server is no answer to a question that has one.
const ANSWERED: &str = "every caller is answered, not failed";
/// What is rolled back leaves nothing.
const ROLLED_BACK: &str = "what is rolled back was never there";
/// A deadlock's victim.
const DECIDED_AGAIN: &str = "a deadlock's victim decides the whole again";
/// Locks in one order.
const NO_DEADLOCK: &str = "locks in ascending order never deadlock";
/// Three ends of a wait.
const TOLD_APART: &str = "55P03, 40P01 and a wait that ends are told apart";
/// A limit on a sum.
const WITHIN_THE_LIMIT: &str = "a sum over rows stays within its limit";
/// The end of waiting for a connection.
const IN_TIME: &str = "a call ends within its deadline";
/// Sessions are at read committed.
const READ_COMMITTED: &str = "sessions run at read committed";
/// The level itself, as the server calls it.
const AT_READ_COMMITTED: &str = "read committed";

/// Whether the server's code tells of its own state or of a wait that took too long (no connection, no room, a lock or a
/// statement's time, stopping, read-only), and not of what was asked.
fn may_happen_to_anybody(code: &str) -> bool {
    ["08", "25", "53", "55", "57", "58", "XX"].iter().any(|class| code.starts_with(class))
}

/// A round under examination.
struct Look<'a> {
    round: &'a Round,
    server: &'a Server,
    broken: Vec<Broken>,
    unproven: Option<String>,
}

impl<'a> Look<'a> {
    /// `rule` is broken unless `holds`.
    fn must(&mut self, rule: &str, holds: bool, message: impl FnOnce() -> String) {
        if !holds {
            self.broken.push(Broken { round: self.round.number, rule: rule.to_owned(), message: message() });
        }
    }

    /// The round proves nothing unless `holds`; the first reason is told.
    fn needs(&mut self, holds: bool, message: impl FnOnce() -> String) {
        if !holds && self.unproven.is_none() {
            self.unproven = Some(message());
        }
    }

    /// The rows at `when`; without them the round proves nothing.
    fn rows(&mut self, when: &str) -> Option<&'a [RowSeen]> {
        let rows = self.round.state(when).map(|state| state.rows.as_slice());
        self.needs(rows.is_some(), || format!("the rows were not read ({when})"));
        rows
    }

    /// The one row at `when`.
    fn row(&mut self, when: &str) -> Option<&'a RowSeen> {
        let row = self.rows(when)?.first();
        self.needs(row.is_some(), || format!("the row was not found ({when})"));
        row
    }

    /// The call of `who` that is `act`; without it the round proves nothing.
    fn call(&mut self, who: &str, act: &str) -> Option<&'a Call> {
        let call = self.round.call(who, act);
        self.needs(call.is_some(), || format!("{who} did not get as far as \"{act}\""));
        call
    }

    /// Whether every one of `calls` was answered. Who was not, as the wait took too long or the connection was lost,
    /// makes the round prove nothing; who was failed by the server breaks a rule.
    fn all_answered(&mut self, calls: &[&Call]) -> bool {
        let mut answered = true;
        for call in calls {
            let code = call.sqlstate.as_deref();
            let failed = match call.answer {
                Answer::Unavailable | Answer::RolledBack => {
                    code.is_some_and(|code| !may_happen_to_anybody(code))
                }
                Answer::BadRow => true,
                Answer::Unknown | Answer::Refused => false,
                _ => continue,
            };
            answered = false;
            let Call { who, act, message, .. } = call;
            let why = message.as_deref().or(code).unwrap_or("nobody said why");
            if failed {
                self.must(ANSWERED, false, || format!("{who}'s {act} ended with an error: {why}"));
            } else {
                self.needs(false, || format!("{who}'s {act} was not answered: {why}"));
            }
        }
        answered
    }

    /// What the program decided again was a deadlock: at another isolation level the server rolls back for other reasons
    /// too, and the program tells how often, not why.
    fn needs_to_know_deadlocks(&mut self) -> bool {
        let known = self.server.isolation == AT_READ_COMMITTED;
        let at = self.server.isolation.clone();
        self.needs(known, || format!("at {at} a deadlock is not told from a serialization failure"));
        known
    }

    /// Each of `calls` was seen waiting before the gate was opened, and answered after it.
    fn needs_overlap(&mut self, calls: &[&Call]) {
        let round = self.round;
        let opened = round.gate.opened_us;
        self.needs(opened.is_some(), || "nothing held the callers back".to_owned());
        let Some(opened) = opened else { return };
        for call in calls {
            let who = &call.who;
            self.needs(call.asked_us <= opened && opened <= call.answered_us, || {
                format!("{who} was not under way when the gate was opened")
            });
            self.needs(round.was_seen_waiting(who), || format!("{who} was not seen waiting"));
        }
    }
}

/// Judges `round` as one of `kind`.
pub(super) fn look(kind: Kind, round: &Round, server: &Server) -> (Vec<Broken>, Option<String>) {
    let mut look = Look { round, server, broken: Vec::new(), unproven: None };
    if let Some(trouble) = &round.trouble {
        look.needs(false, || trouble.clone());
    }
    if !kind.parts().contains(&round.part) {
        // Another experiment's rules say nothing about this one.
        let why = format!("\"{}\" is no part of {kind}", round.part);
        return (Vec::new(), Some(why));
    }
    let backwards = round.calls.iter().find(|call| call.answered_us < call.asked_us);
    look.needs(backwards.is_none(), || {
        "the evidence contradicts itself: an answer before its question".to_owned()
    });
    match round.part {
        Part::Claim => races::claim(&mut look),
        Part::Decide => races::decide(&mut look),
        Part::CancelAndClaim => races::cancel_and_claim(&mut look),
        Part::CancelAndFinish => races::cancel_and_finish(&mut look),
        Part::ByCount => races::by_count(&mut look),
        Part::BySharedRow => races::by_shared_row(&mut look),
        Part::DecidedAgain => locks::decided_again(&mut look),
        Part::MovedOn => locks::moved_on(&mut look),
        Part::Ascending => locks::ascending(&mut look),
        Part::HeldTooLong => locks::held_too_long(&mut look),
        Part::HeldInACircle => locks::held_in_a_circle(&mut look),
        Part::WaitedInVain => locks::waited_in_vain(&mut look),
        Part::RolledBack => alone::rolled_back(&mut look),
        Part::HalfRead => alone::half_read(&mut look),
        Part::Unreadable => alone::unreadable(&mut look),
        Part::DecisionAnswerLost | Part::DecisionLost => alone::decision_lost(&mut look),
        Part::SubmitAnswerLost => alone::submit_lost(&mut look),
        Part::LeasePassed => alone::lease_passed(&mut look),
        Part::Settings => look.must(READ_COMMITTED, server.isolation == AT_READ_COMMITTED, || {
            format!(
                "this program's sessions run at {}: who waited for a row that was changed meanwhile is failed with \
                 40001 instead of being told the row",
                server.isolation
            )
        }),
    }
    (look.broken, look.unproven)
}
