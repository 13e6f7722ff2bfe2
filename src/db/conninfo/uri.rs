//! `postgresql://` addresses, read as libpq reads them, with two refusals that libpq does not make: where a
//! raw `/` or `@` in a password would make part of it a host, a port or a database name (and so print it),
//! the address is refused without repeating it.

use super::keyword::{Flaw, Pairs, known};
use super::params;

const ENCODE: &str =
    "in a user name or password write \"@\" as %40, \":\" as %3A, \"/\" as %2F, \"?\" as %3F, \"%\" as %25";

/// What follows `postgresql://` or `postgres://`, if the text is such an address.
pub(super) fn strip_scheme(text: &str) -> Option<&str> {
    text.strip_prefix("postgresql://").or_else(|| text.strip_prefix("postgres://"))
}

/// Reads an address whose scheme is already cut off.
pub(super) fn parse(text: &str) -> Result<Pairs, Flaw> {
    let mut pairs = Pairs::new();
    let Parts { login, places, path, query } = cut(text);
    if let Some(login) = login {
        let (user, password) = login.split_once(':').unwrap_or((login, ""));
        push(&mut pairs, "user", user)?;
        push(&mut pairs, "password", password)?;
    }
    // With a login, a second "@" is one inside the password; without one, an "@" in the path means that
    // the password's "/" ended the host part early.
    if places.contains('@') || (login.is_none() && path.contains('@')) {
        return Err(Flaw::Malformed(ENCODE.to_owned()));
    }
    let (hosts, ports) = split_places(places, text.contains('@'))?;
    push(&mut pairs, "host", &hosts)?;
    push(&mut pairs, "port", &ports)?;
    push(&mut pairs, "dbname", path.strip_prefix('/').unwrap_or(path))?;
    for part in query.split('&').filter(|part| !part.is_empty()) {
        let Some((name, value)) = part.split_once('=') else {
            return Err(Flaw::Malformed("a query parameter has no \"=\"".to_owned()));
        };
        if value.contains('=') {
            return Err(Flaw::Malformed("a query parameter has a second \"=\": write it as %3D".to_owned()));
        }
        let name = decode(name, "a query parameter's name")?;
        // JDBC's spelling, which libpq takes as well.
        if name == "ssl" && value == "true" {
            pairs.push(("sslmode", "require".to_owned()));
            continue;
        }
        let name = known(&name, &pairs, "write \"&\" in a value as %26")?;
        let value = decode(value, name)?;
        pairs.push((name, value));
    }
    Ok(pairs)
}

/// The parts of an address, as written.
struct Parts<'a> {
    /// What stands before the `@`, where there is one.
    login: Option<&'a str>,
    places: &'a str,
    /// With its `/`.
    path: &'a str,
    query: &'a str,
}

fn cut(text: &str) -> Parts<'_> {
    let (login, rest) = match text.find(['@', '/']) {
        Some(at) if text[at..].starts_with('@') => (Some(&text[..at]), &text[at + 1..]),
        _ => (None, text),
    };
    let place_end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (places, rest) = rest.split_at(place_end);
    let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
    Parts { login, places, path, query }
}

/// An address that [`parse`] has read, as written but without the secrets in it.
pub(super) fn without_secrets(text: &str) -> String {
    let Parts { login, places, path, query } = cut(text);
    let mut shown = String::new();
    if let Some(login) = login {
        shown.push_str(login.split_once(':').map_or(login, |(user, _)| user));
        shown.push('@');
    }
    shown.push_str(places);
    shown.push_str(path);
    let secret = |part: &&str| {
        let name = part.split_once('=').and_then(|(name, _)| decode(name, "a name").ok());
        name.is_some_and(|name| params::is_secret(&name))
    };
    let kept: Vec<&str> = query.split('&').filter(|part| !part.is_empty() && !secret(part)).collect();
    if !kept.is_empty() {
        shown.push('?');
        shown.push_str(&kept.join("&"));
    }
    shown
}

/// Splits `host:port,[::1]:port` into libpq's two lists. Ports are only sent on when there are any.
fn split_places(places: &str, has_login: bool) -> Result<(String, String), Flaw> {
    let mut hosts = Vec::new();
    let mut ports = Vec::new();
    for place in places.split(',') {
        let (host, port) = if let Some(bracketed) = place.strip_prefix('[') {
            let Some((host, after)) = bracketed.split_once(']') else {
                return Err(Flaw::Malformed("an IPv6 address lacks its closing \"]\"".to_owned()));
            };
            match after.strip_prefix(':') {
                _ if host.is_empty() => return Err(Flaw::Malformed("\"[]\" holds no address".to_owned())),
                Some(port) => (host, port),
                None if after.is_empty() => (host, ""),
                None => return Err(Flaw::Malformed("only \":port\" may follow \"]\"".to_owned())),
            }
        } else {
            place.split_once(':').unwrap_or((place, ""))
        };
        if !port.bytes().all(|byte| byte.is_ascii_digit()) {
            let what = "the port after \":\" is not a number";
            return Err(Flaw::Malformed(if has_login {
                format!("{what}; {ENCODE}")
            } else {
                what.to_owned()
            }));
        }
        hosts.push(host);
        ports.push(port);
    }
    let ports = if ports.iter().all(|port| port.is_empty()) { String::new() } else { ports.join(",") };
    Ok((hosts.join(","), ports))
}

fn push(pairs: &mut Pairs, name: &'static str, raw: &str) -> Result<(), Flaw> {
    if !raw.is_empty() {
        pairs.push((name, decode(raw, name)?));
    }
    Ok(())
}

/// Undoes percent-encoding. `what` names the part, whose text is not repeated.
pub(super) fn decode(raw: &str, what: &str) -> Result<String, Flaw> {
    let mut bytes = Vec::with_capacity(raw.len());
    let mut rest = raw.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digits = rest.next().and_then(hex).zip(rest.next().and_then(hex));
        let Some((high, low)) = digits else {
            return Err(Flaw::Malformed(format!(
                "in {what} a \"%\" is not followed by two hex digits; {ENCODE}"
            )));
        };
        bytes.push(high << 4 | low);
    }
    if bytes.contains(&0) {
        return Err(Flaw::Malformed(format!("{what} holds a NUL")));
    }
    String::from_utf8(bytes).map_err(|_| Flaw::Malformed(format!("{what} is not UTF-8 after decoding")))
}

fn hex(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

/// Percent-encodes all but the characters that never mean anything in an address.
pub(super) fn encode(text: &str) -> String {
    use std::fmt::Write as _;
    text.bytes().fold(String::with_capacity(text.len()), |mut out, byte| {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
        out
    })
}
