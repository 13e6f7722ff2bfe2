//! The real program in a real pseudo-terminal, read as a person would: by what stands on the screen.
#![expect(dead_code, unreachable_pub, reason = "the tests and the picture each use a part of it")]

use std::io::{Read as _, Write as _};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};

use super::PATIENCE;

/// A shell in a pseudo-terminal; the program is started from it, as people do.
pub struct Terminal {
    child: Box<dyn Child + Send + Sync>,
    master: Option<Box<dyn MasterPty + Send>>,
    keys: Option<Box<dyn std::io::Write + Send>>,
    screen: Arc<Mutex<vt100::Parser>>,
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
        let screen = Arc::new(Mutex::new(vt100::Parser::new(cells(lines), cells(columns), 0)));
        let mut output = pair.master.try_clone_reader().expect("read the terminal");
        let seen = Arc::clone(&screen);
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count) = output.read(&mut bytes) {
                if count == 0 {
                    return;
                }
                seen.lock().expect("no panic").process(&bytes[..count]);
            }
        });
        let keys = pair.master.take_writer().expect("write to the terminal");
        let mut terminal = Self { child, master: Some(pair.master), keys: Some(keys), screen };
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

    /// What stands on the screen now.
    pub fn screen(&self) -> String {
        self.screen.lock().expect("no panic").screen().contents()
    }

    /// Whether the alternate screen is shown, a cursor is hidden, and pastes are bracketed.
    pub fn modes(&self) -> (bool, bool, bool) {
        let parser = self.screen.lock().expect("no panic");
        let screen = parser.screen();
        (screen.alternate_screen(), screen.hide_cursor(), screen.bracketed_paste())
    }

    /// A copy of the screen with its colours, for pictures.
    pub fn cells(&self) -> vt100::Screen {
        self.screen.lock().expect("no panic").screen().clone()
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

    /// Waits until `text` stands on the screen.
    pub fn wait_text(&mut self, text: &str) -> String {
        self.wait_for(text, |screen| screen.contains(text))
    }

    /// Gives the terminal another size.
    pub fn resize(&mut self, columns: u16, lines: u16) {
        let size = PtySize { rows: lines, cols: columns, pixel_width: 0, pixel_height: 0 };
        self.screen.lock().expect("no panic").screen_mut().set_size(cells(lines), cells(columns));
        self.master.as_ref().expect("the terminal is open").resize(size).expect("resize");
    }

    /// Process ids of the shell's children by the name of their program.
    pub fn children(&self, program: &str) -> Vec<u32> {
        let shell = self.child.process_id().expect("the shell runs");
        let list =
            std::fs::read_to_string(format!("/proc/{shell}/task/{shell}/children")).unwrap_or_default();
        list.split_whitespace()
            .filter_map(|pid| pid.parse().ok())
            .filter(|pid| {
                std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|comm| comm.trim() == program)
            })
            .collect()
    }

    /// Closes the terminal as a line that is cut does.
    pub fn hang_up(&mut self) {
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
