//! The `taskdeck` program.

fn main() {}
