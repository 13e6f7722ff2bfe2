//! The command line: what may be said, and what is done about it.
//!
//! Invariants: one JSON document or one text on standard output, everything else on standard error; the exit code
//! is one of [`Exit`]; every field that was not written here passes [`crate::domain::text::visible`] or the
//! escaping of `json` before it is printed; no password is ever printed.
//!
//! For `main.rs` alone. Commands use `db` and `domain`, never the console's floors.

mod args;
mod changed;
mod config_command;
mod decide;
mod doctor;
mod events;
mod exit;
mod instances;
mod interrupt;
mod lab;
mod launch;
mod limits;
mod list;
mod manual;
mod migrate;
mod open;
mod outbox;
mod outcome;
mod output;
mod private;
mod prompt;
mod queues;
mod run;
mod show;
mod status;
mod stop;
mod submit;
mod table;
mod title;
mod wait;

pub use args::{
    Cli, Command, DecideArgs, EventsArgs, LabArgs, ListArgs, MatchingArgs, OutboxArgs, PrivateCommand,
    QueueArgs, SettingsArgs, ShowArgs, StopArgs, SubmitArgs, TenantLimitArgs, WorkerArgs,
};
pub use exit::{Exit, Failure};
pub use launch::{FirstStart, Launch};
pub use open::Session;
pub use run::run;
pub use title::cover;
