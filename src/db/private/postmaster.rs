//! Who is behind a cluster's `postmaster.pid`.
//!
//! A process id in a file proves nothing: the process may have died and its id may be another's now, which happens
//! soon where ids are few (containers). The server itself refuses to start then.

use std::ffi::OsStr;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::account::RunAs;
use super::error::{PrivateError, io_error};
use super::place::Cluster;
use crate::domain::handed::HANDED_ON;

/// What the server writes into `postmaster.pid`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PidFile {
    pub(super) pid: u32,
    /// When it started, in seconds since 1970.
    pub(super) since: i64,
    pub(super) port: u16,
    pub(super) socket_dir: PathBuf,
    pub(super) status: String,
}

impl PidFile {
    /// The cluster's file, or `None` when there is none or it names no process.
    pub(super) fn read(cluster: &Cluster) -> Result<Option<Self>, PrivateError> {
        let path = cluster.pid_file();
        match fs::read(&path) {
            Ok(text) => Ok(Self::parse(&text)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(io_error("read", &path)(error)),
        }
    }

    /// The lines are: pid, data folder, start time, port, socket folder, listen address, memory key, status. The
    /// later ones are added while the server starts.
    fn parse(text: &[u8]) -> Option<Self> {
        let lines: Vec<&[u8]> = text.split(|byte| *byte == b'\n').collect();
        let line = |number: usize| lines.get(number).copied().unwrap_or_default().trim_ascii();
        let number = |at: usize| std::str::from_utf8(line(at)).ok()?.parse::<i64>().ok();
        Some(Self {
            // A single-user server writes its id with a minus.
            pid: u32::try_from(number(0)?.unsigned_abs()).ok().filter(|pid| *pid != 0)?,
            since: number(2).unwrap_or(0),
            port: number(3).and_then(|port| u16::try_from(port).ok()).unwrap_or(0),
            socket_dir: PathBuf::from(OsStr::from_bytes(line(4))),
            status: String::from_utf8_lossy(line(7)).into_owned(),
        })
    }

    /// The socket's path.
    pub(super) fn socket(&self) -> PathBuf {
        self.socket_dir.join(format!(".s.PGSQL.{}", self.port))
    }
}

/// What a process is to a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Process {
    /// It does not exist, or has ended and only waits to be reaped.
    Gone,
    /// It is the server of the cluster.
    Server,
    /// It is something else: another program, or the server of another cluster.
    Stranger,
}

/// Finds out what process `pid` is to the cluster in `data`.
pub(super) fn identify(pid: u32, data: &Path) -> Process {
    if Path::new("/proc/self/stat").exists() {
        identify_in_proc(pid, data)
    } else {
        identify_with_ps(pid, data)
    }
}

/// Whether process `pid` was stopped by a signal or is held by a debugger: it is there and does nothing until somebody
/// lets it go on. Of one that waits for a disk or a processor it is not said, however slow that makes it.
pub(super) fn is_stopped(pid: u32) -> bool {
    if Path::new("/proc/self/stat").exists() {
        let stat = fs::read(format!("/proc/{pid}/stat")).unwrap_or_default();
        return state_in(&stat).is_some_and(|(_, state)| matches!(state, b'T' | b't'));
    }
    let output = ps().args(["-o", "stat=", "-p", &pid.to_string()]).output();
    output.is_ok_and(|output| output.stdout.trim_ascii().first() == Some(&b'T'))
}

/// Where the name ends in a line of `/proc/…/stat`, and the state behind it: `pid (name) state …`. The name may hold
/// anything, parentheses too.
fn state_in(stat: &[u8]) -> Option<(usize, u8)> {
    let end = stat.iter().rposition(|byte| *byte == b')')?;
    Some((end, *stat.get(end + 2)?))
}

fn identify_in_proc(pid: u32, data: &Path) -> Process {
    let proc = PathBuf::from(format!("/proc/{pid}"));
    let Ok(stat) = fs::read(proc.join("stat")) else { return Process::Gone };
    let Some((end, state)) = state_in(&stat) else { return Process::Gone };
    if matches!(state, b'Z' | b'X' | b'x') {
        return Process::Gone;
    }
    // The link may say "postgres (deleted)" after a package update; the name in `stat` does not change.
    let name_at = stat.iter().position(|byte| *byte == b'(').map_or(0, |at| at + 1);
    let is_postgres = matches!(&stat[name_at..end], b"postgres" | b"postmaster");
    let line = fs::read(proc.join("cmdline")).unwrap_or_default();
    let mut arguments = line.split(|byte| *byte == 0);
    let named = arguments.any(|argument| argument == b"-D")
        && arguments.next().is_some_and(|argument| argument == data.as_os_str().as_bytes());
    // Someone else may have started it under another spelling of the path. The server's children work in the same
    // folder; they write `postgres: …` over the whole line.
    let inside =
        !line.starts_with(b"postgres: ") && fs::read_link(proc.join("cwd")).is_ok_and(|cwd| cwd == data);
    if is_postgres && (named || inside) { Process::Server } else { Process::Stranger }
}

fn ps() -> Command {
    let mut command = Command::new("/bin/ps");
    command.env_remove(HANDED_ON);
    command
}

/// For systems without `/proc`.
fn identify_with_ps(pid: u32, data: &Path) -> Process {
    let output = ps().args(["-ww", "-o", "stat=,command=", "-p", &pid.to_string()]).output();
    let Ok(output) = output else { return Process::Stranger };
    let text = String::from_utf8_lossy(&output.stdout);
    match text.trim().split_once(char::is_whitespace) {
        _ if text.trim().is_empty() || text.trim().starts_with('Z') => Process::Gone,
        Some((_, line)) if line.contains("postgres -D ") && line.contains(&*data.to_string_lossy()) => {
            Process::Server
        }
        _ => Process::Stranger,
    }
}

/// Makes a `postmaster.pid` that names a stranger harmless. To be called under `start.lock`.
///
/// It is not removed: by its memory key the server finds out whether left-over backends of a killed server still
/// work on the files. Only the process id is replaced, by one that no system gives out.
pub(super) fn disown(cluster: &Cluster, run_as: &RunAs) -> Result<(), PrivateError> {
    let path = cluster.pid_file();
    let text = fs::read(&path).map_err(io_error("read", &path))?;
    let rest = text.iter().position(|byte| *byte == b'\n').map_or(&[][..], |at| &text[at..]);
    let fresh = cluster.data().join(format!("postmaster.pid.{:08x}", fastrand::u32(..)));
    let write = || {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&fresh)?;
        file.write_all(i32::MAX.to_string().as_bytes())?;
        file.write_all(rest)?;
        run_as.give(&fresh)?;
        fs::rename(&fresh, &path)
    };
    write().map_err(io_error("replace the stale", &path))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{PidFile, Process, identify, state_in};

    #[test]
    fn the_file_is_read_while_it_grows() {
        let whole = b"4711\n/var/lib/x/data\n1700000000\n5432\n/tmp/sock\n\n  1234   5678\nready   \n";
        let read = PidFile::parse(whole).expect("a whole file");
        assert_eq!((read.pid, read.since, read.port), (4711, 1_700_000_000, 5432));
        assert_eq!(read.socket(), Path::new("/tmp/sock/.s.PGSQL.5432"));
        assert_eq!(read.status, "ready");
        let half = PidFile::parse(b"4711\n/var/lib/x/data\n").expect("a file that was just begun");
        assert_eq!((half.pid, half.port, half.status.as_str()), (4711, 0, ""));
        assert_eq!(PidFile::parse(b""), None);
        assert_eq!(PidFile::parse(b"0\n"), None);
        assert_eq!(PidFile::parse(b"-17\n").map(|file| file.pid), Some(17));
    }

    #[test]
    fn the_state_stands_behind_the_name_whatever_the_name_is() {
        assert_eq!(state_in(b"12 (postgres) T 1 12"), Some((12, b'T')));
        assert_eq!(state_in(b"12 (a) S (b) t 1 12"), Some((11, b't')));
        assert_eq!(state_in(b""), None);
    }

    #[test]
    fn a_process_that_is_no_server_is_a_stranger_and_a_reaped_one_is_gone() {
        assert_eq!(identify(std::process::id(), Path::new("/")), Process::Stranger);
        let mut child = std::process::Command::new("true").spawn().expect("true starts");
        child.wait().expect("true ends");
        assert_eq!(identify(child.id(), Path::new("/")), Process::Gone);
    }
}
