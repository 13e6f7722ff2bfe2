//! A signal ends the program although its console takes nothing.

use std::time::Duration;

use rustix::process::Signal;

use crate::desk::{Desk, wait_until};
use crate::process::Process;
use crate::support::empty_database;

/// A console on screen 1 with one task that runs, with `editor` for its inputs.
fn working(delay: &str, editor: &str) -> (Desk, Process, i64) {
    let url = empty_database();
    let mut desk = Desk::sized(120, 40, Some(&url), &[("VISUAL", editor)]);
    let process = desk.start(&format!("--workers 1 --work-delay {delay}"));
    desk.begin_empty();
    let id = desk.submit(&["takes its time"]);
    desk.wait_line(id, &["RUNNING"]);
    desk.terminal.keys("g");
    (desk, process, id)
}

#[test]
fn sigterm_ends_it_while_an_editor_has_the_terminal() {
    // One that goes when it is told to, and one that does not.
    for (editor, signal) in [
        ("sh -c 'echo THE EDITOR; exec sleep 600'", Signal::TERM),
        ("sh -c 'trap : HUP TERM; echo THE EDITOR; while :; do sleep 1; done'", Signal::HUP),
    ] {
        let (mut desk, process, id) = working("2s", editor);
        desk.terminal.wait_text("Input (14 B)");
        desk.terminal.keys("e");
        desk.terminal.wait_text("THE EDITOR");
        process.signal(signal);
        process.wait_gone();
        assert_eq!(desk.back_in_shell(), 0, "{editor}");
        // The workers were drained, not dropped.
        assert!(desk.row(id).starts_with("SUCCEEDED|"), "{}", desk.row(id));
        assert_eq!(desk.psql("SELECT state FROM taskdeck.instances"), "stopped");
    }
}

/// Whether the thread that draws hangs in a write.
fn is_stalled(process: Process) -> bool {
    let tasks = std::fs::read_dir(format!("/proc/{}/task", process.pid)).expect("it runs");
    let texts = tasks.flatten().map(|task| {
        ["comm", "syscall"].map(|name| std::fs::read_to_string(task.path().join(name)).unwrap_or_default())
    });
    // `write` on x86-64 and on everything newer.
    let writes = |call: &str| call.starts_with("1 ") || call.starts_with("64 ");
    texts.into_iter().any(|[name, call]| name.starts_with("taskdeck-consol") && writes(&call))
}

#[test]
fn sigterm_ends_it_while_its_line_has_stalled() {
    let mut desk = Desk::sized(200, 50, Some(&empty_database()), &[]);
    let folder = tempfile::tempdir().expect("a folder");
    let code = folder.path().join("code");
    desk.run(&format!("taskdeck --workers 1 --work-delay 2s; echo $? >{}", code.display()));
    desk.wait_drawn();
    let process = Process::child_of(desk.terminal.shell(), "taskdeck");
    desk.begin_empty();
    let id = desk.submit(&["takes its time"]);
    desk.wait_line(id, &["RUNNING"]);
    desk.terminal.hold();
    wait_until("a line that has stalled", || {
        desk.terminal.keys("\u{c}");
        std::thread::sleep(Duration::from_millis(20));
        (is_stalled(process) && {
            std::thread::sleep(Duration::from_millis(300));
            is_stalled(process)
        })
        .then_some(())
    });
    process.signal(Signal::TERM);
    process.wait_gone();
    let code =
        wait_until("its exit code", || std::fs::read_to_string(&code).ok().filter(|code| !code.is_empty()));
    assert_eq!(code, "0\n");
    assert!(desk.row(id).starts_with("SUCCEEDED|"), "{}", desk.row(id));
    assert_eq!(desk.psql("SELECT state FROM taskdeck.instances"), "stopped");
}

/// It is for ending a program on the spot, so nothing is drained; but the shell gets its terminal as it was.
#[test]
fn sigquit_gives_the_terminal_back_and_then_ends_it() {
    let (mut desk, process, id) = {
        let mut desk = Desk::open(&empty_database());
        // No file of the whole memory for a test.
        desk.terminal.line("ulimit -c 0");
        let process = desk.start("--workers 1 --work-delay 50s");
        desk.begin_empty();
        let id = desk.submit(&["takes its time"]);
        desk.wait_line(id, &["RUNNING"]);
        (desk, process, id)
    };
    process.signal(Signal::QUIT);
    assert_eq!(desk.back_in_shell(), 128 + 3);
    assert!(desk.row(id).starts_with("RUNNING|"), "{}", desk.row(id));
}
