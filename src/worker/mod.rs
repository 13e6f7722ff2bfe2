//! Claims tasks, analyses them, commits result and final state together, and shuts down in order. May use `db` and
//! `domain`; prints nothing.
//!
//! Invariants: a claim is run at most once here, and its end is told to the database until it has answered or the
//! lease is lost; the lease is renewed until the last end is committed; what the database cannot confirm is never
//! taken for done. Who wins a row is always decided by the database, never by anything in here.
//!
//! The parts, each a task of its own that begins again if it panics: one claimer, N slots, three lanes that commit,
//! the heart, those that look for cancel requests, dead instances and wake-ups, and the one that delivers
//! notifications. What they share is the
//! `ledger`, a plain value that says of every claim where it stands.

mod analyser;
mod claimer;
mod closing;
mod command;
mod config;
mod event;
mod finisher;
mod handle;
mod hearing;
mod heart;
mod hook;
mod latch;
mod ledger;
mod program;
mod rates;
mod shared;
mod slots;
mod supervise;
mod text_stats;
mod trouble;
mod watchers;

pub use analyser::{Analyser, Analysis, Cancel, Doing, Job};
pub use closing::{Ended, LastClaim, SignOff};
pub use command::Command;
pub use config::{AnalyserKind, Cancels, Config};
pub use event::{Events, Part, Shutdown, WorkerEvent};
pub use handle::{Worker, WorkerHandle};
pub use hearing::{Heard, How, Sound, listen};
pub use hook::Hook;
pub use text_stats::{Deaf, Delayed, TextStats};
