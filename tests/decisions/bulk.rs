//! Acts about many rows at once, given in opposite orders, while workers claim them and what a killed process held is
//! taken back: nobody hangs, each act is all or none, and what was told adds up to what the tables say.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;
use tokio_postgres::Client;

use crate::racers::{Racer, Told, for_a_row, until_all_wait};
use crate::runner::User;
use crate::scene::{fill, number, outside};
use crate::support::{PATIENCE, TestDb, database, until};
use crate::worker::Headless;

/// So many rows.
const ROWS: i64 = 200;

/// So many of them are run by the process that is killed.
const KILLED: i64 = 20;

fn named(rows: &[(i64, i64)]) -> Vec<String> {
    rows.iter().map(|(id, version)| format!("{id}@{version}")).collect()
}

async fn deadlocks(watch: &Client) -> i64 {
    number(watch, "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()").await
}

/// The whole was done, or nothing of it was, by what is told of each row.
fn is_all_or_none(told: &Told, asked: usize) -> bool {
    // About one row the answer has no list.
    let one = std::slice::from_ref(&told.answer);
    let rows = told.answer["tasks"].as_array().map_or(one, Vec::as_slice);
    assert_eq!(rows.len(), asked, "as many rows are told as were asked for: {}", told.answer);
    let mut outcomes = rows.iter().map(|row| row["outcome"].as_str().unwrap_or_default());
    match told.code {
        0 => outcomes.all(|outcome| outcome == "committed"),
        _ => outcomes.all(|outcome| matches!(outcome, "conflict" | "not_applied")),
    }
}

/// Two acts, each about rows in its own order, while a third session holds a row of both.
async fn opposite(ann: &[i64], ben: &[i64], held: i64) {
    let test = database().await;
    let user = User::of(&test.url);
    let (mut holder, watch) = (outside(&test.url).await, outside(&test.url).await);
    for round in 0..5 {
        watch
            .batch_execute("TRUNCATE taskdeck.tasks, taskdeck.task_inputs, taskdeck.events RESTART IDENTITY")
            .await
            .expect("empty");
        fill(&watch, ROWS, "status, scheduled_at", "'SUBMITTED', now()").await;
        let gate = holder.transaction().await.expect("begin");
        gate.execute("SELECT FROM taskdeck.tasks WHERE id = $1 FOR UPDATE", &[&held]).await.expect("hold");
        let tasks = |ids: &[i64]| ids.iter().map(|id| format!("{id}@0")).collect::<Vec<_>>();
        let racers = [
            Racer::start(&user, "ann", "approve", &tasks(ann)),
            Racer::start(&user, "ben", "reject", &tasks(ben)),
        ];
        let pids = racers.each_ref().map(|racer| racer.pid);
        let waiting = until_all_wait(&watch, &pids, |_, wait| for_a_row(wait)).await;
        assert_eq!(
            waiting.len(),
            2,
            "round {round}: both wait: one for the gate, one for the other or the gate"
        );
        gate.commit().await.expect("open the gate");
        let told = racers.map(Racer::end);
        assert_eq!(
            told.each_ref().map(|told| &told.answer["retries"]),
            [&json!(0); 2],
            "nobody was a victim"
        );
        let (winner, loser) = if told[0].code == 0 { (&told[0], &told[1]) } else { (&told[1], &told[0]) };
        assert_eq!(
            (winner.code, loser.code),
            (0, 3),
            "round {round}: {:?}",
            told.each_ref().map(|told| &told.answer["message"])
        );
        let asked = [ann.len(), ben.len()];
        assert!(told.iter().zip(asked).all(|(told, asked)| is_all_or_none(told, asked)), "round {round}");
        let ids = if winner.operator == "ann" { ann } else { ben };
        let count = i64::try_from(ids.len()).expect("small");
        let state = if winner.operator == "ann" { "QUEUED" } else { "REJECTED" };
        let changed = format!(
            "SELECT count(*) FROM taskdeck.tasks WHERE version = 1 AND status = '{state}' AND id = ANY('{{{}}}')",
            ids.iter().map(i64::to_string).collect::<Vec<_>>().join(",")
        );
        assert_eq!(number(&watch, &changed).await, count, "round {round}: all of them");
        let others = "SELECT count(*) FROM taskdeck.tasks WHERE version = 0 AND status = 'SUBMITTED'";
        assert_eq!(number(&watch, others).await, ROWS - count, "round {round}: and no other");
        let events = format!(
            "SELECT count(*) FROM taskdeck.events WHERE actor = '{}' AND operation_id = (SELECT min(operation_id::text)::uuid FROM taskdeck.events)",
            winner.operator
        );
        assert_eq!(number(&watch, &events).await, count, "round {round}: one operation");
        assert_eq!(number(&watch, "SELECT count(*) FROM taskdeck.events").await, count, "round {round}");
    }
    assert_eq!(
        deadlocks(&watch).await,
        0,
        "the order in which they are named is not that in which they are locked"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_same_rows_in_opposite_orders() {
    let ann: Vec<i64> = (1..=ROWS).collect();
    let ben: Vec<i64> = (1..=ROWS).rev().collect();
    opposite(&ann, &ben, ROWS / 2).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn overlapping_halves_in_opposite_orders() {
    let ann: Vec<i64> = (1..=120).collect();
    let ben: Vec<i64> = (80..=ROWS).rev().collect();
    opposite(&ann, &ben, 100).await;
}

/// An act that took effect: who, and each row with the version that it was decided with.
type Act = (&'static str, BTreeSet<(i64, i64)>);

/// The rows about which `verb` can decide now, as one look shows them.
async fn decidable(watch: &Client, verb: &str, half: &str) -> Vec<(i64, i64)> {
    let states = match verb {
        "cancel" => "status IN ('SUBMITTED', 'QUEUED') OR (status = 'RUNNING' AND NOT cancel_requested)",
        _ => "status IN ('FAILED', 'CANCELED', 'REJECTED')",
    };
    let sql = format!("SELECT id, version FROM taskdeck.tasks WHERE ({states}) AND {half} ORDER BY id");
    let rows = watch.query(&sql, &[]).await.expect("look");
    rows.iter().map(|row| (row.get(0), row.get(1))).collect()
}

/// What was told, with the number of rows that were asked for.
type Answer = (Told, usize);

/// Two cancel the same rows in opposite orders, and are seen to wait at the same time: one of them takes effect.
async fn pair(test: &TestDb, watch: &Client) -> (Vec<Act>, Vec<Answer>) {
    let user = User::of(&test.url);
    let mut holder = outside(&test.url).await;
    let mut rows = decidable(watch, "cancel", "true").await;
    let gate = holder.transaction().await.expect("begin");
    gate.execute("SELECT FROM taskdeck.tasks WHERE id = 100 FOR UPDATE", &[]).await.expect("hold");
    let ann = Racer::start(&user, "ann", "cancel", &named(&rows));
    rows.reverse();
    let ben = Racer::start(&user, "ben", "cancel", &named(&rows));
    let waiting = until_all_wait(watch, &[ann.pid, ben.pid], |_, wait| for_a_row(wait)).await;
    assert_eq!(waiting.len(), 2, "both wait at the same time");
    gate.commit().await.expect("open the gate");
    let told = [ann.end(), ben.end()];
    let mut codes = told.each_ref().map(|told| told.code);
    let winner = if codes[0] == 0 { "ann" } else { "ben" };
    codes.sort_unstable();
    assert_eq!(codes, [0, 3], "one took effect: {told:?}");
    let asked = rows.len();
    (vec![(winner, rows.into_iter().collect())], told.map(|told| (told, asked)).into())
}

/// Whether workers have claimed what was requeued, and something was taken back between two of the operators' acts.
async fn met_by_workers_and_a_recoverer(watch: &Client) -> bool {
    let claims = "SELECT sum(claim_no)::bigint FROM taskdeck.tasks";
    let between = "SELECT count(*) FROM taskdeck.events WHERE move = 'recover' \
        AND id > (SELECT min(id) FROM taskdeck.events WHERE actor IN ('ann', 'ben', 'cem')) \
        AND id < (SELECT max(id) FROM taskdeck.events WHERE actor IN ('ann', 'ben', 'cem'))";
    number(watch, claims).await > KILLED && number(watch, between).await > 0
}

/// One operator's acts, one after the other, each about what a look just before it showed: canceling, once that has
/// taken effect requeuing, and so on. A dozen, and then until the workers and the recoverer have come in between.
async fn acts(
    test: &TestDb,
    operator: &'static str,
    order: Order,
    half: &'static str,
) -> (Vec<Act>, Vec<Answer>) {
    let user = User::of(&test.url);
    let watch = outside(&test.url).await;
    let (mut done, mut told) = (Vec::new(), Vec::new());
    let mut verb = "cancel";
    let started = std::time::Instant::now();
    for turn in 0.. {
        if turn >= 12 && met_by_workers_and_a_recoverer(&watch).await {
            break;
        }
        assert!(started.elapsed() < PATIENCE, "{operator}: no worker and no recoverer came in between");
        let other = if verb == "cancel" { "requeue" } else { "cancel" };
        let mut rows = decidable(&watch, verb, half).await;
        if order == Order::Descending {
            rows.reverse();
        }
        if rows.is_empty() {
            verb = other;
            continue;
        }
        let asked = rows.len();
        let racer = Racer::start(&user, operator, verb, &named(&rows));
        let answer = tokio::task::spawn_blocking(|| racer.end()).await.expect("no panic");
        match answer.code {
            0 => {
                done.push((operator, rows.into_iter().collect()));
                verb = other;
            }
            3 => {}
            other => panic!("{operator} {verb}: exit {other}: {}", answer.answer),
        }
        told.push((answer, asked));
    }
    (done, told)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    Ascending,
    Descending,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn with_workers_and_a_recoverer_on_the_same_rows() {
    let test = database().await;
    let watch = outside(&test.url).await;
    fill(&watch, ROWS, "status, scheduled_at", "'QUEUED', now()").await;
    // What a process that is killed was running is taken back by the others once its lease has passed.
    let killed = Headless::start(&test.url, &["--workers", "20", "--work-delay", "1h", "--lease", "2s"], &[]);
    let running = "SELECT count(*) FROM taskdeck.tasks WHERE status = 'RUNNING'";
    until("twenty that run", || async { (number(&watch, running).await == KILLED).then_some(()) }).await;
    drop(killed);
    // Before anybody else works: then it is certain that one of the two takes effect.
    let pair = pair(&test, &watch).await;
    let flags = ["--workers", "2", "--work-delay", "2s", "--poll", "100ms"];
    let workers = [Headless::start(&test.url, &flags, &[]), Headless::start(&test.url, &flags, &[])];

    let (ann, ben, cem) = tokio::join!(
        acts(&test, "ann", Order::Ascending, "true"),
        acts(&test, "ben", Order::Descending, "true"),
        acts(&test, "cem", Order::Descending, "id > 80"),
    );
    let recovered = "SELECT count(*) FROM taskdeck.events WHERE move = 'recover'";
    until("what was taken back", || async { (number(&watch, recovered).await >= KILLED).then_some(()) })
        .await;
    for worker in workers {
        worker.process().signal(rustix::process::Signal::TERM);
        assert_eq!(worker.end().code, Some(0));
    }

    assert!(met_by_workers_and_a_recoverer(&watch).await, "nobody came in between");

    let done: Vec<Act> = [&pair.0, &ann.0, &ben.0, &cem.0].into_iter().flatten().cloned().collect();
    let answers: Vec<&Answer> = [&pair.1, &ann.1, &ben.1, &cem.1].into_iter().flatten().collect();
    let told: Vec<&Told> = answers.iter().map(|(told, _)| told).collect();
    assert!(
        !done.is_empty() && done.len() < told.len(),
        "some took effect and some did not: {} of {}",
        done.len(),
        told.len()
    );
    for (told, asked) in answers {
        assert!(is_all_or_none(told, *asked), "{}", told.answer);
    }
    let retries = |told: &Told| told.answer["retries"].as_i64().expect("a number");
    let retried: i64 = told.iter().map(|told| retries(told)).sum();
    assert!(told.iter().all(|told| retries(told) <= 3));
    until("as many deadlocks as were told", || async { (deadlocks(&watch).await >= retried).then_some(()) })
        .await;
    println!("{} acts, {} took effect, {retried} tried again", told.len(), done.len());

    assert_eq!(operations(&watch).await, sorted(done), "what was told is what the events say");
    // Every change left one version: claims, successes, and what the events tell.
    let unversioned = "SELECT count(*) FROM taskdeck.tasks t WHERE t.version <> t.claim_no + (t.status = 'SUCCEEDED')::int \
         + (SELECT count(*) FROM taskdeck.events e WHERE e.task_id = t.id)";
    assert_eq!(number(&watch, unversioned).await, 0, "no change went unversioned");
    let twice = "SELECT count(*) FROM (SELECT FROM taskdeck.events WHERE task_id IS NOT NULL GROUP BY task_id, version_before HAVING count(*) > 1) t";
    assert_eq!(number(&watch, twice).await, 0, "nobody decided about what another had changed");
    assert_eq!(number(&watch, running).await, 0, "whoever drained has finished what it ran");
}

fn sorted(mut acts: Vec<Act>) -> Vec<Act> {
    acts.sort();
    acts
}

/// The operators' acts as the events tell them: one operation each.
async fn operations(watch: &Client) -> Vec<Act> {
    let rows = watch
        .query(
            "SELECT operation_id::text, actor, task_id, version_before FROM taskdeck.events \
             WHERE actor IN ('ann', 'ben', 'cem')",
            &[],
        )
        .await
        .expect("events");
    let mut acts: BTreeMap<String, Act> = BTreeMap::new();
    for row in &rows {
        let actor: String = row.get(1);
        let name = ["ann", "ben", "cem"].into_iter().find(|name| *name == actor).expect("an operator");
        acts.entry(row.get(0)).or_insert((name, BTreeSet::new())).1.insert((row.get(2), row.get(3)));
    }
    sorted(acts.into_values().collect())
}
