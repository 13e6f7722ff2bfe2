//! The console of somebody who may not: every key on every screen and every verb, answered with yes wherever it is
//! asked, and nothing in the tables is another.

use std::cell::RefCell;
use std::collections::BTreeSet;

use taskdeck::app::command::VERBS;
use taskdeck::app::keys::{Action, Entry, Gravity, Key, KeyCode, Layer, TABLE};
use taskdeck::domain::decision::DecisionKind;

use crate::PATIENCE;
use crate::company::Company;
use crate::desk::Desk;
use crate::runner::User;
use crate::scene::{LONG, decided, new_instance, row, submit, submit_held, worker};

/// The keys that leave the console, which are for the end.
const LEAVING: [Action; 3] = [Action::Quit, Action::Interrupt, Action::Suspend];

/// What is typed behind each verb of the command line. A verb that is not here is a failure.
fn argument(verb: &str) -> &'static str {
    match verb {
        "goto" | "approve" => "1",
        "reject" => "2",
        "cancel" => "3",
        "requeue" => "4",
        "submit" | "search" => "waits",
        "lines" => "/proc/self/status",
        "stop" => "--all",
        "pause" => "default no more",
        "resume" => "shut",
        "tenant" | "queue" => "default",
        "filter" | "tasks" | "workers" | "database" | "log" | "help" => "",
        other => panic!("say what is typed behind `{other}`"),
    }
}

/// The bytes that a terminal sends for a key.
fn bytes(key: Key) -> String {
    match key.code {
        KeyCode::Char(c) if key.ctrl => char::from(u8::try_from(c).expect("ASCII") & 0x1f).to_string(),
        KeyCode::Char(c) => c.to_string(),
        KeyCode::Enter => "\r".to_owned(),
        KeyCode::Esc => "\u{1b}[27u".to_owned(),
        KeyCode::Tab if key.shift => "\u{1b}[Z".to_owned(),
        KeyCode::Tab => "\t".to_owned(),
        KeyCode::Up => "\u{1b}[A".to_owned(),
        KeyCode::Down => "\u{1b}[B".to_owned(),
        KeyCode::Right => "\u{1b}[C".to_owned(),
        KeyCode::Left => "\u{1b}[D".to_owned(),
        KeyCode::Home => "\u{1b}[H".to_owned(),
        KeyCode::End => "\u{1b}[F".to_owned(),
        KeyCode::PageUp => "\u{1b}[5~".to_owned(),
        KeyCode::PageDown => "\u{1b}[6~".to_owned(),
        other => panic!("say what a terminal sends for {other:?}"),
    }
}

const ESC: Key = Key::plain(KeyCode::Esc);
const REDRAW: Key = Key::ctrl('l');

/// Whether the screen was cleared and a whole frame has come after that.
fn drawn_anew(bytes: &[u8]) -> bool {
    let find = |from: &[u8], what: &[u8]| from.windows(what.len()).position(|bytes| bytes == what);
    find(bytes, b"\x1b[2J").is_some_and(|at| find(&bytes[at..], b"\x1b[?2026l").is_some())
}

/// A console at work.
struct Watched {
    desk: Desk,
    company: Company,
    before: String,
}

impl Watched {
    /// One on tasks of every kind that can be decided about, a paused queue and a process that works.
    async fn open(url: impl FnOnce(&Company) -> String, flags: &str) -> Self {
        let company = Company::new().await;
        let db = &company.test.db;
        for _ in 0..2 {
            submit_held(db, "held").await;
        }
        submit(db, "waits").await;
        let four = submit(db, "canceled").await;
        decided(db, DecisionKind::Cancel, &row(db, four.id).await).await;
        User::of(&company.test.url).text(0, &["pause", "shut"]);
        User::of(&company.test.url).text(0, &["limit", "default", "--max-running", "5"]);
        worker(db).await;
        db.register(&new_instance(&["other"], LONG)).await.expect("register");
        let before = company.everything();
        let mut desk = Desk::sized(120, 40, Some(&url(&company)), &[("EDITOR", "true")]);
        desk.start(flags);
        desk.wait_line(1, &["SUBMITTED"]);
        Self { desk, company, before }
    }

    /// Presses a key and waits until everything that was typed so far has been acted upon: only then is the screen drawn
    /// anew. What a program that had the terminal meanwhile has swallowed is typed again.
    fn press(&mut self, key: Key) {
        self.type_all(&[key]);
    }

    /// Presses keys one after the other and waits once.
    fn type_all(&mut self, keys: &[Key]) {
        let terminal = &mut self.desk.terminal;
        let mark = terminal.mark();
        terminal.keys(&keys.iter().map(|key| bytes(*key)).collect::<String>());
        let typed = std::time::Instant::now();
        loop {
            assert!(typed.elapsed() < PATIENCE, "the console is dead; the screen is:\n{}", terminal.screen());
            terminal.keys(&bytes(REDRAW));
            let asked = std::time::Instant::now();
            while asked.elapsed() < std::time::Duration::from_secs(2) {
                if drawn_anew(&terminal.bytes_since(mark)) {
                    return;
                }
                std::thread::sleep(std::time::Duration::from_millis(2));
            }
        }
    }

    /// Says yes to whatever was asked, submits whatever can be, and steps back out of it.
    fn insist(&mut self) {
        // What is asked must have been drawn before it is answered.
        self.press(Key::char('y'));
        self.type_all(&[Key::ctrl('s'), ESC, ESC, ESC]);
    }

    fn say(&mut self, verb: &str) {
        self.desk.terminal.keys(&format!(":{verb} {}", argument(verb)));
        self.press(Key::plain(KeyCode::Enter));
        self.insist();
    }

    fn unchanged(&self, what: &str) {
        assert_eq!(self.company.everything(), self.before, "{what} changed something");
    }

    /// Every verb, every key on every screen, and the keys of every act in the other panes; `then` is called after each part.
    fn try_everything(&mut self, then: impl Fn(&Self, &str)) {
        for verb in VERBS.iter().filter(|verb| verb.name != "quit") {
            if matches!(verb.name, "stop" | "pause" | "resume") {
                // What is asked carries what screen 2 has read.
                self.press(Key::char('2'));
                self.desk.terminal.wait_text("shut");
            } else {
                self.press(Key::char('1'));
            }
            self.say(verb.name);
            then(self, verb.name);
        }
        for screen in '1'..='5' {
            self.try_keys(screen, 0, |_| true);
            then(self, &format!("a key on screen {screen}"));
        }
        // The detail pane, the queues and the limits.
        for (screen, tabs) in [('1', 1), ('2', 1), ('2', 2)] {
            self.try_keys(screen, tabs, |entry| entry.gravity != Gravity::Light);
            then(self, &format!("a key on screen {screen} after {tabs} times Tab"));
        }
    }

    /// Presses each of these keys on a screen, in the pane to which so many times Tab lead.
    fn try_keys(&mut self, screen: char, tabs: usize, which: impl Fn(&Entry) -> bool) {
        for entry in TABLE.iter().filter(|entry| entry.layers.contains(&Layer::Screen) && which(entry)) {
            if LEAVING.contains(&entry.action) {
                continue;
            }
            for key in entry.keys {
                self.press(Key::char(screen));
                self.type_all(&vec![Key::plain(KeyCode::Tab); tabs]);
                self.press(*key);
                self.insist();
            }
        }
    }

    /// The moves that the events after this one tell.
    fn moves_since(&self, event: &str) -> BTreeSet<String> {
        let sql = format!("SELECT DISTINCT move FROM taskdeck.events WHERE id > {event}");
        self.company.test.psql(&sql).lines().map(str::to_owned).collect()
    }

    fn last_event(&self) -> String {
        self.company.test.psql("SELECT max(id) FROM taskdeck.events")
    }

    /// Goes to a task and presses the key of an act that is not possible: it is dim, and says why.
    fn is_dim_and_says(&mut self, id: i64, key: char, label: &str, why: &str) {
        self.press(Key::char('1'));
        self.desk.terminal.keys(&format!(":goto {id}"));
        self.press(Key::plain(KeyCode::Enter));
        let screen = self.desk.terminal.cells();
        let (rows, columns) = screen.size();
        let (footer, columns) = (rows.get() - 1, columns.get());
        let text = screen.contents_between(footer, 0, footer, columns);
        let column = text.find(&format!("{key} {label}")).unwrap_or_else(|| panic!("no {label} in `{text}`"));
        let column = u16::try_from(text[..column].chars().count()).expect("small");
        let cell = screen.cell(footer, column).expect("a cell");
        assert!(cell.dim(), "{key} {label} is not dim in `{text}`");
        self.press(Key::char(key));
        let screen = self.desk.terminal.screen();
        assert!(screen.contains(why), "{label}: does not say `{why}`:\n{screen}");
        self.press(ESC);
    }

    fn end(mut self) {
        self.unchanged("all of it");
        self.leave();
        self.unchanged("the end");
    }

    fn leave(&mut self) {
        self.desk.terminal.keys("q");
        // Where the role was tried again, a text was written that nobody took.
        let modes = self.desk.terminal.modes_of();
        let lost = "A text was not submitted";
        let screen = self.desk.terminal.wait_for("the end", |screen| !modes().0 || screen.contains(lost));
        if screen.contains(lost) {
            self.desk.terminal.keys("y");
        }
        assert_eq!(self.desk.back_in_shell(), 0);
    }
}

/// The acts of screen 1 by their keys: on which task each would be possible.
const ACTS: [(i64, char, &str); 4] =
    [(1, 'a', "approve"), (2, 'X', "reject"), (3, 'c', "cancel"), (4, 'r', "requeue")];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_viewer_changes_nothing_with_any_key_or_verb() {
    let mut console = Watched::open(|company| company.login("vic", "viewer"), "--workers 1").await;
    for (id, key, label) in ACTS {
        console.is_dim_and_says(id, key, label, "the database role lacks UPDATE on tasks");
    }
    console.try_everything(Watched::unchanged);
    console.end();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn read_only_changes_nothing_with_any_key_or_verb() {
    let mut console = Watched::open(|company| company.test.url.clone(), "--read-only").await;
    for (id, key, label) in ACTS {
        console.is_dim_and_says(id, key, label, "read-only: started with --read-only");
    }
    console.try_everything(Watched::unchanged);
    console.end();
}

/// The same keys and verbs by who may, without which the two before would prove nothing: they do change what they are for.
/// An operator's console is no process among the others, so that it outlives that it asks them all to stop.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_operator_changes_it_all_with_the_same_keys_and_verbs() {
    let mut console = Watched::open(|company| company.login("olga", "operator"), "--workers 0").await;
    let before = RefCell::new(console.last_event());
    console.try_everything(|console, what| {
        let wanted: &[&str] = match what {
            // The last of the verbs.
            "help" => &["approve", "reject", "cancel", "requeue", "pause", "resume"],
            "a key on screen 1" | "a key on screen 1 after 1 times Tab" => &["cancel", "requeue"],
            _ => return,
        };
        let moves = console.moves_since(&before.replace(console.last_event()));
        for wanted in wanted {
            assert!(moves.contains(*wanted), "up to {what}, no {wanted}: {moves:?}");
        }
    });
    let submitted = "SELECT count(*) FROM taskdeck.task_inputs WHERE submitted_by = 'alice'";
    assert_ne!(console.company.test.psql(submitted), "0");
    console.leave();
}

/// The role of services may decide, as the server cannot tell a claim from an approval; what it may not is told at once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_is_told_what_it_may_not() {
    let mut console = Watched::open(|company| company.login("will", "worker"), "--workers 0").await;
    for (typed, why) in [
        ("n", "lacks INSERT on tasks"),
        (":submit x\r", "lacks INSERT on tasks"),
        (":pause default\r", "lacks INSERT on queues"),
    ] {
        console.desk.terminal.keys(typed);
        console.desk.terminal.wait_text(why);
        console.press(ESC);
    }
    // Its console is a process among the others by then.
    let tasks = console.company.test.psql("SELECT count(*) FROM taskdeck.tasks");
    assert_eq!(tasks, "4");
    console.desk.terminal.keys(":approve 1\r");
    console.desk.terminal.wait_text("Approve task 1?");
    console.desk.terminal.keys("y");
    console.desk.wait_row(1, |row| row == "QUEUED|f|1");
    assert_eq!(console.desk.quit(), 0);
}

/// An operator's console runs no workers and says which right is missing for them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_operator_decides_and_runs_nothing() {
    let mut console = Watched::open(|company| company.login("olga", "operator"), "--workers 2").await;
    assert_eq!(
        console.company.test.psql("SELECT count(*) FROM taskdeck.instances"),
        "2",
        "it is no process of its own"
    );
    console.desk.terminal.keys(":cancel 3\r");
    console.desk.terminal.wait_text("Cancel task 3?");
    console.desk.terminal.keys("y");
    console.desk.wait_row(3, |row| row == "CANCELED|f|1");
    assert_eq!(console.desk.quit(), 0);
}
