//! What is in force: each setting from the first of flag, environment variable, configuration file, default.
//!
//! Invariant: one table ([`setting`]) names every setting; the command line, the variables, the file, the example
//! file and `taskdeck config` are checked against it. All layers are read as text by the same parsers, so that a
//! value is refused with the same words wherever it stands. Nothing here connects or prints.

pub mod duration;
mod file;
mod layers;
pub mod setting;
mod typed;

use std::path::PathBuf;

pub use file::ConfigFile;
pub use layers::{Layers, Raw};
pub use setting::{Key, Spec};
pub use typed::{Analyser, LogFormat, Mode, OutputFormat, Settings, Verbosity, WorkerSettings, whole};

/// Where a value was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// A flag of this call.
    Flag {
        /// As it is written: `--poll`.
        flag: String,
    },
    /// An environment variable.
    Variable {
        /// Its name.
        name: String,
    },
    /// The configuration file.
    File {
        /// The file.
        path: PathBuf,
    },
    /// Nobody gave it.
    Default,
}

impl std::fmt::Display for Origin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Flag { flag } => f.write_str(flag),
            Self::Variable { name } => f.write_str(name),
            Self::File { path } => write!(f, "{}", path.display()),
            Self::Default => f.write_str("default"),
        }
    }
}

/// A configuration that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// A value that a setting does not take.
    #[error("{}: {problem}", place(.setting, .origin))]
    Value {
        /// The setting's name.
        setting: &'static str,
        /// Where the value stands.
        origin: Origin,
        /// What is wrong with it and what would be right.
        problem: String,
    },
    /// The file cannot be read.
    #[error("the configuration file {} cannot be read: {problem}", .path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        problem: String,
    },
    /// The file is not TOML.
    #[error("{}: {problem}", .path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// What is wrong, and in which line.
        problem: String,
    },
    /// The file has a key that no setting has.
    #[error("unknown key `{key}` in {}", .path.display())]
    UnknownKey {
        /// The file.
        path: PathBuf,
        /// The key.
        key: String,
        /// A setting with a name like it.
        like: Option<&'static str>,
    },
}

/// How a value's place is named: a flag and a variable say what they are, a file does not.
fn place(setting: &str, origin: &Origin) -> String {
    match origin {
        Origin::Flag { flag } => flag.clone(),
        Origin::Variable { name } => name.clone(),
        Origin::File { path } => format!("{setting} in {}", path.display()),
        Origin::Default => setting.to_owned(),
    }
}

impl ConfigError {
    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::Value { .. } => "`taskdeck --help` says what each setting takes".to_owned(),
            Self::Unreadable { .. } => "name a readable file with --config, or leave it out".to_owned(),
            Self::Syntax { .. } => {
                "write it as TOML: name = \"value\", one a line, tables such as [keys] last".to_owned()
            }
            Self::UnknownKey { like: Some(like), .. } => format!("did you mean `{like}`?"),
            Self::UnknownKey { like: None, .. } => {
                "`taskdeck config` lists every setting; remove the key or correct its name".to_owned()
            }
        }
    }
}
