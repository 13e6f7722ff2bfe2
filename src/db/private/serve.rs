//! Starts, awaits and stops the server's process.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use rustix::fs::OFlags;
use rustix::process::{Pid, Signal, kill_process};

use super::account::{RunAs, command};
use super::error::{PrivateError, io_error, last_lines};
use super::lock::{self, PAUSE, Until};
use super::place::Cluster;
use super::postmaster::{PidFile, Process, identify, is_stopped};
use super::programs::Programs;
use super::wire::{Answer, ask};
use super::{DATABASE, USER};

/// A day's log that grew beyond this is removed before a start, in bytes.
const LARGEST_LOG: u64 = 16 * 1024 * 1024;

/// How long a server that says "ready" may be without a socket before the socket counts as lost.
const SOCKET_GRACE: Duration = Duration::from_secs(2);

/// How long a server may be stopped before that is told: whoever stopped it may be about to let it go on.
const STOPPED_GRACE: Duration = Duration::from_secs(1);

/// How long one connection to a server that is still starting is waited for.
const ASK_AGAIN: Duration = Duration::from_secs(5);

/// What waiting for a server came to.
#[derive(Debug)]
pub(super) enum Waited {
    /// It takes connections.
    Ready { file: PidFile, version: Option<String> },
    /// It ended.
    Gone,
    /// It runs, but nobody can connect: its socket was removed.
    SocketLost { file: PidFile },
}

/// Starts the cluster's server, and hands it `server_lock`.
pub(super) fn spawn(
    cluster: &Cluster,
    programs: &Programs,
    socket_dir: &Path,
    run_as: &RunAs,
    server_lock: File,
) -> Result<Child, PrivateError> {
    let log_dir = make_log_dir(cluster, run_as)?;
    let startup_log = cluster.startup_log();
    let startup = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .custom_flags(OFlags::NOFOLLOW.bits().cast_signed())
        .open(&startup_log)
        .map_err(io_error("open", &startup_log))?;
    let text = |path: &Path| path.as_os_str().to_owned();
    let setting = |name: &str, path: &Path| {
        let mut setting = std::ffi::OsString::from(format!("{name}="));
        setting.push(path);
        setting
    };
    command(&programs.postgres, run_as)
        .arg("-D")
        .arg(text(&cluster.data()))
        .arg("-c")
        .arg(setting("unix_socket_directories", socket_dir))
        .arg("-c")
        .arg(setting("log_directory", &log_dir))
        .args(SETTINGS.iter().flat_map(|setting| ["-c", setting]))
        // The lock is the server's from here on: see the module `lock`.
        .stdin(Stdio::from(server_lock))
        .stderr(Stdio::from(startup))
        .spawn()
        .map_err(io_error("run", &programs.postgres))
}

/// What every private server runs with. On the command line these win over the files in the cluster, so that the
/// durable ones cannot be lost: an acknowledged submit is on the disk.
const SETTINGS: [&str; 16] = [
    "listen_addresses=",
    "port=5432",
    "unix_socket_permissions=0700",
    "fsync=on",
    "synchronous_commit=on",
    "full_page_writes=on",
    "max_connections=100",
    "shared_buffers=128MB",
    "cluster_name=taskdeck",
    // One file a weekday, emptied when its day comes again.
    "logging_collector=on",
    "log_destination=stderr",
    "log_filename=postgresql-%a.log",
    "log_truncate_on_rotation=on",
    "log_rotation_age=1d",
    "log_rotation_size=0",
    "log_line_prefix=%m [%p] %a ",
];

/// Takes the exit status of the server when it ends, so that it does not stay as a zombie while this process lives.
pub(super) fn reap(mut child: Child) {
    let waiter = thread::Builder::new().name("private-server".into());
    // Without a thread the zombie stays until this process ends; nothing relies on the reaping.
    let _ = waiter.spawn(move || child.wait());
}

fn make_log_dir(cluster: &Cluster, run_as: &RunAs) -> Result<std::path::PathBuf, PrivateError> {
    let dir = cluster.log_dir();
    if !dir.exists() {
        DirBuilder::new().mode(0o700).create(&dir).map_err(io_error("create the folder", &dir))?;
    }
    // Again each time: the call that made it may have been killed before it gave it away.
    run_as.give(&dir).map_err(io_error("change the owner of", &dir))?;
    for entry in fs::read_dir(&dir).map_err(io_error("read the folder", &dir))?.flatten() {
        if entry.metadata().is_ok_and(|metadata| metadata.len() > LARGEST_LOG) {
            // A log that stays too large is no reason not to start.
            let _ = fs::remove_file(entry.path());
        }
    }
    Ok(dir)
}

/// Waits until process `pid`, the cluster's server, takes connections or `gone` says that it ended.
///
/// A child is asked after as a child: just after its start it does not look like a server yet. One that says of itself
/// that it is ready has `silence` to answer; one that starts or recovers has until `until`.
///
/// # Errors
/// [`PrivateError::NotReady`] when `until` has come, with what the server said last, or at once when it refuses for good;
/// [`PrivateError::Frozen`] when its process is stopped; [`PrivateError::Silent`] when it gives no answer. It is left as
/// it is in each case: while it lives, nothing else may work on its files.
pub(super) fn await_ready(
    cluster: &Cluster,
    pid: u32,
    mut gone: impl FnMut() -> bool,
    silence: Duration,
    until: &Until,
) -> Result<Waited, PrivateError> {
    let began = Instant::now();
    let mut stopped = Stopped::default();
    let mut socket_missing_since = None;
    let mut said = String::from("it has not said anything yet");
    loop {
        if gone() {
            return Ok(Waited::Gone);
        }
        // What is stopped is not asked: the connection would wait in its queue, and the queue ends.
        if stopped.look(pid) {
            if stopped.lasts(silence) {
                return Err(PrivateError::Frozen { pid });
            }
        } else if let Some(file) = PidFile::read(cluster)?.filter(|file| file.pid == pid && file.port != 0) {
            let (asked, is_ready) = (Instant::now(), file.status == "ready");
            let within = if is_ready { silence } else { ASK_AGAIN };
            let over = || until.has_come() || asked.elapsed() >= within;
            match ask(&file.socket(), USER, DATABASE, &over) {
                Answer::Silent if is_ready && asked.elapsed() >= within => {
                    if is_stopped(pid) {
                        return Err(PrivateError::Frozen { pid });
                    }
                    return Err(PrivateError::Silent { pid, waited: asked.elapsed() });
                }
                Answer::Silent => said = "it takes connections and says nothing".into(),
                Answer::Ready { version } if file.status != "stopping" => {
                    return Ok(Waited::Ready { file, version });
                }
                Answer::Ready { .. } => said = "it is shutting down".into(),
                Answer::NotYet { message } => said = message,
                Answer::Refused { message } => {
                    return Err(PrivateError::NotReady { pid, waited: began.elapsed(), output: message });
                }
                Answer::NoSocket if file.status == "ready" => {
                    said = "its socket is missing".into();
                    if socket_missing_since.get_or_insert_with(Instant::now).elapsed() >= SOCKET_GRACE {
                        return Ok(Waited::SocketLost { file });
                    }
                }
                Answer::NoSocket => {}
            }
        }
        if until.has_come() {
            return Err(PrivateError::NotReady { pid, waited: began.elapsed(), output: said });
        }
        thread::sleep(PAUSE);
    }
}

/// For how long a process has been stopped by a signal.
#[derive(Debug, Default)]
struct Stopped(Option<Instant>);

impl Stopped {
    /// Looks whether it is.
    fn look(&mut self, pid: u32) -> bool {
        if is_stopped(pid) {
            self.0.get_or_insert_with(Instant::now);
        } else {
            self.0 = None;
        }
        self.0.is_some()
    }

    /// Whether it has been for so long that it is told, at most `most`.
    fn lasts(&self, most: Duration) -> bool {
        self.0.is_some_and(|since| since.elapsed() >= STOPPED_GRACE.min(most))
    }
}

/// Asks the cluster's server to end its sessions and stop, and waits until it is gone.
///
/// # Errors
/// [`PrivateError::StopTimedOut`] when `until` has come, [`PrivateError::Frozen`] when its process is stopped. It is not
/// killed then: it is still writing what was acknowledged, or will once it goes on.
pub(super) fn shut_down(cluster: &Cluster, pid: u32, until: &Until) -> Result<(), PrivateError> {
    let began = Instant::now();
    let data = cluster.data();
    if identify(pid, &data) == Process::Server {
        let target = i32::try_from(pid).ok().and_then(Pid::from_raw);
        // SIGINT is "fast": sessions are ended, nothing is lost. A process that is gone already is what is wanted.
        match target.map(|target| kill_process(target, Signal::INT)) {
            None | Some(Ok(()) | Err(rustix::io::Errno::SRCH)) => {}
            Some(Err(error)) => return Err(io_error("signal the server of", &data)(error.into())),
        }
    }
    let mut stopped = Stopped::default();
    while identify(pid, &data) == Process::Server || lock::server_lock(&cluster.server_lock())?.is_none() {
        if stopped.look(pid) && stopped.lasts(STOPPED_GRACE) {
            return Err(PrivateError::Frozen { pid });
        }
        if until.has_come() {
            return Err(PrivateError::StopTimedOut { pid, waited: began.elapsed() });
        }
        thread::sleep(PAUSE);
    }
    Ok(())
}

/// Why a server that was started at `since` ended: the end of what it said, on one line.
pub(super) fn last_words(cluster: &Cluster, since: SystemTime) -> String {
    let mut words = tail(&cluster.startup_log());
    // Once its collector runs, the server writes into the day's log.
    let entries = fs::read_dir(cluster.log_dir()).into_iter().flatten().flatten();
    let newest = entries
        .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
        .filter(|(modified, _)| *modified >= since)
        .max();
    if let Some((_, path)) = newest {
        words =
            words.lines().filter(|line| !is_pointer(line)).fold(String::new(), |all, line| all + line + "\n");
        words += &tail(&path);
    }
    last_lines(&words)
}

/// Whether a line only says where the other lines are.
fn is_pointer(line: &str) -> bool {
    line.contains("redirecting log output") || line.contains("Future log output")
}

/// The last 4 KiB of a file that may be another account's: a link is not followed. Empty when it cannot be read.
fn tail(path: &Path) -> String {
    let read = || {
        let flags = OFlags::NOFOLLOW.bits().cast_signed();
        let mut file: File = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(4096)))?;
        let mut bytes = Vec::new();
        file.take(4096).read_to_end(&mut bytes)?;
        Ok::<_, std::io::Error>(String::from_utf8_lossy(&bytes).into_owned())
    };
    read().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::os::unix::net::UnixListener;

    use super::*;

    /// What a server says to one connection.
    #[derive(Clone, Copy)]
    enum Says {
        /// Nothing, for as long as the other end waits.
        Nothing,
        /// That it is starting.
        Starting,
        /// That it is ready, after a while.
        ReadyAfter(Duration),
    }

    /// Awaits a server that calls itself `status` and answers one connection after the other in this way.
    fn awaited(status: &str, says: &[Says], silence: Duration) -> Result<Waited, PrivateError> {
        let folder = tempfile::tempdir().expect("a folder");
        let cluster = Cluster { root: folder.path().to_path_buf(), major: 16 };
        fs::create_dir(cluster.data()).expect("a folder");
        let (pid, dir) = (std::process::id(), folder.path().display());
        let file = format!("{pid}\n/data\n1700000000\n5432\n{dir}\n\n1 2\n{status}\n");
        fs::write(cluster.pid_file(), file).expect("a file");
        let listener = UnixListener::bind(folder.path().join(".s.PGSQL.5432")).expect("a socket");
        let says = says.to_vec();
        thread::spawn(move || {
            let mut silent = Vec::new();
            for says in says {
                let (mut stream, _) = listener.accept().expect("somebody connects");
                let starting = b"E\x00\x00\x00\x16C57P03\0Mstarting\0\0";
                let answer: &[u8] = match says {
                    Says::Nothing => {
                        silent.push(stream);
                        continue;
                    }
                    Says::Starting => starting,
                    Says::ReadyAfter(wait) => {
                        thread::sleep(wait);
                        b"Z\x00\x00\x00\x05I"
                    }
                };
                // The other end may have given up.
                let _ = stream.read(&mut [0; 1024]);
                let _ = stream.write_all(answer);
            }
            // A silent connection stays open until the process ends.
            std::mem::forget(silent);
        });
        await_ready(&cluster, pid, || false, silence, &Until::after(Duration::from_hours(1)))
    }

    #[test]
    fn a_server_that_is_slow_or_still_starting_is_waited_for() {
        let slow = Says::ReadyAfter(Duration::from_millis(400));
        let answer = awaited("ready", &[slow], Duration::from_hours(1));
        assert!(matches!(answer, Ok(Waited::Ready { .. })), "{answer:?}");
        // What says that it is starting is not silent.
        let starts = [Says::Starting, Says::Starting, Says::ReadyAfter(Duration::ZERO)];
        let answer = awaited("starting", &starts, Duration::ZERO);
        assert!(matches!(answer, Ok(Waited::Ready { .. })), "{answer:?}");
    }

    #[test]
    fn a_server_that_is_ready_and_says_nothing_is_told_before_its_time_is_up() {
        let answer = awaited("ready", &[Says::Nothing, Says::Nothing], Duration::from_millis(200));
        assert!(matches!(answer, Err(PrivateError::Silent { .. })), "{answer:?}");
    }
}
