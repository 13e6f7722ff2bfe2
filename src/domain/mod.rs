//! Plain data and pure functions; uses no other floor.
