//! What can be wrong with connection settings, and what to do about it.

use std::path::PathBuf;

use super::source::{Origin, Source};

/// Why settings could not be turned into a connection. No variant ever carries a password; where a piece of
/// text might be one that was badly quoted, it is left out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConnInfoError {
    /// An address was given, and it is empty.
    #[error("{source_name} is empty")]
    Empty {
        /// Who gave it.
        source_name: Source,
    },
    /// Another protocol's address.
    #[error("{source_name} begins with {scheme}://, which is not PostgreSQL")]
    ForeignScheme {
        /// Who gave it.
        source_name: Source,
        /// What stands before `://`.
        scheme: String,
    },
    /// Not an address at all, or one with a broken part.
    #[error("{origin}: {reason}")]
    Malformed {
        /// Where it stands.
        origin: Origin,
        /// What is wrong and how to write it.
        reason: String,
    },
    /// A parameter that libpq does not know either.
    #[error("{origin}: unknown connection parameter {name:?}")]
    UnknownParameter {
        /// Where it stands.
        origin: Origin,
        /// Its name as written.
        name: String,
    },
    /// A parameter, or a value of it, that libpq knows and Taskdeck cannot honour.
    #[error("{origin}: connection parameter {name} is not supported with the value {value:?}")]
    Unsupported {
        /// Where it stands.
        origin: Origin,
        /// Its name.
        name: &'static str,
        /// Its value; `***` where it is a secret.
        value: String,
        /// What to do instead.
        advice: &'static str,
    },
    /// A value outside what the parameter takes.
    #[error("{origin}: {value:?} is not a valid {name}")]
    BadValue {
        /// Where it stands.
        origin: Origin,
        /// The parameter.
        name: &'static str,
        /// Its value as written.
        value: String,
        /// What it takes.
        expected: &'static str,
    },
    /// A service was named that no service file defines.
    #[error("connection service {name:?} is not defined")]
    ServiceNotFound {
        /// The service.
        name: String,
        /// The files that were looked at or looked for.
        files: Vec<PathBuf>,
    },
    /// A service file that cannot be read or understood.
    #[error("{}:{line}: {reason}", path.display())]
    ServiceFile {
        /// The file.
        path: PathBuf,
        /// The line, from 1; 0 is the file as a whole.
        line: usize,
        /// What is wrong.
        reason: String,
    },
    /// Host, hostaddr and port lists that do not fit together.
    #[error("host, hostaddr and port do not fit together: {reason}")]
    HostLists {
        /// Which, and how.
        reason: String,
    },
    /// Socket directories and network hosts in one list, with TLS required.
    #[error("sslmode={mode} cannot be kept for a host list that mixes sockets and network hosts")]
    MixedHosts {
        /// The mode in force.
        mode: super::SslMode,
    },
    /// Two settings of which one makes the other pointless.
    #[error("sslmode={mode} is too weak for {with}")]
    WeakMode {
        /// The mode in force.
        mode: super::SslMode,
        /// The setting that asks for more.
        with: &'static str,
        /// The weakest mode that will do.
        wanted: super::SslMode,
    },
    /// The operating system did not say who the user is.
    #[error("no user name: neither given nor known from the system")]
    NoUser,
    /// A file of TLS material that cannot be used.
    #[error("{parameter} {}: {reason}", path.display())]
    TlsFile {
        /// The parameter that names it.
        parameter: &'static str,
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// A private key that others can read.
    #[error("sslkey {} may be read by others (mode {mode:04o})", path.display())]
    KeyPermissions {
        /// The file.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// A certificate without a key, or a key without a certificate.
    #[error("client certificate without its other half: {missing} is missing")]
    HalfClientCert {
        /// `sslcert` or `sslkey`.
        missing: &'static str,
    },
    /// The system has no usable root certificates.
    #[error("no root certificates were found on this system: {reason}")]
    NoSystemRoots {
        /// What the look-up said.
        reason: String,
    },
    /// The TLS library refused what it was given.
    #[error("TLS cannot be set up: {reason}")]
    Tls {
        /// The library's words.
        reason: String,
    },
}

impl ConnInfoError {
    /// What to do about it, in one sentence.
    pub fn hint(&self) -> String {
        match self {
            Self::Empty { .. } => {
                "give an address such as postgresql://user@host/dbname, or leave the setting out".to_owned()
            }
            Self::ForeignScheme { .. } => "write the address as postgresql://user@host/dbname".to_owned(),
            Self::Malformed { .. } => {
                "write postgresql://user:password@host:port/dbname?name=value, or host=… user=… dbname=…"
                    .to_owned()
            }
            Self::UnknownParameter { .. } => "check its spelling, or remove it".to_owned(),
            Self::Unsupported { origin: Origin::Variable { name }, advice, .. } => {
                format!("{advice} (or unset {name} for this program)")
            }
            Self::Unsupported { advice, .. } => (*advice).to_owned(),
            Self::BadValue { expected, .. } => format!("it takes {expected}"),
            Self::ServiceNotFound { name, files } => {
                let files: Vec<String> = files.iter().map(|path| path.display().to_string()).collect();
                format!("add a section [{name}] to one of: {}", files.join(", "))
            }
            Self::ServiceFile { .. } => {
                "mend the file: sections are [name], settings name=value, comments begin with #".to_owned()
            }
            Self::HostLists { .. } => {
                "give one entry for each host, separated by commas; a single port serves all hosts".to_owned()
            }
            Self::MixedHosts { .. } => {
                "sockets cannot carry TLS: name only sockets or only network hosts, or use sslmode=prefer"
                    .to_owned()
            }
            Self::WeakMode { wanted, .. } => format!("use sslmode={wanted}"),
            Self::NoUser => "give user=… or set PGUSER".to_owned(),
            Self::TlsFile { parameter, .. } => {
                format!("point {parameter} at a readable PEM file")
            }
            Self::KeyPermissions { path, .. } => format!("chmod 0600 {}", path.display()),
            Self::HalfClientCert { .. } => "give both sslcert and sslkey, or neither".to_owned(),
            Self::NoSystemRoots { .. } => {
                "install the ca-certificates package, or name the server's CA with sslrootcert=FILE"
                    .to_owned()
            }
            Self::Tls { .. } => "check sslrootcert, sslcert and sslkey".to_owned(),
        }
    }
}
