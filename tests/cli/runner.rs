//! Runs the program with an environment of its own and nothing of the user's.

use std::io::{Read as _, Write as _};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use serde_json::Value;
use taskdeck::domain::text::is_hostile;
use tempfile::TempDir;

use crate::support::PATIENCE;

/// The built program.
pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_taskdeck");

/// A user with a home folder and a database.
pub(crate) struct User {
    home: TempDir,
    variables: Vec<(String, String)>,
}

impl User {
    /// A user whom nothing tells where the database is.
    pub(crate) fn new() -> Self {
        Self { home: tempfile::tempdir().expect("a home folder"), variables: Vec::new() }
    }

    /// A user of the database at `url`, called `tester`.
    pub(crate) fn of(url: &str) -> Self {
        Self::new().with("TASKDECK_DATABASE_URL", url).with("TASKDECK_OPERATOR", "tester")
    }

    /// With an environment variable.
    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The home folder.
    pub(crate) fn home(&self) -> &Path {
        self.home.path()
    }

    /// Writes a file into the home folder.
    pub(crate) fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.home().join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("make the folder");
        std::fs::write(&path, content).expect("write the file");
        path
    }

    /// The command, with nothing of this process's environment but the path.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(PROGRAM);
        command.args(args).env_clear().env("HOME", self.home()).current_dir(self.home());
        command.env("PATH", std::env::var_os("PATH").expect("a path"));
        command.env("COLUMNS", "100").env("LANG", "C.UTF-8");
        command.envs(self.variables.iter().map(|(name, value)| (name.as_str(), value.as_str())));
        command
    }

    /// Runs it with nothing on standard input.
    pub(crate) fn run(&self, args: &[&str]) -> Run {
        self.run_with(args, b"")
    }

    /// Runs it with `input` on standard input.
    pub(crate) fn run_with(&self, args: &[&str], input: &[u8]) -> Run {
        let mut command = self.command(args);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("start the program");
        // It may end without reading; then the pipe is closed, and that is no matter of the test.
        let _ = child.stdin.take().expect("piped").write_all(input);
        Run::of(child, args)
    }

    /// Runs it for JSON and expects `code`.
    pub(crate) fn json(&self, code: i32, args: &[&str]) -> Value {
        let all: Vec<&str> = ["--output", "json"].iter().chain(args).copied().collect();
        let run = self.run(&all);
        assert_eq!(run.code, code, "{args:?}: {run:?}");
        run.json()
    }

    /// Runs it for text and expects `code`.
    pub(crate) fn text(&self, code: i32, args: &[&str]) -> String {
        let run = self.run(args);
        assert_eq!(run.code, code, "{args:?}: {run:?}");
        run.out
    }
}

/// How a run ended.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Run {
    fn of(mut child: Child, args: &[&str]) -> Self {
        let read = |mut stream: Box<dyn std::io::Read + Send>| {
            std::thread::spawn(move || {
                let mut bytes = Vec::new();
                stream.read_to_end(&mut bytes).expect("read what the program prints");
                String::from_utf8(bytes).expect("the program prints UTF-8")
            })
        };
        let out = read(Box::new(child.stdout.take().expect("piped")));
        let err = read(Box::new(child.stderr.take().expect("piped")));
        let code = wait(&mut child, args);
        Self { code, out: out.join().expect("read"), err: err.join().expect("read") }
    }

    /// The one document on standard output, which ends with a line end.
    pub(crate) fn json(&self) -> Value {
        assert!(self.out.ends_with('\n') && self.out.matches('\n').count() == 1, "one line: {self:?}");
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// Nothing that was printed acts on a terminal or turns the reading direction.
    pub(crate) fn assert_harmless(&self) {
        for text in [&self.out, &self.err] {
            let found = text.chars().find(|c| is_hostile(*c) && *c != '\n');
            assert_eq!(found, None, "{text:?}");
        }
    }
}

/// Waits for the program's end and returns its code.
pub(crate) fn wait(child: &mut Child, args: &[&str]) -> i32 {
    let started = Instant::now();
    loop {
        if let Some(status) = child.try_wait().expect("wait for the program") {
            return status.code().unwrap_or_else(|| panic!("{args:?} was ended by a signal: {status}"));
        }
        if started.elapsed() > PATIENCE {
            let _ = child.kill();
            panic!("{args:?} does not end");
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

/// Waits until `test` holds.
pub(crate) fn eventually(what: &str, mut test: impl FnMut() -> bool) {
    let started = Instant::now();
    while !test() {
        assert!(started.elapsed() < PATIENCE, "waited in vain for: {what}");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

/// A file's content: `word` and a number, a line each.
pub(crate) fn numbered(word: &str, numbers: RangeInclusive<u32>) -> String {
    numbers.flat_map(|number| [word.to_owned(), format!(" {number}\n")]).collect()
}
