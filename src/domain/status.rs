//! The seven states and the moves between them, as data. `docs/states.md` is the same table for readers.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Where a task is. The column is `tasks.status`; the text is the same in the database, in JSON and on screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Status {
    /// Held until an operator approves or rejects it.
    Submitted,
    /// Waiting for a worker, perhaps until a due time.
    Queued,
    /// Claimed by an instance that holds a lease.
    Running,
    /// Final: the analyser finished and its counts are in the row.
    Succeeded,
    /// Final: the attempts are spent.
    Failed,
    /// Final: an operator canceled it and nothing runs any more.
    Canceled,
    /// Final: an operator refused to let it run.
    Rejected,
}

impl Status {
    /// Every state, in the order in which a task may meet them.
    pub const ALL: [Self; 7] = [
        Self::Submitted,
        Self::Queued,
        Self::Running,
        Self::Succeeded,
        Self::Failed,
        Self::Canceled,
        Self::Rejected,
    ];

    /// The name that the database, JSON and the screen use.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Submitted => "SUBMITTED",
            Self::Queued => "QUEUED",
            Self::Running => "RUNNING",
            Self::Succeeded => "SUCCEEDED",
            Self::Failed => "FAILED",
            Self::Canceled => "CANCELED",
            Self::Rejected => "REJECTED",
        }
    }

    /// Whether only an operator's requeue can move the task on.
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed | Self::Canceled | Self::Rejected)
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A text that names none of the seven states.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a state; the states are SUBMITTED, QUEUED, RUNNING, SUCCEEDED, FAILED, CANCELED, REJECTED"
)]
pub struct UnknownStatus(pub String);

impl FromStr for Status {
    type Err = UnknownStatus;

    /// Reads a state's name in any letter case.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|status| status.as_str().eq_ignore_ascii_case(text.trim()))
            .ok_or_else(|| UnknownStatus(text.to_owned()))
    }
}

impl Serialize for Status {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Status {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_reads_back() {
        for status in Status::ALL {
            assert_eq!(status.as_str().parse::<Status>(), Ok(status));
            assert_eq!(status.as_str().to_lowercase().parse::<Status>(), Ok(status));
        }
        assert!("DONE".parse::<Status>().is_err());
    }
}
