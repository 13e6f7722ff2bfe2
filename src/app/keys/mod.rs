//! One table of keys drives behaviour, footer, help and `docs/keys.md`.

mod act;
mod docs;
mod key;
mod keymap;
mod table;

pub use act::{Action, Entry, Gravity, Layer};
pub use docs::markdown;
pub use key::{Key, KeyCode, UnknownKey};
pub use keymap::{Keymap, KeymapError};
pub use table::{TABLE, entry};
