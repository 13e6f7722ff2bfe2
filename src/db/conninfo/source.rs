//! Where settings come from.

use std::fmt;
use std::path::PathBuf;

/// What named the database. `Display` gives the words for "connected to … (from …)".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Source {
    /// The command-line flag.
    Flag,
    /// The variable `TASKDECK_DATABASE_URL`.
    TaskdeckVariable,
    /// The variable `DATABASE_URL`.
    DatabaseUrlVariable,
    /// One of libpq's own variables; the first that was found.
    LibpqVariable {
        /// Its name, for example `PGHOST`.
        name: &'static str,
    },
    /// The configuration file.
    ConfigFile,
    /// Nobody named a database: the server that Taskdeck starts for itself.
    PrivateServer,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Flag => "--database-url",
            Self::TaskdeckVariable => "TASKDECK_DATABASE_URL",
            Self::DatabaseUrlVariable => "DATABASE_URL",
            Self::LibpqVariable { name } => name,
            Self::ConfigFile => "configuration file",
            Self::PrivateServer => "private server",
        })
    }
}

/// Where one single setting was read; errors name it, so that the reader knows which of many places to mend.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Origin {
    /// The address itself.
    Address {
        /// Who gave the address.
        source: Source,
    },
    /// A section of a connection service file.
    Service {
        /// The section's name.
        name: String,
        /// The file.
        path: PathBuf,
    },
    /// One of libpq's variables.
    Variable {
        /// Its name.
        name: &'static str,
    },
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address { source } => source.fmt(f),
            Self::Service { name, path } => write!(f, "service {name:?} in {}", path.display()),
            Self::Variable { name } => f.write_str(name),
        }
    }
}

/// A look-up in the environment; a variable that is set but empty counts as not set.
pub type Lookup<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Everything that [`resolve`](super::resolve) looks at. Nothing is read from the process behind its back,
/// so tests hand in a map.
#[derive(Clone)]
pub struct Sources<'a> {
    /// The flag's value. Given but empty is an error, never "no database named": a script whose variable
    /// is missing must not end up on the private server.
    pub flag_url: Option<String>,
    /// Environment variables.
    pub env: Lookup<'a>,
    /// The address in the configuration file; empty counts as not set.
    pub config_url: Option<String>,
    /// The user's home directory, for `~/.pgpass`, `~/.pg_service.conf` and `~/.postgresql`.
    pub home: Option<PathBuf>,
    /// The operating system user: the default for `user`.
    pub os_user: Option<String>,
    /// Socket directories to try when no host is given; the first that holds a socket for the port wins.
    pub socket_dirs: Vec<PathBuf>,
    /// Directories with a system-wide `pg_service.conf`; `PGSYSCONFDIR` goes before them.
    pub sysconf_dirs: Vec<PathBuf>,
}

impl<'a> Sources<'a> {
    /// Sources with this environment, the usual socket directories, and nothing else.
    pub fn new(env: Lookup<'a>) -> Self {
        Self {
            flag_url: None,
            env,
            config_url: None,
            home: None,
            os_user: None,
            socket_dirs: ["/var/run/postgresql", "/run/postgresql", "/tmp"].map(PathBuf::from).to_vec(),
            sysconf_dirs: ["/etc/postgresql-common", "/etc/sysconfig/pgsql", "/etc"]
                .map(PathBuf::from)
                .to_vec(),
        }
    }

    /// Sources of this process: its user and home directory beside the environment given
    /// (usually [`process_env`]).
    pub fn of_process(env: Lookup<'a>) -> Self {
        Self { home: std::env::home_dir(), os_user: whoami::username().ok(), ..Self::new(env) }
    }

    /// The variable's value unless it is unset or empty.
    pub(super) fn variable(&self, name: &str) -> Option<String> {
        (self.env)(name).filter(|value| !value.is_empty())
    }
}

/// The process environment as a [`Lookup`]. Bytes that are not UTF-8 are replaced, which makes the value
/// fail its check later instead of passing as unset.
pub fn process_env(name: &str) -> Option<String> {
    std::env::var_os(name).map(|value| value.to_string_lossy().into_owned())
}
