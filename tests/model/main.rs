//! The lease and claim protocol as a model, checked exhaustively, and the model held against the real statements.

mod act;
mod counterexamples;
mod holds;
mod properties;
mod protocol;
mod search;
mod world;
