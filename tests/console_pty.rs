//! The console on a real terminal: it gives the terminal back on every way out, and ends when the terminal does.
//!
//! Each test runs this very binary again inside a pseudo terminal, where `child` is the console.

use std::io::{Read, Write};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};
use taskdeck::app::keys::Keymap;
use taskdeck::app::message::{LinkReport, Message};
use taskdeck::app::state::{Access, FirstStart, Session, Setup};
use taskdeck::app::{Effect, State};
use taskdeck::domain::Name;
use taskdeck::domain::observed::Filter;
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

/// Not a test of its own: what the others run inside a terminal.
#[test]
fn child() {
    let Ok(way) = std::env::var(CHILD) else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async move {
        let (told, panics) = channel();
        install_panic_hook(move |said| told.send(said).expect("a listener"));
        let look = Look { theme: Theme::dark(), glyphs: Charset::Unicode.glyphs() };
        let mut ui = spawn(state(), Options { look, draw: taskdeck::ui::draw, started: Instant::now() })
            .expect("a terminal");
        ui.messages.send(Message::Link(LinkReport::Listening)).expect("a console");
        // With a handler SIGHUP does not end the process, so that only the reader can notice.
        let _hangup =
            tokio::signal::unix::signal(tokio::signal::unix::SignalKind::hangup()).expect("a handler");
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
            if effect == Effect::Quit {
                break;
            }
        }
        let ended = ui.finish(Duration::from_secs(5)).await;
        assert_eq!(ended, Ended::Well);
        println!("CHILD ENDED WELL");
    });
}

struct Pty {
    child: Box<dyn Child + Send + Sync>,
    master: Option<Box<dyn MasterPty + Send>>,
    keys: Option<Box<dyn Write + Send>>,
    output: Receiver<Vec<u8>>,
    parser: vt100::Parser,
    raw: Vec<u8>,
}

impl Pty {
    fn start(way: &str) -> Self {
        let size = PtySize { rows: 24, cols: 80, pixel_width: 0, pixel_height: 0 };
        let pair = native_pty_system().openpty(size).expect("a pseudo terminal");
        let mut command = CommandBuilder::new(std::env::current_exe().expect("this binary"));
        command.args(["--exact", "child", "--nocapture", "--test-threads=1"]);
        command.env(CHILD, way);
        let child = pair.slave.spawn_command(command).expect("this binary again");
        drop(pair.slave);
        let mut reader = pair.master.try_clone_reader().expect("its output");
        let keys = pair.master.take_writer().expect("its keys");
        let (sender, output) = channel();
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = reader.read(&mut bytes) {
                if sender.send(bytes[..count].to_vec()).is_err() {
                    return;
                }
            }
        });
        let parser = vt100::Parser::new(24, 80, 100);
        Self { child, master: Some(pair.master), keys: Some(keys), output, parser, raw: Vec::new() }
    }

    fn until(&mut self, what: &str, test: impl Fn(&vt100::Screen) -> bool) {
        let end = Instant::now() + PATIENCE;
        while !test(self.parser.screen()) {
            let left = end.saturating_duration_since(Instant::now());
            match self.output.recv_timeout(left) {
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
fn the_console_follows_the_size_and_ends_with_the_terminal() {
    let mut pty = Pty::start("hang up");
    pty.until("console", shows_console);
    let size = PtySize { rows: 30, cols: 120, pixel_width: 0, pixel_height: 0 };
    pty.parser.screen_mut().set_size(30, 120);
    pty.master.as_ref().expect("open").resize(size).expect("a terminal");
    pty.until("wide console", |screen| screen.contents().contains("read-write"));
    pty.keys = None;
    pty.master = None;
    pty.ends_somehow();
}

impl Pty {
    fn ends_somehow(&mut self) {
        let end = Instant::now() + PATIENCE;
        while self.child.try_wait().expect("a child").is_none() {
            assert!(Instant::now() < end, "the console outlived its terminal");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}
