//! Where the cluster and its socket live.

use std::fs::{self, DirBuilder, File, Permissions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use uuid::Uuid;

use super::account::RunAs;
use super::error::{PrivateError, io_error};
use super::programs::Programs;

/// A file in a cluster that says that Taskdeck made it. Nothing without it is ever started or removed.
pub(super) const MARKER: &str = "taskdeck.private";

/// The longest socket folder, in bytes. A socket's whole path may have 103 bytes on macOS and 107 on Linux, and the
/// server puts `/.s.PGSQL.5432` behind the folder.
const LONGEST_SOCKET_DIR: usize = 88;

/// One cluster's folder, `<folder>/pg<major>`, and what is in it.
///
/// The folder itself belongs to the caller and only `data` and `log` to the server's account, so that a root caller
/// never opens a file for writing where another account could have put a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Cluster {
    pub(super) root: PathBuf,
    pub(super) major: u32,
}

impl Cluster {
    fn new(folder: &Path, major: u32) -> Self {
        Self { root: folder.join(format!("pg{major}")), major }
    }

    pub(super) fn data(&self) -> PathBuf {
        self.root.join("data")
    }

    pub(super) fn log_dir(&self) -> PathBuf {
        self.root.join("log")
    }

    pub(super) fn startup_log(&self) -> PathBuf {
        self.root.join("startup.log")
    }

    pub(super) fn users_lock(&self) -> PathBuf {
        self.root.join("users.lock")
    }

    pub(super) fn server_lock(&self) -> PathBuf {
        self.root.join("server.lock")
    }

    pub(super) fn pid_file(&self) -> PathBuf {
        self.data().join("postmaster.pid")
    }

    /// Whether a whole cluster is there; a half-made one has another name until it is whole.
    pub(super) fn exists(&self) -> Result<bool, PrivateError> {
        let data = self.data();
        match fs::symlink_metadata(data.join("PG_VERSION")) {
            Ok(_) if data.join(MARKER).exists() => Ok(true),
            Ok(_) => Err(PrivateError::NotOurs { path: data }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(io_error("look at", &data)(error)),
        }
    }
}

/// The data folder: the named one, else the user's, else (for root) `/var/lib/taskdeck`. Nothing is created.
pub(super) fn data_folder(named: Option<&Path>, run_as: &RunAs) -> Result<PathBuf, PrivateError> {
    if let Some(named) = named {
        return std::path::absolute(named).map_err(io_error("resolve", named));
    }
    if matches!(run_as, RunAs::Other { .. }) {
        return Ok("/var/lib/taskdeck".into());
    }
    let absolute =
        |name| std::env::var_os(name).map(PathBuf::from).filter(|path: &PathBuf| path.is_absolute());
    if let Some(data_home) = absolute("XDG_DATA_HOME") {
        return Ok(data_home.join("taskdeck"));
    }
    let home = absolute("HOME").ok_or(PrivateError::NoHome)?;
    let below = if cfg!(target_os = "macos") { "Library/Application Support" } else { ".local/share" };
    Ok(home.join(below).join("taskdeck"))
}

/// Creates what is missing of `folder`, and resolves its links.
///
/// An ordinary user's folders are closed to others. Root's are open to be walked through, whatever the umask: the
/// server's account must get to the cluster, which is closed itself.
pub(super) fn make_folder(folder: &Path, run_as: &RunAs) -> Result<PathBuf, PrivateError> {
    let mode = if matches!(run_as, RunAs::Other { .. }) { 0o755 } else { 0o700 };
    let mut missing: Vec<&Path> = folder.ancestors().take_while(|part| !part.exists()).collect();
    missing.reverse();
    for part in missing {
        match DirBuilder::new().mode(mode).create(part) {
            Ok(()) => fs::set_permissions(part, Permissions::from_mode(mode))
                .map_err(io_error("set the permissions of", part))?,
            // Another Taskdeck that starts at this moment made it.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && part.is_dir() => {}
            Err(error) => return Err(io_error("create the folder", part)(error)),
        }
    }
    fs::canonicalize(folder).map_err(io_error("resolve", folder))
}

/// The clusters in `folder`, newest major first.
pub(super) fn clusters(folder: &Path) -> Result<Vec<Cluster>, PrivateError> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(io_error("read the folder", folder)(error)),
    };
    let mut found = Vec::new();
    for entry in entries {
        let name = entry.map_err(io_error("read the folder", folder))?.file_name();
        let major =
            name.to_str().and_then(|name| name.strip_prefix("pg")).and_then(|major| major.parse().ok());
        if let Some(cluster) = major.map(|major| Cluster::new(folder, major))
            && cluster.exists()?
        {
            found.push(cluster);
        }
    }
    found.sort_by_key(|cluster| std::cmp::Reverse(cluster.major));
    Ok(found)
}

/// The cluster to use, and with what.
#[derive(Debug)]
pub(super) struct Choice<'programs> {
    pub(super) cluster: Cluster,
    pub(super) programs: &'programs Programs,
    /// Clusters that are passed over because their programs are gone.
    pub(super) stranded: Vec<Cluster>,
}

/// The cluster to use: the newest that exists and whose programs exist, else a new one for the newest programs.
/// `None` only without any programs.
pub(super) fn choose<'programs>(
    folder: &Path,
    programs: &'programs [Programs],
) -> Result<Option<Choice<'programs>>, PrivateError> {
    let program_of = |cluster: &Cluster| programs.iter().find(|programs| programs.major == cluster.major);
    let (usable, stranded): (Vec<_>, Vec<_>) =
        clusters(folder)?.into_iter().partition(|cluster| program_of(cluster).is_some());
    let fresh = programs.first().map(|programs| Cluster::new(folder, programs.major));
    let Some(cluster) = usable.into_iter().next().or(fresh) else { return Ok(None) };
    Ok(program_of(&cluster).map(|programs| Choice { programs, stranded, cluster: cluster.clone() }))
}

/// Makes the folder for the socket, closed to everyone but the server's account, or checks the one that is there.
pub(super) fn make_socket_dir(
    cluster: &Cluster,
    runtime_dir: Option<&Path>,
    run_as: &RunAs,
) -> Result<PathBuf, PrivateError> {
    take_socket_dir(&socket_dir(&cluster.data(), runtime_dir, run_as), run_as)
}

/// Makes the folder `dir` for a socket, or takes the one that is there if it is safely ours.
pub(super) fn take_socket_dir(dir: &Path, run_as: &RunAs) -> Result<PathBuf, PrivateError> {
    match DirBuilder::new().mode(0o700).create(dir) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(io_error("create the socket folder", dir)(error)),
    }
    let handle = open_dir(dir)?;
    let owner = handle.metadata().map_err(io_error("look at", dir))?.uid();
    // A folder of the caller's own was made just now, or by a call that was killed before it gave it away.
    if let RunAs::Other { uid, gid, .. } = run_as
        && owner == rustix::process::geteuid().as_raw()
    {
        std::os::unix::fs::fchown(&handle, Some(*uid), Some(*gid))
            .map_err(io_error("change the owner of", dir))?;
    } else if owner == run_as.uid() {
        handle.set_permissions(Permissions::from_mode(0o700)).map_err(io_error("close to others", dir))?;
    }
    check_socket_dir(dir, run_as)?;
    Ok(dir.to_owned())
}

/// Removes the cluster's socket folder with what a killed server left in it. Best effort, and only a folder that is
/// safely ours: what cannot be removed is used again by the next server.
pub(super) fn remove_socket_dir(cluster: &Cluster, runtime_dir: Option<&Path>, run_as: &RunAs) {
    let dir = socket_dir(&cluster.data(), runtime_dir, run_as);
    if check_socket_dir(&dir, run_as).is_ok() {
        for name in [".s.PGSQL.5432", ".s.PGSQL.5432.lock"] {
            let _ = fs::remove_file(dir.join(name));
        }
        let _ = fs::remove_dir(&dir);
    }
}

/// Refuses a socket folder that is a link, belongs to someone else, or is open to others.
///
/// The server trusts whoever reaches its socket, and the folder's mode is what decides who that is.
pub(super) fn check_socket_dir(dir: &Path, run_as: &RunAs) -> Result<(), PrivateError> {
    let taken = |reason: String| Err(PrivateError::SocketDirTaken { path: dir.to_owned(), reason });
    let metadata = open_dir(dir)?.metadata().map_err(io_error("look at", dir))?;
    if metadata.uid() != run_as.uid() {
        return taken(format!("it belongs to user id {}, not {}", metadata.uid(), run_as.uid()));
    }
    if metadata.mode() & 0o077 != 0 {
        return taken(format!("others may enter it (mode {:o})", metadata.mode() & 0o777));
    }
    Ok(())
}

/// Opens a folder itself, never through a link.
fn open_dir(dir: &Path) -> Result<File, PrivateError> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::RDONLY | OFlags::CLOEXEC;
    match rustix::fs::open(dir, flags, Mode::empty()) {
        Ok(handle) => Ok(File::from(handle)),
        Err(rustix::io::Errno::NOTDIR | rustix::io::Errno::LOOP) => Err(PrivateError::SocketDirTaken {
            path: dir.to_owned(),
            reason: "it is a link or a file, not a folder".into(),
        }),
        Err(rustix::io::Errno::ACCESS) => Err(PrivateError::SocketDirTaken {
            path: dir.to_owned(),
            reason: "it is closed to this user".into(),
        }),
        Err(error) => Err(io_error("open the socket folder", dir)(error.into())),
    }
}

/// The name of the socket's folder: short, and the same for the same cluster.
fn socket_dir(data: &Path, runtime_dir: Option<&Path>, run_as: &RunAs) -> PathBuf {
    let hash = Uuid::new_v5(&Uuid::NAMESPACE_URL, data.as_os_str().as_bytes()).simple().to_string();
    let name = format!("taskdeck-{}-{}", run_as.uid(), &hash[..16]);
    // Root's runtime folder is closed to the server's account.
    let base = runtime_dir.filter(|base| {
        let metadata = fs::metadata(base);
        matches!(run_as, RunAs::Caller { .. })
            && base.is_absolute()
            // The server takes its socket folders as a list with commas and quotes.
            && !base.as_os_str().as_bytes().iter().any(|byte| b",\"'\\".contains(byte))
            && base.as_os_str().len() + 1 + name.len() <= LONGEST_SOCKET_DIR
            && metadata.is_ok_and(|metadata| metadata.is_dir() && metadata.uid() == run_as.uid())
    });
    base.unwrap_or(Path::new("/tmp")).join(name)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{LONGEST_SOCKET_DIR, socket_dir};
    use crate::db::private::RunAs;

    #[test]
    fn the_socket_folder_is_short_whatever_the_other_folders_are() {
        let caller = RunAs::Caller { uid: rustix::process::geteuid().as_raw() };
        let long = "x".repeat(60);
        let base = tempfile::tempdir().expect("a folder");
        let long_base = base.path().join(&long);
        std::fs::create_dir(&long_base).expect("a folder with a long name");
        let data = Path::new("/home").join(&long).join(&long).join(&long);

        assert_eq!(socket_dir(&data, Some(base.path()), &caller).parent(), Some(base.path()));
        for runtime_dir in
            [Some(long_base.as_path()), Some(Path::new("/proc/nowhere")), Some(Path::new("run")), None]
        {
            let dir = socket_dir(&data, runtime_dir, &caller);
            assert_eq!(dir.parent(), Some(Path::new("/tmp")), "for {runtime_dir:?}");
            assert!(dir.as_os_str().len() <= LONGEST_SOCKET_DIR);
        }
        let other = RunAs::Other { name: "postgres".into(), uid: 101, gid: 104 };
        assert_eq!(socket_dir(&data, Some(base.path()), &other).parent(), Some(Path::new("/tmp")));
    }
}
