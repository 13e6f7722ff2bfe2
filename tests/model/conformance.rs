//! The model held against the real statements: the same calls, the same answers, the same rows after each.
//!
//! A condition that is dropped from a statement makes a walk part from the model; the message names the seed and
//! shows the walk. `TASKDECK_WALKS` sets how many walks there are.

use std::fmt::Write as _;
use std::time::Duration;

use taskdeck::db::sql::{DECLARE_LOST, RECOVER, Statement};
use taskdeck::db::{
    ClaimRequest, Db, Finish, FinishEnd, Heartbeat, NewInstance, Preview, Renewal, SignedOff, Trouble,
};
use taskdeck::domain::decision::{Decision, Seen};
use taskdeck::domain::input::{Admission, SubmissionKey};
use taskdeck::domain::outcome::{ClaimById, Verdict};
use taskdeck::domain::{InstanceId, InstanceState, Name, NewTask, OperationId, Status, TaskId, TextCounts};
use tokio_postgres::{Client, NoTls};
use uuid::Uuid;

use crate::protocol::{End, INSTANCES, Instance, State, TASKS, Task};
use crate::support::{TestDb, database, until};
use crate::walk::{Answer, Call, Did, MAX_ATTEMPTS, OneFinish, Walk};

/// Steps of one walk; versions and operations of a walk must fit eight bits.
const STEPS: usize = 120;

const LONG: Duration = Duration::from_hours(1);

#[tokio::test]
async fn the_statements_do_what_the_model_says() {
    let walks = std::env::var("TASKDECK_WALKS").map_or(40, |walks| walks.parse().expect("a number"));
    let test = database().await;
    let outside = outside(&test.url).await;
    for seed in 0..walks {
        let mut walk = Walk::new(seed);
        let mut real = Real::new(&test.db, &outside, seed);
        real.clear().await;
        for _ in 0..STEPS {
            let call = walk.next();
            let expected = walk.answer(&call);
            let answer = real.answer(&call).await;
            let rows = real.rows().await;
            let expected = (expected, walk.tables.tasks, walk.tables.instances);
            let found = (answer, rows.0, rows.1);
            assert!(found == expected, "{}", parted(seed, &walk, &found, &expected));
        }
    }
}

type Snapshot = (Answer, [Option<Task>; TASKS], [Option<Instance>; INSTANCES]);

fn parted(seed: u64, walk: &Walk, found: &Snapshot, expected: &Snapshot) -> String {
    let mut text = format!("walk {seed} parts from the model after {} steps:\n", walk.calls.len());
    for (step, call) in (1..).zip(&walk.calls) {
        let _ = writeln!(text, "{step:4} {call:?}");
    }
    let _ = writeln!(text, "model answer: {:?}\n real answer: {:?}", expected.0, found.0);
    for (model, real) in expected.1.iter().zip(&found.1) {
        let _ = writeln!(text, "model: {model:?}\n real: {real:?}");
    }
    for (model, real) in expected.2.iter().zip(&found.2) {
        let _ = writeln!(text, "model: {model:?}\n real: {real:?}");
    }
    text
}

/// A connection outside everything that is under test.
async fn outside(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.expect("connect");
    tokio::spawn(connection);
    client
}

/// Calls nobody when an answer is lost.
fn quiet(_: &Trouble) {}

/// The statement as it is sent to a server for the default schema.
fn text(statement: Statement) -> String {
    let body: Vec<&str> = statement.text.lines().filter(|line| !line.starts_with("--")).collect();
    body.join("\n").replace("{schema}", "taskdeck")
}

/// The database's side of a walk.
struct Real<'a> {
    db: &'a Db,
    outside: &'a Client,
    seed: u64,
    tasks: [Option<TaskId>; TASKS],
    instances: [InstanceId; INSTANCES],
    /// The operations, by number.
    operations: Vec<OperationId>,
}

impl<'a> Real<'a> {
    fn new(db: &'a Db, outside: &'a Client, seed: u64) -> Self {
        let instances = [(); INSTANCES].map(|()| InstanceId(Uuid::now_v7()));
        let operations = (0..=u8::MAX).map(|_| OperationId(Uuid::now_v7())).collect();
        Self { db, outside, seed, tasks: [None; TASKS], instances, operations }
    }

    async fn clear(&self) {
        let sql = "TRUNCATE taskdeck.tasks, taskdeck.task_inputs, taskdeck.instances, taskdeck.events";
        self.outside.batch_execute(sql).await.expect("clear");
    }

    fn instance(&self, id: u8) -> InstanceId {
        self.instances[usize::from(id)]
    }

    /// A task that is not there has an id that no task has.
    fn id(&self, task: u8) -> TaskId {
        self.tasks[usize::from(task)].unwrap_or(TaskId(i64::MAX - i64::from(task)))
    }

    fn place(&self, id: TaskId) -> u8 {
        u8::try_from(self.tasks.iter().position(|known| *known == Some(id)).expect("a task of the walk"))
            .expect("few")
    }

    async fn answer(&mut self, call: &Call) -> Answer {
        match call {
            Call::Submit { place, status } => self.submit(*place, *status).await,
            Call::Register { id } => {
                self.db.register(&self.new_instance(*id)).await.expect("register");
                Answer::Done
            }
            Call::ClaimNext { id } => {
                let queues = vec![Name::default_name()];
                let (instance, limit) = (self.instance(*id), 2);
                let request = ClaimRequest { instance, queues, tenant: None, limit };
                let won = self.db.claim_next(&request).await.expect("claim");
                Answer::Claimed(won.iter().map(|one| (self.place(one.id), small(one.claim_no))).collect())
            }
            Call::ClaimById { id, task } => {
                let answer = self.db.claim_by_id(self.instance(*id), self.id(*task)).await.expect("claim");
                Answer::ById(match answer {
                    ClaimById::Won { task } => Some((true, task.status, small(task.claim_no))),
                    ClaimById::Lost { task } => Some((false, task.status, small(task.claim_no))),
                    ClaimById::NotFound => None,
                })
            }
            Call::Finish { id, finishes } => {
                let finishes: Vec<Finish> = finishes.iter().map(|one| self.finish(*one)).collect();
                let answers = self.db.finish(self.instance(*id), "walk", &finishes).await;
                Answer::Finished(answers.expect("finish"))
            }
            Call::Release { id, claims } => {
                let claims: Vec<(TaskId, i64)> =
                    claims.iter().map(|(task, claim_no)| (self.id(*task), i64::from(*claim_no))).collect();
                let gone = self.db.release(self.instance(*id), "walk", "to and fro", &claims).await;
                let mut gone: Vec<u8> = gone.expect("release").into_iter().map(|id| self.place(id)).collect();
                gone.sort_unstable();
                Answer::Released(gone)
            }
            Call::Decide { kind, seen, operation } => {
                let rows = seen
                    .iter()
                    .map(|(task, version)| Seen { id: self.id(*task), version: (*version).into() });
                let decision = Decision {
                    kind: *kind,
                    rows: rows.collect(),
                    tenant: None,
                    operator: "walk".to_owned(),
                    reason: None,
                    operation: self.operations[usize::from(*operation)],
                };
                let decided = self.db.decide(&decision, &quiet).await.expect("decide");
                let did = seen.iter().map(|(task, _)| {
                    let (_, verdict) = decided
                        .rows
                        .iter()
                        .find(|(id, _)| *id == self.id(*task))
                        .expect("an answer for each");
                    (*task, did(verdict))
                });
                Answer::Decided(did.collect())
            }
            Call::Heartbeat { id, state } => {
                let state =
                    if *state == State::Working { InstanceState::Working } else { InstanceState::Draining };
                let renewal = self.db.heartbeat(self.instance(*id), &beat(state)).await.expect("heartbeat");
                Answer::Renewed(matches!(renewal, Renewal::Renewed { .. }))
            }
            Call::DeclareLost => {
                let rows = self.outside.query(&text(DECLARE_LOST), &[]).await.expect("declare lost");
                let lost = |id: &Uuid| rows.iter().any(|row| row.get::<_, Uuid>(0) == *id);
                let lost = (0..4).filter(|id| lost(&self.instance(*id).0));
                Answer::Lost(lost.collect())
            }
            Call::TakeBack => {
                let operation = Uuid::now_v7();
                let rows = self.outside.query(&text(RECOVER), &[&100_i64, &"walk", &operation]).await;
                let rows = rows.expect("recover");
                let rows = rows.iter().map(|row| {
                    let status: String = row.get("status");
                    (self.place(TaskId(row.get("id"))), state(&status), small(row.get("claim_no")))
                });
                Answer::Recovered(sorted(rows.collect()))
            }
            Call::Recover => {
                let rows = self.db.recover("walk").await.expect("recover");
                let rows = rows.iter().map(|row| (self.place(row.id), row.status, small(row.claim_no)));
                Answer::Recovered(sorted(rows.collect()))
            }
            Call::EndInstance { id } => {
                let ended = self.db.end_instance(self.instance(*id), 0, 0).await.expect("end");
                Answer::Renewed(ended == SignedOff::Yes)
            }
            Call::SetLease { id, lease } => {
                let hours = if *lease { 1.0 } else { -1.0 };
                let sql = "UPDATE taskdeck.instances SET lease_until = clock_timestamp() \
                           + make_interval(hours => $2::float8::int) WHERE id = $1";
                self.outside.execute(sql, &[&self.instance(*id).0, &hours]).await.expect("set a lease");
                Answer::Done
            }
            Call::Prune { id } => {
                let sql = "DELETE FROM taskdeck.instances WHERE id = $1";
                self.outside.execute(sql, &[&self.instance(*id).0]).await.expect("forget an instance");
                Answer::Done
            }
            Call::ComesDue { task } => {
                let sql = "UPDATE taskdeck.tasks SET scheduled_at = least(scheduled_at, now()) WHERE id = $1";
                self.outside.execute(sql, &[&self.id(*task).0]).await.expect("come due");
                Answer::Done
            }
        }
    }

    async fn submit(&mut self, place: u8, status: Status) -> Answer {
        let new = NewTask {
            max_attempts: MAX_ATTEMPTS.into(),
            admission: if status == Status::Queued { Admission::Queue } else { Admission::Hold },
            ..NewTask::default()
        };
        let key = SubmissionKey::given(&new.tenant, &format!("{}-{place}", self.seed)).expect("a key");
        let submitted = self.db.submit("a b", &new, &key, &quiet).await.expect("submit");
        self.tasks[usize::from(place)] = Some(submitted.task.id);
        Answer::Created(submitted.created)
    }

    fn new_instance(&self, id: u8) -> NewInstance {
        NewInstance {
            id: self.instance(id),
            host: "walk".to_owned(),
            pid: 1,
            kind: "headless",
            operator: "walk".to_owned(),
            queues: vec![Name::default_name()],
            slots: 1,
            state: InstanceState::Working,
            lease: LONG,
        }
    }

    fn finish(&self, one: OneFinish) -> Finish {
        let end = match one.end {
            End::Success(result) => FinishEnd::Success { counts: counts(result), output: None },
            End::Failure => FinishEnd::Failure { error: "no".to_owned(), retry_after: LONG },
        };
        let operation = self.operations[usize::from(one.operation)];
        Finish { id: self.id(one.task), claim_no: one.claim_no.into(), end, operation }
    }

    /// The tables as the model sees them.
    async fn rows(&self) -> ([Option<Task>; TASKS], [Option<Instance>; INSTANCES]) {
        let mut found = ([None; TASKS], [None; INSTANCES]);
        let owner = |id: Option<Uuid>| {
            let id = InstanceId(id?);
            (0..).zip(&self.instances).find(|(_, known)| **known == id).map(|(place, _)| place)
        };
        let tasks = "SELECT id, status, version, claim_no, claimed_by, attempt::bigint AS attempt, \
                     cancel_requested, scheduled_at <= clock_timestamp() AS due, words FROM taskdeck.tasks";
        for row in self.outside.query(tasks, &[]).await.expect("tasks") {
            let status: String = row.get("status");
            found.0[usize::from(self.place(TaskId(row.get("id"))))] = Some(Task {
                status: state(&status),
                version: small(row.get("version")),
                claim_no: small(row.get("claim_no")),
                owner: owner(row.get("claimed_by")),
                attempt: small(row.get("attempt")),
                cancel_requested: row.get("cancel_requested"),
                due: row.get("due"),
                result: small(row.get("words")),
            });
        }
        let instances = "SELECT id, state, lease_until > clock_timestamp() AS lease FROM taskdeck.instances";
        for row in self.outside.query(instances, &[]).await.expect("instances") {
            let place: u8 = owner(row.get("id")).expect("an instance of the walk");
            let state = match row.get("state") {
                "working" => State::Working,
                "draining" => State::Draining,
                "stopped" => State::Stopped,
                "lost" => State::Lost,
                other => panic!("an instance is {other}"),
            };
            found.1[usize::from(place)] = Some(Instance { state, lease: row.get("lease") });
        }
        found
    }
}

fn small(number: i64) -> u8 {
    u8::try_from(number).expect("a walk is short")
}

fn state(text: &str) -> Status {
    text.parse().expect("a state")
}

fn sorted(mut rows: Vec<(u8, Status, u8)>) -> Vec<(u8, Status, u8)> {
    rows.sort_unstable();
    rows
}

fn counts(result: u8) -> TextCounts {
    let number = i64::from(result);
    TextCounts { words: number, bytes: number, runes: number }
}

fn did(verdict: &Verdict) -> Did {
    match verdict {
        Verdict::Committed { task, .. } => Did::Committed(task.status, small(task.version)),
        Verdict::Conflict { task, .. } => Did::Conflict(task.status, small(task.version)),
        Verdict::Held { task } => Did::Held(task.status, small(task.version)),
        Verdict::NotFound => Did::NotFound,
    }
}

fn beat(state: InstanceState) -> Heartbeat {
    let (done_per_s, failed_per_min, claims_per_s) = (0.0, 0.0, 0.0);
    Heartbeat { lease: LONG, state, done_total: 0, failed_total: 0, done_per_s, failed_per_min, claims_per_s }
}

/// The step that no walk can take: a recovery stands still between reading who is dead and locking a row, and
/// meanwhile another takes the task back and a living instance claims it. The row that is locked in the end has
/// no owner by the first reading's join, as if its owner were unknown: only the comparison of the claim, or of its
/// owner, with what was read keeps the recovery off it (`a_recovery_without_owner_and_token`).
#[tokio::test]
async fn a_recovery_that_read_early_takes_nothing_from_the_living() {
    let test: TestDb = database().await;
    let client = outside(&test.url).await;
    let mut real = Real::new(&test.db, &client, 0);
    for call in [
        Call::Submit { place: 0, status: Status::Queued },
        Call::Submit { place: 1, status: Status::Queued },
        Call::Register { id: 0 },
        Call::Register { id: 1 },
        Call::ClaimNext { id: 0 },
        Call::SetLease { id: 0, lease: false },
        Call::DeclareLost,
    ] {
        real.answer(&call).await;
    }
    // The first row's update waits at a gate, so the second row is locked when it opens.
    let gate = format!(
        "CREATE FUNCTION gate() RETURNS trigger LANGUAGE plpgsql AS \
           $$ BEGIN PERFORM pg_advisory_xact_lock(7); RETURN NEW; END $$; \
         CREATE TRIGGER gate BEFORE UPDATE ON taskdeck.tasks FOR EACH ROW WHEN (OLD.id = {}) \
           EXECUTE FUNCTION gate(); \
         SELECT pg_advisory_lock(7)",
        real.id(0)
    );
    client.batch_execute(&gate).await.expect("close the gate");
    let db = test.db.clone();
    let slow = tokio::spawn(async move { db.recover("slow").await.expect("recover") });
    let waits = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted \
                 AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";
    until("the recovery at the gate", || async {
        let waiting: i64 = client.query_one(waits, &[]).await.expect("locks").get(0);
        (waiting == 1).then_some(())
    })
    .await;
    // `SKIP LOCKED`: the other recovery leaves the first row to the slow one.
    let taken = real.answer(&Call::TakeBack).await;
    assert_eq!(taken, Answer::Recovered(vec![(1, Status::Queued, 1)]));
    assert_eq!(real.answer(&Call::ClaimNext { id: 1 }).await, Answer::Claimed(vec![(1, 2)]));
    client.batch_execute("SELECT pg_advisory_unlock(7)").await.expect("open the gate");
    let recovered: Vec<TaskId> = slow.await.expect("no panic").iter().map(|row| row.id).collect();
    assert_eq!(recovered, [real.id(0)]);
    let row = test.db.task(real.id(1), None, Preview::Whole).await.expect("look up").expect("is there");
    assert_eq!(
        (row.status, row.claimed_by, row.claim_no, row.version),
        (Status::Running, Some(real.instance(1)), 2, 3)
    );
}
