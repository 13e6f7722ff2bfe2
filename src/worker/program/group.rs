//! The process group of a program: signals reach its children too.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use tokio::process::Child;

/// How often it is looked whether a group is gone; there is no event for that.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// A process group. Dropping it kills what is left, so that a worker that is torn down leaves nothing running.
#[derive(Debug)]
pub(super) struct Group {
    pid: Pid,
    armed: AtomicBool,
}

impl Group {
    /// The group that `child` leads.
    pub(super) fn of(child: &Child) -> Option<Self> {
        let pid = Pid::from_raw(i32::try_from(child.id()?).ok()?)?;
        Some(Self { pid, armed: AtomicBool::new(true) })
    }

    pub(super) fn pid(&self) -> i32 {
        self.pid.as_raw_nonzero().get()
    }

    /// Asks every process of the group to end. One that was stopped (with this process, by whoever froze it) is
    /// continued: it could not heed the request before.
    pub(super) fn terminate(&self) {
        // A group that is gone already needs no signal.
        let _ = kill_process_group(self.pid, Signal::TERM);
        let _ = kill_process_group(self.pid, Signal::CONT);
    }

    pub(super) fn kill(&self) {
        let _ = kill_process_group(self.pid, Signal::KILL);
    }

    /// Waits until no process of the group is left; tells whether that was so `within` the time.
    pub(super) async fn gone_within(&self, within: Duration) -> bool {
        let gone = async {
            while test_kill_process_group(self.pid).is_ok() {
                tokio::time::sleep(LOOK_EVERY).await;
            }
        };
        tokio::time::timeout(within, gone).await.is_ok()
    }

    /// There is nothing left to kill.
    pub(super) fn disarm(&self) {
        self.armed.store(false, Ordering::Relaxed);
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if self.armed.load(Ordering::Relaxed) {
            self.kill();
        }
    }
}

/// A signal by its name and number: `SIGSEGV (11)`.
pub(super) fn signal_name(signal: i32) -> String {
    let known = [
        (Signal::HUP, "SIGHUP"),
        (Signal::INT, "SIGINT"),
        (Signal::QUIT, "SIGQUIT"),
        (Signal::ILL, "SIGILL"),
        (Signal::ABORT, "SIGABRT"),
        (Signal::BUS, "SIGBUS"),
        (Signal::FPE, "SIGFPE"),
        (Signal::KILL, "SIGKILL"),
        (Signal::SEGV, "SIGSEGV"),
        (Signal::PIPE, "SIGPIPE"),
        (Signal::ALARM, "SIGALRM"),
        (Signal::TERM, "SIGTERM"),
        (Signal::XCPU, "SIGXCPU"),
        (Signal::XFSZ, "SIGXFSZ"),
    ];
    known
        .iter()
        .find(|(known, _)| known.as_raw() == signal)
        .map_or_else(|| format!("signal {signal}"), |(_, name)| format!("{name} ({signal})"))
}
