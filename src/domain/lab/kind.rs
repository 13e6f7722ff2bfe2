//! The experiments: what each must show, and in which parts.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// An experiment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Several claims of one task.
    ClaimRace,
    /// Approve against reject.
    DecisionRace,
    /// Cancel against claim and against finish.
    CancelRace,
    /// A result in a transaction that fails.
    Rollback,
    /// Two rows locked in opposite orders.
    Deadlock,
    /// The same two rows in ascending order.
    Ordered,
    /// 55P03, 40P01 and a wait that ends with no row.
    LockTimeout,
    /// A limit on a sum over rows.
    Budget,
    /// A half-read result holds the only connection.
    PoolStarvation,
    /// A row that cannot be read.
    BadRow,
    /// An answer that is cut off on the wire.
    LostReply,
    /// An instance that stood still for longer than its lease.
    LeaseLoss,
    /// What the server and its sessions are set to.
    Isolation,
}

/// One arrangement of an experiment; each must prove something before the experiment does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// Callers claim one task.
    Claim,
    /// Callers approve and reject one task.
    Decide,
    /// A cancels what B claims.
    CancelAndClaim,
    /// A cancels what B finishes.
    CancelAndFinish,
    /// A result is rolled back, then committed.
    RolledBack,
    /// The victim of a deadlock finds its rows as they were.
    DecidedAgain,
    /// The victim of a deadlock finds that a row has moved on.
    MovedOn,
    /// Two rows in ascending order by both.
    Ascending,
    /// The row is held for longer than the wait lasts.
    HeldTooLong,
    /// The row is held by one who waits for the waiter.
    HeldInACircle,
    /// The row has moved on when the wait ends.
    WaitedInVain,
    /// The statement counts the rows itself (what goes wrong).
    ByCount,
    /// The statement also updates a row that both need.
    BySharedRow,
    /// One row of many was read.
    HalfRead,
    /// A value that this program cannot read.
    Unreadable,
    /// The answer to a decision is cut off.
    DecisionAnswerLost,
    /// A decision is cut off before it reaches the server.
    DecisionLost,
    /// The answer to a submit is cut off.
    SubmitAnswerLost,
    /// A lease passes while its owner stands still.
    LeasePassed,
    /// What is in force.
    Settings,
}

impl Kind {
    /// Every experiment, in the order in which `all` runs them.
    pub const ALL: [Self; 13] = [
        Self::Isolation,
        Self::ClaimRace,
        Self::DecisionRace,
        Self::CancelRace,
        Self::Rollback,
        Self::Ordered,
        Self::Deadlock,
        Self::LockTimeout,
        Self::Budget,
        Self::PoolStarvation,
        Self::BadRow,
        Self::LostReply,
        Self::LeaseLoss,
    ];

    /// The name on the command line and in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ClaimRace => "claim-race",
            Self::DecisionRace => "decision-race",
            Self::CancelRace => "cancel-race",
            Self::Rollback => "rollback",
            Self::Deadlock => "deadlock",
            Self::Ordered => "ordered",
            Self::LockTimeout => "lock-timeout",
            Self::Budget => "budget",
            Self::PoolStarvation => "pool-starvation",
            Self::BadRow => "bad-row",
            Self::LostReply => "lost-reply",
            Self::LeaseLoss => "lease-loss",
            Self::Isolation => "isolation",
        }
    }

    /// What must hold, and why, in one sentence.
    pub const fn claim(self) -> &'static str {
        match self {
            Self::ClaimRace => {
                "of all who claim one task at the same moment exactly one wins, because the second update reads the row \
                 again after the first has committed and finds RUNNING"
            }
            Self::DecisionRace => {
                "of approve and reject with the same version exactly one takes effect and the other is told the row as \
                 it is now, because each names the version that it saw"
            }
            Self::CancelRace => {
                "a cancel and a claim, or a cancel and a finish, never both have their way: whoever gets the row's lock \
                 first decides, and the other is told"
            }
            Self::Rollback => {
                "a result in a transaction that fails is seen by nobody and leaves nothing behind; the real finish \
                 commits once, and no second result takes its place"
            }
            Self::Deadlock => {
                "two transactions that lock two rows in opposite orders end with 40P01 for one of them; the other \
                 commits, and the victim's whole decision is decided again on the rows as they are then"
            }
            Self::Ordered => {
                "whoever locks the same rows in ascending order waits and never deadlocks, because no circle can form"
            }
            Self::LockTimeout => {
                "a wait for a row that takes too long (55P03) is not taken for a deadlock (40P01), nor for a wait that \
                 ended and found the row changed (no row, no error)"
            }
            Self::Budget => {
                "versions do not protect a sum over rows: two approvals of different rows overshoot a limit; one row \
                 that both must update does protect it"
            }
            Self::PoolStarvation => {
                "a half-read result that holds the only connection makes the next call fail within its deadline, and \
                 the connection's place is free again afterwards"
            }
            Self::BadRow => {
                "a row that cannot be read is an error of its own and never \"no such task\", and its connection is \
                 free again afterwards"
            }
            Self::LostReply => {
                "when the answer to a commit is lost the outcome is unknown, is then found out, and what was asked is \
                 done once"
            }
            Self::LeaseLoss => {
                "what an instance holds that stood still for longer than its lease is taken back by another, and its \
                 late finish changes nothing, because the claim's number is no longer the row's"
            }
            Self::Isolation => {
                "this program's sessions run at read committed, so that a statement that waited for a row reads it again \
                 instead of failing"
            }
        }
    }

    /// Whether callers are each other's rivals in it, so that it matters who wins how often.
    pub const fn is_race(self) -> bool {
        matches!(self, Self::ClaimRace | Self::DecisionRace | Self::CancelRace | Self::Ordered | Self::Budget)
    }

    /// Its parts; rounds go through them in turn.
    pub const fn parts(self) -> &'static [Part] {
        match self {
            Self::ClaimRace => &[Part::Claim],
            Self::DecisionRace => &[Part::Decide],
            Self::CancelRace => &[Part::CancelAndClaim, Part::CancelAndFinish],
            Self::Rollback => &[Part::RolledBack],
            Self::Deadlock => &[Part::DecidedAgain, Part::MovedOn],
            Self::Ordered => &[Part::Ascending],
            Self::LockTimeout => &[Part::HeldTooLong, Part::HeldInACircle, Part::WaitedInVain],
            Self::Budget => &[Part::ByCount, Part::BySharedRow],
            Self::PoolStarvation => &[Part::HalfRead],
            Self::BadRow => &[Part::Unreadable],
            Self::LostReply => &[Part::DecisionAnswerLost, Part::DecisionLost, Part::SubmitAnswerLost],
            Self::LeaseLoss => &[Part::LeasePassed],
            Self::Isolation => &[Part::Settings],
        }
    }

    /// How many rounds it has where nobody says; those that wait for a second each have few.
    pub const fn usual_rounds(self) -> u32 {
        match self {
            Self::ClaimRace | Self::DecisionRace | Self::CancelRace => 30,
            Self::Rollback | Self::Ordered | Self::Budget => 10,
            Self::LostReply => 6,
            Self::PoolStarvation | Self::BadRow | Self::LockTimeout | Self::LeaseLoss => 3,
            Self::Deadlock => 2,
            Self::Isolation => 1,
        }
    }

    /// How many rounds it has if `asked` are: no part is left out, and what does not vary is looked at once.
    pub fn rounds(self, asked: Option<u32>) -> u32 {
        let least = u32::try_from(self.parts().len()).unwrap_or(u32::MAX);
        match self {
            Self::Isolation => 1,
            _ => asked.unwrap_or_else(|| self.usual_rounds()).max(least),
        }
    }

    /// The part of the round with this number (from 1).
    pub fn part(self, round: u32) -> Part {
        let parts = self.parts();
        parts[usize::try_from(round.saturating_sub(1)).unwrap_or(0) % parts.len()]
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Kind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|kind| kind.name() == text).ok_or_else(|| {
            let names: Vec<&str> = Self::ALL.iter().map(|kind| kind.name()).collect();
            format!("there is no such experiment; there are {} and all", names.join(", "))
        })
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Claim => "claim",
            Self::Decide => "decide",
            Self::CancelAndClaim => "cancel and claim",
            Self::CancelAndFinish => "cancel and finish",
            Self::RolledBack => "rolled back",
            Self::DecidedAgain => "decided again",
            Self::MovedOn => "moved on",
            Self::Ascending => "ascending",
            Self::HeldTooLong => "held too long",
            Self::HeldInACircle => "held in a circle",
            Self::WaitedInVain => "waited in vain",
            Self::ByCount => "by count",
            Self::BySharedRow => "by a shared row",
            Self::HalfRead => "half read",
            Self::Unreadable => "unreadable",
            Self::DecisionAnswerLost => "answer to a decision lost",
            Self::DecisionLost => "decision lost",
            Self::SubmitAnswerLost => "answer to a submit lost",
            Self::LeasePassed => "lease passed",
            Self::Settings => "settings",
        })
    }
}
