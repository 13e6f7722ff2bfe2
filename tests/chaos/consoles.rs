//! The console, killed right after the key that sends something.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::journal::{Decide, Kind, Submit, Told};
use crate::plan::{millis, now};
use crate::stage::{PROGRAM, Route, Stage};
use crate::submits::held;
use crate::terminal::Terminal;
use crate::texts::plain;

/// How long the console may take for each step; where it takes longer, as the server is down, it is not used.
const STEP: Duration = Duration::from_secs(10);

/// Ctrl-S.
const SEND: &str = "\u{13}";

/// Opens consoles and kills them until the faults are over.
pub(crate) async fn run(stage: Arc<Stage>, name: &'static str, route: Route) {
    let mut dice = stage.plan.dice(name);
    let mut number = 0;
    while stage.goes_on() {
        number += 1;
        let tenant = format!("{name}-{number}");
        let killed_after = millis(&mut dice, 0, 40);
        if number % 2 == 1 {
            let text = plain("is written");
            let (url, typed, at) = (stage.url(route), text.clone(), now());
            let home = stage.folder().display().to_string();
            let sent = on_a_terminal(move || submit(&url, &home, &tenant, &typed, killed_after)).await;
            if sent {
                stage.note("kill -9 of a console in a submit", first_word(&text));
                let kind = Kind::One { key: None };
                stage.journal.submitted(Submit { at, kind, texts: vec![text], told: Told::Killed });
            }
        } else {
            let id = held(&stage, &plain("is held"), &tenant).await;
            let (url, operator, at) = (stage.url(route), tenant.clone(), now());
            let home = stage.folder().display().to_string();
            let sent = on_a_terminal(move || cancel(&url, &home, &operator, id, killed_after)).await;
            if sent {
                stage.note("kill -9 of a console in a decision", format!("task {id}"));
                let rows = vec![(id, None)];
                stage.journal.decided(Decide {
                    at,
                    operator: tenant,
                    verb: "cancel",
                    rows,
                    told: Told::Killed,
                });
            }
        }
        stage.pause(millis(&mut dice, 100, 1_500)).await;
    }
}

/// The word of a text by which it is told from others.
fn first_word(text: &str) -> &str {
    text.split(' ').next().unwrap_or_default()
}

/// Terminals are waited for, which must not hold up the others.
async fn on_a_terminal(act: impl FnOnce() -> bool + Send + 'static) -> bool {
    tokio::task::spawn_blocking(act).await.expect("nobody panics at a terminal")
}

/// Writes a text and sends it; whether it came to that.
fn submit(url: &str, home: &str, tenant: &str, text: &str, killed_after: Duration) -> bool {
    let Some(mut terminal) = open(url, home, tenant) else { return false };
    terminal.keys("n");
    if !comes(&terminal, |screen| screen.contains("New task")) {
        return false;
    }
    terminal.keys(text);
    let first = first_word(text);
    if !comes(&terminal, |screen| screen.contains(first)) {
        return false;
    }
    terminal.keys(SEND);
    kill(&terminal, killed_after);
    true
}

/// Cancels the only row that is listed; whether it came to that.
fn cancel(url: &str, home: &str, tenant: &str, id: i64, killed_after: Duration) -> bool {
    let Some(mut terminal) = open(url, home, tenant) else { return false };
    if !comes(&terminal, |screen| screen.contains("SUBMITTED") && screen.contains("is held")) {
        return false;
    }
    terminal.keys("c");
    if !comes(&terminal, |screen| screen.contains(&format!("Cancel task {id}"))) {
        return false;
    }
    terminal.keys("y");
    kill(&terminal, killed_after);
    true
}

/// A console that lists the tasks of one tenant.
fn open(url: &str, home: &str, tenant: &str) -> Option<Terminal> {
    let variables = [("TASKDECK_DATABASE_URL", url), ("HOME", home)];
    let mut terminal = Terminal::open(120, 40, &variables);
    // In the shell's place, so that the process to kill is known.
    terminal.line(&format!("exec {PROGRAM} --workers 0 --lease 2s --tenant {tenant} --operator {tenant}"));
    let modes = terminal.modes_of();
    let drawn = comes(&terminal, |screen| modes().0 && screen.contains("link ok"));
    if !drawn {
        return None;
    }
    if terminal.screen().contains("A new database") {
        terminal.keys("\u{1b}");
        comes(&terminal, |screen| !screen.contains("A new database"));
    }
    Some(terminal)
}

fn kill(terminal: &Terminal, after: Duration) {
    std::thread::sleep(after);
    let pid = i32::try_from(terminal.shell()).ok().and_then(Pid::from_raw).expect("a process");
    kill_process(pid, Signal::KILL).expect("kill the console");
}

/// Waits until the screen passes the test; whether it did.
fn comes(terminal: &Terminal, test: impl Fn(&str) -> bool) -> bool {
    let started = Instant::now();
    while started.elapsed() < STEP {
        if test(&terminal.screen()) {
            return true;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    false
}
