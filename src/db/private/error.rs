//! What can go wrong with the private server, in words for the person who has to mend it.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Why the private server could not be found, made, started, shared or stopped.
///
/// `Display` is one line that says what happened; [`PrivateError::hint`] is one line that says what to do next.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PrivateError {
    /// No `PostgreSQL` server programs anywhere.
    #[error("no PostgreSQL server programs were found ({} places searched)", .looked_in.len())]
    NoPrograms {
        /// Folders that were searched, in order.
        looked_in: Vec<PathBuf>,
        /// The command that installs them on this system.
        install: String,
    },
    /// The folder that was named for the programs holds none that work.
    #[error("the folder named for the PostgreSQL programs, {}, cannot be used: {reason}", .dir.display())]
    NamedPrograms {
        /// The folder, from `TASKDECK_PG_BIN`.
        dir: PathBuf,
        /// What is missing there.
        reason: String,
    },
    /// Programs exist, but none of a version that is supported.
    #[error("only unsupported PostgreSQL versions were found: {found} (14 to 18 are supported)")]
    UnsupportedVersions {
        /// The versions that were found, separated by commas.
        found: String,
        /// The command that installs a supported one on this system.
        install: String,
    },
    /// Running as root, and the account of the server may not run the programs.
    #[error("the user {user}, as whom the server must run, may not execute {}", .program.display())]
    ProgramsUnreachable {
        /// The program.
        program: PathBuf,
        /// The account of the server.
        user: String,
    },
    /// Running as root on a system without an account for the server.
    #[error("PostgreSQL refuses to run as root, and this system has neither a user postgres nor nobody")]
    NoAccount,
    /// No data folder was named and the user has no home.
    #[error("no data folder: neither XDG_DATA_HOME nor HOME is set to an absolute path")]
    NoHome,
    /// The account of the server cannot reach the folder.
    #[error(
        "the user {user}, as whom the server must run, cannot enter {}, so it cannot reach {}",
        .component.display(), .folder.display()
    )]
    FolderUnreachable {
        /// The data folder.
        folder: PathBuf,
        /// The first part of its path that is closed to the account.
        component: PathBuf,
        /// The account of the server.
        user: String,
    },
    /// The cluster belongs to another account than the one the server would run as.
    #[error("{} belongs to user id {owner}, but the server would run as user id {expected}", .path.display())]
    WrongOwner {
        /// The cluster's data folder.
        path: PathBuf,
        /// Who owns it.
        owner: u32,
        /// Who the server would run as.
        expected: u32,
    },
    /// Something stands where the cluster would be, and Taskdeck did not make it.
    #[error("{} exists but was not made by Taskdeck", .path.display())]
    NotOurs {
        /// What stands in the way.
        path: PathBuf,
    },
    /// The folder for the socket is not safely ours.
    #[error("the socket folder {} cannot be trusted: {reason}", .path.display())]
    SocketDirTaken {
        /// The folder.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// Another Taskdeck is starting or stopping this server and did not finish in time.
    #[error("waited {} s for another Taskdeck that is busy with this server ({holder})", .waited.as_secs())]
    Busy {
        /// Who holds the lock, as that process wrote it.
        holder: String,
        /// How long it was waited for.
        waited: Duration,
    },
    /// The server's files are in use, by processes that are not to be seen from here.
    #[error(
        "the files in {} are still in use by a PostgreSQL that is not visible here (another container or host, or left-over backends)",
        .folder.display()
    )]
    HeldElsewhere {
        /// The cluster's folder.
        folder: PathBuf,
    },
    /// Making the cluster failed.
    #[error("making the database cluster failed: {output}")]
    InitFailed {
        /// The end of what the program said, on one line.
        output: String,
    },
    /// The server ended before it was ready.
    #[error("the PostgreSQL server did not start: {output}")]
    StartFailed {
        /// The end of the server's log, on one line.
        output: String,
        /// Where the whole log is.
        log: PathBuf,
    },
    /// The server runs but does not accept connections yet, for example because it recovers from a crash.
    #[error("the PostgreSQL server (PID {pid}) was not ready after {} s: {output}", .waited.as_secs())]
    NotReady {
        /// Its process id. It was left running.
        pid: u32,
        /// How long it was waited for.
        waited: Duration,
        /// What it answered last.
        output: String,
    },
    /// The server's process is stopped: by a signal, or by a debugger that holds it.
    #[error(
        "the PostgreSQL server (PID {pid}) is frozen: its process was stopped by a signal or is held by a debugger"
    )]
    Frozen {
        /// Its process id. It was left as it is.
        pid: u32,
    },
    /// The server runs and its socket takes connections, but nothing is said on them.
    #[error("the PostgreSQL server (PID {pid}) runs but gives no answer: nothing came within {:.1} s", .waited.as_secs_f64())]
    Silent {
        /// Its process id. It was left as it is.
        pid: u32,
        /// How long it was waited for.
        waited: Duration,
    },
    /// The server runs, others use it, but its socket is gone.
    #[error("the PostgreSQL server (PID {pid}) runs, but its socket {} is gone", .socket.display())]
    SocketLost {
        /// Its process id.
        pid: u32,
        /// Where the socket should be.
        socket: PathBuf,
    },
    /// The server runs again, started by somebody with another folder for its socket.
    #[error("the PostgreSQL server runs again, but its socket is in {} now, not in {}", .to.display(), .from.display())]
    SocketMoved {
        /// Where this process's connections lead.
        from: PathBuf,
        /// Where the socket is.
        to: PathBuf,
    },
    /// The server was asked to stop and did not.
    #[error("the PostgreSQL server (PID {pid}) was asked to stop and still runs after {} s", .waited.as_secs())]
    StopTimedOut {
        /// Its process id.
        pid: u32,
        /// How long it was waited for.
        waited: Duration,
    },
    /// Others use the server.
    #[error("the private server in {} is in use by another Taskdeck", .folder.display())]
    InUse {
        /// The cluster's folder.
        folder: PathBuf,
    },
    /// A file, folder or process could not be worked on.
    #[error("could not {action} {}: {source}", .path.display())]
    Io {
        /// What was tried, as a verb with its object.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl PrivateError {
    /// One line that says what to do next.
    pub fn hint(&self) -> String {
        match self {
            Self::NoPrograms { install, .. } | Self::UnsupportedVersions { install, .. } => format!(
                "install the server ({install}), name the folder of its programs in TASKDECK_PG_BIN, \
                 or name a database with --database-url"
            ),
            Self::NamedPrograms { .. } => {
                "set TASKDECK_PG_BIN to the folder that holds postgres and initdb, or unset it".into()
            }
            Self::ProgramsUnreachable { user, .. } => format!(
                "make the program and the folders above it executable for {user}, or run Taskdeck as an ordinary user"
            ),
            Self::NoAccount => "run Taskdeck as an ordinary user, or create a system user named postgres".into(),
            Self::NoHome => "name a folder with --data-dir or TASKDECK_DATA_DIR".into(),
            Self::FolderUnreachable { component, user, .. } => format!(
                "open it with `chmod o+x {}`, name a folder that {user} can reach with --data-dir, \
                 or run Taskdeck as an ordinary user",
                component.display()
            ),
            Self::WrongOwner { .. } => {
                "run Taskdeck as that folder's owner, or name another folder with --data-dir".into()
            }
            Self::NotOurs { .. } => "name another folder with --data-dir, or move it away".into(),
            Self::SocketDirTaken { path, .. } => {
                format!("find out who made {} and remove it, then start again", path.display())
            }
            Self::Busy { .. } => {
                "try again; if that process hangs, end it: its lock goes with it and nothing is lost".into()
            }
            Self::HeldElsewhere { .. } => {
                "stop the Taskdeck that runs in the other container or on the other host, or try again in a minute"
                    .into()
            }
            Self::InitFailed { .. } => {
                "mend what the message names (space, permissions) and start again; nothing half-made is kept".into()
            }
            Self::StartFailed { log, .. } => format!("the whole log is in {}", log.display()),
            Self::NotReady { .. } => {
                "it was left running and goes on by itself; start again in a minute to join it".into()
            }
            Self::Frozen { pid } => format!(
                "`kill -CONT {pid}` lets it go on where it was, with every task; until then nothing else may work on its files"
            ),
            Self::Silent { pid, .. } => format!(
                "it was left as it is: it may be very slow or hang; look at it with `ps -o stat,wchan,args -p {pid}`, \
                 or wait longer with --acquire-timeout"
            ),
            Self::SocketMoved { .. } => "leave this Taskdeck and start it again".into(),
            Self::SocketLost { .. } => "leave every Taskdeck that uses it, then start again".into(),
            Self::StopTimedOut { pid, .. } => format!(
                "it goes on stopping by itself; look at it with `ps -p {pid}`, and wait before the machine is shut down"
            ),
            Self::InUse { .. } => "leave the other Taskdeck first, then try again".into(),
            Self::Io { source, .. } if source.kind() == io::ErrorKind::PermissionDenied => {
                "check who owns it, or name another folder with --data-dir".into()
            }
            Self::Io { .. } => "check that the disk has space and that the folder is writable".into(),
        }
    }
}

/// Turns an I/O error into one that says what was tried on what; for `map_err`.
pub(super) fn io_error(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> PrivateError {
    let path = path.to_owned();
    move |source| PrivateError::Io { action, path, source }
}

/// The last lines of a program's output on one line, each freed of blanks, at most about 600 bytes.
pub(super) fn last_lines(output: &str) -> String {
    let lines: Vec<&str> = output.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let mut kept = Vec::new();
    let mut bytes = 0;
    for line in lines.iter().rev().take(6) {
        bytes += line.len();
        if bytes > 600 && !kept.is_empty() {
            break;
        }
        kept.push(*line);
    }
    kept.reverse();
    if kept.is_empty() { "it said nothing".into() } else { kept.join(" / ") }
}
