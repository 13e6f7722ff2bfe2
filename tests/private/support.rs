//! Folders that clean up after themselves, and other processes that use the private server.

use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use taskdeck::db::private::{Kept, Left, Options, Origin, PrivateServer, destroy};

/// Tells a run of the test binary that it is a helper process, and which folder to use.
const HELPER: &str = "TASKDECK_TEST_PRIVATE_FOLDER";

/// Tells it to look after its server too.
const KEEPS: &str = "TASKDECK_TEST_PRIVATE_KEEPS";

/// A folder that the server's account can reach; whatever is in it is stopped and removed at the end.
pub(crate) struct Folder {
    temp: tempfile::TempDir,
}

impl Folder {
    pub(crate) fn new() -> Self {
        let temp =
            tempfile::Builder::new().prefix("td-private-").tempdir_in("/tmp").expect("a folder in /tmp");
        fs::set_permissions(temp.path(), Permissions::from_mode(0o755)).expect("an open folder");
        Self { temp }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.temp.path().join("deck")
    }

    pub(crate) fn options(&self) -> Options {
        options(&self.path())
    }

    /// The one cluster in the folder.
    pub(crate) fn cluster(&self) -> PathBuf {
        let mut found: Vec<PathBuf> = fs::read_dir(self.path())
            .expect("the data folder")
            .map(|entry| entry.expect("an entry").path())
            .filter(|path| path.is_dir())
            .collect();
        assert_eq!(found.len(), 1, "one cluster in {found:?}");
        found.remove(0)
    }

    pub(crate) fn start(&self) -> PrivateServer {
        PrivateServer::start(&self.options()).unwrap_or_else(|error| panic!("{error}\n{}", error.hint()))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A failed test may have left anything; the next line of a test report matters more than this one's.
        let _ = destroy(&self.options());
    }
}

pub(crate) fn options(folder: &Path) -> Options {
    Options { patience: Duration::from_secs(40), ..Options::from_env(Some(folder.to_owned())) }
}

/// Another process that uses the server in a folder until it is told to leave, or killed.
pub(crate) struct Helper {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
}

impl Helper {
    /// Starts the process, in a process group of its own; it does nothing until [`Helper::go`].
    pub(crate) fn new(folder: &Folder) -> Self {
        Self::with(folder, &[])
    }

    /// One that looks after the server while it uses it, and has joined.
    pub(crate) fn keeping(folder: &Folder) -> (Self, Joined) {
        let mut helper = Self::with(folder, &[(KEEPS, "1")]);
        helper.go();
        let joined = helper.joined();
        (helper, joined)
    }

    /// What it says that it found when the server had gone: the new process, and how it came by it.
    pub(crate) fn again(&mut self) -> (u32, String) {
        let answer = self.answer("AGAIN ");
        let (pid, origin) = answer.split_once(' ').expect("two words");
        (pid.parse().expect("a process id"), origin.to_owned())
    }

    fn with(folder: &Folder, variables: &[(&str, &str)]) -> Self {
        let mut child = Command::new(std::env::current_exe().expect("this binary"))
            .args(["--exact", "helper_process", "--nocapture", "--test-threads=1"])
            .env(HELPER, folder.path())
            .envs(variables.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .process_group(0)
            .spawn()
            .expect("a helper process");
        let stdin = child.stdin.take();
        let stdout = BufReader::new(child.stdout.take().expect("its output"));
        let (tell, lines) = channel();
        std::thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                // A helper that nobody listens to any more may still speak.
                let _ = tell.send(line);
            }
        });
        Self { child, stdin, lines }
    }

    /// A process that already uses the server.
    pub(crate) fn started(folder: &Folder) -> (Self, Joined) {
        let mut helper = Self::new(folder);
        helper.go();
        let joined = helper.joined();
        (helper, joined)
    }

    /// Tells it to go on: first to start, then to leave.
    pub(crate) fn go(&mut self) {
        self.stdin.as_mut().expect("its input").write_all(b"go\n").expect("it listens");
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    fn answer(&mut self, prefix: &str) -> String {
        let until = Instant::now() + Duration::from_mins(1);
        loop {
            let line = self.lines.recv_timeout(until.saturating_duration_since(Instant::now()));
            let line = line.unwrap_or_else(|error| panic!("the helper does not say {prefix}: {error}"));
            // The test harness writes the test's name in front of the first line.
            if let Some(at) = line.find(prefix) {
                return line[at + prefix.len()..].trim().to_owned();
            }
        }
    }

    pub(crate) fn joined(&mut self) -> Joined {
        let answer = self.answer("JOINED ");
        let (origin, pid) = answer.split_once(' ').expect("two words");
        Joined { origin: origin.to_owned(), server: pid.parse().expect("a process id") }
    }

    /// Lets it leave, and says what it reports.
    pub(crate) fn leave(mut self) -> String {
        self.go();
        self.left()
    }

    /// What one that was told to leave reports.
    pub(crate) fn left(mut self) -> String {
        let left = self.answer("LEFT ");
        self.child.wait().expect("its end");
        left
    }

    /// Ends it without a chance to clean up.
    pub(crate) fn kill(mut self) {
        self.child.kill().expect("it can be killed");
        self.child.wait().expect("its end");
    }

    pub(crate) fn wait(mut self) {
        self.child.wait().expect("its end");
    }
}

/// How a helper came by its server.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Joined {
    pub(crate) origin: String,
    pub(crate) server: u32,
}

/// What the test binary does when it is a helper; a normal run passes by.
pub(crate) fn be_helper() {
    let Some(folder) = std::env::var_os(HELPER) else { return };
    let mut lines = std::io::stdin().lines();
    if !matches!(lines.next(), Some(Ok(_))) {
        return;
    }
    let mut server = PrivateServer::start(&options(Path::new(&folder))).expect("a server for the helper");
    let origin = match server.origin() {
        Origin::Created => "created",
        Origin::Started => "started",
        Origin::Adopted => "adopted",
    };
    println!("JOINED {origin} {}", server.pid());
    if std::env::var_os(KEEPS).is_some() {
        let tell = |kept| match kept {
            Kept::Gone { pid } => println!("GONE {pid}"),
            Kept::Again { pid, origin } => println!("AGAIN {pid} {origin:?}"),
            Kept::Failed { error } => println!("FAILED {error}"),
        };
        server.keep_running(tell).expect("somebody looks after it");
    }
    let _ = lines.next();
    match server.leave().expect("the helper leaves") {
        Left::Stopped => println!("LEFT stopped"),
        Left::StillUsedByOthers => println!("LEFT used"),
    }
}

/// Whether a process runs; one that has ended and waits to be reaped does not.
pub(crate) fn runs(pid: u32) -> bool {
    let output = Command::new("ps").args(["-o", "stat=", "-p", &pid.to_string()]).output().expect("ps");
    let state = String::from_utf8_lossy(&output.stdout);
    !matches!(state.trim().chars().next(), None | Some('Z' | 'X'))
}

/// Waits until `condition` holds; fails the test if it does not within 20 s.
pub(crate) fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !condition() {
        assert!(Instant::now() < deadline, "never happened: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Runs one statement over a connection of its own and answers the first field of its last row.
pub(crate) fn ask(url: &str, statement: &str) -> String {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let (client, connection) =
            tokio_postgres::connect(url, tokio_postgres::NoTls).await.expect("a connection");
        let connection = tokio::spawn(connection);
        let messages = client.simple_query(statement).await.expect("the statement");
        drop(client);
        let _ = connection.await;
        let mut answer = String::new();
        for message in messages {
            if let tokio_postgres::SimpleQueryMessage::Row(row) = message {
                row.get(0).unwrap_or_default().clone_into(&mut answer);
            }
        }
        answer
    })
}
