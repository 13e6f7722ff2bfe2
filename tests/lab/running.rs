//! A lab that runs while a test looks at it.

use std::process::{Child, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::runner::{User, eventually, wait};
use crate::support::psql;

/// The number that `sql` returns.
pub(crate) fn number(url: &str, sql: &str) -> i64 {
    let answer = psql(url, sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    answer.trim().parse().unwrap_or_else(|_| panic!("{sql}: {answer}"))
}

/// Schemas of a lab.
pub(crate) fn schemas(url: &str) -> i64 {
    number(url, "SELECT count(*) FROM pg_namespace WHERE nspname LIKE '%\\_lab'")
}

/// Sessions of a lab, and what they hold.
pub(crate) fn sessions(url: &str) -> i64 {
    number(
        url,
        "SELECT count(*) FROM pg_stat_activity a WHERE a.datname = current_database() \
         AND a.pid <> pg_backend_pid() AND a.application_name LIKE 'taskdeck lab%'",
    )
}

/// Advisory locks in this database.
pub(crate) fn locks(url: &str) -> i64 {
    number(
        url,
        "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' \
         AND database = (SELECT oid FROM pg_database WHERE datname = current_database())",
    )
}

/// Neither schema nor session nor lock of a lab is there.
pub(crate) fn nothing_is_left(url: &str) {
    assert_eq!(schemas(url), 0, "a schema is left");
    eventually("no session and no lock of a lab", || sessions(url) == 0 && locks(url) == 0);
}

/// One that was started.
pub(crate) struct Running {
    child: Child,
}

impl Running {
    /// Starts it and waits until it has made `rows` tasks.
    pub(crate) fn start(user: &User, url: &str, rows: i64, args: &[&str]) -> Self {
        let all: Vec<&str> = ["--output", "json", "lab"].iter().chain(args).copied().collect();
        let mut command = user.command(&all);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let running = Self { child: command.spawn().expect("start the lab") };
        let sql = "SELECT count(*) FROM taskdeck_lab.tasks";
        eventually("it is at work", || {
            psql(url, sql).is_ok_and(|count| count.trim().parse::<i64>().is_ok_and(|count| count >= rows))
        });
        running
    }

    /// Ends it as a crash would.
    pub(crate) fn kill(mut self) {
        self.child.kill().expect("kill it");
        self.child.wait().expect("it ends");
    }

    /// Sends it a signal.
    pub(crate) fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw).expect("a process id");
        kill_process(pid, signal).expect("it is there");
    }

    /// Waits for its end; returns its code and what it printed.
    pub(crate) fn end(mut self) -> (i32, Value) {
        let out = self.child.stdout.take().expect("piped");
        let reading = std::thread::spawn(move || serde_json::from_reader(out));
        let code = wait(&mut self.child, &["lab"]);
        (code, reading.join().expect("read").expect("one document"))
    }
}
