//! Those who decide: on what they last saw, on what they saw long ago, on several rows at once, and two at a time on
//! the same version.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::cli::{Fate, call};
use crate::faults::wire::DECIDES;
use crate::journal::Decide;
use crate::plan::{Deck, millis, now};
use crate::proxy::{Cut, Proxy};
use crate::stage::{Route, Stage, url_by};
use crate::submits::held;
use crate::texts::plain;

/// What a row was when it was looked at.
#[derive(Debug, Clone)]
struct Seen {
    id: i64,
    version: i64,
    status: String,
}

#[derive(Debug, Clone, Copy)]
enum Act {
    One,
    /// Two decisions on the same rows and versions at the same moment.
    Race,
    Several,
    /// An old version.
    Stale,
    /// Without a version: the program reads the row first.
    Unseen,
    Missing,
}

const STATES: &[&str] =
    &["SUBMITTED", "QUEUED", "RUNNING", "RUNNING", "RUNNING", "RUNNING", "FAILED", "CANCELED", "REJECTED"];

/// A name that no other decision has.
fn operator() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    format!("op-{}", NEXT.fetch_add(1, Ordering::Relaxed))
}

/// Decides until the faults are over.
pub(crate) async fn decide(stage: Arc<Stage>, name: &'static str, route: Route) {
    let mut dice = stage.plan.dice(name);
    let mut deck = Deck::new(&[
        Act::One,
        Act::One,
        Act::Race,
        Act::Race,
        Act::Race,
        Act::Several,
        Act::Stale,
        Act::Unseen,
        Act::Missing,
    ]);
    let url = stage.url(route);
    let other = stage.url(Route::Direct);
    while stage.goes_on() {
        let act = deck.deal(&mut dice);
        let fate = Fate::of(&mut dice);
        // What runs is gone soonest, so it is aimed at most often.
        let status = STATES[dice.usize(0..STATES.len())];
        let seen = look(&stage, &mut dice, status).await;
        let verb = verb(&mut dice, status);
        let named = |seen: &[Seen]| seen.iter().map(|row| (row.id, Some(row.version))).collect::<Vec<_>>();
        match (act, seen.as_slice()) {
            (Act::Missing, _) => {
                let id = 1_000_000_000 + dice.i64(0..1_000);
                ask(&stage, &url, verb, &[(id, Some(0))], fate).await;
            }
            (_, []) => {}
            // Between a look and a decision it would end.
            (Act::One, [row, ..]) if status == "RUNNING" => {
                ask(&stage, &url, verb, &[(row.id, None)], fate).await;
            }
            (Act::One, [row, ..]) => {
                ask(&stage, &url, verb, &named(std::slice::from_ref(row)), fate).await;
            }
            (Act::Stale, [row, ..]) => {
                let version = row.version - dice.i64(1..3);
                ask(&stage, &url, verb, &[(row.id, Some(version.max(0)))], fate).await;
            }
            (Act::Unseen, [row, ..]) => ask(&stage, &url, verb, &[(row.id, None)], fate).await,
            (Act::Several, rows) => {
                let count = rows.len().min(dice.usize(2..5));
                ask(&stage, &url, verb, &named(&rows[..count]), fate).await;
            }
            (Act::Race, rows) => {
                let rows = named(&rows[..rows.len().min(dice.usize(1..3))]);
                let against = if status == "SUBMITTED" && verb != "reject" { "reject" } else { verb };
                tokio::join!(
                    ask(&stage, &url, verb, &rows, fate),
                    ask(&stage, &other, against, &rows, Fate::Lives)
                );
            }
        }
        stage.pause(millis(&mut dice, 20, 300)).await;
    }
}

/// A verb that mostly suits the state.
fn verb(dice: &mut fastrand::Rng, status: &str) -> &'static str {
    let fitting = match status {
        "SUBMITTED" => ["approve", "approve", "reject", "cancel"][dice.usize(0..4)],
        "QUEUED" | "RUNNING" => "cancel",
        _ => "requeue",
    };
    if dice.u32(0..12) == 0 { ["approve", "reject", "cancel", "requeue"][dice.usize(0..4)] } else { fitting }
}

/// Some rows in a state, in the order of chance, by a look of one's own.
async fn look(stage: &Stage, dice: &mut fastrand::Rng, status: &str) -> Vec<Seen> {
    let sql = format!(
        "SELECT id, version, status FROM taskdeck.tasks WHERE status = '{status}' AND queue <> 'meter'
         AND tenant = 'default' ORDER BY id DESC LIMIT 60"
    );
    let Ok(rows) = stage.rows(&sql).await else { return Vec::new() };
    let mut seen: Vec<Seen> = rows
        .iter()
        .map(|row| Seen { id: row.number(0), version: row.number(1), status: row.word(2).to_owned() })
        .filter(|seen| seen.status == status)
        .collect();
    dice.shuffle(&mut seen);
    seen
}

/// Asks for a decision and writes down what was said.
async fn ask(stage: &Stage, url: &str, verb: &'static str, rows: &[(i64, Option<i64>)], fate: Fate) {
    let operator = operator();
    let at = now();
    let named: Vec<String> = rows
        .iter()
        .map(|(id, version)| version.map_or_else(|| id.to_string(), |version| format!("{id}@{version}")))
        .collect();
    let mut arguments = vec![verb, "--operator", &operator, "--reason", verb];
    arguments.extend(named.iter().map(String::as_str));
    let told = call(stage, url, &arguments, fate).await;
    stage.journal.decided(Decide { at, operator, verb, rows: rows.to_vec(), told });
}

/// Lets every task run that is still held, once nothing is broken any more.
pub(crate) async fn release_held(stage: &Stage) {
    let held = stage
        .rows_at_last("SELECT id, version FROM taskdeck.tasks WHERE status = 'SUBMITTED' ORDER BY id")
        .await;
    let held: Vec<(i64, Option<i64>)> = held.iter().map(|row| (row.number(0), Some(row.number(1)))).collect();
    for rows in held.chunks(50) {
        ask(stage, &stage.url(Route::Direct), "approve", rows, Fate::Lives).await;
    }
}

/// A decision whose outcome cannot be established, as its line is cut for good after the server has done it.
pub(crate) async fn doomed(stage: Arc<Stage>) {
    let id = held(&stage, &plain("is held"), "default").await;
    let proxy = Proxy::start(stage.port()).await;
    proxy.cut(Cut::Last, DECIDES.1);
    ask(&stage, &url_by(proxy.port()), "approve", &[(id, Some(0))], Fate::Lives).await;
}
