//! Ends what is left of the fleet once this process is gone, however it went: workers without a run would look for their
//! server for ever, and what was frozen would stay so. It is a process of its own, in a group that no signal to the run
//! reaches.

use std::fmt::Display;
use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};

use rustix::process::Pid;

/// A process's number may be another's by then, so each is looked at before it is killed.
const WARDEN: &str = r#"
while read -r kind pid; do
    case "$kind" in
        worker) workers="$workers $pid" ;;
        group) groups="$groups $pid" ;;
        done) exit 0 ;;
    esac
done
for pid in $workers; do
    if [ "$(cat "/proc/$pid/comm" 2>/dev/null)" = taskdeck ]; then kill -9 "$pid"; fi
done
for pid in $groups; do
    if grep -q analyser.bash "/proc/$pid/cmdline" 2>/dev/null; then kill -9 "-$pid"; fi
done
"#;

/// See the module.
pub(crate) struct Warden(Child);

impl Warden {
    /// Starts it.
    pub(crate) fn start() -> Self {
        let mut command = Command::new("sh");
        command.args(["-c", WARDEN]).stdin(Stdio::piped()).process_group(0);
        Self(command.spawn().expect("start the warden"))
    }

    /// Kills this worker, if it is there at the end.
    pub(crate) fn minds_worker(&self, pid: u32) {
        self.tell(&format_args!("worker {pid}"));
    }

    /// Kills this group of a worker's command, if it is there at the end.
    pub(crate) fn minds_group(&self, group: Pid) {
        self.tell(&format_args!("group {}", group.as_raw_nonzero()));
    }

    /// Nothing is left: it kills nobody.
    pub(crate) fn dismiss(&self) {
        self.tell(&"done");
    }

    fn tell(&self, what: &dyn Display) {
        let mut input = self.0.stdin.as_ref().expect("its standard input is piped");
        writeln!(input, "{what}").expect("the warden reads");
    }
}

impl Drop for Warden {
    fn drop(&mut self) {
        // To it this is the end of the run.
        self.0.stdin.take();
        let _ = self.0.wait();
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt as _;
    use std::path::Path;

    use rustix::process::{Signal, kill_process_group};

    use super::*;
    use crate::analyser::Ledger;

    /// The command with a sleep below it, frozen, and what became of it when the run had ended.
    fn frozen(end: impl FnOnce(Warden, Pid)) -> std::process::ExitStatus {
        let folder =
            tempfile::Builder::new().prefix("warden-").tempdir_in(Path::new(env!("CARGO_TARGET_TMPDIR")));
        let folder = folder.expect("a folder");
        let words = shell_words::split(&Ledger::begin(folder.path()).command()).expect("a command");
        let warden = Warden::start();
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).stdin(Stdio::piped()).stdout(Stdio::null()).process_group(0);
        let mut child = command.spawn().expect("start the command");
        let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw).expect("a process");
        kill_process_group(group, Signal::STOP).expect("freeze it");
        end(warden, group);
        // Whoever was let be is thawed, and ends at the end of its input.
        let _ = kill_process_group(group, Signal::CONT);
        drop(child.stdin.take());
        child.wait().expect("it can be waited for")
    }

    #[test]
    fn what_is_frozen_when_the_run_ends_is_killed() {
        let killed = frozen(|warden, group| warden.minds_group(group));
        assert_eq!(killed.signal(), Some(Signal::KILL.as_raw()));
    }

    #[test]
    fn a_run_that_has_ended_in_good_order_kills_nobody() {
        let let_be = frozen(|warden, group| {
            warden.minds_group(group);
            warden.dismiss();
        });
        assert_eq!(let_be.signal(), None, "{let_be:?}");
        // Nor is a process killed that has nothing to do with it.
        let warden = Warden::start();
        let mut child = Command::new("sleep").arg("60").process_group(0).spawn().expect("start it");
        warden.minds_worker(child.id());
        warden.minds_group(i32::try_from(child.id()).ok().and_then(Pid::from_raw).expect("a process"));
        drop(warden);
        assert_eq!(child.try_wait().expect("it can be looked at"), None);
        child.kill().expect("it runs");
        child.wait().expect("it can be waited for");
    }
}
