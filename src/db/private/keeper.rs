//! Keeps the server running for as long as this process uses it: one that was killed is started again.
//!
//! Every process that uses the server looks after it. Of several that notice at once one starts it, under
//! `start.lock`; the others find it running when they get the lock. The socket stays where it was, since that is where
//! everybody's connections lead.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use super::account::run_as;
use super::error::PrivateError;
use super::lock::{self, CallOff, Until};
use super::place::Cluster;
use super::postmaster::{Process, identify};
use super::programs::Programs;
use super::{Options, Origin, get_running, place};

/// How often it is looked whether the server's process is there, where that costs nothing.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// The same where a program has to be run for it.
const LOOK_WITH_PS_EVERY: Duration = Duration::from_secs(5);

/// The longest wait after a start that failed; the first is as long as that between two looks.
const AGAIN_AT_MOST: Duration = Duration::from_secs(30);

/// What became of the server.
#[derive(Debug)]
pub enum Kept {
    /// Its process has gone; it is started again.
    Gone {
        /// The process that it was.
        pid: u32,
    },
    /// It runs again.
    Again {
        /// Its process now.
        pid: u32,
        /// Whether this process started it, or it was found running: another Taskdeck had started it, or this one had and
        /// did not wait to the end.
        origin: Origin,
    },
    /// It could not be started, and is tried again later; told once for each reason.
    Failed {
        /// Why.
        error: PrivateError,
    },
}

/// What a keeper must know of the server.
#[derive(Debug, Clone)]
pub(super) struct Charge {
    pub(super) folder: PathBuf,
    pub(super) cluster: Cluster,
    pub(super) programs: Programs,
    pub(super) socket_dir: PathBuf,
    pub(super) pid: u32,
    pub(super) options: Options,
}

impl Charge {
    fn is_there(&self) -> bool {
        identify(self.pid, &self.cluster.data()) == Process::Server
    }

    /// Finds the server that another process has started meanwhile, or starts it.
    fn start_again(&mut self, off: &CallOff) -> Result<Origin, PrivateError> {
        let run_as = run_as()?;
        let until = Until::unless(self.options.patience, off);
        let _lock = lock::start_lock(&self.folder, "starting it again", &until)?;
        let socket_dir = Some(self.socket_dir.as_path());
        let (origin, file, _) =
            get_running(&self.cluster, &self.programs, &run_as, &self.options, socket_dir, off)?;
        place::check_socket_dir(&file.socket_dir, &run_as)?;
        self.pid = file.pid;
        if file.socket_dir != self.socket_dir {
            return Err(PrivateError::SocketMoved { from: self.socket_dir.clone(), to: file.socket_dir });
        }
        Ok(origin)
    }
}

/// The thread that looks after a server. Dropping it ends the thread, which waits for nothing any more: a server that it
/// has just started goes on by itself.
#[derive(Debug)]
pub(super) struct Keeper {
    stop: Option<Sender<()>>,
    off: CallOff,
    thread: Option<JoinHandle<()>>,
}

impl Keeper {
    /// Begins to look after the server of `charge`.
    pub(super) fn start(charge: Charge, tell: impl FnMut(Kept) + Send + 'static) -> std::io::Result<Self> {
        let (stop, stopped) = channel();
        let off = CallOff::default();
        let called_off = off.clone();
        let thread = std::thread::Builder::new().name("private-keeper".to_owned()).spawn(move || {
            let goes_on = |wait| stopped.recv_timeout(wait) == Err(RecvTimeoutError::Timeout);
            keep(charge, &goes_on, &called_off, tell);
        })?;
        Ok(Self { stop: Some(stop), off, thread: Some(thread) })
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.off.now();
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // It has told what went wrong; a panic of it is no reason for one here.
            let _ = thread.join();
        }
    }
}

/// Looks and starts again until `goes_on`, which waits, says that it is over.
fn keep(mut charge: Charge, goes_on: &dyn Fn(Duration) -> bool, off: &CallOff, mut tell: impl FnMut(Kept)) {
    let every = if Path::new("/proc/self/stat").exists() { LOOK_EVERY } else { LOOK_WITH_PS_EVERY };
    let mut wait = every;
    let mut said = None;
    while goes_on(wait) {
        if charge.is_there() {
            said = None;
            continue;
        }
        if said.is_none() {
            tell(Kept::Gone { pid: charge.pid });
        }
        match charge.start_again(off) {
            Ok(origin) => {
                tell(Kept::Again { pid: charge.pid, origin });
                (wait, said) = (every, None);
            }
            Err(_) if off.is_said() => return,
            Err(error) => {
                let text = error.to_string();
                if said.as_ref() != Some(&text) {
                    tell(Kept::Failed { error });
                }
                said = Some(text);
                wait = (wait * 2).min(AGAIN_AT_MOST);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::programs::Search;
    use super::*;

    /// Whoever leaves without waiting does not wait for a start either, be it another's.
    #[test]
    fn a_start_that_is_under_way_is_called_off() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().join("pg16");
        std::fs::create_dir(&root).expect("a folder");
        let held =
            lock::start_lock(folder.path(), "a test", &Until::after(Duration::ZERO)).expect("the lock");
        let charge = Charge {
            folder: folder.path().to_path_buf(),
            cluster: Cluster { root, major: 16 },
            programs: Programs {
                postgres: PathBuf::new(),
                initdb: PathBuf::new(),
                version: String::new(),
                major: 16,
            },
            socket_dir: PathBuf::new(),
            // Nobody's: the highest that a system gives is below.
            pid: u32::MAX / 2,
            options: Options {
                data_dir: None,
                search: Search::from_env(),
                runtime_dir: None,
                patience: Duration::from_hours(1),
                silence: Duration::from_hours(1),
            },
        };
        let (told, tells) = channel();
        let keeper = Keeper::start(charge, move |kept| {
            // Nobody may be listening any more.
            let _ = told.send(format!("{kept:?}"));
        })
        .expect("a thread");
        let patience = Duration::from_secs(30);
        assert!(tells.recv_timeout(patience).expect("it is noticed").starts_with("Gone"));
        let (left, leaves) = channel();
        std::thread::spawn(move || {
            drop(keeper);
            left.send(()).expect("somebody waits");
        });
        leaves.recv_timeout(patience).expect("it does not wait for the lock");
        assert_eq!(tells.recv().ok(), None, "nothing has gone wrong");
        drop(held);
    }
}
