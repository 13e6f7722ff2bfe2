//! Runs a program with something on its standard input: the `command` analyser and the hook are made of it.
//!
//! Invariant: a run returns only when the program's process group is gone (or, after SIGKILL, when there is nothing
//! left to try), so that nothing is said to have ended while its program runs.

mod capture;
mod group;

use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::FusedFuture;
use tokio::io::AsyncWriteExt as _;
use tokio::process::{Child, ChildStdin};

use super::analyser::{Cancel, Doing};
use crate::domain::handed::HANDED_ON;
use crate::domain::{Refusal, figure};
use capture::{Head, Tail};
use group::Group;

/// The most of a program's standard output that is kept, the mark of a cut included.
const OUTPUT_BYTES: usize = 64 * 1024;

/// How much of the end of its standard error is kept.
const ERROR_BYTES: usize = 4 * 1024;

/// How long something that the program left running may go on after it, before it is ended too.
const LEFT_BEHIND: Duration = Duration::from_millis(500);

/// A program to run, and how it is ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Program {
    name: String,
    arguments: Vec<String>,
    grace: Duration,
}

/// What a run is given.
#[derive(Debug)]
pub(super) struct Given<'a> {
    /// Its standard input.
    pub(super) stdin: &'a str,
    /// What stands in its environment besides this process's own.
    pub(super) variables: &'a [(&'static str, String)],
    /// What becomes of its standard output.
    pub(super) output: Output,
}

/// What becomes of a program's standard output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Output {
    /// Its beginning is kept.
    Kept,
    /// Nobody reads it.
    Discarded,
}

/// How a run ended. Nothing of it runs any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Ended {
    /// By itself, with exit code 0.
    Well {
        /// What it wrote, where that is kept.
        output: String,
    },
    /// By itself and otherwise, or it could not be started.
    Badly {
        /// How, with the end of what it said on standard error.
        error: String,
    },
    /// After it was asked to.
    Stopped {
        /// The end of what it said on standard error.
        said: String,
    },
}

impl Program {
    /// Splits the `line` of a setting in the shell's quoting; no shell runs it (`sh -c '…'` is the way to ask for one).
    /// `grace` is the time between SIGTERM and SIGKILL.
    ///
    /// # Errors
    /// Refuses an empty line, an open quote, and a NUL.
    pub(super) fn parse(setting: &'static str, line: &str, grace: Duration) -> Result<Self, Refusal> {
        if line.contains('\0') {
            return Err(Refusal::new(setting, "has a NUL, which no argument can hold"));
        }
        let mut words = shell_words::split(line)
            .map_err(|error| Refusal::new(setting, format!("cannot be split into words: {error}")))?
            .into_iter();
        let name = words
            .next()
            .filter(|name| !name.is_empty())
            .ok_or_else(|| Refusal::new(setting, "names no program"))?;
        Ok(Self { name, arguments: words.collect(), grace })
    }

    fn spawn(&self, given: &Given<'_>) -> std::io::Result<Child> {
        tokio::process::Command::new(&self.name)
            .args(&self.arguments)
            .envs(given.variables.iter().map(|(name, value)| (name, value)))
            // The service manager listens to this process, not to what it runs.
            .env_remove("NOTIFY_SOCKET")
            // The program gets a text, not the database: where it is and its password are this process's own.
            .env_remove("TASKDECK_DATABASE_URL")
            .env_remove("DATABASE_URL")
            .env_remove("PGPASSWORD")
            .env_remove(HANDED_ON)
            .stdin(Stdio::piped())
            .stdout(match given.output {
                Output::Kept => Stdio::piped(),
                Output::Discarded => Stdio::null(),
            })
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()
    }

    /// Runs it to its end; `cancel` asks it to end, and `doing` says what it is at.
    pub(super) async fn run(&self, given: &Given<'_>, cancel: &Cancel, doing: &Doing) -> Ended {
        if cancel.is_requested() {
            return Ended::Stopped { said: String::new() };
        }
        let mut child = match self.spawn(given) {
            Ok(child) => child,
            Err(error) => {
                return Ended::Badly { error: format!("cannot start `{}`: {error}", self.name) };
            }
        };
        let Some(group) = Group::of(&child) else {
            return Ended::Badly { error: format!("`{}` has no process id", self.name) };
        };
        doing.now(format!("command pid {}", group.pid()));
        let (mut output, mut errors) = (Head::new(OUTPUT_BYTES), Tail::new(ERROR_BYTES));
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let exited = {
            let pipes = async {
                tokio::join!(feed(stdin, given.stdin), output.read(stdout), errors.read(stderr));
            };
            let mut pipes = std::pin::pin!(pipes.fuse());
            let exited = self.wait(&mut child, &group, cancel, doing, &mut pipes).await;
            // What the program left behind may still write. Its pipes are read meanwhile, so that it can end; and
            // once it is gone, what stands in them is read to the end, which then comes at once.
            let gone = self.end_group(&group, &exited, doing);
            tokio::select! {
                () = gone => {}
                () = async { (&mut pipes).await; std::future::pending().await } => {}
            }
            if !pipes.is_terminated() {
                // Something that left the group holds them: it is no part of the run any more.
                let _ = tokio::time::timeout(LEFT_BEHIND, &mut pipes).await;
            }
            exited
        };
        group.disarm();
        match exited {
            Exited::Alone(Ok(status)) if status.success() => Ended::Well { output: output.into_text() },
            Exited::Alone(Ok(status)) => Ended::Badly { error: with(words(status), &errors.into_text()) },
            Exited::Alone(Err(error)) => {
                Ended::Badly { error: format!("`{}` cannot be waited for: {error}", self.name) }
            }
            Exited::Stopped => Ended::Stopped { said: errors.into_text() },
        }
    }

    /// Waits for the program; a cancel sends SIGTERM to its group, and SIGKILL after the grace time.
    async fn wait(
        &self,
        child: &mut Child,
        group: &Group,
        cancel: &Cancel,
        doing: &Doing,
        pipes: &mut (impl FusedFuture<Output = ()> + Unpin),
    ) -> Exited {
        let pid = group.pid();
        let mut stopped = false;
        let kill = tokio::time::sleep(Duration::MAX);
        let mut kill = std::pin::pin!(kill);
        loop {
            tokio::select! {
                // A program that had ended when it was asked to stop has ended by itself.
                biased;
                status = child.wait() => return if stopped { Exited::Stopped } else { Exited::Alone(status) },
                () = &mut *pipes, if !pipes.is_terminated() => {}
                () = cancel.requested(), if !stopped => {
                    stopped = true;
                    group.terminate();
                    doing.now(format!("SIGTERM to pid {pid}"));
                    kill.as_mut().reset(tokio::time::Instant::now() + self.grace);
                }
                () = &mut kill, if stopped => {
                    group.kill();
                    doing.now(format!("SIGKILL to pid {pid}"));
                    kill.as_mut().reset(tokio::time::Instant::now() + self.grace.max(Duration::from_secs(1)));
                }
            }
        }
    }

    /// Returns when nothing is left of the group: given time if the program was stopped, as its children got the
    /// SIGTERM too; told to go if they were left behind by a program that ended.
    async fn end_group(&self, group: &Group, exited: &Exited, doing: &Doing) {
        if matches!(exited, Exited::Alone(_)) {
            if group.gone_within(LEFT_BEHIND).await {
                return;
            }
            group.terminate();
            doing.now(format!("SIGTERM to what pid {} left running", group.pid()));
        }
        if !group.gone_within(self.grace).await {
            group.kill();
            doing.now(format!("SIGKILL to what pid {} left running", group.pid()));
            // A killed process that nobody reaps still counts as one; there is nothing more to be done about it.
            group.gone_within(Duration::from_secs(1)).await;
        }
    }
}

enum Exited {
    /// By itself.
    Alone(std::io::Result<ExitStatus>),
    /// After it was asked to.
    Stopped,
}

/// Writes the text. A program that does not read it, or not all of it, is no failure.
async fn feed(stdin: Option<ChildStdin>, text: &str) {
    if let Some(mut stdin) = stdin {
        let _ = stdin.write_all(text.as_bytes()).await;
    }
}

/// How a program ended, in words: `exit 1`, `killed by SIGSEGV (11)`.
fn words(status: ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt as _;
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit {code}"),
        (None, Some(signal)) => format!("killed by {}", group::signal_name(signal)),
        (None, None) => status.to_string(),
    }
}

/// `what` with the end of what was said, where something was.
pub(super) fn with(what: String, said: &str) -> String {
    let said = said.trim();
    if said.is_empty() { what } else { format!("{what}: {said}") }
}

/// The error of an attempt that took too long.
pub(super) fn timed_out(after: Duration, said: &str) -> String {
    with(format!("timed out after {}", figure::wait(after)), said)
}
