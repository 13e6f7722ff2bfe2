//! Connection service files (`pg_service.conf`).

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::error::ConnInfoError;
use super::keyword::looks_like_a_name;
use super::params;
use super::settings::Settings;
use super::source::{Origin, Sources};

/// Fills in what the named service defines, if one is named by the address or by `PGSERVICE`.
pub(super) fn fill(settings: &mut Settings, sources: &Sources<'_>) -> Result<(), ConnInfoError> {
    let Some(name) = settings.get("service").map(str::to_owned).or_else(|| sources.variable("PGSERVICE"))
    else {
        return Ok(());
    };
    let files = files(settings, sources);
    for path in &files {
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => continue,
            Err(error) => {
                return Err(ConnInfoError::ServiceFile {
                    path: path.clone(),
                    line: 0,
                    reason: error.to_string(),
                });
            }
        };
        if let Some(pairs) = section(&text, &name, path)? {
            let origin = Origin::Service { name: name.clone(), path: path.clone() };
            for (param, value) in pairs {
                settings.fill(param, value, &origin);
            }
            return Ok(());
        }
    }
    Err(ConnInfoError::ServiceNotFound { name, files })
}

/// The user's file, then the system's; a service missing in the first is looked for in the second.
fn files(settings: &Settings, sources: &Sources<'_>) -> Vec<PathBuf> {
    let own = settings
        .get("servicefile")
        .map(PathBuf::from)
        .or_else(|| sources.variable("PGSERVICEFILE").map(PathBuf::from))
        .or_else(|| sources.home.as_ref().map(|home| home.join(".pg_service.conf")));
    let system = match sources.variable("PGSYSCONFDIR") {
        Some(dir) => vec![PathBuf::from(dir)],
        None => sources.sysconf_dirs.clone(),
    };
    own.into_iter().chain(system.into_iter().map(|dir| dir.join("pg_service.conf"))).collect()
}

type Section = Vec<(&'static str, String)>;

/// The settings of one section. Only that section is checked: a neighbour's mistake is not this caller's.
pub(super) fn section(text: &str, name: &str, path: &Path) -> Result<Option<Section>, ConnInfoError> {
    let mut found: Option<Section> = None;
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        let flaw =
            |reason: String| ConnInfoError::ServiceFile { path: path.to_owned(), line: index + 1, reason };
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if line.starts_with('[') {
            if found.is_some() {
                break;
            }
            if line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) == Some(name) {
                found = Some(Section::new());
            }
            continue;
        }
        let Some(pairs) = &mut found else { continue };
        // Lines are not repeated in errors: one of them may be the password.
        let Some((key, value)) = line.split_once('=') else {
            let ldap = line.starts_with("ldap");
            return Err(flaw(if ldap { "LDAP look-up is not supported" } else { "no \"=\"" }.to_owned()));
        };
        if matches!(key, "service" | "servicefile") {
            return Err(flaw(format!("{key} may not be set inside a service")));
        }
        match params::find(key) {
            Some(param) => pairs.push((param.name, value.to_owned())),
            None if key.starts_with("ldap") => return Err(flaw("LDAP look-up is not supported".to_owned())),
            None if looks_like_a_name(key) => {
                return Err(flaw(format!("unknown connection parameter {key:?}")));
            }
            None => return Err(flaw("what stands before \"=\" is not a parameter".to_owned())),
        }
    }
    Ok(found)
}
