//! `command`: runs a program with the text on its standard input.

use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;

use super::analyser::{Analyser, Analysis, Cancel, Doing, Job};
use super::program::{Ended, Given, Output, Program};
use super::text_stats::count;
use crate::domain::Refusal;

/// A program that gets each text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command(Program);

impl Command {
    /// Splits `line` in the shell's quoting; no shell runs it (`sh -c '…'` is the way to ask for one). `grace` is
    /// the time between SIGTERM and SIGKILL.
    ///
    /// # Errors
    /// Refuses an empty line, an open quote, and a NUL.
    pub fn parse(line: &str, grace: Duration) -> Result<Self, Refusal> {
        Program::parse("exec", line, grace).map(Self)
    }

    async fn run(&self, job: &Job, cancel: &Cancel, doing: &Doing) -> Analysis {
        let variables = [
            ("TASKDECK_TASK_ID", job.id.to_string()),
            ("TASKDECK_CLAIM_NO", job.claim_no.to_string()),
            ("TASKDECK_TENANT", job.tenant.clone()),
        ];
        let given = Given { stdin: &job.text, variables: &variables, output: Output::Kept };
        match self.0.run(&given, cancel, doing).await {
            Ended::Well { output } => Analysis::Success { counts: count(&job.text), output: Some(output) },
            Ended::Badly { error } => Analysis::Failure { error },
            Ended::Stopped { said } => Analysis::Stopped { said },
        }
    }
}

impl Analyser for Command {
    fn analyse<'a>(&'a self, job: &'a Job, cancel: &'a Cancel, doing: &'a Doing) -> BoxFuture<'a, Analysis> {
        self.run(job, cancel, doing).boxed()
    }
}
