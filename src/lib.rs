//! Taskdeck: a terminal console and worker for tasks kept in `PostgreSQL`.
//!
//! The arbiter of every race is one conditional `UPDATE` and the number of rows it changed. The floors,
//! from the ground up, are [`domain`], [`db`], [`worker`] beside [`lab`], [`app`] and [`ui`]; arrows between them run one
//! way (`ARCHITECTURE.md`, checked by `tests/architecture.rs`).

pub mod app;
pub mod cli;
pub mod config;
pub mod console;
pub mod db;
pub mod domain;
pub mod headless;
pub mod lab;
pub mod logging;
pub mod signals;
pub mod submit_lines;
pub mod ui;
pub mod worker;
