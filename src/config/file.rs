//! The configuration file: TOML, one line a setting, and a table of keys for the console.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use toml::Value;

use super::setting::{self, Key};
use super::{ConfigError, Origin};
use crate::db::conninfo::Lookup;

/// What a configuration file says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ConfigFile {
    /// The file; none if there is none.
    pub path: Option<PathBuf>,
    /// Its settings as text.
    pub values: Vec<(Key, String)>,
    /// Actions of the console, each with its keys.
    pub keys: BTreeMap<String, Vec<String>>,
}

impl ConfigFile {
    /// Reads the file that was named, else the user's own where there is one.
    ///
    /// # Errors
    /// The file that was named is missing, or the one that is there cannot be used.
    pub fn find(named: Option<&Path>, env: Lookup<'_>, home: Option<&Path>) -> Result<Self, ConfigError> {
        if let Some(path) = named {
            return Self::read(path);
        }
        // An XDG variable that is not an absolute path is to be ignored, says its specification.
        let folder = env("XDG_CONFIG_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
        let folder = folder.or_else(|| Some(home?.join(".config")));
        match folder.map(|folder| folder.join("taskdeck/config.toml")) {
            Some(path) if path.exists() => Self::read(&path),
            _ => Ok(Self::default()),
        }
    }

    fn read(path: &Path) -> Result<Self, ConfigError> {
        let text = std::fs::read_to_string(path)
            .map_err(|error| ConfigError::Unreadable { path: path.to_owned(), problem: error.to_string() })?;
        Self::parse(path, &text)
    }

    /// Reads the file's text.
    ///
    /// # Errors
    /// It is not TOML, has a key that no setting has, or a value of a kind that the setting does not take.
    pub fn parse(path: &Path, text: &str) -> Result<Self, ConfigError> {
        let table: toml::Table = text.parse().map_err(|error: toml::de::Error| ConfigError::Syntax {
            path: path.to_owned(),
            problem: syntax(text, &error),
        })?;
        let mut file = Self { path: Some(path.to_owned()), ..Self::default() };
        for (name, value) in &table {
            if name == "keys" {
                file.keys = keys(path, value)?;
                continue;
            }
            let Some(spec) = setting::ALL.iter().find(|spec| spec.name == name) else {
                return Err(ConfigError::UnknownKey {
                    path: path.to_owned(),
                    key: crate::domain::text::visible(name).into_owned(),
                    like: like(name),
                });
            };
            let text = scalar(value).ok_or_else(|| ConfigError::Value {
                setting: spec.name,
                origin: Origin::File { path: path.to_owned() },
                problem: "takes a text, a number, true or false, or a list of texts".to_owned(),
            })?;
            file.values.push((spec.key, text));
        }
        Ok(file)
    }
}

/// The reader's message with its line, but without the line's text: a password may stand there.
fn syntax(text: &str, error: &toml::de::Error) -> String {
    let line = error.span().map(|span| text[..span.start.min(text.len())].matches('\n').count() + 1);
    let message = error.message().trim();
    match line {
        Some(line) => format!("line {line}: {message}"),
        None => message.to_owned(),
    }
}

fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Integer(number) => Some(number.to_string()),
        Value::Float(number) => Some(number.to_string()),
        Value::Boolean(on) => Some(on.to_string()),
        Value::Array(list) => {
            let texts: Option<Vec<&str>> = list.iter().map(Value::as_str).collect();
            Some(texts?.join(","))
        }
        Value::Datetime(_) | Value::Table(_) => None,
    }
}

fn keys(path: &Path, value: &Value) -> Result<BTreeMap<String, Vec<String>>, ConfigError> {
    let wrong = |problem: &str| ConfigError::Value {
        setting: "keys",
        origin: Origin::File { path: path.to_owned() },
        problem: problem.to_owned(),
    };
    let table = value.as_table().ok_or_else(|| wrong("is a table: [keys], then action = \"key\""))?;
    table
        .iter()
        .map(|(action, value)| {
            let keys = match value {
                Value::String(key) => Some(vec![key.clone()]),
                Value::Array(list) => list.iter().map(|key| key.as_str().map(str::to_owned)).collect(),
                _ => None,
            };
            let shown = crate::domain::text::visible(action);
            let keys = keys.ok_or_else(|| wrong(&format!("`{shown}` takes a key or a list of keys")))?;
            Ok((action.clone(), keys))
        })
        .collect()
}

/// The setting whose name is most like `name`, if one is.
fn like(name: &str) -> Option<&'static str> {
    let plain = |text: &str| text.to_ascii_lowercase().replace(['-', '_'], "");
    let wanted = plain(name);
    setting::ALL
        .iter()
        .map(|spec| (spec.name, distance(&plain(spec.name), &wanted)))
        .min_by_key(|(_, distance)| *distance)
        .filter(|(_, distance)| *distance <= 2)
        .map(|(name, _)| name)
}

/// Letters to add, drop or change to make one text of the other.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, to) in b.iter().enumerate() {
            let changed = diagonal + usize::from(from != *to);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(row[j] + 1).min(row[j + 1] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<ConfigFile, ConfigError> {
        ConfigFile::parse(Path::new("/etc/c.toml"), text)
    }

    #[test]
    fn values_of_every_kind_become_text() {
        let file =
            parse("workers = 3\nread_only = true\nqueue = [\"a\", \"b\"]\npoll = \"2s\"").expect("good");
        let value = |key| file.values.iter().find(|(k, _)| *k == key).map(|(_, text)| text.as_str());
        assert_eq!(value(Key::Workers), Some("3"));
        assert_eq!(value(Key::ReadOnly), Some("true"));
        assert_eq!(value(Key::Queue), Some("a,b"));
        assert_eq!(value(Key::Poll), Some("2s"));
    }

    #[test]
    fn keys_are_passed_on() {
        let file = parse("[keys]\ncancel = \"ctrl-k\"\nrequeue = [\"r\", \"F5\"]").expect("good");
        assert_eq!(file.keys["cancel"], ["ctrl-k"]);
        assert_eq!(file.keys["requeue"], ["r", "F5"]);
        assert!(parse("keys = 1").is_err());
        assert!(parse("[keys]\ncancel = 1").expect_err("number").to_string().contains("cancel"));
    }

    #[test]
    fn an_unknown_key_is_named_with_its_file_and_what_was_meant() {
        let error = parse("pol = \"1s\"").expect_err("unknown");
        assert_eq!(error.to_string(), "unknown key `pol` in /etc/c.toml");
        assert_eq!(error.hint(), "did you mean `poll`?");
        assert!(parse("colour = 1").expect_err("unknown").hint().contains("taskdeck config"));
        assert!(parse("[workers]\nn = 1").expect_err("table").to_string().contains("workers in /etc/c.toml"));
    }

    #[test]
    fn a_syntax_error_tells_the_line_and_not_what_stands_in_it() {
        let error = parse("poll = \"1s\"\ndatabase_url = \"postgresql://a:secret@h/d\n").expect_err("open");
        assert!(error.to_string().contains("line 2"), "{error}");
        assert!(!error.to_string().contains("secret"), "{error}");
    }

    #[test]
    fn the_example_is_valid_and_names_every_setting() {
        let example = include_str!("../../assets/taskdeck.toml");
        parse(example).expect("all commented out");
        let uncommented: Vec<&str> = example
            .lines()
            .filter(|line| !line.starts_with("# "))
            .map(|line| line.trim_start_matches('#'))
            .collect();
        let file = parse(&uncommented.join("\n")).expect("every example is valid");
        for spec in setting::ALL {
            assert!(
                file.values.iter().any(|(key, _)| *key == spec.key),
                "{} is not in the example",
                spec.name
            );
        }
        assert!(!file.keys.is_empty(), "the table of keys is not in the example");
    }
}
