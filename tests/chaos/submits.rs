//! Those who submit: one text under a key or without, files of lines, and some under a key that another sends too.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::cli::{Fate, call};
use crate::journal::{Kind, Submit, Told};
use crate::plan::{Deck, millis, now};
use crate::proxy::{Cut, Proxy};
use crate::stage::{Route, Stage, url_by};
use crate::support::PATIENCE;
use crate::texts::{errand, text};

/// The most waiting tasks for the meter: enough to be never without, few enough to come to an end.
const BACKLOG: i64 = 1_000;

#[derive(Debug, Clone, Copy)]
enum Act {
    One,
    Keyed,
    /// The same key from two at once.
    Twice,
    Held,
    Lines,
    Counting,
}

/// Submits until the faults are over.
pub(crate) async fn submit(stage: Arc<Stage>, name: &'static str, route: Route) {
    let mut dice = stage.plan.dice(name);
    let mut deck = Deck::new(&[
        Act::One,
        Act::Keyed,
        Act::Keyed,
        Act::Twice,
        Act::Held,
        Act::Held,
        Act::Lines,
        Act::Counting,
    ]);
    let url = stage.url(route);
    let mut number = 0;
    while stage.goes_on() {
        number += 1;
        let key = format!("{name}-{number}");
        let fate = Fate::of(&mut dice);
        match deck.deal(&mut dice) {
            Act::One => one(&stage, &url, &errand(&mut dice), &[], fate).await,
            Act::Held => one(&stage, &url, &errand(&mut dice), &["--hold"], fate).await,
            Act::Keyed => keyed(&stage, &url, &errand(&mut dice), &key, fate).await,
            Act::Twice => {
                let text = errand(&mut dice);
                let other = stage.url(Route::Direct);
                tokio::join!(
                    keyed(&stage, &url, &text, &key, fate),
                    keyed(&stage, &other, &text, &key, Fate::Lives)
                );
            }
            Act::Lines => {
                let texts: Vec<String> = (0..dice.usize(5..30)).map(|_| errand(&mut dice)).collect();
                lines(&stage, &url, &key, &texts, "default", fate).await;
            }
            Act::Counting => {
                // More than one statement's worth, so that a file may go in in part.
                let texts: Vec<String> =
                    (0..dice.usize(1..1_200)).map(|_| text(&mut dice, "counts")).collect();
                lines(&stage, &url, &key, &texts, "counting", fate).await;
            }
        }
        stage.pause(millis(&mut dice, 20, 400)).await;
    }
}

/// Keeps the meter supplied until `enough` is told.
pub(crate) async fn feed(stage: Arc<Stage>, enough: tokio::sync::watch::Receiver<bool>) {
    let mut dice = stage.plan.dice("feeder");
    let url = stage.url(Route::Direct);
    let mut number = 0;
    while !*enough.borrow() {
        let waiting = "SELECT count(*) FROM taskdeck.tasks WHERE queue = 'meter' AND status = 'QUEUED'";
        if stage.number(waiting).await < BACKLOG {
            number += 1;
            let texts: Vec<String> = (0..1_000).map(|_| text(&mut dice, "is measured")).collect();
            lines(&stage, &url, &format!("feeder-{number}"), &texts, "meter", Fate::Lives).await;
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

/// One text, once.
async fn one(stage: &Stage, url: &str, text: &str, flags: &[&str], fate: Fate) {
    let at = now();
    let told = call(stage, url, &[&["submit", text], flags].concat(), fate).await;
    stage.journal.submitted(Submit { at, kind: Kind::One { key: None }, texts: vec![text.to_owned()], told });
}

/// One text under a key; what was killed or is not known is sent again, as a script would.
async fn keyed(stage: &Stage, url: &str, text: &str, key: &str, fate: Fate) {
    let told = send(stage, url, text, key, fate).await;
    if matches!(told, Told::Killed | Told::Exit { code: 6, .. }) {
        send(stage, url, text, key, Fate::Lives).await;
    }
}

async fn send(stage: &Stage, url: &str, text: &str, key: &str, fate: Fate) -> Told {
    let at = now();
    let told = call(stage, url, &["submit", text, "--key", key], fate).await;
    let kind = Kind::One { key: Some(key.to_owned()) };
    stage.journal.submitted(Submit { at, kind, texts: vec![text.to_owned()], told: told.clone() });
    told
}

/// A file of lines.
pub(crate) async fn lines(stage: &Stage, url: &str, name: &str, texts: &[String], queue: &str, fate: Fate) {
    let path = stage.folder().join(format!("{name}.txt"));
    std::fs::write(&path, texts.join("\n")).expect("write a file of lines");
    let at = now();
    let file = path.display().to_string();
    let told = call(stage, url, &["submit", "--lines", &file, "--queue", queue], fate).await;
    std::fs::remove_file(&path).expect("remove the file of lines");
    stage.journal.submitted(Submit { at, kind: Kind::Lines, texts: texts.to_vec(), told });
}

/// A submit whose outcome cannot be established, as its line is cut for good after the server has done it; then the
/// same key is sent by another line, which finds out.
pub(crate) async fn doomed(stage: Arc<Stage>) {
    let proxy = Proxy::start(stage.port()).await;
    let mut dice = stage.plan.dice("doomed submit");
    let text = text(&mut dice, "is doomed");
    proxy.cut(Cut::Last, "is doomed");
    send(&stage, &url_by(proxy.port()), &text, "doomed", Fate::Lives).await;
    let started = Instant::now();
    while started.elapsed() < PATIENCE {
        let told = send(&stage, &stage.url(Route::Direct), &text, "doomed", Fate::Lives).await;
        if told.code() == Some(0) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    panic!("a key whose outcome is not known could not be sent again");
}

/// A held task that is certainly there; its id.
pub(crate) async fn held(stage: &Stage, text: &str, tenant: &str) -> i64 {
    let started = Instant::now();
    loop {
        let at = now();
        let key = format!("held {text}");
        let arguments = ["submit", text, "--hold", "--tenant", tenant, "--key", &key];
        let told = call(stage, &stage.url(Route::Direct), &arguments, Fate::Lives).await;
        let id = told.document()["task"]["id"].as_i64();
        stage.journal.submitted(Submit {
            at,
            kind: Kind::One { key: Some(key) },
            texts: vec![text.to_owned()],
            told,
        });
        if let Some(id) = id {
            return id;
        }
        assert!(started.elapsed() < PATIENCE, "`{text}` could not be submitted");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}
