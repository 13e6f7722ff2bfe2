//! The running program in a real pseudo-terminal, started from a shell with job control as people do.
//!
//! What is proved is always looked at from outside: on the screen, in the database by psql, in `/proc`, and by the
//! shell that gets its terminal back.

#[path = "../support/gate.rs"]
#[expect(dead_code, reason = "each test binary uses a part of it")]
mod gate;
#[path = "../support/proxy.rs"]
#[expect(dead_code, reason = "each test binary uses a part of it")]
mod proxy;
#[path = "../support/mod.rs"]
#[expect(dead_code, reason = "each test binary uses a part of it")]
mod support;
#[path = "../support/terminal.rs"]
#[expect(dead_code, reason = "each test binary uses a part of it")]
mod terminal;

mod all_that_match;
mod bulk;
mod commands;
mod company;
mod conflicts;
mod desk;
mod everyday;
mod fleet;
mod headless;
mod hostile;
mod leaving;
mod outage;
mod outside;
mod panics;
mod private;
#[expect(dead_code, reason = "each test binary uses a part of it")]
mod process;
mod queues;
mod signals;
mod sizes;
mod suspending;
#[expect(dead_code, reason = "each test binary uses a part of it")]
mod worker;
mod writing;

/// The most that any wait lasts before it is a failure; the terminal asks for it here.
pub(crate) use support::PATIENCE;
