//! The db floor's errors in the console's words.

use crate::app::message::{FailureCause, ReadFailure, RefusedWhy, WriteFailure};
use crate::db::{DbError, Trouble};

/// Why nothing could be read.
pub(super) fn read_failure(error: &DbError) -> ReadFailure {
    let cause = match error {
        DbError::Unavailable(_) | DbError::Unknown(_) => FailureCause::NoAnswer,
        DbError::Refused(_) | DbError::Schema(_) | DbError::BadRow { .. } => FailureCause::Refused,
    };
    ReadFailure { cause, message: error.to_string(), hint: error.hint().map(str::to_owned) }
}

/// Why a write has no outcome, once nothing more is tried.
pub(super) fn write_failure(error: &DbError) -> WriteFailure {
    let message = error.to_string();
    let hint = error.hint().map(str::to_owned);
    match error {
        DbError::Unavailable(_) | DbError::Schema(_) => WriteFailure::Unavailable { message, hint },
        DbError::Refused(_) => WriteFailure::Refused { why: RefusedWhy::Privilege, message, hint },
        DbError::Unknown(_) => WriteFailure::Unresolved {
            message,
            hint: Some("look at the task's timeline: it says whether this took effect".to_owned()),
        },
        // The server answered, so it was applied; only the row that came back cannot be read.
        DbError::BadRow { .. } => WriteFailure::Unresolved {
            message,
            hint: Some("the write was answered, but its row cannot be read; look at the task".to_owned()),
        },
    }
}

/// An answer was lost and its outcome is being established.
pub(super) fn unknown(trouble: &Trouble) -> WriteFailure {
    WriteFailure::Unknown { message: trouble.to_string() }
}
