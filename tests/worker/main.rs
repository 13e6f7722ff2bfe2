//! The worker floor against a real server.

#[path = "../support/mod.rs"]
#[expect(dead_code, reason = "each test binary uses a part of it")]
mod support;

mod cancels;
mod commands;
mod leases;
mod outages;
mod races;
mod rig;
mod runs;
mod shutdowns;
mod signals;
mod stops;
