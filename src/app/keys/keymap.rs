//! Which key calls what, after the configuration's changes.

use std::collections::{BTreeMap, HashMap};

use super::act::{Action, Layer};
use super::key::{Key, UnknownKey};
use super::table::TABLE;

/// Which key calls what in which layer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keymap {
    by_key: HashMap<(Layer, Key), Action>,
    keys: BTreeMap<Action, Vec<Key>>,
}

/// A configuration of keys that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeymapError {
    /// A name that is no act's.
    #[error("[keys] `{name}` is not an act; `?` in the console lists the acts")]
    UnknownAction {
        /// The name.
        name: String,
    },
    /// A text that names no key.
    #[error("[keys] {name}: {source}")]
    UnknownKey {
        /// The act.
        name: String,
        /// What is wrong.
        source: UnknownKey,
    },
    /// An act that would have no key.
    #[error("[keys] {name}: give it at least one key")]
    NoKey {
        /// The act.
        name: String,
    },
    /// Two acts on one key.
    #[error("[keys] {key} would mean both `{first}` and `{second}`; give one of them another key")]
    Collision {
        /// The key as the screen shows it.
        key: String,
        /// One act.
        first: &'static str,
        /// The other.
        second: &'static str,
    },
    /// A character that would be typed where text is expected.
    #[error(
        "[keys] {name}: {key} is text where this act is used; choose a key with ctrl- or alt-, or a named key"
    )]
    Text {
        /// The act.
        name: String,
        /// The key as the screen shows it.
        key: String,
    },
}

impl Default for Keymap {
    fn default() -> Self {
        Self::with_overrides(&BTreeMap::new()).expect("the table has no collision; a test builds it")
    }
}

impl Keymap {
    /// The table's keys, with those of the named acts replaced: `{"cancel": ["C", "ctrl-k"]}`.
    ///
    /// # Errors
    /// Where a name or key is not known, two acts share a key in one layer, an act has no key left, or an act
    /// that is needed while typing has only keys that are text.
    pub fn with_overrides(overrides: &BTreeMap<String, Vec<String>>) -> Result<Self, KeymapError> {
        if let Some(name) = overrides.keys().find(|name| TABLE.iter().all(|entry| entry.name != **name)) {
            return Err(KeymapError::UnknownAction { name: name.clone() });
        }
        let mut map = Self { by_key: HashMap::new(), keys: BTreeMap::new() };
        for entry in TABLE {
            let keys = match overrides.get(entry.name) {
                None => entry.keys.to_vec(),
                Some(texts) => texts
                    .iter()
                    .map(|text| {
                        text.parse::<Key>()
                            .map_err(|source| KeymapError::UnknownKey { name: entry.name.to_owned(), source })
                    })
                    .collect::<Result<Vec<_>, _>>()?,
            };
            if keys.is_empty() {
                return Err(KeymapError::NoKey { name: entry.name.to_owned() });
            }
            if entry.layers.contains(&Layer::Text) && keys.iter().all(|key| key.text().is_some()) {
                return Err(KeymapError::Text { name: entry.name.to_owned(), key: keys[0].to_string() });
            }
            for key in &keys {
                for layer in entry.layers {
                    map.bind(*layer, *key, entry.action, entry.name)?;
                }
            }
            map.keys.insert(entry.action, keys);
        }
        Ok(map)
    }

    fn bind(
        &mut self,
        layer: Layer,
        key: Key,
        action: Action,
        name: &'static str,
    ) -> Result<(), KeymapError> {
        match self.by_key.insert((layer, key.normal()), action) {
            Some(other) if other != action => Err(KeymapError::Collision {
                key: key.to_string(),
                first: super::table::entry(other).name,
                second: name,
            }),
            _ => Ok(()),
        }
    }

    /// What `key` calls in `layer`. In the text layer a character calls nothing: it is text.
    pub fn action(&self, layer: Layer, key: Key) -> Option<Action> {
        if layer == Layer::Text && key.text().is_some() {
            return None;
        }
        self.by_key.get(&(layer, key.normal())).copied()
    }

    /// The keys that call `action`, the most usual first.
    pub fn keys(&self, action: Action) -> &[Key] {
        self.keys.get(&action).map_or(&[], Vec::as_slice)
    }

    /// How the footer names the key of `action`.
    pub fn label(&self, action: Action) -> String {
        self.keys(action).first().map(Key::to_string).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::keys::KeyCode;

    fn overrides(list: &[(&str, &[&str])]) -> BTreeMap<String, Vec<String>> {
        list.iter()
            .map(|(name, keys)| ((*name).to_owned(), keys.iter().map(|key| (*key).to_owned()).collect()))
            .collect()
    }

    #[test]
    fn the_table_has_no_collision_and_one_name_and_entry_an_act() {
        let map = Keymap::default();
        assert_eq!(map.action(Layer::Screen, Key::char('c')), Some(Action::Cancel));
        assert_eq!(map.action(Layer::Shutdown, Key::char('c')), Some(Action::ShutdownCancel));
        assert_eq!(map.action(Layer::Text, Key::char('q')), None);
        assert_eq!(map.action(Layer::Text, Key::ctrl('C')), Some(Action::Interrupt));
        for (at, entry) in TABLE.iter().enumerate() {
            assert!(
                TABLE[at + 1..].iter().all(|other| other.name != entry.name && other.action != entry.action)
            );
            assert!(!entry.keys.is_empty() && entry.long.ends_with('.'), "{}", entry.name);
            assert_eq!(super::super::table::entry(entry.action).name, entry.name);
        }
    }

    #[test]
    fn a_key_can_be_moved_and_a_collision_is_an_error() {
        let map = Keymap::with_overrides(&overrides(&[("cancel", &["ctrl-k", "C"])])).expect("free keys");
        assert_eq!(map.action(Layer::Screen, Key::ctrl('k')), Some(Action::Cancel));
        assert_eq!(map.action(Layer::Screen, Key::char('c')), None);
        assert_eq!(map.label(Action::Cancel), "Ctrl-K");
        // The shutdown question's own `c` is another act and stays.
        assert_eq!(map.action(Layer::Shutdown, Key::char('c')), Some(Action::ShutdownCancel));

        let error = |list: &[(&str, &[&str])]| Keymap::with_overrides(&overrides(list)).expect_err("bad");
        assert!(matches!(error(&[("cancel", &["r"])]), KeymapError::Collision { .. }));
        assert!(matches!(error(&[("cancle", &["C"])]), KeymapError::UnknownAction { .. }));
        assert!(matches!(error(&[("cancel", &["hyper-k"])]), KeymapError::UnknownKey { .. }));
        assert!(matches!(error(&[("cancel", &[])]), KeymapError::NoKey { .. }));
        assert!(matches!(error(&[("submit", &["s"])]), KeymapError::Text { .. }));
    }

    #[test]
    fn keys_may_be_exchanged() {
        let map =
            Keymap::with_overrides(&overrides(&[("cancel", &["r"]), ("requeue", &["c"])])).expect("no clash");
        assert_eq!(map.action(Layer::Screen, Key::char('r')), Some(Action::Cancel));
        assert_eq!(map.action(Layer::Screen, Key::plain(KeyCode::Enter)), Some(Action::Open));
    }
}
