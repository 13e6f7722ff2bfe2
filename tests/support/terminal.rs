//! The real program in a real pseudo-terminal, read as a person would: by what stands on the screen.
#![expect(unreachable_pub, reason = "a module of a test binary and of the picture")]

use std::io::{Read as _, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};

use super::PATIENCE;

/// A shell in a pseudo-terminal; the program is started from it, as people do.
pub struct Terminal {
    child: Box<dyn Child + Send + Sync>,
    master: Option<Box<dyn MasterPty + Send>>,
    keys: Option<Box<dyn std::io::Write + Send>>,
    seen: Arc<Mutex<Seen>>,
    closing: Arc<AtomicBool>,
    held: Arc<AtomicBool>,
}

/// What came out of the terminal.
struct Seen {
    screen: vt100::Parser,
    bytes: Vec<u8>,
}

impl Terminal {
    /// A shell with `variables` and nothing else in its environment but what a program needs.
    pub fn open(columns: u16, lines: u16, variables: &[(&str, &str)]) -> Self {
        let size = PtySize { rows: lines, cols: columns, pixel_width: 0, pixel_height: 0 };
        let pair = native_pty_system().openpty(size).expect("open a pseudo-terminal");
        // Job control, so that Ctrl-Z stops the program and `fg` continues it.
        let mut command = CommandBuilder::new("bash");
        command.args(["--norc", "--noprofile", "-i"]);
        command.env_clear();
        for (name, value) in
            [("TERM", "xterm-256color"), ("LC_ALL", "C.UTF-8"), ("PS1", "shell> "), ("HISTFILE", "/dev/null")]
        {
            command.env(name, value);
        }
        if let Some(path) = std::env::var_os("PATH") {
            command.env("PATH", path);
        }
        for (name, value) in variables {
            command.env(name, value);
        }
        command.cwd("/");
        let child = pair.slave.spawn_command(command).expect("start a shell");
        drop(pair.slave);
        let screen = vt100::Parser::new(cells(lines), cells(columns), 0);
        let seen = Arc::new(Mutex::new(Seen { screen, bytes: Vec::new() }));
        let closing = Arc::new(AtomicBool::new(false));
        let mut output = pair.master.try_clone_reader().expect("read the terminal");
        let held = Arc::new(AtomicBool::new(false));
        let (into, closed, waits) = (Arc::clone(&seen), Arc::clone(&closing), Arc::clone(&held));
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = output.read(&mut bytes) {
                let mut seen = into.lock().expect("no panic");
                seen.screen.process(&bytes[..count]);
                seen.bytes.extend_from_slice(&bytes[..count]);
                // The terminal is closed only when this, the last of its descriptors, is.
                if closed.load(Ordering::SeqCst) {
                    return;
                }
                while waits.load(Ordering::SeqCst) && !closed.load(Ordering::SeqCst) {
                    std::thread::sleep(Duration::from_millis(5));
                }
            }
        });
        let keys = pair.master.take_writer().expect("write to the terminal");
        let mut terminal = Self { child, master: Some(pair.master), keys: Some(keys), seen, closing, held };
        terminal.wait_for("the shell's prompt", |screen| screen.contains("shell> "));
        terminal
    }

    /// Types `text`, whatever it holds.
    pub fn keys(&mut self, text: &str) {
        let keys = self.keys.as_mut().expect("the terminal is open");
        keys.write_all(text.as_bytes()).expect("type");
        keys.flush().expect("type");
    }

    /// Types a line and Enter.
    pub fn line(&mut self, text: &str) {
        self.keys(&format!("{text}\r"));
    }

    /// Reads nothing more of what comes out, but what is being read, as a line does that has stalled.
    pub fn hold(&self) {
        self.held.store(true, Ordering::SeqCst);
    }

    /// What stands on the screen now.
    pub fn screen(&self) -> String {
        self.seen.lock().expect("no panic").screen.screen().contents()
    }

    /// How many bytes have come out so far.
    pub fn mark(&self) -> usize {
        self.seen.lock().expect("no panic").bytes.len()
    }

    /// The bytes that have come out since a [`Terminal::mark`].
    pub fn bytes_since(&self, mark: usize) -> Vec<u8> {
        self.seen.lock().expect("no panic").bytes[mark..].to_vec()
    }

    /// Whether the alternate screen is shown, a cursor is hidden, and pastes are bracketed.
    pub fn modes(&self) -> (bool, bool, bool) {
        self.modes_of()()
    }

    /// [`Terminal::modes`] for a closure that must not borrow the terminal.
    pub fn modes_of(&self) -> impl Fn() -> (bool, bool, bool) + use<> {
        let seen = Arc::clone(&self.seen);
        move || {
            let seen = seen.lock().expect("no panic");
            let screen = seen.screen.screen();
            (screen.alternate_screen(), screen.hide_cursor(), screen.bracketed_paste())
        }
    }

    /// The shell's process id.
    pub fn shell(&self) -> u32 {
        self.child.process_id().expect("the shell runs")
    }

    /// A copy of the screen with its colours, for pictures.
    pub fn cells(&self) -> vt100::Screen {
        self.seen.lock().expect("no panic").screen.screen().clone()
    }

    /// Waits until the screen passes `test`; returns it.
    pub fn wait_for(&mut self, what: &str, test: impl Fn(&str) -> bool) -> String {
        let started = Instant::now();
        loop {
            let screen = self.screen();
            if test(&screen) {
                return screen;
            }
            assert!(started.elapsed() < PATIENCE, "waited in vain for {what}; the screen is:\n{screen}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Waits until something has come out since `mark`.
    pub fn wait_bytes(&mut self, mark: usize) {
        let seen = Arc::clone(&self.seen);
        self.wait_for("anything new", |_| seen.lock().expect("no panic").bytes.len() > mark);
    }

    /// Waits until `text` stands on the screen.
    pub fn wait_text(&mut self, text: &str) -> String {
        self.wait_for(text, |screen| screen.contains(text))
    }

    /// Gives the terminal another size.
    pub fn resize(&mut self, columns: u16, lines: u16) {
        let size = PtySize { rows: lines, cols: columns, pixel_width: 0, pixel_height: 0 };
        self.seen.lock().expect("no panic").screen.screen_mut().set_size(cells(lines), cells(columns));
        self.master.as_ref().expect("the terminal is open").resize(size).expect("resize");
    }

    /// Waits until the terminal's first process has ended; returns its exit code, or the signal's name where one ended
    /// it. After `exec` that process is the program itself.
    pub fn wait_end(&mut self) -> Result<u32, String> {
        let started = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().expect("it can be waited for") {
                return status.signal().map_or(Ok(status.exit_code()), |signal| Err(signal.to_owned()));
            }
            assert!(started.elapsed() < PATIENCE, "it outlived its terminal");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Closes the terminal as a line that is cut does. What the closing itself lets the program draw is the last
    /// that is read.
    pub fn hang_up(&mut self) {
        self.closing.store(true, Ordering::SeqCst);
        self.keys = None;
        self.master = None;
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.hang_up();
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn cells(count: u16) -> std::num::NonZero<u16> {
    std::num::NonZero::new(count).expect("a terminal has at least one cell")
}
