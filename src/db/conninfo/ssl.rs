//! How far a connection is protected: the mode, whom to trust, and who we are.

use std::fmt;
use std::path::{Path, PathBuf};

use super::error::ConnInfoError;
use super::hosts::Target;
use super::settings::Settings;

/// libpq's six modes, weakest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SslMode {
    /// No TLS.
    Disable,
    /// As `Prefer`: the driver cannot try plaintext first and TLS second.
    Allow,
    /// TLS if the server offers it, else plaintext.
    Prefer,
    /// TLS or nothing; the certificate is checked only if `sslrootcert` (or `~/.postgresql/root.crt`) is there.
    Require,
    /// TLS, and the certificate must come from a trusted authority.
    VerifyCa,
    /// As `VerifyCa`, and the certificate must be for the host asked for.
    VerifyFull,
}

impl SslMode {
    const ALL: [Self; 6] =
        [Self::Disable, Self::Allow, Self::Prefer, Self::Require, Self::VerifyCa, Self::VerifyFull];

    /// libpq's spelling.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Disable => "disable",
            Self::Allow => "allow",
            Self::Prefer => "prefer",
            Self::Require => "require",
            Self::VerifyCa => "verify-ca",
            Self::VerifyFull => "verify-full",
        }
    }

    fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.as_str() == text)
    }

    /// What the driver is told; verification is the connector's part.
    pub(super) fn for_driver(self) -> tokio_postgres::config::SslMode {
        use tokio_postgres::config::SslMode as Driver;
        match self {
            Self::Disable => Driver::Disable,
            Self::Allow | Self::Prefer => Driver::Prefer,
            Self::Require | Self::VerifyCa | Self::VerifyFull => Driver::Require,
        }
    }
}

impl fmt::Display for SslMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Whether the user chose the mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModeChoice {
    /// `sslmode`, `PGSSLMODE` or the like was given.
    Given,
    /// Nobody said; Taskdeck's own default is in force.
    Default,
}

/// Which authorities are trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Roots {
    /// None are asked: any certificate will do.
    Unchecked,
    /// Those of the operating system.
    System,
    /// Those in this file, and only those.
    File {
        /// PEM file.
        path: PathBuf,
    },
}

/// A client certificate: both files are PEM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientCert {
    /// The certificate, followed by its intermediates if any.
    pub cert: PathBuf,
    /// Its private key, not encrypted.
    pub key: PathBuf,
}

/// How the TLS session begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Negotiation {
    Postgres,
    Direct,
}

/// Whether the server is told which name it was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ServerNameIndication {
    Sent,
    Withheld,
}

/// Everything about TLS.
#[derive(Debug, Clone)]
pub(super) struct Protection {
    pub(super) mode: SslMode,
    pub(super) choice: ModeChoice,
    pub(super) roots: Roots,
    pub(super) client_cert: Option<ClientCert>,
    pub(super) negotiation: Negotiation,
    pub(super) sni: ServerNameIndication,
}

/// Reads the TLS settings. Nothing is loaded here; see [`connector`](super::connector).
pub(super) fn decide(
    settings: &Settings,
    targets: &[Target],
    home: Option<&Path>,
    warnings: &mut Vec<String>,
) -> Result<Protection, ConnInfoError> {
    let given = match settings.get("sslmode") {
        None => None,
        Some(text) => Some(SslMode::parse(text).ok_or_else(|| {
            settings.bad("sslmode", "disable, allow, prefer, require, verify-ca or verify-full")
        })?),
    };
    let negotiation = match settings.get("sslnegotiation") {
        None | Some("postgres") => Negotiation::Postgres,
        Some("direct") => Negotiation::Direct,
        Some(_) => return Err(settings.bad("sslnegotiation", "postgres or direct")),
    };
    let sni = match settings.get("sslsni") {
        None | Some("1") => ServerNameIndication::Sent,
        Some("0") => ServerNameIndication::Withheld,
        Some(_) => return Err(settings.bad("sslsni", "0 or 1")),
    };
    let choice = if given.is_some() { ModeChoice::Given } else { ModeChoice::Default };
    let root_cert = settings.get("sslrootcert");
    // As in libpq the mode means nothing on a socket: the server never offers TLS there.
    let mode = if targets.iter().all(Target::is_socket) {
        SslMode::Disable
    } else {
        given.unwrap_or_else(|| default_mode(targets, root_cert))
    };
    let mut protection =
        Protection { mode, choice, roots: Roots::Unchecked, client_cert: None, negotiation, sni };
    if targets.iter().all(Target::is_socket) {
        return Ok(protection);
    }
    if mode >= SslMode::Require && targets.iter().any(Target::is_socket) {
        return Err(ConnInfoError::MixedHosts { mode });
    }
    if negotiation == Negotiation::Direct && mode < SslMode::Require {
        return Err(ConnInfoError::WeakMode {
            mode,
            with: "sslnegotiation=direct",
            wanted: SslMode::Require,
        });
    }
    if root_cert == Some("system") && mode < SslMode::VerifyFull {
        return Err(ConnInfoError::WeakMode {
            mode,
            with: "sslrootcert=system",
            wanted: SslMode::VerifyFull,
        });
    }
    let usual =
        |name: &str| home.map(|home| home.join(".postgresql").join(name)).filter(|path| path.exists());
    let usual_roots = || usual("root.crt").map(|path| Roots::File { path });
    protection.roots = match (mode, root_cert) {
        (SslMode::Disable, _) | (SslMode::Allow | SslMode::Prefer, None) => Roots::Unchecked,
        (_, Some("system")) => Roots::System,
        (_, Some(path)) => Roots::File { path: PathBuf::from(path) },
        (SslMode::Require, None) => usual_roots().unwrap_or(Roots::Unchecked),
        (SslMode::VerifyCa | SslMode::VerifyFull, None) => usual_roots().unwrap_or(Roots::System),
    };
    if protection.roots != Roots::Unchecked
        && let Some(path) = usual("root.crl")
    {
        warnings.push(format!("{} is not used: revocation lists are not supported", path.display()));
    }
    if mode != SslMode::Disable {
        protection.client_cert = client_cert(settings, usual)?;
    }
    Ok(protection)
}

/// What holds when nobody said: other machines must prove who they are. Naming an authority also asks for proof.
fn default_mode(targets: &[Target], root_cert: Option<&str>) -> SslMode {
    if root_cert.is_some() || targets.iter().any(|target| !target.is_local()) {
        SslMode::VerifyFull
    } else {
        SslMode::Prefer
    }
}

fn client_cert(
    settings: &Settings,
    usual: impl Fn(&str) -> Option<PathBuf>,
) -> Result<Option<ClientCert>, ConnInfoError> {
    let given = settings.get("sslkey").map(PathBuf::from);
    let Some(cert) = settings.get("sslcert").map(PathBuf::from).or_else(|| usual("postgresql.crt")) else {
        return match given {
            Some(_) => Err(ConnInfoError::HalfClientCert { missing: "sslcert" }),
            None => Ok(None),
        };
    };
    match given.or_else(|| usual("postgresql.key")) {
        Some(key) => Ok(Some(ClientCert { cert, key })),
        None => Err(ConnInfoError::HalfClientCert { missing: "sslkey" }),
    }
}
