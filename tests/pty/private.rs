//! The private server under real consoles: made, shared, adopted, stopped by the last one out.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;

use rustix::process::Signal;
use serde_json::Value;
use tempfile::TempDir;

use crate::desk::{Desk, rows_with, taskdeck, wait_until};
use crate::process::Process;

/// A folder that the server's account can reach; whatever runs or stands in it is destroyed at the end.
struct Folder {
    temp: TempDir,
}

impl Folder {
    fn new() -> Self {
        let temp = tempfile::Builder::new().prefix("td-pty-").tempdir_in("/tmp").expect("a folder in /tmp");
        fs::set_permissions(temp.path(), Permissions::from_mode(0o755)).expect("an open folder");
        Self { temp }
    }

    fn path(&self) -> String {
        self.temp.path().join("deck").display().to_string()
    }

    fn desk(&self) -> Desk {
        let path = self.path();
        let mut variables = vec![("TASKDECK_DATA_DIR", path.as_str())];
        let programs = crate::support::programs().display().to_string();
        variables.push(("TASKDECK_PG_BIN", &programs));
        Desk::sized(140, 40, None, &variables)
    }

    fn command(&self, arguments: &[&str]) -> Value {
        let path = self.path();
        let programs = crate::support::programs().display().to_string();
        let variables = [("TASKDECK_DATA_DIR", path.as_str()), ("TASKDECK_PG_BIN", &programs)];
        let output = taskdeck(&variables, &[arguments, &["--output", "json"]].concat());
        serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("{arguments:?}: {error}: {output:?}"))
    }

    /// The server's process.
    fn server(&self) -> Process {
        let status = self.command(&["private", "status"]);
        let pid = status["pid"].as_u64().unwrap_or_else(|| panic!("a running server: {status}"));
        Process { pid: pid.try_into().expect("a process id") }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A failed test's own words matter more than what this could say.
        let path = self.path();
        let programs = crate::support::programs().display().to_string();
        let variables = [("TASKDECK_DATA_DIR", path.as_str()), ("TASKDECK_PG_BIN", &programs)];
        let _ = taskdeck(&variables, &["private", "stop"]);
        let _ = taskdeck(&variables, &["private", "destroy", "--yes"]);
    }
}

#[test]
fn the_first_console_makes_the_server_the_second_shares_it_and_the_last_one_out_stops_it() {
    let folder = Folder::new();
    let mut first = folder.desk();
    first.start("--workers 1");
    first.terminal.wait_text("y submit the samples");
    first.terminal.keys("y");
    first.terminal.wait_for("samples", |screen| rows_with(screen, "SUCCEEDED") == 5);
    first.terminal.wait_text("private server");
    let server = folder.server();

    let mut second = folder.desk();
    second.start("--workers 1");
    let screen = second.terminal.wait_for("the same tasks", |screen| rows_with(screen, "SUCCEEDED") == 5);
    assert!(!screen.contains("A new database"), "{screen}");
    assert_eq!(folder.server().pid, server.pid, "one server");

    assert_eq!(first.quit(), 0);
    assert!(first.terminal.screen().contains("private"), "announced:\n{}", first.terminal.screen());
    // The second goes on to work.
    folder.command(&["submit", "for the one that stays"]);
    second.terminal.wait_for("its task", |screen| rows_with(screen, "SUCCEEDED") == 6);
    assert_eq!(folder.server().pid, server.pid, "it lives");
    assert_eq!(second.quit(), 0);
    server.wait_gone();
    let status = folder.command(&["private", "status"]);
    assert_ne!(status["state"], "running", "{status}");

    // What was submitted is there again at the next start, and no samples are offered.
    let mut third = folder.desk();
    third.start("--workers 0");
    third.terminal.wait_for("the old tasks", |screen| rows_with(screen, "SUCCEEDED") == 6);
    assert_eq!(third.quit(), 0);
}

#[test]
fn ctrl_c_inside_does_not_reach_the_server() {
    let folder = Folder::new();
    let mut desk = folder.desk();
    desk.start("--workers 1 --work-delay 50s");
    desk.terminal.wait_text("A new database");
    desk.terminal.keys("y");
    // Running for the database and for the console itself, which hears of its workers a little later.
    desk.terminal.wait_for("a running sample", |screen| screen.contains("here/1"));
    let server = folder.server();
    desk.terminal.keys("\u{3}");
    desk.terminal.wait_text("1 task is running here");
    desk.terminal.keys("\u{1b}");
    desk.terminal.wait_for("the closed question", |screen| !screen.contains("is running here"));
    // SIGINT to the console's whole process group, as a terminal in its ordinary mode sends it.
    let output = std::process::Command::new("kill")
        .args(["-INT", "--", &format!("-{}", desk.group())])
        .status()
        .expect("kill runs");
    assert!(output.success());
    desk.terminal.wait_text("is running here");
    desk.terminal.keys("\u{1b}");
    desk.terminal.wait_for("the closed question", |screen| !screen.contains("is running here"));
    // The server answers others too.
    assert_eq!(folder.command(&["list", "--status", "RUNNING"])["tasks"].as_array().map(Vec::len), Some(1));
    assert_eq!(folder.server().pid, server.pid);
    assert!(!server.is_gone());
    desk.terminal.keys("q");
    desk.terminal.wait_text("is running here");
    desk.terminal.keys("c");
    assert_eq!(desk.back_in_shell(), 0);
    server.wait_gone();
}

#[test]
fn a_killed_console_leaves_a_server_that_the_next_adopts() {
    let folder = Folder::new();
    let mut desk = folder.desk();
    let process = desk.start("--workers 1 --lease 2s");
    desk.begin_empty();
    let server = folder.server();
    process.signal(Signal::KILL);
    process.wait_gone();
    assert!(!server.is_gone(), "nobody was left to stop it");

    let mut next = folder.desk();
    next.start("--workers 1 --lease 2s");
    // A private server that holds no task yet is offered samples by whoever comes.
    next.begin_empty();
    next.terminal.wait_text("There are no tasks yet");
    assert_eq!(folder.server().pid, server.pid, "adopted, not started again");
    folder.command(&["submit", "after the adoption"]);
    next.terminal.wait_text("SUCCEEDED");
    // The killed one's instance is declared lost by the living.
    next.terminal.keys("2");
    next.terminal.wait_text("LOST");
    assert_eq!(next.quit(), 0);
    server.wait_gone();
    wait_until("no server", || (folder.command(&["private", "status"])["state"] != "running").then_some(()));
}

#[test]
fn a_server_that_is_killed_under_a_console_is_started_again_and_said() {
    let folder = Folder::new();
    let mut desk = folder.desk();
    desk.start("--workers 1");
    desk.begin_empty();
    folder.command(&["submit", "before"]);
    desk.terminal.wait_text("SUCCEEDED");
    let server = folder.server();
    server.signal(Signal::KILL);
    server.wait_gone();
    wait_until("another server", || {
        let status = folder.command(&["private", "status"]);
        (status["state"] == "running" && status["pid"] != server.pid).then_some(())
    });
    desk.terminal
        .wait_for("all well again", |screen| screen.contains("link ok") && !screen.contains("NO ANSWER"));
    desk.terminal.keys("5");
    desk.terminal.wait_text("the private server has gone; it is started again");
    desk.terminal.wait_text("the private server runs again");
    desk.terminal.keys("1");
    // It works on, and what was done is there.
    folder.command(&["submit", "after"]);
    desk.terminal.wait_for("both", |screen| rows_with(screen, "SUCCEEDED") == 2);
    let next = folder.server();
    assert_eq!(desk.quit(), 0);
    next.wait_gone();
    assert_eq!(folder.command(&["private", "status"])["state"], "stopped");
}

#[test]
fn destroying_asks_and_only_a_yes_is_a_yes() {
    let folder = Folder::new();
    folder.command(&["submit", "kept"]);
    let mut desk = folder.desk();
    // The cursor waits behind it: what stands above may be older.
    let asked = |screen: &str| screen.trim_end().ends_with("This cannot be undone. [y/N]");
    desk.run("taskdeck private destroy");
    desk.terminal.wait_for("the question", asked);
    desk.terminal.keys("no\r");
    desk.terminal.wait_text("nothing was removed");
    desk.back_in_shell();
    assert_eq!(folder.command(&["private", "status"])["state"], "stopped");
    desk.run("taskdeck private destroy");
    desk.terminal.wait_for("the question", asked);
    desk.terminal.keys("y\r");
    desk.terminal.wait_text(" is removed");
    assert_eq!(desk.back_in_shell(), 0);
    assert_eq!(folder.command(&["private", "status"])["state"], "none");
}
