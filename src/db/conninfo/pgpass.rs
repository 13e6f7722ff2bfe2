//! The password file (`~/.pgpass`): `host:port:database:user:password`, `*` for any, `\` before `:` or `\`.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use super::secret::Secret;

/// What the password is wanted for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted<'a> {
    /// Host name, or the address if there is no name, or a socket directory.
    pub(super) host: &'a str,
    pub(super) port: u16,
    pub(super) dbname: &'a str,
    pub(super) user: &'a str,
}

/// Whether the user named the file, or it is only the usual place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Choice {
    Named,
    Usual,
}

/// Reads the file; a file that is ignored leaves a warning, as with libpq.
pub(super) fn look_up(
    path: &Path,
    choice: Choice,
    wanted: Wanted<'_>,
    warnings: &mut Vec<String>,
) -> Option<Secret> {
    let shown = path.display();
    let meta = match path.metadata() {
        Ok(meta) => meta,
        Err(error) => {
            if choice == Choice::Named {
                warnings.push(format!("password file {shown} was ignored: {error}"));
            }
            return None;
        }
    };
    if !meta.is_file() {
        // PGPASSFILE=/dev/null is how one asks for no password file.
        if path != Path::new("/dev/null") {
            warnings.push(format!("password file {shown} was ignored: it is not a plain file"));
        }
        return None;
    }
    let mode = meta.permissions().mode() & 0o777;
    if mode & 0o077 != 0 {
        warnings.push(format!(
            "password file {shown} was ignored: others may read it (mode {mode:04o}); chmod 0600 it"
        ));
        return None;
    }
    match std::fs::read(path) {
        Ok(bytes) => find(&String::from_utf8_lossy(&bytes), wanted),
        Err(error) => {
            warnings.push(format!("password file {shown} was ignored: {error}"));
            None
        }
    }
}

/// The first line that matches decides, also if a later one would match more closely.
pub(super) fn find(text: &str, wanted: Wanted<'_>) -> Option<Secret> {
    let port = wanted.port.to_string();
    text.lines().filter(|line| !line.starts_with('#')).find_map(|line| {
        let mut rest = line;
        let host = field(&mut rest)?;
        let matches = host_matches(&host, wanted.host)
            && field_matches(&field(&mut rest)?, &port)
            && field_matches(&field(&mut rest)?, wanted.dbname)
            && field_matches(&field(&mut rest)?, wanted.user);
        let password = unescape(rest.strip_suffix('\r').unwrap_or(rest));
        (matches && !password.is_empty()).then(|| Secret::new(password))
    })
}

/// A field of a line: the wildcard, or text with its escapes undone. `\*` is a literal star.
#[derive(Debug, PartialEq, Eq)]
enum Field {
    Any,
    Text(String),
}

/// Cuts the next field off; `None` if the line has no further `:`.
fn field(rest: &mut &str) -> Option<Field> {
    let mut escaped = false;
    let end = rest.find(|c: char| {
        let found = c == ':' && !escaped;
        escaped = c == '\\' && !escaped;
        found
    })?;
    let raw = &rest[..end];
    *rest = &rest[end + 1..];
    Some(if raw == "*" { Field::Any } else { Field::Text(unescape(raw)) })
}

fn unescape(raw: &str) -> String {
    let mut out = String::with_capacity(raw.len());
    let mut chars = raw.chars();
    while let Some(c) = chars.next() {
        // A backslash at the very end stands for itself.
        out.push(if c == '\\' { chars.next().unwrap_or('\\') } else { c });
    }
    out
}

fn field_matches(field: &Field, wanted: &str) -> bool {
    match field {
        Field::Any => true,
        Field::Text(text) => text == wanted,
    }
}

/// `localhost` stands for the usual socket directories too. A socket elsewhere needs its own path in the
/// file, as with libpq: anyone may listen in a directory of their own.
fn host_matches(field: &Field, wanted: &str) -> bool {
    let usual = ["/var/run/postgresql", "/run/postgresql", "/tmp"].contains(&wanted.trim_end_matches('/'));
    field_matches(field, wanted) || (usual && field_matches(field, "localhost"))
}
