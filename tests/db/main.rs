//! The db floor against a real server.

#[path = "../support/mod.rs"]
mod support;

#[path = "../support/proxy.rs"]
mod proxy;

mod claims;
mod connections;
mod decisions;
mod finishes;
mod leases;
mod scene;
mod statements;
mod submits;
mod unknown;
