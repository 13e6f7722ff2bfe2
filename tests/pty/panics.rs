//! Panics where the console draws and where a worker works.
//!
//! The program itself has no switch that makes it panic. So these tests start their own binary in the terminal,
//! where `child` is the program's root with a picture and an analyser that panic on certain texts.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use ratatui::buffer::Buffer;
use taskdeck::app::State;
use taskdeck::app::keys::Keymap;
use taskdeck::app::state::{Access, FirstStart, Session, Setup};
use taskdeck::config::{LogFormat, Verbosity};
use taskdeck::console::{self, End, Start, Workers};
use taskdeck::db::Limits;
use taskdeck::domain::observed::{Filter, Listed};
use taskdeck::domain::{Name, NewTask, TextCounts};
use taskdeck::logging::{self, Plan, Purpose};
use taskdeck::ui::{Charset, Drawn, Look, Theme};
use taskdeck::worker::{self, Analyser, Analysis, Cancel, Doing, Job};

use crate::desk::{Desk, wait_until};
use crate::process::Process;
use crate::support::{self, empty_database};

/// Set where this binary is the console.
const CHILD: &str = "TASKDECK_TEST_PANICS";
/// Where it logs.
const LOG: &str = "TASKDECK_TEST_PANICS_LOG";
/// A held task with this text is more than the picture can bear.
const BREAKS_CONSOLE: &str = "breaks the console";
/// An analyser that meets this text panics.
const BREAKS_WORKER: &str = "breaks the worker";
/// And with this one, tasks and threads panic that nobody waits for.
const BREAKS_OTHERS: &str = "breaks bystanders";
/// This one takes a while.
const SLOW: &str = "slow";

#[derive(Debug)]
struct Panics;

impl Analyser for Panics {
    fn analyse<'a>(&'a self, job: &'a Job, _cancel: &'a Cancel, doing: &'a Doing) -> BoxFuture<'a, Analysis> {
        Box::pin(async move {
            doing.now("testing");
            match job.text.as_str() {
                BREAKS_WORKER => panic!("the analyser broke"),
                BREAKS_OTHERS => {
                    let stray = tokio::spawn(async { panic!("a stray task broke") });
                    let thread = std::thread::spawn(|| panic!("a stray thread broke"));
                    assert!(stray.await.is_err() && thread.join().is_err());
                }
                SLOW => tokio::time::sleep(Duration::from_secs(5)).await,
                _ => {}
            }
            Analysis::Success { counts: TextCounts::of(&job.text), output: None }
        })
    }
}

fn draw(state: &State, look: &Look, buffer: &mut Buffer) -> Drawn {
    let breaks = state.list.rows.iter().filter_map(Listed::task).any(|task| task.input == BREAKS_CONSOLE);
    assert!(!breaks, "the picture broke");
    taskdeck::ui::draw(state, look, buffer)
}

/// Not a test of its own: the console that the others start in their terminal.
#[test]
fn child() {
    if std::env::var_os(CHILD).is_none() {
        return;
    }
    let url = std::env::var("TASKDECK_DATABASE_URL").expect("a database");
    let file = std::env::var_os(LOG).map(std::path::PathBuf::from);
    let log_lines = logging::start(Plan {
        purpose: Purpose::Console,
        file: file.as_deref(),
        format: LogFormat::Text,
        verbosity: Verbosity(4),
    })
    .expect("a log");
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    let end = runtime.block_on(async {
        let db = support::open(&url, Limits::default()).await;
        db.migrate().await.expect("a schema");
        let config = worker::Config { workers: 2, kind: "console", ..worker::Config::default() };
        console::run(Start {
            db,
            workers: Some(Workers { config, analyser: Arc::new(Panics) }),
            setup: setup(),
            look: Look { theme: Theme::dark(), glyphs: Charset::Unicode.glyphs() },
            draw,
            samples: NewTask::default(),
            log_lines,
        })
        .await
        .expect("a terminal")
    });
    std::process::exit(match end {
        End::Clean => 0,
        End::Left { .. } => 1,
        End::Broken { said } if said.contains("the picture broke") => 42,
        End::Broken { .. } => 43,
    });
}

fn setup() -> Setup {
    let session = Session {
        database: "tester@here/jobs".to_owned(),
        database_short: "here/jobs".to_owned(),
        server: None,
        operator: "alice".to_owned(),
        access: Access::ReadWrite,
        decide_denied: None,
        submit_denied: None,
        stop_denied: None,
        queues_denied: None,
        workers: 2,
        grace: Duration::from_secs(30),
        max_input_bytes: 1_000,
        approval: taskdeck::domain::Approval::Anybody,
        notify: false,
        tenant: Name::default_name(),
        queue: Name::default_name(),
        max_attempts: 3,
    };
    Setup { session, keymap: Keymap::default(), filter: Filter::default(), first_start: FirstStart::No }
}

fn start() -> (Desk, Process) {
    start_on(&empty_database(), &[])
}

fn start_on(url: &str, more: &[(&str, &str)]) -> (Desk, Process) {
    let mut desk = Desk::sized(120, 40, Some(url), &[&[(CHILD, "1")], more].concat());
    let program = std::env::current_exe().expect("this binary");
    desk.run(&format!("{} --exact panics::child --nocapture --test-threads=1", program.display()));
    desk.wait_drawn();
    let name: String = program.file_name().expect("a name").to_string_lossy().chars().take(15).collect();
    let process = Process::child_of(desk.terminal.shell(), &name);
    desk.terminal.wait_text("There are no tasks yet");
    (desk, process)
}

#[test]
fn a_panic_of_the_console_gives_the_terminal_back_says_why_and_drains_the_workers() {
    let (mut desk, process) = start();
    let slow = desk.submit(&[SLOW]);
    desk.wait_line(slow, &["RUNNING"]);
    let began = Instant::now();
    desk.submit(&["--hold", BREAKS_CONSOLE]);
    let modes = desk.terminal.modes_of();
    let screen = desk.terminal.wait_for("what the console says", |screen| {
        modes() == (false, false, false) && screen.contains("its workers are drained")
    });
    assert!(screen.contains("the picture broke") && screen.contains("panics.rs"), "readable:\n{screen}");
    if began.elapsed() < Duration::from_secs(3) {
        // Nothing is said to have ended before it has.
        assert!(!process.is_gone());
        assert!(desk.row(slow).starts_with("RUNNING|f|"), "{}", desk.row(slow));
    }
    assert_eq!(desk.back_in_shell(), 42);
    assert!(desk.row(slow).starts_with("SUCCEEDED|"), "{}", desk.row(slow));
    assert_eq!(desk.psql("SELECT state FROM taskdeck.instances"), "stopped");
}

/// The address holds a password: whatever panics, it is neither on the screen nor in the log, which tells all that it can.
#[test]
fn a_password_is_in_nothing_that_a_panic_leaves_behind() {
    const SECRET: &str = "s3cret-word";
    let url = empty_database();
    let role = format!("locked{}", support::unique());
    support::psql(&url, &format!("CREATE ROLE {role} LOGIN SUPERUSER PASSWORD '{SECRET}'")).expect("a role");
    let log = tempfile::NamedTempFile::new().expect("a file for the log");
    let path = log.path().display().to_string();
    let (mut desk, _) = start_on(&url.replace("tester@", &format!("{role}:{SECRET}@")), &[(LOG, &path)]);
    let mark = desk.terminal.mark();
    assert_eq!(desk.psql("SELECT session_user"), role);
    let failed = desk.submit(&["--max-attempts", "1", BREAKS_WORKER]);
    desk.wait_line(failed, &["FAILED"]);
    desk.submit(&["--hold", BREAKS_CONSOLE]);
    desk.terminal.wait_text("the picture broke");
    assert_eq!(desk.back_in_shell(), 42);
    let log = std::fs::read_to_string(&path).expect("the log");
    assert!(log.contains("the analyser broke"), "{log}");
    let sent = String::from_utf8_lossy(&desk.terminal.bytes_since(mark)).into_owned();
    assert!(!log.contains(SECRET) && !sent.contains(SECRET), "{log}\n{sent}");
}

#[test]
fn a_panic_of_a_worker_fails_that_attempt_and_the_console_lives_on() {
    let (mut desk, process) = start();
    let mark = desk.terminal.mark();
    let last = desk.submit(&["--max-attempts", "1", BREAKS_WORKER]);
    desk.wait_line(last, &["FAILED", "the analys"]);
    let first = desk.submit(&["--max-attempts", "2", BREAKS_WORKER]);
    desk.wait_line(first, &["QUEUED", "retry"]);
    let strays = desk.submit(&[BREAKS_OTHERS]);
    desk.wait_line(strays, &["SUCCEEDED"]);
    let after = desk.submit(&["as if nothing had happened"]);
    desk.wait_line(after, &["SUCCEEDED"]);
    assert!(!process.is_gone());
    assert_eq!(desk.terminal.modes(), (true, true, true));
    // Nothing of it was written over the screen.
    let sent = String::from_utf8_lossy(&desk.terminal.bytes_since(mark)).into_owned();
    assert!(!sent.contains("panicked at") && !sent.contains("RUST_BACKTRACE"), "{sent}");
    let error = format!("SELECT error FROM taskdeck.tasks WHERE id = {last}");
    assert_eq!(desk.psql(&error), "the analyser panicked: the analyser broke");
    wait_until("the end of the other's attempts", || desk.row(first).starts_with("FAILED|").then_some(()));
    assert_eq!(desk.quit(), 0);
}
