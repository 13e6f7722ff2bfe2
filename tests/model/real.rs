//! The database's side of a walk.

use std::time::Duration;

use taskdeck::db::sql::{DECLARE_LOST, RECOVER, Statement};
use taskdeck::db::{
    ClaimRequest, Db, DbError, Finish, FinishEnd, Heartbeat, NewInstance, Release, Renewal, SignedOff,
    Trouble,
};
use taskdeck::domain::decision::{Decision, Seen};
use taskdeck::domain::input::{Admission, SubmissionKey};
use taskdeck::domain::outcome::{ClaimById, Verdict};
use taskdeck::domain::{
    Approval, InstanceId, InstanceState, Name, NewTask, OperationId, Status, TaskId, TextCounts,
};
use tokio_postgres::{Client, NoTls, Row};
use uuid::Uuid;

use crate::protocol::{End, INSTANCES, Instance, State, TASKS, Task};
use crate::walk::{Answer, Call, Did, MAX_ATTEMPTS, OneFinish};

const LONG: Duration = Duration::from_hours(1);

/// A connection outside everything that is under test.
pub(crate) async fn outside(url: &str) -> Client {
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
pub(crate) struct Real<'a> {
    db: &'a Db,
    outside: &'a Client,
    seed: u64,
    tasks: [Option<TaskId>; TASKS],
    instances: [InstanceId; INSTANCES],
    /// The operations, by number.
    operations: Vec<OperationId>,
}

impl<'a> Real<'a> {
    pub(crate) fn new(db: &'a Db, outside: &'a Client, seed: u64) -> Self {
        let instances = [(); INSTANCES].map(|()| InstanceId(Uuid::now_v7()));
        let operations = (0..=u8::MAX).map(|_| OperationId(Uuid::now_v7())).collect();
        Self { db, outside, seed, tasks: [None; TASKS], instances, operations }
    }

    pub(crate) async fn clear(&self) {
        let sql = "TRUNCATE taskdeck.tasks, taskdeck.task_inputs, taskdeck.instances, taskdeck.events";
        self.outside.batch_execute(sql).await.expect("clear");
    }

    pub(crate) fn instance(&self, id: u8) -> InstanceId {
        self.instances[usize::from(id)]
    }

    /// A task that is not there has an id that no task has.
    pub(crate) fn id(&self, task: u8) -> TaskId {
        self.tasks[usize::from(task)].unwrap_or(TaskId(i64::MAX - i64::from(task)))
    }

    fn place(&self, id: TaskId) -> u8 {
        u8::try_from(self.tasks.iter().position(|known| *known == Some(id)).expect("a task of the walk"))
            .expect("few")
    }

    /// What the database answers; a refusal is an answer too, which no model expects.
    pub(crate) async fn answer(&mut self, call: &Call) -> Answer {
        self.call(call).await.unwrap_or_else(|error| Answer::Failed(error.to_string()))
    }

    async fn call(&mut self, call: &Call) -> Result<Answer, DbError> {
        Ok(match call {
            Call::Submit { place, status } => self.submit(*place, *status).await?,
            Call::Register { id } => {
                self.db.register(&self.new_instance(*id)).await?;
                Answer::Done
            }
            Call::ClaimNext { id } => {
                let queues = vec![Name::default_name()];
                let (instance, limit) = (self.instance(*id), 2);
                let request = ClaimRequest { instance, queues, tenant: None, limit };
                let won = self.db.claim_next(&request).await?;
                Answer::Claimed(won.iter().map(|one| (self.place(one.id), small(one.claim_no))).collect())
            }
            Call::ClaimById { id, task } => {
                let answer = self.db.claim_by_id(self.instance(*id), self.id(*task)).await?;
                Answer::ById(match answer {
                    ClaimById::Won { task } => Some((true, task.status, small(task.claim_no))),
                    ClaimById::Lost { task } | ClaimById::AtLimit { task, .. } => {
                        Some((false, task.status, small(task.claim_no)))
                    }
                    ClaimById::NotFound => None,
                })
            }
            Call::Finish { id, finishes } => {
                let finishes: Vec<Finish> = finishes.iter().map(|one| self.finish(*one)).collect();
                let answers = self.db.finish(self.instance(*id), "walk", &finishes).await;
                Answer::Finished(answers?)
            }
            Call::Release { id, claims } => {
                let releases: Vec<Release> = claims
                    .iter()
                    .map(|(task, claim_no)| Release::new(self.id(*task), i64::from(*claim_no)))
                    .collect();
                let gone = self.db.release(self.instance(*id), "walk", "to and fro", &releases).await;
                let mut gone: Vec<u8> = gone?.into_iter().map(|id| self.place(id)).collect();
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
                    approval: Approval::Anybody,
                    reason: None,
                    operation: self.operations[usize::from(*operation)],
                };
                let decided = self.db.decide(&decision, &quiet).await?;
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
                let renewal = self.db.heartbeat(self.instance(*id), &beat(state)).await?;
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
                let rows = self.db.recover("walk").await?;
                let rows = rows.iter().map(|row| (self.place(row.id), row.status, small(row.claim_no)));
                Answer::Recovered(sorted(rows.collect()))
            }
            Call::EndInstance { id } => {
                let ended = self.db.end_instance(self.instance(*id), 0, 0).await?;
                Answer::Renewed(ended == SignedOff::Yes)
            }
            Call::SetLease { .. } | Call::SetState { .. } | Call::Prune { .. } | Call::ComesDue { .. } => {
                self.befall(call).await;
                Answer::Done
            }
        })
    }

    /// What happens outside of what is under test.
    async fn befall(&self, call: &Call) {
        match call {
            Call::SetLease { id, lease } => {
                let hours = if *lease { 1.0 } else { -1.0 };
                let sql = "UPDATE taskdeck.instances SET lease_until = clock_timestamp() \
                           + make_interval(hours => $2::float8::int) WHERE id = $1";
                self.outside.execute(sql, &[&self.instance(*id).0, &hours]).await.expect("set a lease");
            }
            Call::SetState { id, state } => {
                let state = if *state == State::Lost { "lost" } else { "stopped" };
                let sql = "UPDATE taskdeck.instances SET state = $2, lease_until = CASE \
                           WHEN $2 = 'stopped' THEN now() - interval '1 hour' ELSE lease_until END WHERE id = $1";
                self.outside.execute(sql, &[&self.instance(*id).0, &state]).await.expect("set a state");
            }
            Call::Prune { id } => {
                let sql = "DELETE FROM taskdeck.instances WHERE id = $1";
                self.outside.execute(sql, &[&self.instance(*id).0]).await.expect("forget an instance");
            }
            Call::ComesDue { task } => {
                let sql = "UPDATE taskdeck.tasks SET scheduled_at = least(scheduled_at, now()) WHERE id = $1";
                self.outside.execute(sql, &[&self.id(*task).0]).await.expect("come due");
            }
            _ => unreachable!("what a process calls"),
        }
    }

    async fn submit(&mut self, place: u8, status: Status) -> Result<Answer, DbError> {
        let new = NewTask {
            max_attempts: MAX_ATTEMPTS.into(),
            admission: if status == Status::Queued { Admission::Queue } else { Admission::Hold },
            ..NewTask::default()
        };
        let key = SubmissionKey::given(&new.tenant, &format!("{}-{place}", self.seed)).expect("a key");
        let submitted = self.db.submit("a b", &new, &key, &quiet).await?;
        self.tasks[usize::from(place)] = Some(submitted.task.id);
        Ok(Answer::Created(submitted.created))
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
    pub(crate) async fn rows(&self) -> ([Option<Task>; TASKS], [Option<Instance>; INSTANCES]) {
        let mut found = ([None; TASKS], [None; INSTANCES]);
        let owner = |id: Option<Uuid>| {
            let id = InstanceId(id?);
            (0..).zip(&self.instances).find(|(_, known)| **known == id).map(|(place, _)| place)
        };
        let tasks = "SELECT id, status, version, claim_no, claimed_by, attempt::bigint AS attempt, \
                     cancel_requested, scheduled_at <= clock_timestamp() AS due, words, bytes, runes \
                     FROM taskdeck.tasks";
        let instances = "SELECT id, state, lease_until > clock_timestamp() AS lease FROM taskdeck.instances";
        // Sent together: the walk waits for one round trip a step less.
        let (tasks, instances) =
            tokio::join!(self.outside.query(tasks, &[]), self.outside.query(instances, &[]));
        for row in tasks.expect("tasks") {
            let status: String = row.get("status");
            found.0[usize::from(self.place(TaskId(row.get("id"))))] = Some(Task {
                status: state(&status),
                version: small(row.get("version")),
                claim_no: small(row.get("claim_no")),
                owner: owner(row.get("claimed_by")),
                attempt: small(row.get("attempt")),
                cancel_requested: row.get("cancel_requested"),
                due: row.get("due"),
                result: result(&row),
            });
        }
        for row in instances.expect("instances") {
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
    // Three that differ, so that none is written in another's place.
    TextCounts { words: number, bytes: 3 * number, runes: 2 * number }
}

/// What the counts of a row say.
fn result(row: &Row) -> u8 {
    let found = TextCounts { words: row.get("words"), bytes: row.get("bytes"), runes: row.get("runes") };
    let result = small(found.words);
    assert_eq!(found, counts(result), "each count where it belongs");
    result
}

fn did(verdict: &Verdict) -> Did {
    match verdict {
        Verdict::Committed { task, .. } => Did::Committed(task.status, small(task.version)),
        Verdict::Conflict { task, .. } => Did::Conflict(task.status, small(task.version)),
        Verdict::Refused { .. } | Verdict::OverLimit { .. } => {
            panic!("no walk asks for four eyes or a limit")
        }
        Verdict::Held { task } => Did::Held(task.status, small(task.version)),
        Verdict::NotFound => Did::NotFound,
    }
}

fn beat(state: InstanceState) -> Heartbeat {
    let (done_per_s, failed_per_min, claims_per_s) = (0.0, 0.0, 0.0);
    Heartbeat { lease: LONG, state, done_total: 0, failed_total: 0, done_per_s, failed_per_min, claims_per_s }
}
