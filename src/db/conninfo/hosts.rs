//! The list of servers to try.

use std::net::IpAddr;
use std::path::PathBuf;

use super::error::ConnInfoError;
use super::settings::Settings;

pub(super) const DEFAULT_PORT: u16 = 5432;

/// Where a server is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Place {
    /// The directory of a Unix socket.
    Socket(PathBuf),
    /// A host name or address.
    Network(String),
}

/// One server to try.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) place: Place,
    /// Goes before name resolution; the name is then only for TLS and the password file.
    pub(super) addr: Option<IpAddr>,
    pub(super) port: u16,
}

impl Target {
    /// Whether the connection stays on this machine, as far as the settings tell. An address decides over
    /// a name; no name is resolved here, so of names only `localhost` counts.
    pub(super) fn is_local(&self) -> bool {
        match (&self.place, self.addr) {
            (_, Some(addr)) => is_loopback(addr),
            (Place::Socket(_), None) => true,
            (Place::Network(name), None) => {
                name.eq_ignore_ascii_case("localhost") || name.parse().is_ok_and(is_loopback)
            }
        }
    }

    /// Whether TLS is out of the question.
    pub(super) fn is_socket(&self) -> bool {
        matches!(self.place, Place::Socket(_))
    }

    /// `db1`, `db1:5433`, `[::1]:5433`, or `[local]` for a socket.
    pub(super) fn label(&self) -> String {
        let name = match &self.place {
            Place::Socket(_) => "[local]".to_owned(),
            Place::Network(name) if name.contains(':') => format!("[{name}]"),
            Place::Network(name) => name.clone(),
        };
        if self.port == DEFAULT_PORT { name } else { format!("{name}:{}", self.port) }
    }

    /// The host as a password file would spell it.
    pub(super) fn pgpass_host(&self) -> String {
        match &self.place {
            Place::Socket(dir) => dir.display().to_string(),
            Place::Network(name) => name.clone(),
        }
    }
}

fn is_loopback(addr: IpAddr) -> bool {
    addr.to_canonical().is_loopback()
}

/// Reads `host`, `hostaddr` and `port`.
pub(super) fn read(settings: &Settings, socket_dirs: &[PathBuf]) -> Result<Vec<Target>, ConnInfoError> {
    let hosts = split(settings.get("host"));
    let addrs = split(settings.get("hostaddr"));
    let ports = split(settings.get("port"));
    if !hosts.is_empty() && !addrs.is_empty() && hosts.len() != addrs.len() {
        return Err(lists(format!("{} hosts, {} hostaddrs", hosts.len(), addrs.len())));
    }
    let count = hosts.len().max(addrs.len()).max(1);
    if ports.len() > 1 && ports.len() != count {
        return Err(lists(format!("{} ports for {count} hosts", ports.len())));
    }
    (0..count)
        .map(|index| {
            let port = ports.get(index).or(ports.first()).copied().unwrap_or_default();
            let port = read_port(settings, port)?;
            let addr = match addrs.get(index).copied().unwrap_or_default() {
                "" => None,
                text => Some(
                    text.parse()
                        .map_err(|_| settings.bad("hostaddr", "IP addresses, separated by commas"))?,
                ),
            };
            let host = hosts.get(index).copied().unwrap_or_default();
            let place = read_place(settings, host, addr, port, socket_dirs)?;
            // The driver wants an address for all hosts or for none.
            let addr = match (&place, addr) {
                (Place::Network(name), None) if !addrs.is_empty() => match name.parse() {
                    Ok(addr) => Some(addr),
                    Err(_) => return Err(lists(format!("hostaddr has no entry for {name:?}"))),
                },
                (Place::Socket(_), None) if !addrs.is_empty() => {
                    return Err(lists("hostaddr has no entry for a socket".to_owned()));
                }
                _ => addr,
            };
            Ok(Target { place, addr, port })
        })
        .collect()
}

fn read_place(
    settings: &Settings,
    host: &str,
    addr: Option<IpAddr>,
    port: u16,
    socket_dirs: &[PathBuf],
) -> Result<Place, ConnInfoError> {
    if host.starts_with('@') {
        return Err(
            settings.unsupported("host", "abstract sockets are not supported: name a socket directory")
        );
    }
    Ok(match addr {
        // Without a name of its own the address is the name: TLS then checks it against the certificate.
        Some(addr) if host.is_empty() || host.starts_with('/') => Place::Network(addr.to_string()),
        _ if host.starts_with('/') => Place::Socket(PathBuf::from(host)),
        _ if !host.is_empty() => Place::Network(host.to_owned()),
        _ => socket_dirs
            .iter()
            .find(|dir| dir.join(format!(".s.PGSQL.{port}")).exists())
            .map_or_else(|| Place::Network("localhost".to_owned()), |dir| Place::Socket(dir.clone())),
    })
}

fn read_port(settings: &Settings, text: &str) -> Result<u16, ConnInfoError> {
    let text = text.trim();
    if text.is_empty() {
        return Ok(DEFAULT_PORT);
    }
    match text.parse() {
        Ok(port) if port > 0 => Ok(port),
        _ => Err(settings.bad("port", "numbers from 1 to 65535, separated by commas")),
    }
}

fn split(list: Option<&str>) -> Vec<&str> {
    list.map(|list| list.split(',').collect()).unwrap_or_default()
}

fn lists(reason: String) -> ConnInfoError {
    ConnInfoError::HostLists { reason }
}
