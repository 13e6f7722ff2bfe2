//! The locks between Taskdeck processes that share one server.
//!
//! All are `flock`s, which the system drops when their holder dies, so that no list of process ids can go stale:
//! - `start.lock`, exclusive, while a server is chosen, made, started, adopted, stopped or looked at;
//! - `users.lock`, shared, by every process that uses the server, taken and given up under `start.lock` only;
//! - `server.lock`, exclusive, held by the server itself: it inherits the open file as its standard input. While
//!   any of its processes lives, here or in another container, nobody can start a second server on the same files.
//!
//! Descriptors are closed on exec, so no other child inherits them; and they are unlocked by name, because a child
//! of another thread between fork and exec would keep a lock that is only closed.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::OFlags;

use super::error::{PrivateError, io_error};

/// How long to pause between two looks at something that another process changes.
pub(super) const PAUSE: Duration = Duration::from_millis(20);

/// Says to whoever waits in another thread that it is over.
#[derive(Debug, Clone, Default)]
pub(super) struct CallOff(Arc<AtomicBool>);

impl CallOff {
    pub(super) fn now(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_said(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Until when something is waited for.
#[derive(Debug)]
pub(super) struct Until {
    at: Instant,
    off: CallOff,
}

impl Until {
    /// For as long as `patience`.
    pub(super) fn after(patience: Duration) -> Self {
        Self::unless(patience, &CallOff::default())
    }

    /// For as long as `patience`, unless it is called off.
    pub(super) fn unless(patience: Duration, off: &CallOff) -> Self {
        Self { at: Instant::now() + patience, off: off.clone() }
    }

    /// Whether it is over.
    pub(super) fn has_come(&self) -> bool {
        self.off.is_said() || Instant::now() >= self.at
    }
}

/// An exclusive lock, unlocked when dropped.
#[derive(Debug)]
pub(super) struct Held(File);

impl Drop for Held {
    fn drop(&mut self) {
        // A failure leaves the lock to the closing of the file, just after.
        let _ = self.0.unlock();
    }
}

/// Opens a lock file, creates it if need be, and never follows a link.
fn open(path: &Path) -> Result<File, PrivateError> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .custom_flags(OFlags::NOFOLLOW.bits().cast_signed())
        .open(path)
        .map_err(io_error("open the lock", path))
}

/// Takes an exclusive lock if nobody has it.
fn try_exclusive(file: &File, path: &Path) -> Result<bool, PrivateError> {
    answer(file.try_lock(), path)
}

fn answer(result: Result<(), TryLockError>, path: &Path) -> Result<bool, PrivateError> {
    match result {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) => Err(io_error("lock", path)(error)),
    }
}

/// Takes `start.lock` in the data folder, and writes into it who has it and what for.
pub(super) fn start_lock(folder: &Path, purpose: &str, until: &Until) -> Result<Held, PrivateError> {
    let path = folder.join("start.lock");
    let mut file = open(&path)?;
    let began = Instant::now();
    while !try_exclusive(&file, &path)? {
        if until.has_come() {
            let mut holder = String::new();
            let read = file.read_to_string(&mut holder);
            let holder = holder.trim();
            let holder = if read.is_err() || holder.is_empty() { "it did not say who it is" } else { holder };
            return Err(PrivateError::Busy { holder: holder.to_owned(), waited: began.elapsed() });
        }
        thread::sleep(PAUSE);
    }
    // The note only serves the message above; on a full disk the lock is as good without it.
    let _ = note(&mut file, &format!("PID {}, {purpose}\n", std::process::id()));
    Ok(Held(file))
}

fn note(file: &mut File, text: &str) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    file.write_all(text.as_bytes())
}

/// This process's share in the use of a server.
#[derive(Debug)]
pub(super) struct Share(File);

impl Share {
    /// Takes a share. To be called under `start.lock`, under which nobody holds this lock exclusively for longer.
    pub(super) fn take(path: &Path) -> Result<Self, PrivateError> {
        let file = open(path)?;
        if answer(file.try_lock_shared(), path)? {
            return Ok(Self(file));
        }
        let holder = "it holds users.lock without start.lock".to_owned();
        Err(PrivateError::Busy { holder, waited: Duration::ZERO })
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        // A failure leaves the lock to the closing of the file, just after.
        let _ = self.0.unlock();
    }
}

/// Takes `server.lock` if no process of any server of this cluster lives, to hand it on to the next one.
pub(super) fn server_lock(path: &Path) -> Result<Option<File>, PrivateError> {
    let file = open(path)?;
    Ok(try_exclusive(&file, path)?.then_some(file))
}

/// Takes `users.lock` exclusively if nobody uses the server. To be called under `start.lock`.
pub(super) fn nobody_uses(path: &Path) -> Result<Option<Held>, PrivateError> {
    let file = open(path)?;
    Ok(try_exclusive(&file, path)?.then(|| Held(file)))
}
