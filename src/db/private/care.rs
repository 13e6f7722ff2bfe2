//! Looks after a private server without using it: status, stop, destroy.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::thread;

use jiff::Timestamp;

use super::account::run_as;
use super::error::{PrivateError, io_error};
use super::initialise;
use super::lock::{self, Held, PAUSE, Until};
use super::place::{self, Cluster};
use super::postmaster::{PidFile, Process, identify};
use super::programs::find_programs;
use super::{Options, STOP_PATIENCE, connection_url, serve};

/// What there is of a private server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Status {
    /// No cluster was made yet.
    None {
        /// The data folder where it would be.
        folder: PathBuf,
    },
    /// There is a cluster, and no server runs on it.
    Stopped {
        /// The cluster's folder.
        folder: PathBuf,
        /// Its major version.
        major: u32,
    },
    /// A server runs.
    Running {
        /// The cluster's folder.
        folder: PathBuf,
        /// Its major version.
        major: u32,
        /// The server's process id.
        pid: u32,
        /// When the server started, by this machine's clock.
        since: Timestamp,
        /// Where to connect.
        url: String,
        /// Whether a Taskdeck uses it.
        usage: Usage,
    },
}

/// Whether a Taskdeck process uses a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Usage {
    /// At least one does.
    InUse,
    /// None does: the last one was killed before it could stop the server.
    Unused,
}

/// What [`stop`] did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stopped {
    /// The server ran and is stopped.
    Stopped,
    /// No server ran.
    NotRunning,
}

/// What [`destroy`] did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Destroyed {
    /// The cluster and all tasks in it are gone.
    Removed {
        /// The folder that it was in.
        folder: PathBuf,
    },
    /// There was no cluster.
    Nothing,
}

/// Says whether there is a cluster and whether its server runs. Creates and starts nothing.
///
/// # Errors
/// [`PrivateError::Busy`] while another Taskdeck starts or stops it for longer than `options.patience`; and what
/// makes the folder unreadable.
pub fn status(options: &Options) -> Result<Status, PrivateError> {
    let Some((cluster, _lock)) = find(options, "looking at it")? else {
        let folder = place::data_folder(options.data_dir.as_deref(), &run_as()?)?;
        return Ok(Status::None { folder });
    };
    let Some(file) = running(&cluster)? else {
        return Ok(Status::Stopped { folder: cluster.root, major: cluster.major });
    };
    let unused = lock::nobody_uses(&cluster.users_lock())?.is_some();
    Ok(Status::Running {
        pid: file.pid,
        since: Timestamp::from_second(file.since).unwrap_or_default(),
        url: connection_url(&file.socket_dir, file.port),
        usage: if unused { Usage::Unused } else { Usage::InUse },
        folder: cluster.root,
        major: cluster.major,
    })
}

/// Stops the server if nobody uses it.
///
/// # Errors
/// [`PrivateError::InUse`] while a Taskdeck uses it, [`PrivateError::StopTimedOut`] when it does not end, and as for
/// [`status`].
pub fn stop(options: &Options) -> Result<Stopped, PrivateError> {
    let Some((cluster, _lock)) = find(options, "stopping it")? else { return Ok(Stopped::NotRunning) };
    let _alone = alone(&cluster)?;
    stop_unused(&cluster)
}

/// Stops the server if nobody uses it, and removes the cluster with every task in it. The caller asks before.
///
/// # Errors
/// As for [`stop`]; and when files cannot be removed, which the next start then does.
pub fn destroy(options: &Options) -> Result<Destroyed, PrivateError> {
    let Some((cluster, _lock)) = find(options, "destroying it")? else { return Ok(Destroyed::Nothing) };
    let alone = alone(&cluster)?;
    stop_unused(&cluster)?;
    // First the name goes, in one step: a call that is killed now leaves no half of a cluster to be started.
    let discarded = initialise::unfinished(&cluster);
    fs::rename(cluster.data(), &discarded).map_err(io_error("rename", &cluster.data()))?;
    fs::remove_dir_all(&discarded).map_err(io_error("remove", &discarded))?;
    initialise::sweep(&cluster);
    place::remove_socket_dir(&cluster, options.runtime_dir.as_deref(), &run_as()?);
    let absent = |result: io::Result<()>| match result {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    };
    let log = cluster.log_dir();
    absent(fs::remove_dir_all(&log)).map_err(io_error("remove", &log))?;
    drop(alone);
    for path in [cluster.startup_log(), cluster.server_lock(), cluster.users_lock()] {
        absent(fs::remove_file(&path)).map_err(io_error("remove", &path))?;
    }
    // Only what Taskdeck put there is removed; if anything else is in the folder, the folder stays.
    let _ = fs::remove_dir(&cluster.root);
    Ok(Destroyed::Removed { folder: cluster.root })
}

/// The cluster that a start would use, under `start.lock`; `None` when there is none. It is found, too, when its
/// programs are gone.
fn find(options: &Options, purpose: &str) -> Result<Option<(Cluster, Held)>, PrivateError> {
    let run_as = run_as()?;
    let folder = place::data_folder(options.data_dir.as_deref(), &run_as)?;
    if place::clusters(&folder)?.is_empty() {
        return Ok(None);
    }
    let folder = fs::canonicalize(&folder).map_err(io_error("resolve", &folder))?;
    let lock = lock::start_lock(&folder, purpose, &Until::after(options.patience))?;
    let programs = find_programs(&options.search, &run_as).unwrap_or_default();
    let chosen = place::choose(&folder, &programs)?.map(|choice| choice.cluster);
    let clusters = place::clusters(&folder)?;
    let cluster = match chosen {
        Some(cluster) if clusters.contains(&cluster) => Some(cluster),
        _ => clusters.into_iter().next(),
    };
    Ok(cluster.map(|cluster| (cluster, lock)))
}

fn alone(cluster: &Cluster) -> Result<Held, PrivateError> {
    lock::nobody_uses(&cluster.users_lock())?
        .ok_or_else(|| PrivateError::InUse { folder: cluster.root.clone() })
}

/// The server of the cluster, if one runs.
fn running(cluster: &Cluster) -> Result<Option<PidFile>, PrivateError> {
    let file = PidFile::read(cluster)?;
    Ok(file.filter(|file| identify(file.pid, &cluster.data()) == Process::Server))
}

/// Stops the cluster's server if it runs. To be called under `start.lock` and with `users.lock` held exclusively.
pub(super) fn stop_unused(cluster: &Cluster) -> Result<Stopped, PrivateError> {
    let until = Until::after(STOP_PATIENCE);
    loop {
        if let Some(file) = running(cluster)? {
            serve::shut_down(cluster, file.pid, &until)?;
            // Its folder is only tidied away if it is empty, so a wrong name in the file does no harm.
            let _ = fs::remove_dir(&file.socket_dir);
            return Ok(Stopped::Stopped);
        }
        if lock::server_lock(&cluster.server_lock())?.is_some() {
            return Ok(Stopped::NotRunning);
        }
        // A server that has just been started, by a Taskdeck that was killed then, has yet to write its file.
        if until.has_come() {
            return Err(PrivateError::HeldElsewhere { folder: cluster.root.clone() });
        }
        thread::sleep(PAUSE);
    }
}
