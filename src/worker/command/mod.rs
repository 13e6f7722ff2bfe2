//! `command`: runs a program with the text on its standard input.
//!
//! Invariant: it returns only when the program's process group is gone (or, after SIGKILL, when there is nothing
//! left to try), so that a task never ends while its program runs.

mod capture;
mod group;

use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, FusedFuture};
use tokio::io::AsyncWriteExt as _;
use tokio::process::{Child, ChildStdin};

use super::analyser::{Analyser, Analysis, Cancel, Doing, Job};
use super::text_stats::count;
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
pub struct Command {
    program: String,
    arguments: Vec<String>,
    grace: Duration,
}

impl Command {
    /// Splits `line` in the shell's quoting; no shell runs it (`sh -c '…'` is the way to ask for one). `grace` is
    /// the time between SIGTERM and SIGKILL.
    ///
    /// # Errors
    /// Refuses an empty line, an open quote, and a NUL.
    pub fn parse(line: &str, grace: Duration) -> Result<Self, Refusal> {
        if line.contains('\0') {
            return Err(Refusal::new("exec", "has a NUL, which no argument can hold"));
        }
        let mut words = shell_words::split(line)
            .map_err(|error| Refusal::new("exec", format!("cannot be split into words: {error}")))?
            .into_iter();
        let program = words
            .next()
            .filter(|program| !program.is_empty())
            .ok_or_else(|| Refusal::new("exec", "names no program"))?;
        Ok(Self { program, arguments: words.collect(), grace })
    }

    fn spawn(&self, job: &Job) -> std::io::Result<Child> {
        tokio::process::Command::new(&self.program)
            .args(&self.arguments)
            .env("TASKDECK_TASK_ID", job.id.to_string())
            .env("TASKDECK_CLAIM_NO", job.claim_no.to_string())
            .env("TASKDECK_TENANT", &job.tenant)
            // The service manager listens to this process, not to what it runs.
            .env_remove("NOTIFY_SOCKET")
            // The command gets a text, not the database: where it is and its password are this process's own.
            .env_remove("TASKDECK_DATABASE_URL")
            .env_remove("DATABASE_URL")
            .env_remove("PGPASSWORD")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()
    }

    async fn run(&self, job: &Job, cancel: &Cancel, doing: &Doing) -> Analysis {
        if cancel.is_requested() {
            return Analysis::Stopped { said: String::new() };
        }
        let mut child = match self.spawn(job) {
            Ok(child) => child,
            Err(error) => {
                return Analysis::Failure { error: format!("cannot start `{}`: {error}", self.program) };
            }
        };
        let Some(group) = Group::of(&child) else {
            return Analysis::Failure { error: format!("`{}` has no process id", self.program) };
        };
        doing.now(format!("command pid {}", group.pid()));
        let (mut output, mut errors) = (Head::new(OUTPUT_BYTES), Tail::new(ERROR_BYTES));
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let ended = {
            let pipes = async {
                tokio::join!(feed(stdin, &job.text), output.read(stdout), errors.read(stderr));
            };
            let mut pipes = std::pin::pin!(pipes.fuse());
            let ended = self.wait(&mut child, &group, cancel, doing, &mut pipes).await;
            // What the program left behind may still write. Its pipes are read meanwhile, so that it can end; and
            // once it is gone, what stands in them is read to the end, which then comes at once.
            let gone = self.end_group(&group, &ended, doing);
            tokio::select! {
                () = gone => {}
                () = async { (&mut pipes).await; std::future::pending().await } => {}
            }
            if !pipes.is_terminated() {
                // Something that left the group holds them: it is no part of the task any more.
                let _ = tokio::time::timeout(LEFT_BEHIND, &mut pipes).await;
            }
            ended
        };
        group.disarm();
        match ended {
            Ended::Alone(Ok(status)) if status.success() => {
                Analysis::Success { counts: count(&job.text), output: Some(output.into_text()) }
            }
            Ended::Alone(Ok(status)) => Analysis::Failure { error: with(words(status), &errors.into_text()) },
            Ended::Alone(Err(error)) => {
                Analysis::Failure { error: format!("`{}` cannot be waited for: {error}", self.program) }
            }
            Ended::Stopped => Analysis::Stopped { said: errors.into_text() },
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
    ) -> Ended {
        let pid = group.pid();
        let mut stopped = false;
        let kill = tokio::time::sleep(Duration::MAX);
        let mut kill = std::pin::pin!(kill);
        loop {
            tokio::select! {
                // A program that had ended when it was asked to stop has ended by itself.
                biased;
                status = child.wait() => return if stopped { Ended::Stopped } else { Ended::Alone(status) },
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
    async fn end_group(&self, group: &Group, ended: &Ended, doing: &Doing) {
        if matches!(ended, Ended::Alone(_)) {
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

impl Analyser for Command {
    fn analyse<'a>(&'a self, job: &'a Job, cancel: &'a Cancel, doing: &'a Doing) -> BoxFuture<'a, Analysis> {
        self.run(job, cancel, doing).boxed()
    }
}

enum Ended {
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
