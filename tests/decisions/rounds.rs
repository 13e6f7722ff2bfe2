//! A hundred rounds of each race: processes that decide with the same version, behind one gate.

use std::collections::BTreeMap;

use serde_json::json;
use taskdeck::domain::Process;
use tokio_postgres::Client;

use crate::racers::{Racer, Told, for_a_row, until_all_wait};
use crate::runner::User;
use crate::scene::outside;
use crate::support::{TestDb, database};
use crate::worker::Headless;

/// So many rounds of each race.
const ROUNDS: usize = 100;

/// So many of them must have had their gate hold.
const MUST_PROVE: usize = 90;

/// So many tasks are raced for at a time, each by processes of its own.
const AT_ONCE: usize = 10;

const OPERATORS: [&str; 3] = ["ann", "ben", "cem"];

/// What the rounds of a race came to.
#[derive(Debug, Default)]
struct Tally {
    proved: usize,
    unproved: usize,
    /// How often each was first.
    first: BTreeMap<String, usize>,
}

impl Tally {
    fn rounds(&self) -> usize {
        self.proved + self.unproved
    }

    fn add(&mut self, held: bool, winner: &str) {
        *self.first.entry(winner.to_owned()).or_default() += 1;
        *(if held { &mut self.proved } else { &mut self.unproved }) += 1;
    }

    /// Tells how it went; too few rounds whose gate held are no proof.
    /// So is a race that fewer than so many sides have won: the others may as well not have run.
    fn report(&self, race: &str, sides: usize) {
        println!("{race}: {self:?}");
        assert!(self.first.len() >= sides, "{race}: some are never first: {self:?}");
        assert_eq!(self.rounds(), ROUNDS, "{race}");
        assert!(self.proved >= MUST_PROVE, "{race}: the gate held in too few rounds to prove it: {self:?}");
    }
}

/// State and version as the database has them.
async fn row(watch: &Client, id: i64) -> (String, i64) {
    let row = watch
        .query_one("SELECT status, version FROM taskdeck.tasks WHERE id = $1", &[&id])
        .await
        .expect("the row");
    (row.get(0), row.get(1))
}

/// Makes tasks in this state by SQL, outside what is under test; returns their ids.
async fn made(client: &Client, status: &str) -> Vec<i64> {
    let ended = if status == "CANCELED" { "now()" } else { "NULL" };
    let version = i32::from(status == "CANCELED");
    let sql = format!(
        "WITH x AS (INSERT INTO taskdeck.task_inputs (tenant, submission, input) \
           SELECT 'default', gen_random_uuid(), 'raced for' FROM generate_series(1, {AT_ONCE}) RETURNING id) \
         INSERT INTO taskdeck.tasks (id, tenant, queue, max_attempts, priority, created_at, scheduled_at, status, \
             version, finished_at) \
         SELECT id, 'default', 'default', 3, 0, now(), now(), '{status}', {version}, {ended} FROM x RETURNING id"
    );
    let rows = client.query(&sql, &[]).await.unwrap_or_else(|error| panic!("{sql}: {error:?}"));
    rows.iter().map(|row| row.get(0)).collect()
}

/// What a verb makes of a row, and how that is told to who was second.
fn done(verb: &str) -> (&'static str, &'static str) {
    match verb {
        "approve" => ("QUEUED", "approved it"),
        "reject" => ("REJECTED", "rejected it"),
        "cancel" => ("CANCELED", "canceled it"),
        "requeue" => ("QUEUED", "requeued it"),
        other => panic!("{other}: no such decision"),
    }
}

/// Races `verbs` for tasks that are `status`, each in a process of its own.
async fn race(status: &str, verbs: &[&'static str]) {
    let test = database().await;
    let user = User::of(&test.url);
    let (mut holder, watch) = (outside(&test.url).await, outside(&test.url).await);
    let version = i64::from(status == "CANCELED");
    let mut tally = Tally::default();
    while tally.rounds() < ROUNDS {
        let ids = made(&watch, status).await;
        let gate = holder.transaction().await.expect("begin");
        gate.execute("SELECT FROM taskdeck.tasks WHERE id = ANY($1) FOR UPDATE", &[&ids])
            .await
            .expect("hold");
        let mut racers: Vec<(i64, Racer)> = Vec::new();
        for (round, id) in ids.iter().enumerate() {
            // Who is started first is likely to be first: each is in turn.
            for place in 0..verbs.len() {
                let who = (place + round) % verbs.len();
                let task = [format!("{id}@{version}")];
                racers.push((*id, Racer::start(&user, OPERATORS[who], verbs[who], &task)));
            }
        }
        let pids: Vec<u32> = racers.iter().map(|(_, racer)| racer.pid).collect();
        let held = until_all_wait(&watch, &pids, |_, wait| for_a_row(wait)).await;
        gate.commit().await.expect("open the gate");
        let mut told: BTreeMap<i64, Vec<Told>> = BTreeMap::new();
        for (id, racer) in racers {
            told.entry(id).or_default().push(racer.end());
        }
        for (id, told) in told {
            let winner = one_takes_effect(&watch, id, version, &told).await;
            tally.add(told.iter().all(|told| held.contains(&told.pid)), &winner);
        }
    }
    tally.report(&verbs.join(" against "), verbs.len());
}

/// Of those who decided about a row exactly one changed it, once, and the others are told who and what it is now.
/// Returns who.
async fn one_takes_effect(watch: &Client, id: i64, version: i64, told: &[Told]) -> String {
    let (winners, losers): (Vec<&Told>, Vec<&Told>) = told.iter().partition(|told| told.code == 0);
    let [winner] = winners[..] else { panic!("{id}: not exactly one took effect: {told:?}") };
    let (status, did) = done(winner.verb);
    let after = version + 1;
    assert_eq!(winner.answer["outcome"], "committed", "{told:?}");
    assert_eq!(row(watch, id).await, (status.to_owned(), after), "{told:?}");
    for each in told {
        let task = &each.answer["task"];
        assert_eq!(
            (&task["id"], &task["status"]),
            (&json!(id), &json!(status)),
            "the row as it is: {told:?}"
        );
        assert_eq!((&task["version"], &each.answer["retries"]), (&json!(after), &json!(0)), "{told:?}");
    }
    for loser in losers {
        assert_eq!((loser.code, &loser.answer["outcome"]), (3, &json!("conflict")), "{told:?}");
        let message = loser.answer["message"].as_str().expect("a message");
        let says = [
            &format!("{} {did} ", winner.operator),
            &format!("(v{version} → v{after})"),
            "Nothing was changed.",
        ]
        .map(|part: &str| message.contains(part));
        assert_eq!(says, [true; 3], "{message}: {told:?}");
    }
    let events = watch
        .query(
            "SELECT actor, move, version_before, version_after, process FROM taskdeck.events WHERE task_id = $1",
            &[&id],
        )
        .await
        .expect("events");
    let [event] = &events[..] else { panic!("{id}: {} events: {told:?}", events.len()) };
    let (actor, what, process): (String, String, String) = (event.get(0), event.get(1), event.get(4));
    assert_eq!((actor.as_str(), what.as_str()), (winner.operator, winner.verb));
    assert_eq!((event.get::<_, i64>(2), event.get::<_, i64>(3)), (version, after));
    let place = Process(process.clone()).place().map(str::to_owned).unwrap_or_default();
    assert!(place.ends_with(&format!(":{}", winner.pid)), "{process} is not the process {}", winner.pid);
    format!("{} {}", winner.verb, winner.operator)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn approve_against_reject() {
    race("SUBMITTED", &["approve", "reject"]).await;
}

/// Both states that an approval may leave can be canceled: it is the version alone that keeps the second out.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn approve_against_cancel() {
    race("SUBMITTED", &["approve", "cancel"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn approve_against_reject_against_cancel() {
    race("SUBMITTED", &["approve", "reject", "cancel"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requeue_against_requeue() {
    race("CANCELED", &["requeue", "requeue"]).await;
}

/// A worker's claim skips a row that is locked, so what both wait for is the table: neither statement has looked at any
/// row before the gate opens. Nearly always the claim is first, whoever waited first: its statement is planned sooner. So here
/// it is not asked that each side wins.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cancel_against_a_claim() {
    let test = database().await;
    let user = User::of(&test.url);
    let (mut holder, watch) = (outside(&test.url).await, outside(&test.url).await);
    let worker = Headless::start(
        &test.url,
        &[
            "--workers",
            "200",
            "--work-delay",
            "1h",
            "--poll",
            "50ms",
            "--lock-timeout",
            "2m",
            "--statement-timeout",
            "3m",
        ],
        &[],
    );
    let claimer = worker.process().pid;
    let mut tally = Tally::default();
    while tally.rounds() < ROUNDS {
        let gate = holder.transaction().await.expect("begin");
        gate.batch_execute("LOCK TABLE taskdeck.tasks IN SHARE MODE").await.expect("hold");
        let ids = made(gate.client(), "QUEUED").await;
        let racers: Vec<(i64, Racer)> =
            ids.iter().map(|id| (*id, Racer::start(&user, "ann", "cancel", &[format!("{id}@0")]))).collect();
        let pids: Vec<u32> = racers.iter().map(|(_, racer)| racer.pid).chain([claimer]).collect();
        // Of the worker it is the claim that must wait, not a look for what others have lost.
        let held = until_all_wait(&watch, &pids, |pid, (lock, query)| {
            lock == "relation" && (pid != claimer || query.contains("claim_no + 1"))
        })
        .await;
        gate.commit().await.expect("open the gate");
        for (id, racer) in racers {
            let told = racer.end();
            let winner = canceled_or_claimed(&test, &watch, id, &told).await;
            tally.add(held.contains(&told.pid) && held.contains(&claimer), winner);
        }
    }
    drop(worker);
    tally.report("cancel against a claim", 1);
}

async fn canceled_or_claimed(test: &TestDb, watch: &Client, id: i64, told: &Told) -> &'static str {
    let task = &told.answer["task"];
    assert_eq!((&task["id"], &task["version"]), (&json!(id), &json!(1)), "{told:?}");
    let now = row(watch, id).await;
    let told_state = (task["status"].as_str().unwrap_or_default().to_owned(), 1);
    assert_eq!(now, told_state, "the row as it is: {told:?}");
    let claims =
        format!("SELECT claim_no || '|' || (claimed_by IS NOT NULL) FROM taskdeck.tasks WHERE id = {id}");
    let claims: String = watch.query_one(&claims, &[]).await.expect("the row").get(0);
    let events = watch.query_one("SELECT count(*) FROM taskdeck.events WHERE task_id = $1", &[&id]).await;
    let events: i64 = events.expect("events").get(0);
    match (told.code, now.0.as_str()) {
        (0, "CANCELED") => {
            assert_eq!((claims.as_str(), events), ("0|false", 1), "{told:?}");
            "cancel"
        }
        (3, "RUNNING") => {
            assert_eq!((claims.as_str(), events), ("1|true", 0), "{told:?}");
            let message = told.answer["message"].as_str().expect("a message");
            let worker = test.psql("SELECT host || ':' || pid FROM taskdeck.instances");
            assert!(message.contains(&format!("{worker} claimed it ")), "{message}");
            assert_eq!(
                (&told.answer["outcome"], &task["cancel_requested"]),
                (&json!("conflict"), &json!(false))
            );
            "claim"
        }
        other => panic!("{id}: {other:?}: {told:?}"),
    }
}
