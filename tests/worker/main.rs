//! The worker floor against a real server.

#[path = "../support/mod.rs"]
mod support;

#[path = "../support/proxy.rs"]
#[expect(dead_code, reason = "each test binary uses a part of it")]
mod proxy;

#[path = "../support/receiver.rs"]
mod receiver;

mod cancels;
mod commands;
mod failover;
mod faults;
mod hooks;
mod leases;
mod lost;
mod outages;
mod races;
mod rig;
mod runs;
mod shutdowns;
mod signals;
mod stops;
mod storm;
