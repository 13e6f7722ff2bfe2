//! What the lab asks of the database beside the product's own statements: a schema of its own, transactions that hold
//! rows, looks at who waits, and the statements that are broken on purpose.
//!
//! Invariants: every statement stands in `sql/lab/`; nothing here touches another schema than the one of its [`Db`]; a
//! schema is removed only if it bears the lab's mark. For `crate::lab` alone.

mod ask;
mod sql;
mod stage;
mod transaction;
mod wire;

pub use sql::STATEMENTS;

pub use ask::{HalfRead, Looked, WaitSeen};
pub use stage::{Guard, Guarded};
pub use transaction::{Ended, Transaction};
pub use wire::{ByteStream, Wire};

use super::Db;

/// The lab's side of a database.
#[derive(Debug, Clone, Copy)]
pub struct Lab<'a> {
    db: &'a Db,
}

impl Db {
    /// What only the lab asks.
    pub fn lab(&self) -> Lab<'_> {
        Lab { db: self }
    }
}
