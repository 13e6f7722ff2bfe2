//! The worker floor against a real server.

#[path = "../support/mod.rs"]
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
