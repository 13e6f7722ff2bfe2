//! The lab as a user runs it: what holds is shown, what is broken is told, and nothing is left behind.

#[path = "../support/mod.rs"]
#[expect(dead_code, reason = "each test binary uses a part of it")]
mod support;

#[path = "../cli/runner.rs"]
#[expect(dead_code, reason = "each test binary uses a part of it")]
mod runner;

mod all;
mod bounds;
mod broken;
mod here;
mod killed;
mod pooler;
mod running;
mod statements;
