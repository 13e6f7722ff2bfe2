//! A desk: a shell in a terminal, a database, and the console that is started from the one on the other.

use std::fs;
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use crate::process::Process;
use crate::support;
use crate::terminal::Terminal;

/// The program.
pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_taskdeck");

/// A shell in a terminal, and where its consoles find their database.
pub(crate) struct Desk {
    pub(crate) terminal: Terminal,
    url: Option<String>,
    home: TempDir,
}

impl Desk {
    /// 120 columns and 40 lines, on the database at `url`.
    pub(crate) fn open(url: &str) -> Self {
        Self::sized(120, 40, Some(url), &[])
    }

    /// A desk of that size and with these variables too; without an address it has what the variables name.
    pub(crate) fn sized(columns: u16, lines: u16, url: Option<&str>, more: &[(&str, &str)]) -> Self {
        let home = tempfile::tempdir().expect("a home for this desk");
        // The shell's own bracketed paste would hide whether the program has taken its own back.
        let settings = home.path().join("inputrc");
        fs::write(&settings, "set enable-bracketed-paste off\n").expect("write the shell's settings");
        let folder = std::path::Path::new(PROGRAM).parent().expect("a folder of programs");
        let path = format!("{}:{}", folder.display(), std::env::var("PATH").expect("a path"));
        let (home_path, settings) = (home.path().display().to_string(), settings.display().to_string());
        let mut variables = vec![
            ("PATH", path.as_str()),
            ("HOME", home_path.as_str()),
            ("INPUTRC", settings.as_str()),
            ("USER", "alice"),
        ];
        variables.extend(url.map(|url| ("TASKDECK_DATABASE_URL", url)));
        variables.extend(more);
        let terminal = Terminal::open(columns, lines, &variables);
        Self { terminal, url: url.map(str::to_owned), home }
    }

    /// Types the command, waits until it has the terminal and has drawn, and returns its process.
    pub(crate) fn start(&mut self, flags: &str) -> Process {
        self.run(&format!("taskdeck --operator alice {flags}"));
        self.wait_drawn();
        let shell = self.terminal.shell();
        Process::child_of(shell, "taskdeck")
    }

    /// Declines the samples of a first start.
    pub(crate) fn begin_empty(&mut self) {
        self.terminal.wait_text("A new database");
        self.terminal.keys("\u{1b}");
        self.terminal.wait_for("the closed question", |screen| !screen.contains("A new database"));
    }

    /// The process group of the console that runs.
    pub(crate) fn group(&self) -> u32 {
        // With job control each command leads a group of its own.
        Process::child_of(self.terminal.shell(), "taskdeck").pid
    }

    /// Keeps the terminal's settings and types the command.
    pub(crate) fn run(&mut self, command: &str) {
        self.terminal.line(&format!("stty -a >{}/before", self.home.path().display()));
        self.terminal.line(&format!("clear; {command}"));
    }

    /// Waits until a console has the terminal and has drawn something.
    pub(crate) fn wait_drawn(&mut self) {
        let modes = self.terminal.modes_of();
        self.terminal
            .wait_for("the console", |screen| modes() == (true, true, true) && !screen.trim().is_empty());
    }

    /// Waits until the shell has its terminal back, in the order in which it gave it away; the program's exit code.
    pub(crate) fn back_in_shell(&mut self) -> i32 {
        let modes = self.terminal.modes_of();
        self.terminal.wait_for("the shell's prompt again", |screen| {
            !modes().0 && screen.trim_end().ends_with("shell>")
        });
        assert_eq!(modes(), (false, false, false), "alternate screen, hidden cursor, bracketed paste");
        let home = self.home.path().to_owned();
        // Each time another word, as the answer of the time before may still stand there.
        let word = format!("code{}=", support::unique());
        self.terminal.line(&format!("echo {word}$?=; stty -a >{}/after", home.display()));
        let answered = |screen: &str| code(screen, &word).is_some() && screen.trim_end().ends_with("shell>");
        let screen = self.terminal.wait_for("the exit code", answered);
        let [before, after] = ["before", "after"].map(|name| {
            let settings = fs::read_to_string(home.join(name)).expect("the terminal's settings");
            // The first line is speed and size, which the tests change themselves.
            settings.lines().skip(1).map(str::to_owned).collect::<Vec<_>>()
        });
        assert!(!before.is_empty(), "stty said something");
        assert_eq!(after, before, "the settings of the terminal");
        code(&screen, &word).expect("an exit code")
    }

    /// `q` with nothing in flight; the exit code.
    pub(crate) fn quit(&mut self) -> i32 {
        self.terminal.keys("q");
        // What has just ended in the database may still be in flight for the console, which then asks how; and may end
        // for it too while it asks. `d` is an answer to either question.
        let questions = ["drain: claim nothing more", "Nothing is running here any more"];
        let asks = |screen: &str| questions.iter().any(|question| screen.contains(question));
        let modes = self.terminal.modes_of();
        let screen = self.terminal.wait_for("an end or a question", |screen| {
            !modes().0 || asks(screen) || screen.contains("draining")
        });
        if asks(&screen) {
            self.terminal.keys("d");
        }
        self.back_in_shell()
    }

    /// The address of the database.
    pub(crate) fn url(&self) -> String {
        self.url.clone().expect("a named database")
    }

    /// The port of the database, by which messages name it.
    pub(crate) fn port(&self) -> &str {
        let url = self.url.as_deref().expect("a named database");
        url.rsplit_once(':').map_or("", |(_, port)| port)
    }

    /// Runs a command of the program beside the console.
    pub(crate) fn taskdeck(&self, arguments: &[&str]) -> Output {
        let url = self.url.as_deref().expect("a named database");
        taskdeck(&[("TASKDECK_DATABASE_URL", url)], arguments)
    }

    /// Submits a text beside the console; its id.
    pub(crate) fn submit(&self, arguments: &[&str]) -> i64 {
        let output = self.taskdeck(&[&["submit", "--output", "json"], arguments].concat());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
        let document: Value = serde_json::from_slice(&output.stdout).expect("a document");
        document["task"]["id"].as_i64().expect("an id")
    }

    /// Asks the database, outside everything that is under test.
    pub(crate) fn psql(&self, sql: &str) -> String {
        let url = self.url.as_deref().expect("a named database");
        support::psql(url, sql).unwrap_or_else(|error| panic!("{sql}: {error}"))
    }

    /// State, cancel request and version of a task, as the database has them: `RUNNING|t|2`.
    pub(crate) fn row(&self, id: i64) -> String {
        self.psql(&format!("SELECT status, cancel_requested, version FROM taskdeck.tasks WHERE id = {id}"))
    }

    /// Waits until the dialog over the screen says `text`.
    pub(crate) fn wait_dialog(&mut self, text: &str) -> String {
        self.terminal.wait_for(text, |screen| dialog(screen).contains(text))
    }

    /// Waits until a task's row is as `wanted`.
    pub(crate) fn wait_row(&self, id: i64, wanted: impl Fn(&str) -> bool) -> String {
        wait_until(&format!("another row of task {id}"), || Some(self.row(id)).filter(|row| wanted(row)))
    }

    /// Waits until the row of a task on screen holds each of `words`.
    pub(crate) fn wait_line(&mut self, id: i64, words: &[&str]) -> String {
        let screen = self.terminal.wait_for(&format!("{id} with {words:?}"), |screen| {
            line_of(screen, id).is_some_and(|line| words.iter().all(|word| line.contains(word)))
        });
        line_of(&screen, id).expect("the line").to_owned()
    }
}

/// Runs a command of the program without a terminal, with nothing in its environment but `variables`.
pub(crate) fn taskdeck(variables: &[(&str, &str)], arguments: &[&str]) -> Output {
    Command::new(PROGRAM)
        .args(arguments)
        .env_clear()
        .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
        .env("HOME", "/nonexistent")
        .envs(variables.iter().copied())
        .stdin(Stdio::null())
        .output()
        .expect("run the program")
}

/// What the dialog over the screen says, as one line: its text is wrapped.
pub(crate) fn dialog(screen: &str) -> String {
    let inside = screen.lines().filter_map(|line| {
        let mut parts = line.split('\u{2502}');
        let (_, inside, _) = (parts.next()?, parts.next()?, parts.next()?);
        Some(inside.trim())
    });
    inside.collect::<Vec<_>>().join(" ")
}

/// How many rows of the list hold a word.
pub(crate) fn rows_with(screen: &str, word: &str) -> usize {
    let list = screen.lines().skip_while(|line| !line.contains("STATE")).skip(1);
    list.filter(|line| line.split('\u{2502}').next().is_some_and(|row| row.contains(word))).count()
}

/// The line of the list that is about a task.
pub(crate) fn line_of(screen: &str, id: i64) -> Option<&str> {
    let id = id.to_string();
    screen.lines().skip_while(|line| !line.contains("STATE")).find(|line| {
        line.split_whitespace().find(|word| !matches!(*word, ">" | "*" | "*>" | "-")) == Some(id.as_str())
    })
}

/// Waits until `test` gives something.
pub(crate) fn wait_until<T>(what: &str, mut test: impl FnMut() -> Option<T>) -> T {
    let started = std::time::Instant::now();
    loop {
        if let Some(found) = test() {
            return found;
        }
        assert!(started.elapsed() < support::PATIENCE, "waited in vain for {what}");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}

fn code(screen: &str, word: &str) -> Option<i32> {
    screen.lines().find_map(|line| line.strip_prefix(word)?.strip_suffix('=')?.parse().ok())
}
