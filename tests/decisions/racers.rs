//! Processes of the program that race, and the look at who of them waits.

use std::collections::HashMap;
use std::process::Stdio;
use std::sync::mpsc::{Receiver, channel};

use serde_json::Value;
use taskdeck::domain::Process;
use tokio_postgres::Client;

use crate::runner::User;
use crate::support::PATIENCE;

/// So long that no wait behind a gate ends by itself.
const PATIENT: [&str; 4] = ["--lock-timeout", "2m", "--statement-timeout", "3m"];

/// A process that decides, under way.
pub(crate) struct Racer {
    /// Under which name it decides.
    pub(crate) operator: &'static str,
    /// What it decides.
    pub(crate) verb: &'static str,
    /// Its process id.
    pub(crate) pid: u32,
    ended: Receiver<std::io::Result<std::process::Output>>,
}

/// What a racer was told.
#[derive(Debug)]
pub(crate) struct Told {
    pub(crate) operator: &'static str,
    pub(crate) verb: &'static str,
    pub(crate) pid: u32,
    pub(crate) code: i32,
    /// The document that it printed.
    pub(crate) answer: Value,
}

impl Racer {
    /// Starts `taskdeck VERB TASKS…` under a name. It waits for locks for as long as it takes.
    pub(crate) fn start(user: &User, operator: &'static str, verb: &'static str, tasks: &[String]) -> Self {
        let mut args = vec!["--output", "json", "--operator", operator, verb];
        args.extend(PATIENT);
        args.extend(tasks.iter().map(String::as_str));
        let mut command = user.command(&args);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().expect("start the program");
        let pid = child.id();
        let (tell, ended) = channel();
        std::thread::spawn(move || tell.send(child.wait_with_output()));
        Self { operator, verb, pid, ended }
    }

    /// Waits for its end.
    pub(crate) fn end(self) -> Told {
        let Self { operator, verb, pid, ended } = self;
        let output = ended.recv_timeout(PATIENCE).unwrap_or_else(|_| panic!("{verb} by {operator} hangs"));
        let output = output.expect("it can be waited for");
        let out = String::from_utf8(output.stdout).expect("UTF-8");
        let answer = serde_json::from_str(&out).unwrap_or_else(|error| {
            panic!("{verb} by {operator}: {error}: {out:?}, {}", String::from_utf8_lossy(&output.stderr))
        });
        let code = output.status.code().expect("no signal ended it");
        Told { operator, verb, pid, code, answer }
    }
}

/// Which processes of the program wait for which kind of lock now: `tuple`, `transactionid`, `relation`.
pub(crate) async fn waiting(watch: &Client) -> HashMap<u32, (String, String)> {
    let rows = watch
        .query(
            "SELECT application_name, wait_event, query FROM pg_stat_activity \
             WHERE wait_event_type = 'Lock' AND datname = current_database()",
            &[],
        )
        .await
        .expect("look");
    rows.iter()
        .filter_map(|row| {
            let place = Process(row.get(0)).place()?.to_owned();
            let pid = place.rsplit_once(':')?.1.parse().ok()?;
            Some((pid, (row.get(1), row.get(2))))
        })
        .collect()
}

/// Waits until each of `pids` waits as `how` says, until one of them has ended, or for half of [`PATIENCE`]; returns those
/// that wait.
pub(crate) async fn until_all_wait(
    watch: &Client,
    pids: &[u32],
    how: impl Fn(u32, &(String, String)) -> bool,
) -> Vec<u32> {
    let started = std::time::Instant::now();
    loop {
        let now = waiting(watch).await;
        let held: Vec<u32> =
            pids.iter().copied().filter(|pid| now.get(pid).is_some_and(|wait| how(*pid, wait))).collect();
        let gone = |pid: &u32| !std::path::Path::new(&format!("/proc/{pid}")).exists();
        if held.len() == pids.len() || pids.iter().any(gone) || started.elapsed() > PATIENCE / 2 {
            return held;
        }
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
}

/// Whether it waits for a row that another transaction holds, or for its turn at it.
pub(crate) fn for_a_row(wait: &(String, String)) -> bool {
    matches!(wait.0.as_str(), "tuple" | "transactionid")
}
