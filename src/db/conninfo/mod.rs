//! Connection settings as libpq understands them, for tokio-postgres, which understands far fewer.
//!
//! [`resolve`] finds the database and gives a [`ConnInfo`]; [`connector`] makes the TLS connector for it.
//! Nothing here connects, prints, or reads the environment by itself.
//!
//! **Which database.** The first of: `--database-url`, `TASKDECK_DATABASE_URL`, `DATABASE_URL`, libpq's
//! variables, the configuration file. Libpq's variables name a database if one of `PGSERVICE`, `PGHOST`,
//! `PGHOSTADDR`, `PGPORT` and `PGDATABASE` is set and not empty; `PGUSER` or `PGPASSWORD` alone do not,
//! since they say who and not where. With none, the answer is `None` and the caller uses its private server.
//!
//! **Which settings.** Whatever named the database, as in libpq each setting is the first of: the address, the
//! service file's section (if `service` or `PGSERVICE` is given), the `PG*` variable, the default. An address
//! is a `postgresql://` URI or `name=value` text. Variables that only shape output (`PGDATESTYLE`, `PGTZ`,
//! `PGGEQO`) are left alone: values travel in binary and times are absolute.
//!
//! **What is refused.** A parameter in an address or a variable that cannot be honoured is an error with its
//! name and advice, never ignored. Abstract sockets and `target_session_attrs=standby|prefer-standby` are
//! refused; `primary` asks for `read-write`, which is stricter. In a URI a raw `/` or `@` inside the password
//! is refused where libpq would read part of the password as a host or a database.
//!
//! **TLS.** With no `sslmode` given, sockets use none and loopback addresses `prefer`; **for any other host,
//! or as soon as `sslrootcert` is given, the default is `verify-full`** (libpq's is `prefer`), and
//! [`ConnInfo::connect_hint`] says how to relax it. `hostaddr` decides what is local when given, so a tunnel's
//! near end is. The modes:
//!
//! | mode | TLS | certificate |
//! |---|---|---|
//! | `disable` | no | |
//! | `allow`, `prefer` | if offered | unchecked; with `sslrootcert` the chain is checked |
//! | `require` | must | unchecked; with `sslrootcert` or `~/.postgresql/root.crt` the chain is checked |
//! | `verify-ca` | must | chain |
//! | `verify-full` | must | chain and host name |
//!
//! Trusted are the certificates in `sslrootcert` and no others; else those in `~/.postgresql/root.crt`; else the
//! system's (`sslrootcert=system` asks for these by name, and needs `verify-full`). Differences from libpq:
//! `allow` is `prefer`; `prefer` falls back to plaintext only when the server says it has no TLS, not after
//! a failed handshake or a refusal by `pg_hba.conf`; a host name must stand in the certificate's
//! subjectAltName, its CN is not read; X.509 version 1 certificates are not read. A socket and a network host
//! cannot share a list when TLS is a must.
//!
//! **Passwords** that are not given come from `passfile`, `PGPASSFILE` or `~/.pgpass`; of several hosts the
//! first one's entry is used for all, since the driver holds one password. They live in [`Secret`] and in the
//! driver's configuration, and no `Debug`, label, address or error made here shows them.
//!
//! `connect_timeout` bounds only the opening of each socket, in the driver as in libpq's per-host sense; the
//! whole of connecting needs the caller's own deadline.

mod bare;
mod error;
mod hint;
mod hosts;
mod info;
mod keyword;
mod params;
mod pgpass;
mod secret;
mod service;
mod settings;
mod source;
mod ssl;
#[cfg(test)]
mod tests;
mod tls;
mod uri;

pub use bare::without_secrets;
pub use error::ConnInfoError;
pub use info::ConnInfo;
pub use secret::Secret;
pub use source::{Lookup, Origin, Source, Sources, process_env};
pub use ssl::{ClientCert, ModeChoice, Roots, SslMode};
pub use tls::{TlsConnector, connector};

/// Finds the database that is named and how to reach it; `None` if none is named.
///
/// Reads the service file and the password file, nothing else; connects to nothing.
///
/// # Errors
///
/// Settings that are malformed, unknown, out of range or cannot be honoured; see [`ConnInfoError`].
pub fn resolve(sources: &Sources<'_>) -> Result<Option<ConnInfo>, ConnInfoError> {
    match settings::gather(sources)? {
        None => Ok(None),
        Some((settings, source)) => info::assemble(&settings, source, sources).map(Some),
    }
}
