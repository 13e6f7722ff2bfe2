//! Ctrl-Z and `fg`, and stops that nobody announced.

use rustix::process::Signal;

use crate::desk::{Desk, wait_until};
use crate::process::Process;
use crate::support::empty_database;

/// A console with one finished task.
fn calm() -> (Desk, Process) {
    let mut desk = Desk::open(&empty_database());
    let process = desk.start("--workers 1");
    desk.begin_empty();
    let id = desk.submit(&["hello world"]);
    desk.wait_line(id, &["SUCCEEDED", "hello world"]);
    (desk, process)
}

#[test]
fn ctrl_z_gives_the_shell_its_terminal_and_fg_redraws_everything() {
    let (mut desk, process) = calm();
    for round in 0..2 {
        desk.terminal.keys("\u{1a}");
        // 128 + SIGSTOP is what the shell says of a job that was stopped; the terminal is as it was.
        assert_eq!(desk.back_in_shell(), 128 + 19, "round {round}");
        process.wait_state('T');
        // Whatever the shell writes meanwhile is gone from the console's screen.
        desk.terminal.line("clear; echo something else; seq 1 60");
        desk.terminal.wait_text("60\n");
        desk.terminal.line("fg");
        desk.wait_drawn();
        let screen = desk.terminal.wait_for("the whole screen again", |screen| {
            ["1 Tasks", "SUCCEEDED", "hello world", "quit", "link ok"]
                .iter()
                .all(|text| screen.contains(text))
        });
        assert!(!screen.contains("something else"), "{screen}");
        // Keys go to the console again.
        desk.terminal.keys("?");
        desk.terminal.wait_text("On every screen");
        desk.terminal.keys("\u{1b}");
        desk.terminal.wait_for("the closed help", |screen| !screen.contains("On every screen"));
    }
    assert_eq!(desk.quit(), 0);
}

#[test]
fn a_stop_from_outside_and_a_continue_redraw_everything() {
    let (mut desk, process) = calm();
    let whole = desk.terminal.screen();
    process.signal(Signal::STOP);
    process.wait_state('T');
    // The shell notices, and types over what stands on the screen, which it could not restore.
    desk.terminal.wait_text("shell>");
    desk.terminal.line("seq 1 60; echo typed over it");
    desk.terminal.wait_text("\ntyped over it");
    // Continued while the shell has the terminal it takes nothing from it: it is stopped again at the first try.
    let before = process.switches();
    process.signal(Signal::CONT);
    wait_until("a process that ran and was stopped again", || {
        (process.switches() > before && process.state() == 'T').then_some(())
    });
    assert!(desk.terminal.screen().contains("\ntyped over it"), "{}", desk.terminal.screen());
    desk.terminal.line("fg");
    let screen = desk.terminal.wait_for("the whole screen again", |screen| {
        ["1 Tasks", "SUCCEEDED", "hello world", "quit", "link ok"].iter().all(|text| screen.contains(text))
    });
    assert!(!screen.contains("typed over it"), "{screen}\nbefore:\n{whole}");
    let modes = desk.terminal.modes();
    assert_eq!(modes, (true, true, true), "alternate screen, hidden cursor, bracketed paste");
    desk.terminal.keys("?");
    desk.terminal.wait_text("On every screen");
    desk.terminal.keys("\u{1b}");
    desk.terminal.wait_for("the closed help", |screen| !screen.contains("On every screen"));
    assert_eq!(desk.quit(), 0);
}

#[test]
fn sigtstp_from_outside_is_as_good_as_ctrl_z() {
    let (mut desk, process) = calm();
    process.signal(Signal::TSTP);
    assert_eq!(desk.back_in_shell(), 128 + 19);
    process.wait_state('T');
    desk.terminal.line("fg");
    desk.wait_drawn();
    desk.terminal.wait_text("hello world");
    assert_eq!(desk.quit(), 0);
}

#[test]
fn without_a_shell_there_is_no_suspending_and_a_stop_and_a_continue_redraw_everything() {
    let mut desk = Desk::open(&empty_database());
    desk.run("exec taskdeck --operator alice --workers 1");
    desk.wait_drawn();
    desk.begin_empty();
    let process = Process { pid: desk.terminal.shell() };
    desk.terminal.keys("\u{1a}");
    desk.terminal.wait_text("not suspended: there is no shell to return to");
    let mark = desk.terminal.mark();
    process.signal(Signal::STOP);
    process.wait_state('T');
    process.signal(Signal::CONT);
    wait_until("a whole new picture", || {
        let sent = String::from_utf8_lossy(&desk.terminal.bytes_since(mark)).into_owned();
        ["Workers", "tenants", "read-write", "There"].iter().all(|text| sent.contains(text)).then_some(())
    });
    assert_eq!(desk.terminal.modes(), (true, true, true));
    desk.terminal.keys("?");
    desk.terminal.wait_text("On every screen");
    desk.terminal.keys("\u{1b}");
    desk.terminal.wait_for("the closed help", |screen| !screen.contains("On every screen"));
    desk.terminal.keys("q");
    process.wait_gone();
}

#[test]
fn tasks_are_taken_back_from_a_console_that_stays_stopped_and_it_is_told() {
    let (mut desk, _process) = calm();
    assert_eq!(desk.quit(), 0);
    let process = desk.start("--workers 1 --work-delay 2s --lease 2s");
    let id = desk.submit(&["frozen under its worker"]);
    desk.wait_line(id, &["RUNNING", "here/"]);
    desk.terminal.keys("\u{1a}");
    assert_eq!(desk.back_in_shell(), 128 + 19);
    process.wait_state('T');
    // Another process finds the lease passed and runs the task; what the stopped one knows is old.
    let mut other = Desk::open(&desk.url());
    other.start("--workers 1 --lease 30s");
    other.wait_line(id, &["SUCCEEDED"]);
    let finished = desk.row(id);
    desk.terminal.line("fg");
    desk.wait_drawn();
    desk.wait_line(id, &["SUCCEEDED"]);
    desk.terminal.keys("5");
    desk.terminal.wait_text("lease");
    assert_eq!(desk.row(id), finished, "the late finish changes nothing");
    assert_eq!(other.quit(), 0);
    assert_eq!(desk.quit(), 0);
}
