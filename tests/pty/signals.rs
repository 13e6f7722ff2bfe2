//! Signals and terminals that go away: the program drains, gives back what it took, and ends by itself.

use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::desk::{Desk, wait_until};
use crate::process::Process;
use crate::support::empty_database;

/// A console with one task that runs for `delay`.
fn busy(delay: &str, more: &str) -> (Desk, Process, i64) {
    let mut desk = Desk::open(&empty_database());
    let process = desk.start(&format!("--workers 1 --work-delay {delay} {more}"));
    desk.begin_empty();
    let id = desk.submit(&["takes its time"]);
    desk.wait_line(id, &["RUNNING", "here/"]);
    (desk, process, id)
}

#[test]
fn sigterm_drains_shows_it_and_gives_the_terminal_back() {
    let (mut desk, process, id) = busy("3s", "");
    process.signal(Signal::TERM);
    desk.terminal.wait_text("draining   1 left");
    assert_eq!(desk.back_in_shell(), 0);
    assert!(desk.row(id).starts_with("SUCCEEDED|"), "{}", desk.row(id));
}

#[test]
fn a_second_sigterm_cancels_and_a_third_leaves() {
    let (mut desk, process, id) = busy("50s", "--ignore-cancel");
    process.signal(Signal::TERM);
    desk.terminal.wait_text("draining   1 left");
    process.signal(Signal::TERM);
    desk.terminal.wait_text("asked to stop   1 left");
    desk.wait_row(id, |row| row.starts_with("RUNNING|t|"));
    process.signal(Signal::TERM);
    assert_eq!(desk.back_in_shell(), 1);
    assert!(desk.terminal.screen().contains("left RUNNING"), "{}", desk.terminal.screen());
    assert!(desk.row(id).starts_with("RUNNING|t|"), "{}", desk.row(id));
}

#[test]
fn sigint_from_outside_is_as_good_as_ctrl_c() {
    let (mut desk, process, id) = busy("50s", "");
    process.signal(Signal::INT);
    desk.terminal.wait_text("1 task is running here");
    process.signal(Signal::INT);
    assert_eq!(desk.back_in_shell(), 0);
    assert!(desk.row(id).starts_with("CANCELED|"), "{}", desk.row(id));
}

#[test]
fn a_terminal_that_closes_ends_it_after_its_work_and_without_spinning() {
    let (mut desk, process, id) = busy("6s", "");
    let (began, spent) = (Instant::now(), process.processor_time());
    desk.terminal.hang_up();
    wait_until("the drain after the hang-up", || {
        (desk.psql("SELECT state FROM taskdeck.instances") == "draining").then_some(())
    });
    // While the task still runs, the time on processors is compared with the time that passed.
    let mut spinning = Vec::new();
    while !process.is_gone() {
        let (wall, used) = (began.elapsed(), process_time(process).saturating_sub(spent));
        if wall > Duration::from_secs(2) {
            spinning.push((used, wall));
        }
        assert!(wall < Duration::from_secs(40), "it outlived its terminal by {wall:?}");
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(desk.row(id).starts_with("SUCCEEDED|"), "{}", desk.row(id));
    assert_eq!(desk.psql("SELECT state FROM taskdeck.instances"), "stopped");
    let (used, wall) = spinning.into_iter().rfind(|(used, _)| !used.is_zero()).expect("it was looked at");
    assert!(used * 4 < wall, "{used:?} of processor time in {wall:?}");
}

/// After `exec` there is no shell in between, so that how the program ended is seen: by itself, not by a signal of its
/// own making (its report of a terminal that is gone must not go to that terminal).
#[test]
fn a_console_whose_terminal_is_closed_ends_in_good_order() {
    for workers in [0, 2] {
        let mut desk = Desk::open(&empty_database());
        desk.run(&format!("exec taskdeck --operator alice --workers {workers}"));
        desk.wait_drawn();
        desk.terminal.hang_up();
        assert_eq!(desk.terminal.wait_end(), Ok(0), "with {workers} workers");
        assert_eq!(desk.psql("SELECT state FROM taskdeck.instances"), "stopped");
    }
}

/// The time on processors; none once the process is gone.
fn process_time(process: Process) -> Duration {
    if process.is_gone() { Duration::ZERO } else { process.processor_time() }
}

#[test]
fn a_shell_that_is_killed_ends_its_idle_console() {
    let mut desk = Desk::open(&empty_database());
    let process = desk.start("--workers 1");
    Process { pid: desk.terminal.shell() }.signal(Signal::KILL);
    process.wait_gone();
    assert_eq!(desk.psql("SELECT state FROM taskdeck.instances"), "stopped");
}

#[test]
fn sigterm_while_it_starts_leaves_the_terminal_as_it_was() {
    let mut desk = Desk::open(&empty_database());
    // The first start makes the schema; the others find it and are signalled ever later on their way.
    desk.start("--workers 1");
    desk.begin_empty();
    assert_eq!(desk.quit(), 0);
    let shell = desk.terminal.shell();
    let mut ends = [0, 0];
    for round in 0_u32..20 {
        let mark = desk.terminal.mark();
        desk.run("taskdeck --workers 1");
        let process = Process::child_of(shell, "taskdeck");
        let taken = || contains(&desk.terminal.bytes_since(mark), b"\x1b[?1049h");
        if round < 14 {
            // At each step of the start that can be seen from outside: so many threads are there.
            let threads = round as usize / 2;
            wait_until("progress", || {
                (process.is_gone() || process.threads() > threads || taken()).then_some(())
            });
        } else {
            // And from the moment on which the terminal is taken.
            wait_until("the taken terminal", || (process.is_gone() || taken()).then_some(()));
            std::thread::sleep(Duration::from_millis(u64::from(round - 14) * 10));
        }
        process.signal(Signal::TERM);
        let code = desk.back_in_shell();
        assert!(code == 0 || code == 128 + 15, "round {round}: {code}");
        ends[usize::from(code == 0)] += 1;
    }
    assert!(ends[1] > 0, "some rounds came as far as the console: {ends:?}");
}

fn contains(bytes: &[u8], wanted: &[u8]) -> bool {
    bytes.windows(wanted.len()).any(|window| window == wanted)
}
