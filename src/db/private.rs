//! The private server: a `PostgreSQL` that Taskdeck runs for itself when no database is named.
//!
//! One cluster per user and major version, on a Unix socket only, with durable settings always. All Taskdeck
//! processes of the user share its server; the last one to leave stops it. A process that is killed leaves the
//! server running, and the next one adopts it.
//!
//! Invariants: what is started, adopted or stopped is so under one exclusive lock; who uses the server holds a
//! shared lock that dies with it (see `private/lock.rs`); no process is signalled and no file is touched on the
//! strength of a process id alone.
//!
//! For the roots and the tests' support. Everything here blocks: call it from a blocking thread. It prints nothing.

mod account;
mod care;
mod error;
mod initialise;
mod keeper;
mod lock;
mod place;
mod postmaster;
mod programs;
mod serve;
mod wire;

use std::fmt::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, SystemTime};

pub use account::{RunAs, command, run_as};
pub use care::{Destroyed, Status, Stopped, Usage, destroy, status, stop};
pub use error::PrivateError;
pub use keeper::Kept;
pub use programs::{Programs, Search, find_programs};

use keeper::{Charge, Keeper};
use lock::{CallOff, PAUSE, Share, Until};
use place::Cluster;
use postmaster::{PidFile, Process, identify};
use serve::Waited;

/// The database in the cluster.
const DATABASE: &str = "taskdeck";
/// The cluster's superuser, as whom Taskdeck connects.
const USER: &str = "taskdeck";
/// How long a server may take to write out everything and stop.
const STOP_PATIENCE: Duration = Duration::from_secs(30);

/// Where to look and how long to wait.
#[derive(Debug, Clone)]
pub struct Options {
    /// The data folder that was named (`--data-dir`, `TASKDECK_DATA_DIR`); `None` is the user's own.
    pub data_dir: Option<PathBuf>,
    /// Where to look for the server's programs.
    pub search: Search,
    /// The user's runtime folder, for the socket; `/tmp` serves where it is missing, too long or not the user's.
    pub runtime_dir: Option<PathBuf>,
    /// How long to wait for another Taskdeck that starts or stops the server, and then for the server itself.
    pub patience: Duration,
    /// How long a server that is ready may give no answer to somebody who connects. One that is only slow must answer
    /// within this time.
    pub silence: Duration,
}

impl Options {
    /// The options that the environment asks for, with the given data folder, a patience of 60 s, and 5 s for an answer.
    pub fn from_env(data_dir: Option<PathBuf>) -> Self {
        Self {
            data_dir,
            search: Search::from_env(),
            runtime_dir: std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from),
            patience: Duration::from_mins(1),
            silence: Duration::from_secs(5),
        }
    }
}

/// How this process came by its server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// It made the cluster and started the server.
    Created,
    /// It started the server of a cluster that was there.
    Started,
    /// The server was running.
    Adopted,
}

/// What leaving came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Left {
    /// This was the last user, and the server is stopped.
    Stopped,
    /// Others use the server, and it goes on.
    StillUsedByOthers,
}

/// A share in the running private server; leaving, or dropping this, gives it up.
///
/// Close every connection before: if this was the last share, the server ends what is still open.
#[derive(Debug)]
pub struct PrivateServer {
    folder: PathBuf,
    cluster: Cluster,
    file: PidFile,
    version: String,
    origin: Origin,
    stranded: Vec<Cluster>,
    programs: Programs,
    options: Options,
    keeper: Option<Keeper>,
    share: Option<Share>,
}

impl PrivateServer {
    /// Finds the programs, makes the cluster if there is none, starts or adopts its server, and takes a share in it.
    ///
    /// # Errors
    /// Whatever stands in the way, see [`PrivateError`]. A server that was started but is not ready in time is left
    /// running, because it may be recovering; the next start adopts it. So is one that is frozen or gives no answer.
    pub fn start(options: &Options) -> Result<Self, PrivateError> {
        let run_as = run_as()?;
        let programs = find_programs(&options.search, &run_as)?;
        let folder = place::data_folder(options.data_dir.as_deref(), &run_as)?;
        // Asked before anything is created, so that a folder that cannot be used is left as it was.
        if let (Some(there), Some(any)) = (folder.ancestors().find(|part| part.exists()), programs.first()) {
            account::check_reach(there, &any.postgres, &run_as)?;
        }
        let folder = place::make_folder(&folder, &run_as)?;
        let _lock = lock::start_lock(&folder, "starting it", &Until::after(options.patience))?;
        let Some(place::Choice { cluster, programs, stranded }) = place::choose(&folder, &programs)? else {
            return Err(PrivateError::NoPrograms { looked_in: Vec::new(), install: "postgresql".into() });
        };
        account::check_reach(&folder, &programs.postgres, &run_as)?;
        place::make_folder(&cluster.root, &run_as)?;
        account::check_reach(&cluster.root, &programs.postgres, &run_as)?;
        initialise::sweep(&cluster);
        let created = !cluster.exists()?;
        if created {
            initialise::create(&cluster, programs, &run_as)?;
        }
        check_owner(&cluster, &run_as)?;
        let (origin, file, version) =
            get_running(&cluster, programs, &run_as, options, None, &CallOff::default())?;
        place::check_socket_dir(&file.socket_dir, &run_as)?;
        let share = Some(Share::take(&cluster.users_lock())?);
        Ok(Self {
            folder,
            version: version.unwrap_or_else(|| programs.version.clone()),
            origin: if created { Origin::Created } else { origin },
            cluster,
            file,
            stranded,
            programs: programs.clone(),
            options: options.clone(),
            keeper: None,
            share,
        })
    }

    /// The address of the database, for `tokio-postgres` and for libpq (`psql URL`). There is no password in it.
    pub fn url(&self) -> String {
        connection_url(self.socket_dir(), self.port())
    }

    /// One line for the user: which server, where, and how it was come by.
    pub fn announcement(&self) -> String {
        let how = match self.origin {
            Origin::Created => "created",
            Origin::Started => "started",
            Origin::Adopted => "adopted",
        };
        let mut line =
            format!("private PostgreSQL {} in {} ({how})", self.version, self.cluster.root.display());
        for other in &self.stranded {
            // Writing into a string cannot fail.
            let _ = write!(
                line,
                "; the tasks in {} stay there until the PostgreSQL {} programs are installed again",
                other.root.display(),
                other.major
            );
        }
        line
    }

    /// How this process came by the server.
    pub fn origin(&self) -> Origin {
        self.origin
    }

    /// The folder that holds the socket.
    pub fn socket_dir(&self) -> &Path {
        &self.file.socket_dir
    }

    /// The port number in the socket's name.
    pub fn port(&self) -> u16 {
        self.file.port
    }

    /// The database to connect to.
    pub fn database(&self) -> &'static str {
        DATABASE
    }

    /// The role to connect as, a superuser of this cluster.
    pub fn user(&self) -> &'static str {
        USER
    }

    /// The server's major version.
    pub fn major(&self) -> u32 {
        self.cluster.major
    }

    /// The server's process id when this process joined it.
    pub fn pid(&self) -> u32 {
        self.file.pid
    }

    /// The cluster's folder.
    pub fn folder(&self) -> &Path {
        &self.cluster.root
    }

    /// Looks after the server from now on: if its process has gone it is started again, with every task that was
    /// committed. `tell` is called on a thread of its own.
    ///
    /// # Errors
    /// If the system gives no thread.
    pub fn keep_running(&mut self, tell: impl FnMut(Kept) + Send + 'static) -> Result<(), PrivateError> {
        let charge = Charge {
            folder: self.folder.clone(),
            cluster: self.cluster.clone(),
            programs: self.programs.clone(),
            socket_dir: self.file.socket_dir.clone(),
            pid: self.file.pid,
            options: self.options.clone(),
        };
        let keeper = Keeper::start(charge, tell).map_err(error::io_error("look after", &self.folder))?;
        self.keeper = Some(keeper);
        Ok(())
    }

    /// Gives the share up, and stops the server if it was the last one. Close every connection before.
    ///
    /// # Errors
    /// [`PrivateError::Busy`] when another Taskdeck is starting or stopping the server all the time (the share is
    /// given up, and that other one looks after the server); [`PrivateError::StopTimedOut`] when it does not end.
    pub fn leave(mut self) -> Result<Left, PrivateError> {
        self.give_up()
    }

    fn give_up(&mut self) -> Result<Left, PrivateError> {
        let Some(share) = self.share.take() else { return Ok(Left::StillUsedByOthers) };
        // What is stopped below must not be started again.
        self.keeper = None;
        // The share is kept until the lock is there: who looks meanwhile still sees a user, and this process looks
        // once more after it. So of several that leave at once, exactly the last one stops the server.
        let _lock = lock::start_lock(&self.folder, "leaving it", &Until::after(self.options.patience))?;
        drop(share);
        let Some(_alone) = lock::nobody_uses(&self.cluster.users_lock())? else {
            return Ok(Left::StillUsedByOthers);
        };
        care::stop_unused(&self.cluster)?;
        Ok(Left::Stopped)
    }
}

impl Drop for PrivateServer {
    fn drop(&mut self) {
        // Best effort: a server that could not be stopped is adopted by the next Taskdeck.
        let _ = self.give_up();
    }
}

/// Adopts the cluster's server or starts it, with its socket in `socket_dir` if that is given. Waits for
/// `options.patience` at most, or until it is called off. To be called under `start.lock`.
fn get_running(
    cluster: &Cluster,
    programs: &Programs,
    run_as: &RunAs,
    options: &Options,
    socket_dir: Option<&Path>,
    off: &CallOff,
) -> Result<(Origin, PidFile, Option<String>), PrivateError> {
    let until = Until::unless(options.patience, off);
    let data = cluster.data();
    let since = SystemTime::now();
    // Each turn either ends or leaves less of an earlier server.
    loop {
        let (origin, waited) = match PidFile::read(cluster)? {
            Some(file) if identify(file.pid, &data) == Process::Server => {
                let gone = || identify(file.pid, &data) != Process::Server;
                (Origin::Adopted, serve::await_ready(cluster, file.pid, gone, options.silence, &until)?)
            }
            other => {
                let Some(server_lock) = lock::server_lock(&cluster.server_lock())? else {
                    // It has yet to write its file, or is ending without one, or is out of sight.
                    if until.has_come() {
                        return Err(PrivateError::HeldElsewhere { folder: cluster.root.clone() });
                    }
                    thread::sleep(PAUSE);
                    continue;
                };
                if other.is_some_and(|file| identify(file.pid, &data) == Process::Stranger) {
                    postmaster::disown(cluster, run_as)?;
                }
                let socket_dir = match socket_dir {
                    Some(dir) => place::take_socket_dir(dir, run_as)?,
                    None => place::make_socket_dir(cluster, options.runtime_dir.as_deref(), run_as)?,
                };
                let mut child = serve::spawn(cluster, programs, &socket_dir, run_as, server_lock)?;
                let pid = child.id();
                let gone = || !matches!(child.try_wait(), Ok(None));
                let waited = serve::await_ready(cluster, pid, gone, options.silence, &until);
                serve::reap(child);
                (Origin::Started, waited?)
            }
        };
        match waited {
            Waited::Ready { file, version } => return Ok((origin, file, version)),
            Waited::Gone if origin == Origin::Adopted => {}
            Waited::Gone => {
                let output = serve::last_words(cluster, since);
                // Backends of a server that was killed have not all ended yet; they do, one by one.
                let left_over = output.contains("is still in use");
                if !left_over || until.has_come() {
                    return Err(PrivateError::StartFailed { output, log: cluster.startup_log() });
                }
            }
            Waited::SocketLost { file } => {
                let Some(_alone) = lock::nobody_uses(&cluster.users_lock())? else {
                    return Err(PrivateError::SocketLost { pid: file.pid, socket: file.socket() });
                };
                serve::shut_down(cluster, file.pid, &Until::unless(STOP_PATIENCE, off))?;
            }
        }
    }
}

/// The server insists on owning its files; better said before than read in its log.
fn check_owner(cluster: &Cluster, run_as: &RunAs) -> Result<(), PrivateError> {
    use std::os::unix::fs::MetadataExt;
    let path = cluster.data();
    let owner = std::fs::metadata(&path).map_err(error::io_error("look at", &path))?.uid();
    let expected = run_as.uid();
    if owner == expected { Ok(()) } else { Err(PrivateError::WrongOwner { path, owner, expected }) }
}

/// `postgresql://taskdeck@/taskdeck?host=…&port=…`; a socket's folder in the host place needs every slash escaped.
fn connection_url(socket_dir: &Path, port: u16) -> String {
    let mut url = format!("postgresql://{USER}@/{DATABASE}?host=");
    for byte in socket_dir.as_os_str().as_bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(byte) {
            url.push(char::from(*byte));
        } else {
            let _ = write!(url, "%{byte:02X}");
        }
    }
    url + &format!("&port={port}")
}

#[cfg(test)]
mod tests {
    use super::connection_url;

    #[test]
    fn a_socket_folder_is_escaped_in_the_url() {
        let url = connection_url("/tmp/a b/ü&x=1".as_ref(), 5432);
        assert_eq!(url, "postgresql://taskdeck@/taskdeck?host=%2Ftmp%2Fa%20b%2F%C3%BC%26x%3D1&port=5432");
    }
}
