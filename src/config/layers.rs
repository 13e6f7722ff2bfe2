//! The layers laid over each other: flags over variables over the file over the defaults.

use std::collections::HashMap;

use super::file::ConfigFile;
use super::setting::{self, Key};
use super::{ConfigError, Origin};
use crate::db::conninfo::Lookup;

/// A value as it was given.
#[derive(Clone, PartialEq, Eq)]
pub struct Raw {
    /// The text.
    pub text: String,
    /// Where it stands.
    pub origin: Origin,
}

impl std::fmt::Debug for Raw {
    /// Leaves the text out: it may be an address with a password in it.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Raw").field("origin", &self.origin).finish_non_exhaustive()
    }
}

/// The value of every setting that somebody gave, or that has a default.
#[derive(Debug, Clone, Default)]
pub struct Layers(HashMap<Key, Raw>);

impl Layers {
    /// Lays flags over variables (an empty one counts as not set) over the file over the defaults.
    pub fn new(flags: &[(Key, String)], env: Lookup<'_>, file: &ConfigFile) -> Self {
        let mut values = HashMap::new();
        for spec in setting::ALL {
            let flag = flags.iter().find(|(key, _)| *key == spec.key);
            let raw = if let Some((_, text)) = flag {
                let flag = if spec.key == Key::Verbose { "-v".to_owned() } else { spec.flag() };
                Some(Raw { text: text.clone(), origin: Origin::Flag { flag } })
            } else if let Some(text) = env(&spec.variable()).filter(|text| !text.is_empty()) {
                Some(Raw { text, origin: Origin::Variable { name: spec.variable() } })
            } else if let Some((_, text)) = file.values.iter().find(|(key, _)| *key == spec.key) {
                let path = file.path.clone().unwrap_or_default();
                Some(Raw { text: text.clone(), origin: Origin::File { path } })
            } else {
                spec.default.map(|text| Raw { text: text.to_owned(), origin: Origin::Default })
            };
            if let Some(raw) = raw {
                values.insert(spec.key, raw);
            }
        }
        Self(values)
    }

    /// The value of a setting as it was given.
    pub fn raw(&self, key: Key) -> Option<&Raw> {
        self.0.get(&key)
    }

    /// Where a setting's value stands.
    pub fn origin(&self, key: Key) -> Origin {
        self.raw(key).map_or(Origin::Default, |raw| raw.origin.clone())
    }

    /// Reads a setting by `parse`, which says what is wrong with the text.
    pub(super) fn read<T>(
        &self,
        key: Key,
        parse: impl FnOnce(&str) -> Result<T, String>,
    ) -> Result<Option<T>, ConfigError> {
        let Some(raw) = self.raw(key) else { return Ok(None) };
        parse(&raw.text).map(Some).map_err(|problem| ConfigError::Value {
            setting: key.spec().name,
            origin: raw.origin.clone(),
            problem,
        })
    }

    /// As [`Layers::read`], for a setting that the table gives a default.
    pub(super) fn require<T>(
        &self,
        key: Key,
        parse: impl FnOnce(&str) -> Result<T, String>,
    ) -> Result<T, ConfigError> {
        self.read(key, parse)?.ok_or_else(|| ConfigError::Value {
            setting: key.spec().name,
            origin: Origin::Default,
            problem: "has no value".to_owned(),
        })
    }
}
