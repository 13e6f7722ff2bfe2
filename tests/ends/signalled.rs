//! A signal ends the program although its console takes nothing.

use std::io::{Read as _, Write};
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::Duration;

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};
use rustix::process::Signal;

use crate::desk::{self, Desk, PROGRAM, wait_until};
use crate::process::Process;
use crate::support::{self, PATIENCE, empty_database};

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

/// The program in a terminal that is read only for as long as somebody wants to.
struct Stallable {
    child: Box<dyn Child + Send + Sync>,
    keys: Box<dyn Write + Send>,
    seen: Receiver<Vec<u8>>,
    screen: vt100::Parser,
    _master: Box<dyn MasterPty + Send>,
}

impl Stallable {
    fn start(url: &str) -> Self {
        let size = PtySize { rows: 50, cols: 200, pixel_width: 0, pixel_height: 0 };
        let pair = native_pty_system().openpty(size).expect("a pseudo-terminal");
        let mut command = CommandBuilder::new(PROGRAM);
        command.args(["--workers", "1", "--work-delay", "2s"]);
        command.env_clear();
        for (name, value) in [("TERM", "xterm-256color"), ("HOME", "/nonexistent"), ("LC_ALL", "C.UTF-8")] {
            command.env(name, value);
        }
        command.env("TASKDECK_DATABASE_URL", url);
        command.cwd("/");
        let child = pair.slave.spawn_command(command).expect("start the program");
        let mut output = pair.master.try_clone_reader().expect("read the terminal");
        // Without room in between: who does not take what was read stops the reading.
        let (sender, seen) = sync_channel(0);
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = output.read(&mut bytes) {
                if sender.send(bytes[..count].to_vec()).is_err() {
                    return;
                }
            }
        });
        let keys = pair.master.take_writer().expect("write to the terminal");
        let cells = |count| std::num::NonZero::new(count).expect("not zero");
        let screen = vt100::Parser::new(cells(50), cells(200), 0);
        Self { child, keys, seen, screen, _master: pair.master }
    }

    fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).expect("type");
        self.keys.flush().expect("type");
    }

    fn wait_text(&mut self, text: &str) {
        while !self.screen.screen().contents().contains(text) {
            match self.seen.recv_timeout(PATIENCE) {
                Ok(bytes) => self.screen.process(&bytes),
                Err(error) => panic!("no {text} ({error}):\n{}", self.screen.screen().contents()),
            }
        }
    }

    /// Whether the thread that draws hangs in a write.
    fn is_stalled(&self) -> bool {
        let pid = self.child.process_id().expect("it runs");
        let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).expect("it runs");
        let texts = tasks.flatten().map(|task| {
            ["comm", "syscall"]
                .map(|name| std::fs::read_to_string(task.path().join(name)).unwrap_or_default())
        });
        // `write` on x86-64 and on everything newer.
        let writes = |call: &str| call.starts_with("1 ") || call.starts_with("64 ");
        texts.into_iter().any(|[name, call]| name.starts_with("taskdeck-consol") && writes(&call))
    }
}

#[test]
fn sigterm_ends_it_while_its_line_has_stalled() {
    let url = empty_database();
    let psql = |sql: &str| support::psql(&url, sql).expect(sql);
    let mut console = Stallable::start(&url);
    console.wait_text("A new database");
    console.press("\u{1b}");
    let output = desk::taskdeck(&[("TASKDECK_DATABASE_URL", &url)], &["submit", "takes its time"]);
    assert!(output.status.success(), "{output:?}");
    console.wait_text("RUNNING");
    wait_until("a line that has stalled", || {
        console.press("\u{c}");
        std::thread::sleep(Duration::from_millis(20));
        (console.is_stalled() && {
            std::thread::sleep(Duration::from_millis(300));
            console.is_stalled()
        })
        .then_some(())
    });
    Process { pid: console.child.process_id().expect("it runs") }.signal(Signal::TERM);
    let status = wait_until("the end", || console.child.try_wait().expect("a child"));
    assert!(status.success(), "{status:?}");
    assert_eq!(psql("SELECT status FROM taskdeck.tasks"), "SUCCEEDED");
    assert_eq!(psql("SELECT state FROM taskdeck.instances"), "stopped");
}
