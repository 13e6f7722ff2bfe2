//! The console without a terminal: what it knows ([`State`]), what happens to it ([`Message`]), what it wants
//! done ([`Effect`]).
//!
//! Invariant: [`update()`] is pure. It reads no clock (time comes in with each message), does no I/O and cannot
//! fail; the same messages at the same times give the same state and effects. The `ui` floor draws the state
//! and decides nothing; the root runs the effects and sends their answers back as messages. May use `domain`
//! only.

pub mod acts;
pub mod availability;
pub mod bulk;
pub mod command;
pub mod conflict;
pub mod detail;
mod dialogs;
pub mod drawn;
pub mod editor;
pub mod effect;
mod fields;
pub mod fleet;
pub mod footer;
pub mod frame;
pub mod header;
pub mod help;
pub mod input;
pub mod keys;
mod limits;
pub mod link;
pub mod list;
mod loads;
pub mod log;
pub mod message;
pub mod notice;
pub mod overlay;
pub mod question;
pub mod queues;
pub mod refresh;
mod screens;
pub mod shutdown;
pub mod state;
pub mod stop;
pub mod submit;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod update;

pub use effect::{Effect, Read, RequestId, ShutdownMode};
pub use message::Message;
pub use state::{Screen, Setup, State};
pub use update::update;
