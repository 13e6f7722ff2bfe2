//! Finds the server's programs.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use super::account::{RunAs, command};
use super::error::PrivateError;

/// The versions that are supported, by major number.
const MAJORS: std::ops::RangeInclusive<u32> = 14..=18;

/// Where to look for the programs.
#[derive(Debug, Clone, Default)]
pub struct Search {
    /// A folder that was named (`TASKDECK_PG_BIN`): then nothing else is searched.
    pub named: Option<PathBuf>,
    /// The value of `PATH`.
    pub path: Option<OsString>,
    /// Folders to search after `PATH`.
    pub usual: Vec<PathBuf>,
}

impl Search {
    /// The search that the environment asks for, with the usual folders of Debian, Fedora, Homebrew and Postgres.app.
    pub fn from_env() -> Self {
        Self {
            named: std::env::var_os("TASKDECK_PG_BIN").filter(|value| !value.is_empty()).map(PathBuf::from),
            path: std::env::var_os("PATH"),
            usual: usual_folders(),
        }
    }
}

/// The programs of one installed version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Programs {
    /// The server.
    pub postgres: PathBuf,
    /// The program that makes a cluster.
    pub initdb: PathBuf,
    /// The version in full, for example `15.18`.
    pub version: String,
    /// The major version.
    pub major: u32,
}

/// Finds the programs that the account can run: one entry per major version, newest first, never empty.
///
/// Within a major version, the named folder wins over `PATH`, and `PATH` over the usual folders.
///
/// # Errors
/// [`PrivateError::NoPrograms`], [`PrivateError::NamedPrograms`], [`PrivateError::UnsupportedVersions`] or
/// [`PrivateError::ProgramsUnreachable`], whichever says best what to mend.
pub fn find_programs(search: &Search, run_as: &RunAs) -> Result<Vec<Programs>, PrivateError> {
    let folders: Vec<PathBuf> = match &search.named {
        Some(named) => vec![std::path::absolute(named).unwrap_or_else(|_| named.clone())],
        None => search.path.iter().flat_map(std::env::split_paths).chain(search.usual.clone()).collect(),
    };
    let mut found: Vec<Programs> = Vec::new();
    let mut unsupported: Vec<String> = Vec::new();
    let mut closed = None;
    let mut reason = String::from("postgres and initdb are not both there");
    let mut seen = Vec::new();
    for folder in &folders {
        let Some((postgres, initdb)) = programs_in(folder) else { continue };
        if seen.contains(&postgres) {
            continue;
        }
        seen.push(postgres.clone());
        match version_of(&postgres, run_as) {
            Ok(Some((major, version))) if MAJORS.contains(&major) => {
                if found.iter().all(|programs| programs.major != major) {
                    found.push(Programs { postgres, initdb, version, major });
                }
            }
            Ok(Some((_, version))) => unsupported.push(version),
            Ok(None) => reason = format!("{} does not answer --version as a server", postgres.display()),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => closed = Some(postgres),
            Err(error) => reason = format!("{} could not be run: {error}", postgres.display()),
        }
    }
    found.sort_by_key(|programs| std::cmp::Reverse(programs.major));
    if !found.is_empty() {
        return Ok(found);
    }
    if let Some(program) = closed {
        return Err(PrivateError::ProgramsUnreachable { program, user: run_as.label() });
    }
    let install = install_command(&fs::read_to_string("/etc/os-release").unwrap_or_default());
    if !unsupported.is_empty() {
        return Err(PrivateError::UnsupportedVersions { found: unsupported.join(", "), install });
    }
    match &search.named {
        Some(dir) => Err(PrivateError::NamedPrograms { dir: dir.clone(), reason }),
        None => Err(PrivateError::NoPrograms { looked_in: folders, install }),
    }
}

/// The server and initdb in `folder`, links resolved.
///
/// Some systems link only `postgres` into `PATH`; the program beside the real file is the one of the same version.
fn programs_in(folder: &Path) -> Option<(PathBuf, PathBuf)> {
    if !folder.is_absolute() {
        return None;
    }
    let postgres = fs::canonicalize(folder.join("postgres")).ok().filter(|path| path.is_file())?;
    let beside = postgres.parent()?.join("initdb");
    let initdb = if beside.is_file() { beside } else { fs::canonicalize(folder.join("initdb")).ok()? };
    Some((postgres, initdb))
}

/// Asks the server for its version, as the account that will run it.
fn version_of(postgres: &Path, run_as: &RunAs) -> io::Result<Option<(u32, String)>> {
    let output = command(postgres, run_as).arg("--version").stdout(Stdio::piped()).output()?;
    Ok(parse_version(&String::from_utf8_lossy(&output.stdout)))
}

/// Reads `postgres (PostgreSQL) 15.18 (Debian …)`, also `18beta1` and `17devel`.
fn parse_version(text: &str) -> Option<(u32, String)> {
    let version = text.trim().strip_prefix("postgres (PostgreSQL) ")?.split_whitespace().next()?;
    let digits: String = version.chars().take_while(char::is_ascii_digit).collect();
    Some((digits.parse().ok()?, version.to_owned()))
}

/// The folders where packages put the programs, newest version first within each.
fn usual_folders() -> Vec<PathBuf> {
    let mut folders = Vec::new();
    for (parent, prefix, bin) in [
        ("/usr/lib/postgresql", "", "bin"),
        ("/usr", "pgsql-", "bin"),
        ("/opt/homebrew/opt", "postgresql", "bin"),
        ("/usr/local/opt", "postgresql", "bin"),
        ("/Applications/Postgres.app/Contents/Versions", "", "bin"),
    ] {
        let mut names: Vec<(u32, PathBuf)> = fs::read_dir(parent)
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|entry| {
                let name = entry.file_name().into_string().ok()?;
                let version = name.strip_prefix(prefix)?.trim_start_matches('@');
                Some((version.parse().unwrap_or(0), entry.path().join(bin)))
            })
            .collect();
        names.sort_by(|a, b| b.cmp(a));
        folders.extend(names.into_iter().map(|(_, path)| path));
    }
    // Alpine keeps its versions under /usr/libexec; Fedora and Arch put the programs into /usr/bin.
    folders.extend((14..=18).rev().map(|major| PathBuf::from(format!("/usr/libexec/postgresql{major}"))));
    folders.push("/usr/bin".into());
    folders
}

/// The command that installs the server, from the text of `/etc/os-release` (empty on systems without one).
fn install_command(os_release: &str) -> String {
    if cfg!(target_os = "macos") {
        return "brew install postgresql@17".into();
    }
    let mut names: Vec<&str> = Vec::new();
    for key in ["ID=", "ID_LIKE="] {
        let values = os_release.lines().filter_map(|line| line.strip_prefix(key));
        names.extend(values.flat_map(|value| value.trim_matches(['"', '\'']).split_whitespace()));
    }
    let command = names.into_iter().find_map(|name| match name {
        "debian" | "ubuntu" => Some("apt-get install postgresql"),
        "fedora" | "rhel" | "centos" => Some("dnf install postgresql-server"),
        "alpine" => Some("apk add postgresql"),
        "arch" => Some("pacman -S postgresql"),
        "suse" | "opensuse" => Some("zypper install postgresql-server"),
        _ => None,
    });
    command.unwrap_or("your package manager's postgresql package").into()
}

#[cfg(test)]
mod tests {
    use super::{install_command, parse_version};

    #[test]
    fn versions_are_read_in_every_form_that_servers_print() {
        let read = |text| parse_version(text).map(|(major, version)| format!("{major} {version}"));
        let debian = "postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)\n";
        assert_eq!(read(debian).as_deref(), Some("15 15.18"));
        assert_eq!(read("postgres (PostgreSQL) 18beta1\n").as_deref(), Some("18 18beta1"));
        assert_eq!(read("postgres (EnterpriseDB) 15.1").as_deref(), None);
        assert_eq!(read("").as_deref(), None);
    }

    #[cfg(not(target_os = "macos"))]
    #[test]
    fn the_package_is_named_for_each_family_of_systems() {
        assert_eq!(install_command("NAME=x\nID=debian\n"), "apt-get install postgresql");
        assert_eq!(
            install_command("ID=linuxmint\nID_LIKE=\"ubuntu debian\"\n"),
            "apt-get install postgresql"
        );
        assert_eq!(
            install_command("ID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"\n"),
            "dnf install postgresql-server"
        );
        assert_eq!(install_command("ID=alpine\n"), "apk add postgresql");
        assert_eq!(install_command("ID=arch\n"), "pacman -S postgresql");
        assert!(install_command("").contains("postgresql"));
    }
}
