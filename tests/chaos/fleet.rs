//! The workers: a fixed number of headless processes. Whoever was killed is started again.

use std::fs::{File, OpenOptions};
use std::os::unix::process::ExitStatusExt as _;
use std::process::Stdio;
use std::sync::Arc;

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use tokio::process::{Child, Command};
use tokio::sync::{Mutex, OwnedMutexGuard};
use tokio::time::timeout;

use crate::analyser::Ledger;
use crate::plan::{Micros, now};
use crate::stage::{PROGRAM, Route, Stage};
use crate::support::PATIENCE;
use crate::warden::Warden;

/// Who the workers act as when a shutdown cancels what they run.
pub(crate) const OPERATOR: &str = "fleet";

/// The exit code of one that finds no server at its start.
pub(crate) const NO_SERVER: i32 = 5;

/// The worker whose finishes come late.
pub(crate) const GHOST: &str = "ghost-1";

/// What a worker does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trade {
    /// Runs the command that writes the ledger.
    Command,
    /// Counts words, in large batches.
    Counting,
    /// Counts words at a steady pace, so that the pace can be measured. Only what befalls the whole server befalls it.
    Meter,
    /// Runs the command too, on a queue of its own, where it is killed at a chosen moment.
    Ghost,
}

/// One of the fleet.
pub(crate) struct Member {
    pub(crate) name: String,
    pub(crate) trade: Trade,
    route: Route,
    flags: Vec<String>,
    child: Option<Child>,
    /// When its process was started, and its number, which the child forgets with its end.
    began: Micros,
    number: i32,
}

impl Member {
    /// The process.
    pub(crate) fn pid(&self) -> Pid {
        let id = self.child.as_ref().and_then(Child::id).and_then(|id| i32::try_from(id).ok());
        id.and_then(Pid::from_raw).expect("a member runs while nobody holds it")
    }

    /// Sends a signal to the process alone.
    pub(crate) fn signal(&self, signal: Signal) {
        // One that has ended by itself meanwhile is found out when it is waited for.
        let _ = kill_process(self.pid(), signal);
    }

    /// The process groups of what it runs.
    pub(crate) fn groups(&self) -> Vec<Pid> {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", self.pid().as_raw_nonzero()));
        let threads = tasks.into_iter().flatten().flatten();
        let lists = threads.filter_map(|thread| std::fs::read_to_string(thread.path().join("children")).ok());
        lists
            .flat_map(|list| list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<i32>>())
            .filter_map(Pid::from_raw)
            .collect()
    }
}

/// Signals all of a process group.
pub(crate) fn signal_groups(groups: &[Pid], signal: Signal) {
    for group in groups {
        // What has ended needs no signal.
        let _ = kill_process_group(*group, signal);
    }
}

/// All of them.
pub(crate) struct Fleet {
    stage: Arc<Stage>,
    members: Vec<Arc<Mutex<Member>>>,
    warden: Warden,
    ends: std::sync::Mutex<Vec<End>>,
}

/// How a worker's process ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct End {
    pub(crate) name: String,
    pub(crate) pid: i32,
    /// When its process was started and when it was found to have ended; a process's number may be given again.
    pub(crate) lived: (Micros, Micros),
    pub(crate) by: By,
    /// None where a signal ended it.
    pub(crate) code: Option<i32>,
    pub(crate) signal: Option<i32>,
}

/// Why it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum By {
    /// kill -9.
    Kill,
    /// SIGTERM while things were being broken.
    Drain,
    /// SIGTERM at the end of the run, with everything whole.
    LastDrain,
    /// Nothing: it ended by itself, as one does that finds no server at its start.
    Itself,
}

impl Fleet {
    /// Starts every member.
    pub(crate) fn start(stage: &Arc<Stage>, ledger: &Ledger, ghost: Route) -> Self {
        let member = |name: &str, trade, route, flags: &str| {
            let mut flags: Vec<String> = flags.split(' ').map(str::to_owned).collect();
            match trade {
                Trade::Command => {
                    flags.extend(["--analyser", "command", "--exec"].map(str::to_owned));
                    flags.push(ledger.command());
                }
                Trade::Counting => flags.extend(["--queue", "counting"].map(str::to_owned)),
                Trade::Meter => flags.extend(["--queue", "meter"].map(str::to_owned)),
                Trade::Ghost => {
                    flags.extend(["--queue", "ghosts", "--analyser", "command", "--exec"].map(str::to_owned));
                    flags.push(ledger.command());
                }
            }
            Arc::new(Mutex::new(Member {
                name: name.to_owned(),
                trade,
                route,
                flags,
                child: None,
                began: 0,
                number: 0,
            }))
        };
        let (direct, proxied) = (Route::Direct, Route::Proxied);
        let members = vec![
            // The first, so that it is found without waiting for another.
            member(GHOST, Trade::Ghost, ghost, "--workers 1 --batch 1"),
            member("command-1", Trade::Command, direct, "--workers 4"),
            member("command-2", Trade::Command, proxied, "--workers 3 --batch 2"),
            member("command-3", Trade::Command, direct, "--workers 3 --batch 1"),
            member("command-4", Trade::Command, proxied, "--workers 4"),
            member("counting-1", Trade::Counting, direct, "--workers 2 --batch 100"),
            member("counting-2", Trade::Counting, proxied, "--workers 2"),
            member("meter-1", Trade::Meter, direct, "--workers 4 --work-delay 50ms"),
            member("meter-2", Trade::Meter, direct, "--workers 4 --work-delay 50ms"),
            member("ghost-2", Trade::Ghost, direct, "--workers 1 --batch 1"),
        ];
        let (warden, ends) = (Warden::start(), std::sync::Mutex::default());
        let fleet = Self { stage: Arc::clone(stage), members, warden, ends };
        for member in &fleet.members {
            fleet.start_again(&mut member.try_lock().expect("nobody else is here"));
        }
        fleet
    }

    /// Starts a member that has no process.
    pub(crate) fn start_again(&self, member: &mut Member) {
        member.began = now();
        let child = self.spawn(member);
        member.number = child.id().and_then(|id| i32::try_from(id).ok()).expect("it runs");
        member.child = Some(child);
    }

    /// Waits for the end of a member's process, and writes down how it was.
    pub(crate) async fn ended(&self, member: &mut Member, by: By) -> Option<i32> {
        let mut child = member.child.take().expect("a member runs while nobody holds it");
        let pid = member.number;
        let mut status = timeout(PATIENCE, child.wait()).await;
        if status.is_err() {
            self.stage.note("worker that did not end", &member.name);
            child.kill().await.expect("it can be killed");
            status = Ok(child.wait().await);
        }
        let status = status.expect("it has ended by now").expect("it can be waited for");
        let (code, signal) = (status.code(), status.signal());
        // The code of a worker that could not begin: it was gone before anything was done to it.
        let by = if code == Some(NO_SERVER) && by != By::LastDrain { By::Itself } else { by };
        let (name, lived) = (member.name.clone(), (member.began, now()));
        self.ends.lock().expect("nobody panics here").push(End { name, pid, lived, by, code, signal });
        code
    }

    /// Starts whoever has ended by itself again, as a service manager does.
    pub(crate) async fn tend(&self) {
        for member in &self.members {
            let Ok(mut member) = member.try_lock() else { continue };
            if member
                .child
                .as_mut()
                .is_some_and(|child| child.try_wait().is_ok_and(|status| status.is_some()))
            {
                self.ended(&mut member, By::Itself).await;
                self.start_again(&mut member);
            }
        }
    }

    /// How processes ended so far.
    pub(crate) fn ends(&self) -> Vec<End> {
        self.ends.lock().expect("nobody panics here").clone()
    }

    fn spawn(&self, member: &Member) -> Child {
        let child = Command::new(PROGRAM)
            .args(["--no-ui", "--poll", "200ms", "--lease", "2s", "--grace", "2s", "--operator", OPERATOR])
            .args(["--statement-timeout", "2s", "--acquire-timeout", "2s", "--lock-timeout", "1s"])
            .args(&member.flags)
            .env_clear()
            .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
            .env("HOME", self.stage.folder())
            .env("TASKDECK_DATABASE_URL", self.stage.url(member.route))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(self.log(member))
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .expect("start a worker");
        self.warden.minds_worker(child.id().expect("it runs"));
        child
    }

    fn log(&self, member: &Member) -> File {
        let path = self.stage.folder().join(format!("{}.log", member.name));
        OpenOptions::new().create(true).append(true).open(path).expect("a log")
    }

    /// A member for something to be done to, if one is free; nobody touches it while it is held.
    pub(crate) fn pick(&self, dice: &mut fastrand::Rng) -> Option<OwnedMutexGuard<Member>> {
        let mut order: Vec<&Arc<Mutex<Member>>> = self.members.iter().collect();
        dice.shuffle(&mut order);
        let free = |member: &Arc<Mutex<Member>>| Arc::clone(member).try_lock_owned().ok();
        order
            .into_iter()
            .filter_map(free)
            .find(|member| matches!(member.trade, Trade::Command | Trade::Counting))
    }

    /// Kills the ghost and starts it again.
    pub(crate) async fn kill_ghost(&self) {
        let mut ghost = self.members[0].lock().await;
        ghost.signal(Signal::KILL);
        self.ended(&mut ghost, By::Kill).await;
        self.start_again(&mut ghost);
    }

    /// Stops process groups; should the run end meanwhile, they do not stay stopped for ever.
    pub(crate) fn freeze(&self, groups: &[Pid]) {
        for group in groups {
            self.warden.minds_group(*group);
        }
        signal_groups(groups, Signal::STOP);
    }

    /// How many there are.
    pub(crate) fn size(&self) -> usize {
        self.members.len()
    }

    /// Ends every member in good order.
    pub(crate) async fn drain(&self) {
        for member in &self.members {
            member.lock().await.signal(Signal::TERM);
        }
        for member in &self.members {
            self.ended(&mut *member.lock().await, By::LastDrain).await;
        }
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        // Without the word it kills whoever is left, which a run that failed wants.
        let ended =
            |member: &Arc<Mutex<Member>>| member.try_lock().is_ok_and(|member| member.child.is_none());
        if self.members.iter().all(ended) {
            self.warden.dismiss();
        }
    }
}
