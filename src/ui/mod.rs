//! Draws the state of `app` and reads keys. May use `app` and `domain`.
//!
//! Data's way: the reader's thread and the root put messages into one queue; the thread of the console takes
//! them, calls `app`'s update, does what only the terminal's owner can do, hands every other effect to the
//! root and draws. It is a thread of its own so that a stalled line stops the drawing and nothing else.

mod columns;
mod decode;
mod glyphs;
mod handle;
mod input;
mod outside;
mod owner;
mod paint;
mod quit;
mod run;
mod terminal;
mod theme;
mod view;

pub use glyphs::{Charset, Glyphs};
pub use handle::{ConsoleEnded, Ended, Messages, Options, UiHandle, spawn};
pub use terminal::install_panic_hook;
pub use theme::{Role, Theme, ThemeError};
pub use view::{Draw, Drawn, Look, draw};
