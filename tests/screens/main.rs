//! The console's pictures: every screen and dialog at several sizes, as text and as styles, and at any size
//! with any text without a panic.

mod any_size;
mod bulk;
mod fixtures;
mod fleet;
mod limits;
mod pictures;
mod queues;
mod scenes;
mod styles;
mod told;
mod world;
