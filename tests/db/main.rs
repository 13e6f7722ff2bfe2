//! The db floor against a real server.

#[path = "../support/mod.rs"]
mod support;

mod claims;
mod connections;
mod decisions;
mod finishes;
mod scene;
mod statements;
