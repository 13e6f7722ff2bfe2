//! What can happen, each with the words that a counter-example shows.

use std::fmt;

use taskdeck::domain::DecisionKind;

use crate::protocol::{INSTANCES, TASKS};
use crate::world::{DECISIONS, LATE, PROCESSES};

/// One step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Act {
    Starts {
        process: u8,
    },
    BeginsClaim {
        process: u8,
        task: u8,
    },
    EndsClaim {
        process: u8,
    },
    LosesAnswerOfClaim {
        process: u8,
    },
    Asks {
        process: u8,
    },
    Runs {
        process: u8,
        task: u8,
    },
    Returns {
        process: u8,
        task: u8,
        success: bool,
    },
    GivesBack {
        process: u8,
        task: u8,
    },
    Finishes {
        process: u8,
        task: u8,
    },
    LosesAnswerOfFinish {
        process: u8,
        task: u8,
    },
    Releases {
        process: u8,
        task: u8,
    },
    LosesAnswerOfRelease {
        process: u8,
        task: u8,
    },
    Beats {
        process: u8,
    },
    LosesAnswerOfBeat {
        process: u8,
    },
    GivesUpLease {
        process: u8,
    },
    Closes {
        process: u8,
    },
    Ends {
        process: u8,
    },
    IsKilled {
        process: u8,
    },
    LeasePasses {
        instance: u8,
    },
    DeclaresLost {
        instance: u8,
    },
    Recovers {
        task: u8,
    },
    BeginsRecovery {
        task: u8,
    },
    EndsRecovery,
    ComesDue {
        task: u8,
    },
    Decides {
        kind: DecisionKind,
        task: u8,
    },
    IsAnswered {
        operation: u8,
    },
    LosesAnswerOfDecision {
        operation: u8,
    },
    Submits,
    LosesAnswerOfSubmit,
    /// A statement that nobody waits for; a claim that had not reached the server takes `task`.
    ArrivesLate {
        place: u8,
        task: u8,
    },
}

impl Act {
    /// Every step that there is, whether it can be taken now or not, always in the same order.
    pub(crate) fn all(tasks: u8, submits: u8) -> Vec<Self> {
        let number = |count: usize| 0..u8::try_from(count).expect("few");
        let tasks = tasks.max(u8::from(submits > 0) * 2).min(u8::try_from(TASKS).expect("few"));
        let mut all = Vec::new();
        for process in number(PROCESSES) {
            all.extend([
                Self::Starts { process },
                Self::EndsClaim { process },
                Self::LosesAnswerOfClaim { process },
                Self::Asks { process },
                Self::Beats { process },
                Self::LosesAnswerOfBeat { process },
                Self::GivesUpLease { process },
                Self::Closes { process },
                Self::Ends { process },
                Self::IsKilled { process },
            ]);
            for task in 0..tasks {
                all.extend([
                    Self::BeginsClaim { process, task },
                    Self::Runs { process, task },
                    Self::Returns { process, task, success: true },
                    Self::Returns { process, task, success: false },
                    Self::GivesBack { process, task },
                    Self::Finishes { process, task },
                    Self::LosesAnswerOfFinish { process, task },
                    Self::Releases { process, task },
                    Self::LosesAnswerOfRelease { process, task },
                ]);
            }
        }
        for instance in number(INSTANCES) {
            all.extend([Self::LeasePasses { instance }, Self::DeclaresLost { instance }]);
        }
        for task in 0..tasks {
            all.extend([Self::Recovers { task }, Self::BeginsRecovery { task }, Self::ComesDue { task }]);
            all.extend(DecisionKind::ALL.map(|kind| Self::Decides { kind, task }));
            all.extend(number(LATE).map(|place| Self::ArrivesLate { place, task }));
        }
        for operation in number(DECISIONS) {
            all.extend([Self::IsAnswered { operation }, Self::LosesAnswerOfDecision { operation }]);
        }
        all.push(Self::EndsRecovery);
        if submits > 0 {
            all.extend([Self::Submits, Self::LosesAnswerOfSubmit]);
        }
        all
    }
}

impl fmt::Display for Act {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Starts { process } => write!(f, "P{process} starts over under a new id"),
            Self::BeginsClaim { process, task } => {
                write!(f, "P{process} claims T{task}: has read its instance")
            }
            Self::EndsClaim { process } => write!(f, "P{process} claims: has the row's lock, is answered"),
            Self::LosesAnswerOfClaim { process } => write!(f, "P{process} claims and gives up on the answer"),
            Self::Asks { process } => write!(f, "P{process} asks what it holds"),
            Self::Runs { process, task } => write!(f, "P{process} runs T{task}"),
            Self::Returns { process, task, success: true } => {
                write!(f, "P{process}'s run of T{task} succeeds")
            }
            Self::Returns { process, task, success: false } => write!(f, "P{process}'s run of T{task} fails"),
            Self::GivesBack { process, task } => write!(f, "P{process} is to give T{task} back"),
            Self::Finishes { process, task } => write!(f, "P{process} finishes T{task}, is answered"),
            Self::LosesAnswerOfFinish { process, task } => {
                write!(f, "P{process} finishes T{task} and gives up on the answer")
            }
            Self::Releases { process, task } => write!(f, "P{process} releases T{task}, is answered"),
            Self::LosesAnswerOfRelease { process, task } => {
                write!(f, "P{process} releases T{task} and gives up on the answer")
            }
            Self::Beats { process } => write!(f, "P{process} beats, is answered"),
            Self::LosesAnswerOfBeat { process } => write!(f, "P{process} beats and gives up on the answer"),
            Self::GivesUpLease { process } => write!(f, "P{process} takes its lease for lost"),
            Self::Closes { process } => write!(f, "P{process} closes"),
            Self::Ends { process } => write!(f, "P{process} ends its instance"),
            Self::IsKilled { process } => write!(f, "P{process} is killed"),
            Self::LeasePasses { instance } => write!(f, "the lease of I{instance} passes"),
            Self::DeclaresLost { instance } => write!(f, "I{instance} is declared lost"),
            Self::Recovers { task } => write!(f, "T{task} is recovered"),
            Self::BeginsRecovery { task } => write!(f, "a slow recovery reads T{task}"),
            Self::EndsRecovery => write!(f, "the slow recovery writes"),
            Self::ComesDue { task } => write!(f, "T{task} comes due"),
            Self::Decides { kind, task } => write!(f, "an operator decides to {kind} T{task}"),
            Self::IsAnswered { operation } => write!(f, "decision {operation} is sent, is answered"),
            Self::LosesAnswerOfDecision { operation } => {
                write!(f, "decision {operation} is sent, its answer lost")
            }
            Self::Submits => write!(f, "the text is submitted, is answered"),
            Self::LosesAnswerOfSubmit => write!(f, "the text is submitted, its answer lost"),
            Self::ArrivesLate { place, .. } => write!(f, "late statement {place} is executed"),
        }
    }
}
