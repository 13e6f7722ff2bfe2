//! A process that stood still past its lease: what it knows is old, and it learns so before it does anything.

use rustix::process::{Pid, Signal, kill_process_group};

use crate::desk::{Desk, wait_until};
use crate::process::Process;
use crate::support::empty_database;
use crate::worker::Headless;

/// Counts on; with the text `held` in the first process it takes as long as nobody stops it, or until `GO`
/// is there or its folder is not.
const COMMAND: &str = r#"sh -c '
    read -r word
    if [ "$word" = held ] && [ -n "$GO" ]; then
        sleep 1000 &
        while [ -d "${GO%/*}" ] && ! [ -e "$GO" ]; do sleep 0.05; done
        kill $!
    fi
    echo by "$NAME"'"#;

/// What is frozen with the process, and what its command does meanwhile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Frozen {
    /// Only the process; its command goes on and does not end.
    Alone,
    /// Only the process; its command ends meanwhile, so that there is a late result.
    WithALateResult,
    /// The command's process group too, which nobody continues.
    WithItsCommand,
}

/// The processes of a group that have not ended.
fn group(leader: Process) -> Vec<u32> {
    let processes = std::fs::read_dir("/proc").expect("the list of processes").flatten();
    let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(|pid| {
        let process = Process { pid: *pid };
        process.group() == Some(leader.pid) && !process.is_gone()
    })
    .collect()
}

fn signal_group(leader: Process, signal: Signal) {
    let group = Pid::from_raw(leader.pid.try_into().expect("a small number")).expect("not zero");
    kill_process_group(group, signal).expect("a signal to the group");
}

/// Ends a group with the test, however it ends: nobody else would continue what was stopped.
struct Ended(Process);

impl Drop for Ended {
    fn drop(&mut self) {
        let leader = i32::try_from(self.0.pid).ok().and_then(Pid::from_raw);
        if let (Some(leader), false) = (leader, group(self.0).is_empty()) {
            for signal in [Signal::KILL, Signal::CONT] {
                let _ = kill_process_group(leader, signal);
            }
        }
    }
}

/// Everything that the tables hold of one task.
fn everything(desk: &Desk, id: i64) -> String {
    desk.psql(&format!(
        "SELECT tasks::text FROM taskdeck.tasks WHERE id = {id}
         UNION ALL (SELECT events::text FROM taskdeck.events WHERE task_id = {id} ORDER BY id)"
    ))
}

fn a_frozen_worker(frozen: Frozen) {
    let url = empty_database();
    let desk = Desk::open(&url);
    let folder = tempfile::tempdir().expect("a folder");
    let go = folder.path().join("go");
    let go_path = go.display().to_string();
    // Ten minutes of grace: what is stopped here ends because it is asked to, not because it is killed.
    let flags = ["--workers", "1", "--grace", "10m", "--analyser", "command", "--exec", COMMAND];
    let short = [&flags[..], &["--lease", "5s"]].concat();
    let first = Headless::start(&url, &short, &[("NAME", "first"), ("GO", &go_path)]);
    let id = desk.submit(&["held"]);
    desk.wait_row(id, |row| row.starts_with("RUNNING"));
    let command = Process::child_of(first.process().pid, "sh");
    let _ended = Ended(command);
    wait_until("the command's own children", || (group(command).len() >= 2).then_some(()));
    first.process().signal(Signal::STOP);
    first.process().wait_state('T');
    if frozen == Frozen::WithItsCommand {
        signal_group(command, Signal::STOP);
        command.wait_state('T');
    }
    // Meanwhile.
    let second = Headless::start(&url, &flags, &[("NAME", "second")]);
    desk.wait_row(id, |row| row.starts_with("SUCCEEDED"));
    second.wait_log("recovered", 1);
    let owner = "SELECT t.output, t.claim_no, i.pid FROM taskdeck.tasks t JOIN taskdeck.instances i ON i.id = t.claimed_by";
    let done = format!("by second\n|2|{}", second.process().pid);
    assert_eq!(desk.psql(&format!("{owner} WHERE t.id = {id}")), done);
    let finished = everything(&desk, id);
    if frozen == Frozen::WithALateResult {
        std::fs::write(&go, "").expect("let it end");
        wait_until("the command's end", || command.is_gone().then_some(()));
    } else {
        assert!(group(command).len() >= 2, "the command goes on");
    }
    // Only what the second process left may change below: nothing.
    second.process().signal(Signal::TERM);
    assert_eq!(second.end().code, Some(0));
    assert_eq!(desk.row(id), "SUCCEEDED|f|4");

    first.process().signal(Signal::CONT);
    let log = first.wait_log("registered", 2);
    assert!(log.contains("lease lost"), "{log}");
    assert!(log.contains("discarded"), "{log}");
    wait_until("the end of the command's group", || group(command).is_empty().then_some(()));
    let next = desk.submit(&["after it"]);
    desk.wait_row(next, |row| row.starts_with("SUCCEEDED"));
    assert_eq!(everything(&desk, id), finished, "the late one changed something");
    let states = "SELECT state FROM taskdeck.instances WHERE pid = ";
    let pid = first.process().pid;
    assert_eq!(desk.psql(&format!("{states}{pid} ORDER BY started_at")), "lost\nworking");
    let new = format!("{owner} WHERE t.id = {next} AND i.state = 'working'");
    assert_eq!(desk.psql(&new), format!("by first\n|1|{pid}"), "under its new instance");
    first.process().signal(Signal::TERM);
    let end = first.end();
    assert_eq!(end.code, Some(0), "{}", end.log);
}

#[test]
fn a_process_that_was_frozen_stops_its_command_and_begins_anew() {
    a_frozen_worker(Frozen::Alone);
}

#[test]
fn a_result_that_came_while_its_process_was_frozen_is_discarded() {
    a_frozen_worker(Frozen::WithALateResult);
}

#[test]
fn a_command_that_was_frozen_with_its_process_is_stopped_too() {
    a_frozen_worker(Frozen::WithItsCommand);
}

/// Without a shell in between, which would take the terminal when the console stands still.
#[test]
fn a_console_that_was_frozen_says_that_its_lease_was_lost() {
    let mut desk = Desk::open(&empty_database());
    desk.run("exec taskdeck --operator alice --workers 1 --lease 5s --work-delay 50s");
    desk.wait_drawn();
    desk.begin_empty();
    let id = desk.submit(&["frozen under its console"]);
    desk.wait_line(id, &["RUNNING", "here/"]);
    desk.terminal.keys("2");
    let screen = desk.terminal.wait_text("1/1 busy");
    assert!(!screen.contains("LOST"), "{screen}");
    let console = Process { pid: desk.terminal.shell() };
    console.signal(Signal::STOP);
    console.wait_state('T');
    let second = Headless::start(&desk.url(), &["--workers", "1"], &[]);
    desk.wait_row(id, |row| row.starts_with("SUCCEEDED"));
    let finished = everything(&desk, id);
    console.signal(Signal::CONT);
    let screen = desk.terminal.wait_for("the new instance", |screen| {
        let here = screen.lines().find(|line| line.contains("Here  working")).unwrap_or_default();
        here.contains("lease LOST") && here.contains("1 result discarded") && !here.contains("PAST")
    });
    assert!(screen.contains("LOST"), "{screen}");
    // The screen says what the table says: the old instance is lost, this one works.
    desk.terminal.wait_for("both of its instances", |screen| {
        let row =
            |name: &str, word: &str| screen.lines().any(|line| line.contains(name) && line.contains(word));
        row("here", "working") && row(&console.pid.to_string(), "LOST")
    });
    assert_eq!(everything(&desk, id), finished, "the late one changed something");
    second.process().signal(Signal::TERM);
    assert_eq!(second.end().code, Some(0));
    desk.terminal.keys("q");
    console.wait_gone();
    assert_eq!(desk.psql("SELECT count(*) FROM taskdeck.instances WHERE state IN ('stopped', 'lost')"), "3");
}
