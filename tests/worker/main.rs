//! The worker floor against a real server.

#[path = "../support/mod.rs"]
#[expect(dead_code, reason = "each test binary uses a part of it")]
mod support;

#[path = "../support/proxy.rs"]
#[expect(dead_code, reason = "each test binary uses a part of it")]
mod proxy;

mod cancels;
mod commands;
mod failover;
mod leases;
mod outages;
mod races;
mod rig;
mod runs;
mod shutdowns;
mod signals;
mod stops;
mod storm;
