//! A worker without a terminal, as a service manager runs it: its log is read while it runs.

use std::fs::File;
use std::process::{Child, Command, Stdio};

use tempfile::NamedTempFile;

use crate::desk::{PROGRAM, wait_until};
use crate::process::Process;
use crate::support::psql;

/// A worker without a terminal; dropping it kills it.
pub(crate) struct Headless {
    child: Child,
    log: NamedTempFile,
}

/// How it ended.
pub(crate) struct End {
    /// Its exit code; none where a signal ended it.
    pub(crate) code: Option<i32>,
    /// What it wrote on standard output.
    pub(crate) out: String,
    /// What it wrote on standard error.
    pub(crate) log: String,
}

impl Headless {
    /// Starts one on the database at `url` and waits until it is registered there.
    pub(crate) fn start(url: &str, flags: &[&str], variables: &[(&str, &str)]) -> Self {
        let worker = Self::begin(&[("TASKDECK_DATABASE_URL", url)], flags, variables);
        let sql = format!("SELECT 1 FROM taskdeck.instances WHERE pid = {}", worker.child.id());
        wait_until("a registered worker", || psql(url, &sql).is_ok_and(|found| found == "1").then_some(()));
        worker
    }

    /// Starts one, with nothing in its environment but these, and waits for nothing.
    pub(crate) fn begin(database: &[(&str, &str)], flags: &[&str], variables: &[(&str, &str)]) -> Self {
        let log = NamedTempFile::new().expect("a file for its log");
        let errors: File = log.reopen().expect("the file again");
        let child = Command::new(PROGRAM)
            .arg("--no-ui")
            .args(flags)
            .env_clear()
            .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
            .env("HOME", "/nonexistent")
            .envs(database.iter().chain(variables).copied())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(errors)
            .spawn()
            .expect("start a worker");
        Self { child, log }
    }

    pub(crate) fn process(&self) -> Process {
        Process { pid: self.child.id() }
    }

    /// What it has logged so far.
    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.log.path()).expect("its log")
    }

    /// Waits until its log says `text` for at least the `times`th time.
    pub(crate) fn wait_log(&self, text: &str, times: usize) -> String {
        wait_until(&format!("`{text}` in the log"), || {
            Some(self.log()).filter(|log| log.matches(text).count() >= times)
        })
    }

    /// Whether it has ended.
    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.try_wait().expect("a child").is_some()
    }

    /// Waits for its end.
    pub(crate) fn end(mut self) -> End {
        use std::io::Read as _;
        let code = wait_until("the worker's end", || self.child.try_wait().expect("a child")).code();
        let mut out = String::new();
        self.child.stdout.as_mut().expect("its output").read_to_string(&mut out).expect("UTF-8");
        End { code, out, log: self.log() }
    }
}

impl Drop for Headless {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
