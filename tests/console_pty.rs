//! The console on a real terminal: it gives the terminal back on every way out, and ends when the terminal does.
//!
//! Each test runs this very binary again inside a pseudo terminal, where `child` is the console.

use std::io::{Read as _, Write};
use std::num::NonZero;
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};
use taskdeck::app::keys::{Key, Keymap};
use taskdeck::app::message::{LinkReport, Message};
use taskdeck::app::state::{Access, FirstStart, Session, Setup};
use taskdeck::app::{Effect, Read, State};
use taskdeck::domain::observed::{Filter, Listed, Page};
use taskdeck::domain::outcome::TaskHistory;
use taskdeck::domain::{Name, Status, Task, TaskId, TextCounts};
use taskdeck::ui::{Charset, Ended, Look, Options, Theme, install_panic_hook, spawn};

const CHILD: &str = "TASKDECK_TEST_CONSOLE";
const PATIENCE: Duration = Duration::from_secs(20);

fn state() -> State {
    State::new(Setup {
        session: Session {
            database: "app@db1/jobs".to_owned(),
            database_short: "db1/jobs".to_owned(),
            server: None,
            operator: "alice".to_owned(),
            access: Access::ReadWrite,
            decide_denied: None,
            submit_denied: None,
            workers: 0,
            grace: Duration::from_secs(30),
            max_input_bytes: 1_000,
            tenant: Name::default_name(),
            queue: Name::default_name(),
            max_attempts: 3,
        },
        keymap: Keymap::default(),
        filter: Filter::default(),
        first_start: FirstStart::No,
    })
}

fn row() -> Listed {
    let at = "2026-11-30T09:59:00Z".parse().expect("a timestamp");
    let input = "the text of the task";
    Listed::Task(Box::new(Task {
        id: TaskId(7),
        tenant: "default".to_owned(),
        queue: "default".to_owned(),
        status: Status::Queued,
        version: 0,
        attempt: 0,
        max_attempts: 3,
        claim_no: 0,
        claimed_by: None,
        worker: None,
        cancel_requested: false,
        priority: 0,
        input: input.to_owned(),
        input_bytes: i64::try_from(input.len()).expect("short"),
        counts: TextCounts::default(),
        output: None,
        error: None,
        created_at: at,
        scheduled_at: at,
        started_at: None,
        finished_at: None,
    }))
}

/// Not a test of its own: what the others run inside a terminal.
#[test]
fn child() {
    let Ok(way) = std::env::var(CHILD) else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async move {
        let (told, panics) = channel();
        install_panic_hook(move |said| told.send(said).expect("a listener"));
        let look = Look { theme: Theme::dark(), glyphs: Charset::Unicode.glyphs() };
        let mut state = state();
        if way == "panic here" {
            // No sum of times holds any more: the console's own thread panics.
            state.now = Duration::MAX;
        }
        let mut ui = spawn(state, Options { look, draw: taskdeck::ui::draw, started: Instant::now() })
            .expect("a terminal");
        if way == "panic here" {
            assert!(matches!((&mut ui.ended).await, Ok(Ended::Panicked { .. })));
            println!("CHILD OUTLIVED ITS CONSOLE");
            return;
        }
        ui.messages.send(Message::Link(LinkReport::Listening)).expect("a console");
        // With a handler SIGHUP does not end the process, so that only the reader can notice.
        let _hangup =
            tokio::signal::unix::signal(tokio::signal::unix::SignalKind::hangup()).expect("a handler");
        if let Some(evidence) = way.strip_prefix("stall ") {
            // Whole frames until the terminal takes nothing more; sending them never waits.
            for _ in 0..200 {
                ui.messages.send(Message::Key(Key::ctrl('l'))).expect("a console");
                tokio::time::sleep(Duration::from_millis(17)).await;
            }
            let ended = ui.finish(Duration::from_millis(300)).await;
            std::fs::write(evidence, format!("{ended:?}")).expect("a file");
            std::process::exit(0);
        }
        if way == "panic elsewhere" {
            let joined = std::thread::Builder::new()
                .name("bystander".to_owned())
                .spawn(|| panic!("not on the screen"))
                .expect("a thread")
                .join();
            assert!(joined.is_err());
            let said = panics.recv().expect("the hook");
            assert!(said.contains("bystander") && said.contains("not on the screen"), "{said}");
        }
        while let Some(effect) = ui.effects.recv().await {
            match effect {
                Effect::Quit => break,
                Effect::Read(Read::List { generation, .. }) => {
                    let read_at = "2026-11-30T10:00:00Z".parse().expect("a timestamp");
                    let page = Page { rows: vec![row()], next_before: None, read_at };
                    ui.messages.send(Message::ListLoaded { generation, page }).expect("a console");
                }
                Effect::Read(Read::Detail { id, .. }) => {
                    let read_at = "2026-11-30T10:00:00Z".parse().expect("a timestamp");
                    let task = row().task().expect("a readable row").clone();
                    let found = Some(TaskHistory { task, events: Vec::new() });
                    ui.messages.send(Message::DetailLoaded { id, read_at, found }).expect("a console");
                }
                _ => {}
            }
        }
        let ended = ui.finish(Duration::from_secs(5)).await;
        assert_eq!(ended, Ended::Well);
        println!("CHILD ENDED WELL");
    });
}

fn cells(count: u16) -> NonZero<u16> {
    NonZero::new(count).expect("a terminal has cells")
}

struct Pty {
    child: Box<dyn Child + Send + Sync>,
    master: Option<Box<dyn MasterPty + Send>>,
    keys: Option<Box<dyn Write + Send>>,
    output: Option<Receiver<Vec<u8>>>,
    listener: Option<JoinHandle<()>>,
    parser: vt100::Parser,
    raw: Vec<u8>,
}

impl Pty {
    /// Runs the console as the leader of its session.
    fn start(way: &str) -> Self {
        Self::run(way, CommandBuilder::new(std::env::current_exe().expect("this binary")))
    }

    /// Runs the console as a job of a shell, which comes back when it stops and continues it on Enter.
    fn start_as_job(way: &str) -> Self {
        let script = r#"set -m; "$0" "$@"; echo SHELL IS BACK; read -r line; fg >/dev/null; echo JOB ENDED"#;
        let mut shell = CommandBuilder::new("bash");
        shell.args(["--norc", "-c", script]);
        shell.arg(std::env::current_exe().expect("this binary"));
        Self::run(way, shell)
    }

    fn run(way: &str, mut command: CommandBuilder) -> Self {
        let size = PtySize { rows: 24, cols: 80, pixel_width: 0, pixel_height: 0 };
        let pair = native_pty_system().openpty(size).expect("a pseudo terminal");
        command.args(["--exact", "child", "--nocapture", "--test-threads=1"]);
        command.env(CHILD, way);
        let editor = r#"sh -c 'echo EDITOR HAS $(cat "$1"); read -r line; echo EDITOR READ $line' editor"#;
        command.env("VISUAL", editor);
        let child = pair.slave.spawn_command(command).expect("this binary again");
        drop(pair.slave);
        let mut reader = pair.master.try_clone_reader().expect("its output");
        let keys = pair.master.take_writer().expect("its keys");
        let (sender, output) = channel();
        let listener = std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = reader.read(&mut bytes) {
                if sender.send(bytes[..count].to_vec()).is_err() {
                    return;
                }
            }
        });
        let parser = vt100::Parser::new(cells(24), cells(80), 100);
        Self {
            child,
            master: Some(pair.master),
            keys: Some(keys),
            output: Some(output),
            listener: Some(listener),
            parser,
            raw: Vec::new(),
        }
    }

    fn until(&mut self, what: &str, test: impl Fn(&vt100::Screen) -> bool) {
        let end = Instant::now() + PATIENCE;
        while !test(self.parser.screen()) {
            let left = end.saturating_duration_since(Instant::now());
            match self.output.as_ref().expect("an open terminal").recv_timeout(left) {
                Ok(bytes) => {
                    self.raw.extend_from_slice(&bytes);
                    self.parser.process(&bytes);
                }
                Err(error) => panic!("no {what} ({error}) on\n{}", self.parser.screen().contents()),
            }
        }
    }

    fn press(&mut self, bytes: &[u8]) {
        let keys = self.keys.as_mut().expect("an open terminal");
        keys.write_all(bytes).expect("a terminal that reads");
        keys.flush().expect("a terminal that reads");
    }

    fn ends(&mut self) -> bool {
        let end = Instant::now() + PATIENCE;
        while Instant::now() < end {
            if let Some(status) = self.child.try_wait().expect("a child") {
                return status.success();
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        self.child.kill().expect("a child that hangs");
        panic!("the console did not end");
    }
}

fn shows_console(screen: &vt100::Screen) -> bool {
    screen.alternate_screen() && screen.contents().contains("1 Tasks")
}

#[test]
fn quitting_gives_the_terminal_back() {
    let mut pty = Pty::start("quit");
    pty.until("console", shows_console);
    assert!(pty.parser.screen().bracketed_paste() && pty.parser.screen().hide_cursor());
    pty.press(b"q");
    pty.until("end", |screen| screen.contents().contains("CHILD ENDED WELL"));
    let screen = pty.parser.screen();
    assert!(!screen.alternate_screen() && !screen.bracketed_paste() && !screen.hide_cursor());
    assert!(pty.ends());
}

#[test]
fn ctrl_z_gives_the_shell_its_terminal_and_fg_takes_it_again() {
    let mut pty = Pty::start_as_job("suspend");
    pty.until("console", shows_console);
    pty.press(b"\x1a");
    pty.until("shell", |screen| screen.contents().contains("SHELL IS BACK"));
    let screen = pty.parser.screen();
    assert!(!screen.alternate_screen() && !screen.bracketed_paste() && !screen.hide_cursor());
    // What is typed now is the shell's.
    pty.press(b"2\n");
    pty.until("console again", |screen| shows_console(screen) && screen.contents().contains("all states"));
    pty.press(b"q");
    pty.until("end", |screen| screen.contents().contains("JOB ENDED"));
    assert!(!pty.parser.screen().alternate_screen());
    assert!(pty.ends());
}

#[test]
fn the_editor_gets_the_terminal_and_every_key_until_it_ends() {
    let mut pty = Pty::start("editor");
    pty.until("row", |screen| shows_console(screen) && screen.contents().contains("the text of the task"));
    pty.press(b"e");
    pty.until("editor", |screen| {
        !screen.alternate_screen() && screen.contents().contains("EDITOR HAS the text")
    });
    // `q` ends the console where the console reads it; the editor reads a whole line.
    pty.press(b"qqq\r");
    pty.until("console again", shows_console);
    pty.press(b"q");
    pty.until("end", |screen| screen.contents().contains("CHILD ENDED WELL"));
    assert!(pty.parser.screen().contents().contains("EDITOR READ qqq"));
    assert!(pty.ends());
}

#[test]
fn a_copy_goes_to_the_terminals_clipboard() {
    let mut pty = Pty::start("copy");
    pty.until("row", |screen| shows_console(screen) && screen.contents().contains("the text of the task"));
    pty.press(b"y");
    pty.until("notice", |screen| screen.contents().contains("copied 20 bytes"));
    assert!(String::from_utf8_lossy(&pty.raw).contains("\u{1b}]52;c;"));
    pty.press(b"q");
    assert!(pty.ends());
}

#[test]
fn without_a_shell_ctrl_z_says_so() {
    let mut pty = Pty::start("no shell");
    pty.until("console", shows_console);
    pty.press(b"\x1a");
    pty.until("answer", |screen| {
        screen.alternate_screen() && screen.contents().contains("no shell to return to")
    });
    pty.press(b"q");
    pty.until("end", |screen| screen.contents().contains("CHILD ENDED WELL"));
    assert!(pty.ends());
}

#[test]
fn a_panic_elsewhere_leaves_the_console_alone() {
    let mut pty = Pty::start("panic elsewhere");
    pty.until("console", shows_console);
    pty.press(b"5");
    pty.until("log", |screen| screen.alternate_screen() && !screen.contents().contains("all states"));
    assert!(!String::from_utf8_lossy(&pty.raw).contains("not on the screen"));
    pty.press(b"q");
    pty.until("end", |screen| screen.contents().contains("CHILD ENDED WELL"));
    assert!(pty.ends());
}

#[test]
fn a_stalled_line_stops_only_the_drawing() {
    let folder = tempfile::tempdir().expect("a folder");
    let evidence = folder.path().join("ended");
    let size = PtySize { rows: 50, cols: 200, pixel_width: 0, pixel_height: 0 };
    let pair = native_pty_system().openpty(size).expect("a pseudo terminal");
    let mut command = CommandBuilder::new(std::env::current_exe().expect("this binary"));
    command.args(["--exact", "child", "--nocapture", "--test-threads=1"]);
    command.env(CHILD, format!("stall {}", evidence.display()));
    let mut child = pair.slave.spawn_command(command).expect("this binary again");
    // Nobody reads what it draws.
    let end = Instant::now() + PATIENCE;
    while !evidence.exists() {
        assert!(Instant::now() < end, "the root hangs with the line");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(child.wait().expect("a child").success());
    assert_eq!(std::fs::read_to_string(&evidence).expect("the evidence"), "Stalled");
}

#[test]
fn a_panic_of_the_console_gives_the_terminal_back_and_is_reported() {
    let mut pty = Pty::start("panic here");
    pty.until("end", |screen| screen.contents().contains("CHILD OUTLIVED ITS CONSOLE"));
    let screen = pty.parser.screen();
    assert!(!screen.alternate_screen() && !screen.bracketed_paste() && !screen.hide_cursor());
    let raw = String::from_utf8_lossy(&pty.raw);
    let taken = raw.find("\u{1b}[?1049h").expect("it was taken");
    let given_back = raw.find("\u{1b}[?1049l").expect("it was given back");
    let reported = raw.find("thread 'taskdeck-console'").expect("it was reported");
    assert!(taken < given_back && given_back < reported);
    assert!(pty.ends());
}

#[test]
fn the_console_follows_the_size_and_ends_with_the_terminal() {
    let mut pty = Pty::start("hang up");
    pty.until("console", shows_console);
    let size = PtySize { rows: 30, cols: 120, pixel_width: 0, pixel_height: 0 };
    pty.parser.screen_mut().set_size(cells(30), cells(120));
    pty.master.as_ref().expect("open").resize(size).expect("a terminal");
    pty.until("wide console", |screen| screen.contents().contains("read-write"));
    pty.close();
    pty.ends_somehow();
}

impl Pty {
    /// Closes every handle on the terminal; the listener's last one with the next output, which a key brings.
    fn close(&mut self) {
        self.output = None;
        self.press(b"2");
        self.listener.take().expect("a listener").join().expect("a listener that did not panic");
        self.keys = None;
        self.master = None;
    }

    fn ends_somehow(&mut self) {
        let end = Instant::now() + PATIENCE;
        while self.child.try_wait().expect("a child").is_none() {
            assert!(Instant::now() < end, "the console outlived its terminal");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}
