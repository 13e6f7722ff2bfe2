//! Proofs of the decisions, by the built program: of two processes that decide about the same row at the same moment one
//! takes effect and the other is told the row; what was seen before is refused; and who may not, changes nothing by any
//! path.
//!
//! Every race stands behind a gate: a session of the test holds what both need until both are seen waiting for it. A
//! round in which they were not is counted apart, as it proves nothing.

#[path = "../support/mod.rs"]
#[expect(dead_code, reason = "each test binary uses a part of it")]
mod support;

#[path = "../support/company.rs"]
#[expect(dead_code, reason = "each test binary uses a part of it")]
mod company;

#[path = "../support/proxy.rs"]
#[expect(dead_code, reason = "each test binary uses a part of it")]
mod proxy;

#[path = "../support/terminal.rs"]
#[expect(dead_code, reason = "each test binary uses a part of it")]
mod terminal;

#[path = "../cli/runner.rs"]
#[expect(dead_code, reason = "each test binary uses a part of it")]
mod runner;

#[path = "../pty/desk.rs"]
#[expect(dead_code, reason = "each test binary uses a part of it")]
mod desk;

#[path = "../pty/process.rs"]
#[expect(dead_code, reason = "each test binary uses a part of it")]
mod process;

#[path = "../pty/worker.rs"]
#[expect(dead_code, reason = "each test binary uses a part of it")]
mod worker;

#[path = "../db/scene.rs"]
#[expect(dead_code, reason = "each test binary uses a part of it")]
mod scene;

mod acting;
mod bulk;
mod consoles;
mod deadlocks;
mod racers;
mod rounds;
mod secrets;
mod stale;
mod walk;

/// The most that any wait lasts before it is a failure; the terminal asks for it here.
pub(crate) use support::PATIENCE;
