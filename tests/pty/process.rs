//! A process, looked at and signalled from outside.

use std::fs;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::desk::wait_until;

/// A process by its id. It is never waited for: it is the shell's child, not ours.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Process {
    pub(crate) pid: u32,
}

impl Process {
    /// The only child of `parent` that runs `program`.
    pub(crate) fn child_of(parent: u32, program: &str) -> Self {
        wait_until(&format!("a {program} below {parent}"), || {
            // Each thread has the children that it has started.
            let threads = fs::read_dir(format!("/proc/{parent}/task")).ok()?.flatten();
            let lists = threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
            lists
                .collect::<String>()
                .split_whitespace()
                .filter_map(|pid| pid.parse().ok())
                .map(|pid| Self { pid })
                .find(|process| process.name().is_some_and(|name| name == program))
        })
    }

    fn name(self) -> Option<String> {
        fs::read_to_string(format!("/proc/{}/comm", self.pid)).ok().map(|name| name.trim().to_owned())
    }

    /// Sends a signal from outside.
    pub(crate) fn signal(self, signal: Signal) {
        let pid = Pid::from_raw(self.pid.try_into().expect("a small number")).expect("not zero");
        kill_process(pid, signal).unwrap_or_else(|error| panic!("{signal:?} to {pid:?}: {error}"));
    }

    /// Its state letter, `Z` where it is gone.
    pub(crate) fn state(self) -> char {
        self.fields().map_or('Z', |fields| fields[0].chars().next().unwrap_or('?'))
    }

    /// The process group that it is in; none where it is gone.
    pub(crate) fn group(self) -> Option<u32> {
        self.fields()?[2].parse().ok()
    }

    /// Whether it has ended.
    pub(crate) fn is_gone(self) -> bool {
        matches!(self.state(), 'Z' | 'X')
    }

    /// Waits until it has ended.
    pub(crate) fn wait_gone(self) {
        wait_until(&format!("the end of process {}", self.pid), || self.is_gone().then_some(()));
    }

    /// Waits until it is in this state.
    pub(crate) fn wait_state(self, wanted: char) {
        wait_until(&format!("state {wanted} of {}, now {}", self.pid, self.state()), || {
            (self.state() == wanted).then_some(())
        });
    }

    /// The time that it has spent on processors so far.
    pub(crate) fn processor_time(self) -> Duration {
        let fields = self.fields().expect("the process runs");
        let ticks: u64 = [11, 12].iter().map(|at| fields[*at].parse::<u64>().expect("a number")).sum();
        Duration::from_millis(ticks * 1000 / rustix::param::clock_ticks_per_second())
    }

    /// How many threads it has.
    pub(crate) fn threads(self) -> usize {
        fs::read_dir(format!("/proc/{}/task", self.pid)).map_or(0, Iterator::count)
    }

    /// How often its threads were put aside so far: more than before means that it has run.
    pub(crate) fn switches(self) -> u64 {
        let threads = fs::read_dir(format!("/proc/{}/task", self.pid)).into_iter().flatten().flatten();
        let texts = threads.filter_map(|thread| fs::read_to_string(thread.path().join("status")).ok());
        texts
            .flat_map(|text| {
                let lines = text.lines().filter_map(|line| line.split_once("_ctxt_switches:"));
                lines.filter_map(|(_, count)| count.trim().parse::<u64>().ok()).collect::<Vec<_>>()
            })
            .sum()
    }

    /// The fields of its line in `/proc` from the state on; none where it is gone.
    fn fields(self) -> Option<Vec<String>> {
        let line = fs::read_to_string(format!("/proc/{}/stat", self.pid)).ok()?;
        // The program's name may hold spaces and ends with the last bracket.
        let (_, rest) = line.rsplit_once(") ")?;
        Some(rest.split_whitespace().map(str::to_owned).collect())
    }
}
