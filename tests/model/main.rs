//! The lease and claim protocol as a model, checked exhaustively, and the model held against the real statements.

#[path = "../support/mod.rs"]
#[expect(dead_code, reason = "each test binary uses a part of it")]
mod support;

mod act;
mod calls;
mod conformance;
mod counterexamples;
mod docs;
mod finisher;
mod guards;
mod holds;
mod operators;
mod properties;
mod protocol;
mod real;
mod search;
mod steps;
mod walk;
mod world;
