//! What the tests of this floor share: instances, tasks, decisions, and a connection outside all that is under
//! test.

use std::time::Duration;

use taskdeck::db::sql::Statement;
use taskdeck::db::{
    ClaimRequest, Claimed, Db, DbError, Finish, FinishEnd, Heartbeat, NewInstance, Preview, Trouble,
};
use taskdeck::domain::decision::{Decision, DecisionKind, Seen};
use taskdeck::domain::input::{Admission, SubmissionKey};
use taskdeck::domain::outcome::{Decided, Finished, Submitted, TaskHistory, Verdict};
use taskdeck::domain::{
    Approval, InstanceId, InstanceState, Name, NewTask, OperationId, Task, TaskId, TextCounts,
};
use tokio_postgres::{Client, NoTls};
use uuid::Uuid;

use crate::support::until;

/// A lease that no test outlives.
pub(crate) const LONG: Duration = Duration::from_hours(1);

/// Calls nobody when an answer is lost.
pub(crate) fn quiet(_: &Trouble) {}

/// A connection outside everything that is under test.
pub(crate) async fn outside(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.expect("connect");
    tokio::spawn(connection);
    client
}

/// The one number that `sql` returns.
pub(crate) async fn number(client: &Client, sql: &str) -> i64 {
    client.query_one(sql, &[]).await.unwrap_or_else(|error| panic!("{sql}: {error:?}")).get(0)
}

pub(crate) fn name(text: &str) -> Name {
    Name::new("name", text).expect("a name")
}

/// A new process that claims from `queues`.
pub(crate) fn new_instance(queues: &[&str], lease: Duration) -> NewInstance {
    NewInstance {
        id: InstanceId(Uuid::now_v7()),
        host: "testhost".to_owned(),
        pid: 4_242,
        kind: "headless",
        operator: "tester".to_owned(),
        queues: queues.iter().map(|queue| name(queue)).collect(),
        slots: 4,
        state: InstanceState::Working,
        lease,
    }
}

/// Registers an instance that works on the default queue.
pub(crate) async fn worker(db: &Db) -> InstanceId {
    worker_with(db, LONG).await
}

pub(crate) async fn worker_with(db: &Db, lease: Duration) -> InstanceId {
    let new = new_instance(&["default"], lease);
    db.register(&new).await.expect("register");
    new.id
}

pub(crate) fn beat(state: InstanceState, lease: Duration) -> Heartbeat {
    Heartbeat {
        lease,
        state,
        done_total: 1,
        failed_total: 2,
        done_per_s: 3.0,
        failed_per_min: 4.0,
        claims_per_s: 5.0,
    }
}

pub(crate) async fn submit_as(db: &Db, text: &str, new: &NewTask) -> Task {
    let Submitted { task, created, .. } =
        db.submit(text, new, &SubmissionKey::fresh(), &quiet).await.expect("submit");
    assert!(created);
    task
}

/// Submits one text with the defaults.
pub(crate) async fn submit(db: &Db, text: &str) -> Task {
    submit_as(db, text, &NewTask::default()).await
}

pub(crate) async fn submit_held(db: &Db, text: &str) -> Task {
    submit_as(db, text, &NewTask { admission: Admission::Hold, ..NewTask::default() }).await
}

/// Makes `count` tasks by SQL, outside what is under test; `columns` and `values` set further columns.
pub(crate) async fn fill(client: &Client, count: i64, columns: &str, values: &str) {
    let sql = format!(
        "WITH x AS (INSERT INTO taskdeck.task_inputs (tenant, submission, input) \
           SELECT 'default', gen_random_uuid(), 'text ' || n FROM generate_series(1, {count}) n RETURNING id) \
         INSERT INTO taskdeck.tasks (id, tenant, queue, max_attempts, priority, created_at, {columns}) \
         SELECT id, 'default', 'default', 3, 0, now(), {values} FROM x"
    );
    client.batch_execute(&sql).await.unwrap_or_else(|error| panic!("{sql}: {error:?}"));
}

/// The row as it is now.
pub(crate) async fn row(db: &Db, id: TaskId) -> Task {
    db.task(id, None, Preview::Whole).await.expect("look up").expect("is there")
}

/// The row with its events.
pub(crate) async fn history(db: &Db, id: TaskId) -> TaskHistory {
    db.history(id, None).await.expect("look up").0.expect("is there")
}

pub(crate) fn request(instance: InstanceId, limit: i64) -> ClaimRequest {
    ClaimRequest { instance, queues: vec![Name::default_name()], tenant: None, limit }
}

/// Claims exactly one task.
pub(crate) async fn claim(db: &Db, instance: InstanceId) -> Claimed {
    let mut claimed = db.claim_next(&request(instance, 1)).await.expect("claim");
    assert_eq!(claimed.len(), 1);
    claimed.remove(0)
}

/// Submits and claims one task.
pub(crate) async fn running(db: &Db, instance: InstanceId, text: &str) -> Claimed {
    let task = submit(db, text).await;
    let claimed = claim(db, instance).await;
    assert_eq!(claimed.id, task.id);
    claimed
}

pub(crate) fn operation() -> OperationId {
    OperationId(Uuid::now_v7())
}

pub(crate) fn success(claimed: &Claimed) -> Finish {
    let counts = TextCounts::of(claimed.input.as_ref().expect("a text"));
    Finish {
        id: claimed.id,
        claim_no: claimed.claim_no,
        end: FinishEnd::Success { counts, output: None },
        operation: operation(),
    }
}

pub(crate) fn failure(claimed: &Claimed, error: &str) -> Finish {
    Finish {
        end: FinishEnd::Failure { error: error.to_owned(), retry_after: Duration::ZERO },
        ..success(claimed)
    }
}

/// Finishes one claim.
pub(crate) async fn finish(db: &Db, instance: InstanceId, finish: &Finish) -> Finished {
    let mut answers =
        db.finish(instance, "testhost:4242", std::slice::from_ref(finish)).await.expect("finish");
    assert_eq!(answers.len(), 1);
    answers.remove(0)
}

/// alice's decision about `rows` as they are given.
pub(crate) fn decision(kind: DecisionKind, rows: &[&Task]) -> Decision {
    Decision {
        kind,
        rows: rows.iter().map(|task| Seen { id: task.id, version: task.version }).collect(),
        tenant: None,
        operator: "alice".to_owned(),
        approval: Approval::Anybody,
        reason: None,
        operation: operation(),
    }
}

pub(crate) async fn decide(db: &Db, decision: &Decision) -> Decided {
    db.decide(decision, &quiet).await.expect("decide")
}

/// Decides about one row and expects that it takes effect.
pub(crate) async fn decided(db: &Db, kind: DecisionKind, task: &Task) -> Task {
    let mut answer = decide(db, &decision(kind, &[task])).await;
    match answer.rows.remove(0) {
        (_, Verdict::Committed { task, .. }) => task,
        other => panic!("{kind}: {other:?}"),
    }
}

/// Waits until a statement of the program waits for a lock.
pub(crate) async fn until_waiting(client: &Client) {
    until_so_many_wait(client, 1).await;
}

/// Waits until at least so many statements of the program wait for locks.
pub(crate) async fn until_so_many_wait(client: &Client, count: i64) {
    until("statements of ours that wait for locks", || async move {
        let sql = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' \
                   AND datname = current_database() AND starts_with(application_name, 'taskdeck ')";
        (number(client, sql).await >= count).then_some(())
    })
    .await;
}

/// Waits until no session of this database is inside a transaction, but the one that asks.
pub(crate) async fn until_no_transaction(client: &Client) {
    until("no open transaction", || async {
        let open = number(
            client,
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() \
             AND backend_type = 'client backend' AND pid <> pg_backend_pid() AND xact_start IS NOT NULL",
        )
        .await;
        (open == 0).then_some(())
    })
    .await;
}

/// The statement as it is sent to a server for the default schema, where it has no column list to fill in.
pub(crate) fn text(statement: Statement) -> String {
    let body: Vec<&str> = statement.text.lines().filter(|line| !line.starts_with("--")).collect();
    let body = body.join("\n").replace("{schema}", "taskdeck");
    assert!(!body.contains('{'), "{} needs more than a schema", statement.name);
    body
}

/// What a plan (EXPLAIN (ANALYZE, FORMAT JSON)) read from `relation`: the rows it took and those it threw away.
pub(crate) fn rows_read(plan: &serde_json::Value, relation: &str) -> f64 {
    let mut read = 0.0;
    let number = |key: &str| plan.get(key).and_then(serde_json::Value::as_f64).unwrap_or(0.0);
    if plan.get("Relation Name").and_then(serde_json::Value::as_str) == Some(relation) {
        let each = number("Actual Rows")
            + number("Rows Removed by Filter")
            + number("Rows Removed by Index Recheck")
            + number("Rows Removed by Join Filter");
        read += each * number("Actual Loops");
    }
    match plan {
        serde_json::Value::Object(map) => {
            read += map.values().map(|value| rows_read(value, relation)).sum::<f64>();
        }
        serde_json::Value::Array(list) => {
            read += list.iter().map(|value| rows_read(value, relation)).sum::<f64>();
        }
        _ => {}
    }
    read
}

/// Whether `error` says that nothing was applied.
pub(crate) fn unavailable<T: std::fmt::Debug>(answer: Result<T, DbError>) -> Trouble {
    match answer {
        Err(DbError::Unavailable(trouble)) => trouble,
        other => panic!("expected Unavailable, got {other:?}"),
    }
}

/// Waits until no statement of the program is under way.
pub(crate) async fn until_no_waiter(client: &Client) {
    until("no statement of ours under way", || async {
        let sql = "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' \
                   AND datname = current_database() AND starts_with(application_name, 'taskdeck ')";
        (number(client, sql).await == 0).then_some(())
    })
    .await;
}
