//! As whom the server runs, and how its programs are called.
//!
//! `PostgreSQL` refuses to run as root. An ordinary user's server runs as that user; root's server runs as
//! `postgres`, else as `nobody`.

use std::fs;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::error::PrivateError;

/// The account that owns the cluster and runs its server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunAs {
    /// The user who runs Taskdeck.
    Caller {
        /// Its numeric id.
        uid: u32,
    },
    /// Another account, because Taskdeck runs as root.
    Other {
        /// Its name in the user database.
        name: String,
        /// Its numeric id.
        uid: u32,
        /// Its primary group. Supplementary groups are dropped.
        gid: u32,
    },
}

impl RunAs {
    /// The numeric user id of the server.
    pub fn uid(&self) -> u32 {
        match self {
            Self::Caller { uid } | Self::Other { uid, .. } => *uid,
        }
    }

    /// The account in words, for messages.
    pub fn label(&self) -> String {
        match self {
            Self::Caller { uid } => format!("with id {uid}"),
            Self::Other { name, .. } => name.clone(),
        }
    }

    /// Gives a file or folder that this process made to the account. A last symbolic link is not followed.
    ///
    /// # Errors
    /// What the system says, for example that the path is gone.
    pub fn give(&self, path: &Path) -> io::Result<()> {
        match self {
            Self::Caller { .. } => Ok(()),
            Self::Other { uid, gid, .. } => std::os::unix::fs::lchown(path, Some(*uid), Some(*gid)),
        }
    }
}

/// Decides as whom a server runs that this process starts.
///
/// # Errors
/// [`PrivateError::NoAccount`] as root on a system with neither `postgres` nor `nobody`.
pub fn run_as() -> Result<RunAs, PrivateError> {
    let uid = rustix::process::geteuid().as_raw();
    if uid != 0 {
        return Ok(RunAs::Caller { uid });
    }
    let accounts = fs::read_to_string("/etc/passwd").unwrap_or_default();
    ["postgres", "nobody"]
        .into_iter()
        .find_map(|name| account_named(&accounts, name))
        .ok_or(PrivateError::NoAccount)
}

/// Finds an account in the text of `/etc/passwd`; one with the id 0 is as good as none.
fn account_named(accounts: &str, name: &str) -> Option<RunAs> {
    accounts.lines().find_map(|line| {
        let mut fields = line.split(':');
        if fields.next() != Some(name) {
            return None;
        }
        let uid = account_id(fields.nth(1)?)?;
        let gid = account_id(fields.next()?)?;
        (uid != 0).then(|| RunAs::Other { name: name.into(), uid, gid })
    })
}

/// Reads an id; macOS writes `nobody` as -2, which the kernel takes as an unsigned number.
fn account_id(text: &str) -> Option<u32> {
    text.parse::<u32>().ok().or_else(|| text.parse::<i32>().ok().map(i32::cast_unsigned))
}

/// A call of a `PostgreSQL` program as the account `run_as`, with no terminal, from the root folder.
///
/// It gets a process group of its own, so that the terminal's Ctrl-C is not for it. Its environment is cleared:
/// `PG…` variables would change what it does, and secrets of the caller's are not for the server's account.
pub fn command(program: &Path, run_as: &RunAs) -> Command {
    let mut command = Command::new(program);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.current_dir("/").process_group(0).env_clear().env("LC_ALL", "C");
    for name in ["PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "TZ"] {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    if let RunAs::Other { uid, gid, .. } = run_as {
        // As root, the standard library also drops the supplementary groups when a uid is set.
        command.uid(*uid).gid(*gid);
    }
    command
}

/// Checks that the account can enter `folder`. `program` is any program that it can run.
///
/// The question is put to the kernel (a child of that account changes into the folder) instead of being worked out
/// from mode bits, so that access lists and security modules have their say.
pub(super) fn check_reach(folder: &Path, program: &Path, run_as: &RunAs) -> Result<(), PrivateError> {
    let RunAs::Other { name, .. } = run_as else { return Ok(()) };
    let enters = |dir: &Path| {
        let status = command(program, run_as).arg("--version").current_dir(dir).status();
        !matches!(status, Err(error) if error.kind() == io::ErrorKind::PermissionDenied)
    };
    if enters(folder) {
        return Ok(());
    }
    let mut parts: Vec<&Path> = folder.ancestors().collect();
    parts.reverse();
    let component = parts.into_iter().find(|part| !enters(part)).unwrap_or(folder);
    Err(PrivateError::FolderUnreachable {
        folder: folder.to_owned(),
        component: PathBuf::from(component),
        user: name.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::{RunAs, account_named};

    const ACCOUNTS: &str = "root:x:0:0:root:/root:/bin/bash\nnobody:*:-2:-2:Nobody:/:/bin/false\n\
        postgresql:x:7:7::/:/bin/sh\npostgres:x:101:104:PostgreSQL administrator,,,:/var/lib/postgresql:/bin/bash\n";

    #[test]
    fn an_account_is_found_by_its_whole_name() {
        let expected = RunAs::Other { name: "postgres".into(), uid: 101, gid: 104 };
        assert_eq!(account_named(ACCOUNTS, "postgres"), Some(expected));
        assert_eq!(account_named(ACCOUNTS, "post"), None);
    }

    #[test]
    fn negative_ids_wrap_and_root_is_never_an_answer() {
        assert_eq!(account_named(ACCOUNTS, "nobody").map(|account| account.uid()), Some(u32::MAX - 1));
        assert_eq!(account_named(ACCOUNTS, "root"), None);
    }
}
