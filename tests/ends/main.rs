//! How the running program ends when nobody helps it to: writes without an answer, a line that has stalled, an
//! editor that has the terminal. And what the console learns without being asked.

#[path = "../pty/desk.rs"]
#[expect(dead_code, reason = "each test binary uses a part of it")]
mod desk;
#[path = "../support/gate.rs"]
mod gate;
#[path = "../pty/process.rs"]
#[expect(dead_code, reason = "each test binary uses a part of it")]
mod process;
#[path = "../support/proxy.rs"]
#[expect(dead_code, reason = "each test binary uses a part of it")]
mod proxy;
#[path = "../support/receiver.rs"]
#[expect(dead_code, reason = "each test binary uses a part of it")]
mod receiver;
#[path = "../support/mod.rs"]
#[expect(dead_code, reason = "each test binary uses a part of it")]
mod support;
#[path = "../support/terminal.rs"]
#[expect(dead_code, reason = "each test binary uses a part of it")]
mod terminal;
#[path = "../pty/worker.rs"]
#[expect(dead_code, reason = "each test binary uses a part of it")]
mod worker;

mod clocks;
mod files;
mod frozen;
mod hearing;
mod hooks;
mod killed;
mod reluctant;
mod signalled;
mod slow;
mod starting;
mod stopping;
mod tenants;
mod unanswered;

/// The most that any wait lasts before it is a failure; the terminal asks for it here.
pub(crate) use support::PATIENCE;
