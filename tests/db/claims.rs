//! Claims: one winner for each (task, claim number), never more than the limit, and only what may be claimed.

use std::collections::HashSet;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use taskdeck::db::sql::CLAIM_NEXT;
use taskdeck::db::{ClaimRequest, Db, Limits};
use taskdeck::domain::decision::DecisionKind;
use taskdeck::domain::outcome::ClaimById;
use taskdeck::domain::{InstanceId, InstanceState, NewTask, Status, TaskId};
use tokio::sync::Barrier;
use tokio_postgres::Client;
use tokio_postgres::types::Type;

use crate::scene::{
    LONG, beat, claim, decided, fill, name, new_instance, number, outside, request, row, rows_read, submit,
    submit_as, submit_held, text, worker, worker_with,
};
use crate::support::{TestDb, database, database_with, open, until};

/// Makes every join a nested loop.
const NESTED_LOOPS: &[&str] = &[
    "enable_hashjoin",
    "enable_mergejoin",
    "enable_material",
    "enable_memoize",
    "enable_hashagg",
    "enable_sort",
];

#[tokio::test]
async fn one_of_two_callers_wins_in_each_of_thirty_rounds() {
    let test = database_with(Limits { workers_pool: 2, ..Limits::default() }).await;
    let instances = [worker(&test.db).await, worker(&test.db).await];
    for round in 0..30 {
        let task = submit(&test.db, "a race").await;
        let gate = Arc::new(Barrier::new(2));
        let callers = instances.map(|instance| {
            let (db, gate) = (test.db.clone(), Arc::clone(&gate));
            tokio::spawn(async move {
                gate.wait().await;
                db.claim_by_id(instance, task.id).await.expect("an answer")
            })
        });
        let mut won = Vec::new();
        let mut lost = Vec::new();
        for (caller, instance) in callers.into_iter().zip(instances) {
            match caller.await.expect("no panic") {
                ClaimById::Won { task } => {
                    assert_eq!(task.claimed_by, Some(instance), "round {round}");
                    won.push(task);
                }
                ClaimById::Lost { task } => lost.push(task),
                other @ (ClaimById::AtLimit { .. } | ClaimById::NotFound) => {
                    panic!("round {round}: {other:?}")
                }
            }
        }
        assert_eq!((won.len(), lost.len()), (1, 1), "round {round}");
        let now = row(&test.db, task.id).await;
        assert_eq!((now.status, now.claim_no, now.version, now.attempt), (Status::Running, 1, 1, 1));
        assert_eq!(won[0], now, "round {round}: the winner is told the row as it is now");
        assert_eq!(lost[0], now, "round {round}: the loser is told the row as it is now");
    }
}

/// Where this variable is set the test is one of the two processes that it starts.
const ROLE: &str = "TASKDECK_TEST_CLAIMS";

#[tokio::test]
async fn one_of_two_processes_wins() {
    if let Ok(role) = std::env::var(ROLE) {
        return claim_as_another_process(&role).await;
    }
    let test = database().await;
    let client = outside(&test.url).await;
    let mut ids = Vec::new();
    for _ in 0..30 {
        ids.push(submit(&test.db, "a race of processes").await.id.0);
    }
    let told = "CREATE TABLE told (task bigint, won boolean, status text, claim_no bigint, claimed_by uuid)";
    client.batch_execute(told).await.expect("table");
    for id in &ids {
        client.execute("SELECT pg_advisory_lock($1)", &[id]).await.expect("close the gate");
    }
    let list: Vec<String> = ids.iter().map(i64::to_string).collect();
    let role = format!("{} {}", test.url, list.join(","));
    let mut processes: Vec<_> = (0..2)
        .map(|_| {
            Command::new(std::env::current_exe().expect("this program"))
                .args(["--exact", "claims::one_of_two_processes_wins", "--nocapture"])
                .env(ROLE, &role)
                .stdout(Stdio::null())
                .spawn()
                .expect("start a process")
        })
        .collect();
    for id in &ids {
        let waiting = format!(
            "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND objid = {id} \
             AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
        );
        until("both processes at the gate", || async {
            (number(&client, &waiting).await == 2).then_some(())
        })
        .await;
        client.execute("SELECT pg_advisory_unlock($1)", &[id]).await.expect("open the gate");
    }
    for process in &mut processes {
        assert!(process.wait().expect("wait").success());
    }
    for id in ids {
        let rounds = client
            .query("SELECT won, status, claim_no, claimed_by FROM told WHERE task = $1 ORDER BY won", &[&id])
            .await
            .expect("told");
        let told: Vec<(bool, String, i64, uuid::Uuid)> =
            rounds.iter().map(|row| (row.get(0), row.get(1), row.get(2), row.get(3))).collect();
        let now = row(&test.db, TaskId(id)).await;
        let holder = now.claimed_by.expect("claimed").0;
        let running = "RUNNING".to_owned();
        assert_eq!(told, [(false, running.clone(), 1, holder), (true, running, 1, holder)]);
    }
}

async fn claim_as_another_process(role: &str) {
    let (url, ids) = role.split_once(' ').expect("an address and ids");
    let db = open(url, Limits::default()).await;
    let client = outside(url).await;
    let instance = worker(&db).await;
    for id in ids.split(',').map(|id| id.parse::<i64>().expect("an id")) {
        client.execute("SELECT pg_advisory_lock_shared($1)", &[&id]).await.expect("the gate");
        let (won, task) = match db.claim_by_id(instance, TaskId(id)).await.expect("an answer") {
            ClaimById::Won { task } => (true, task),
            ClaimById::Lost { task } => (false, task),
            other @ (ClaimById::AtLimit { .. } | ClaimById::NotFound) => panic!("{other:?}"),
        };
        let insert = "INSERT INTO told VALUES ($1, $2, $3, $4, $5)";
        let claimed_by = task.claimed_by.map(|instance| instance.0);
        client
            .execute(insert, &[&id, &won, &task.status.as_str(), &task.claim_no, &claimed_by])
            .await
            .expect("tell");
    }
}

/// Sixteen callers claim a thousand tasks, seven at a time.
async fn claim_a_thousand(test: &TestDb, db: &Db) {
    let client = outside(&test.url).await;
    fill(&client, 1_000, "status, scheduled_at", "'QUEUED', now()").await;
    let mut callers = Vec::new();
    for _ in 0..16 {
        let db = db.clone();
        callers.push(tokio::spawn(async move {
            let instance = worker(&db).await;
            let mut won = Vec::new();
            loop {
                let claimed = db.claim_next(&request(instance, 7)).await.expect("claim");
                assert!(claimed.len() <= 7, "{} tasks for a limit of 7", claimed.len());
                if claimed.is_empty() {
                    // Nothing for this caller; others may hold the rest under lock, and finish with it.
                    return won;
                }
                won.extend(claimed.into_iter().map(|claimed| (claimed.id, claimed.claim_no)));
            }
        }));
    }
    let mut won = Vec::new();
    for caller in callers {
        won.extend(caller.await.expect("no panic"));
    }
    let distinct: HashSet<_> = won.iter().copied().collect();
    assert_eq!((won.len(), distinct.len()), (1_000, 1_000), "each task was claimed once");
    assert!(won.iter().all(|(_, claim_no)| *claim_no == 1));
    let counted = "SELECT count(*) FROM taskdeck.tasks WHERE status = 'RUNNING' AND claim_no = 1 \
                   AND attempt = 1 AND version = 1";
    assert_eq!(number(&client, counted).await, 1_000);
}

#[tokio::test]
async fn sixteen_callers_claim_a_thousand_tasks_once_each() {
    let test = database_with(Limits { workers_pool: 16, ..Limits::default() }).await;
    claim_a_thousand(&test, &test.db).await;
}

#[tokio::test]
async fn the_limit_holds_with_nested_loops_where_the_naive_form_overshoots() {
    let test = database().await;
    let options: Vec<String> = NESTED_LOOPS.iter().map(|name| format!("-c%20{name}%3Doff")).collect();
    let url = format!("{}?options={}", test.url, options.join("%20"));
    let db = open(&url, Limits { workers_pool: 16, ..Limits::default() }).await;
    claim_a_thousand(&test, &db).await;

    // Such plans make the form that is often copied claim far more than it was asked for: so the test above can
    // fail.
    let client = outside(&test.url).await;
    client.batch_execute("TRUNCATE taskdeck.tasks").await.expect("truncate");
    fill(&client, 1_000, "status, scheduled_at", "'QUEUED', now()").await;
    client.batch_execute("ANALYZE taskdeck.tasks").await.expect("analyze");
    for name in NESTED_LOOPS.iter().chain(&["enable_indexscan", "enable_bitmapscan"]) {
        client.batch_execute(&format!("SET {name} = off")).await.expect("set");
    }
    let naive = "UPDATE taskdeck.tasks SET status = 'RUNNING', claimed_by = gen_random_uuid() WHERE id IN \
                 (SELECT id FROM taskdeck.tasks WHERE status = 'QUEUED' LIMIT 5 FOR UPDATE SKIP LOCKED)";
    let claimed = client.execute(naive, &[]).await.expect("claim");
    assert!(claimed > 5, "the naive form claimed {claimed} with a limit of 5");
    client.batch_execute("UPDATE taskdeck.tasks SET status = 'QUEUED'").await.expect("back");
    let instance = worker(&db).await;
    let claimed = client.query_typed(&text(CLAIM_NEXT), &claim_params(&instance)).await.expect("claim");
    assert_eq!(claimed.len(), 5, "our form keeps to its limit under the same settings");
}

/// Parameters of `claim_next` for five tasks of the default queue.
pub(crate) fn claim_params(instance: &InstanceId) -> [(&(dyn tokio_postgres::types::ToSql + Sync), Type); 4] {
    const QUEUES: &[&str] = &["default"];
    const NOBODY: Option<&str> = None;
    [(&instance.0, Type::UUID), (&QUEUES, Type::TEXT_ARRAY), (&5_i64, Type::INT8), (&NOBODY, Type::TEXT)]
}

#[tokio::test]
async fn claims_respect_queue_priority_due_time_and_tenant() {
    let test = database().await;
    let db = &test.db;
    let instance = worker(db).await;
    let new = |tenant: &str, queue: &str, priority: i32, delay: u64| NewTask {
        tenant: name(tenant),
        queue: name(queue),
        priority,
        delay: Duration::from_secs(delay),
        ..NewTask::default()
    };
    let plain = submit_as(db, "plain", &new("a", "default", 0, 0)).await.id;
    let urgent = submit_as(db, "urgent", &new("a", "default", 9, 0)).await.id;
    let later = submit_as(db, "later", &new("a", "default", 99, 3_600)).await.id;
    let other_queue = submit_as(db, "mail", &new("a", "mail", 8, 0)).await.id;
    let other_tenant = submit_as(db, "b's", &new("b", "default", 50, 0)).await.id;
    let held = submit_held(db, "held").await;
    let ask = |queues: &[&str], tenant: Option<&str>, limit| ClaimRequest {
        instance,
        queues: queues.iter().map(|queue| name(queue)).collect(),
        tenant: tenant.map(name),
        limit,
    };
    let ids = |claimed: Vec<taskdeck::db::Claimed>| claimed.iter().map(|c| c.id).collect::<Vec<_>>();

    let one = db.claim_next(&ask(&["mail", "default", "default"], Some("a"), 1)).await.expect("claim");
    assert_eq!((one[0].tenant.as_str(), one[0].input.as_deref()), ("a", Ok("urgent")), "the larger priority");
    assert_eq!(ids(one), [urgent]);
    assert_eq!(ids(db.claim_next(&ask(&["default"], Some("a"), 1)).await.expect("claim")), [plain]);
    assert_eq!(ids(db.claim_next(&ask(&["nobody"], None, 9)).await.expect("claim")), []);
    let rest = db.claim_next(&ask(&["mail", "default"], None, 9)).await.expect("claim");
    assert_eq!(ids(rest), [other_tenant, other_queue], "by priority over all queues");
    for id in [later, held.id] {
        let lost = db.claim_by_id(instance, id).await.expect("an answer");
        assert!(matches!(&lost, ClaimById::Lost { task } if task.claim_no == 0), "{lost:?}");
    }

    // Once it is due, what was put off is claimed too, and by priority among what always was.
    let client = outside(&test.url).await;
    let put_off = "UPDATE taskdeck.tasks SET created_at = now() - interval '1 hour', \
                   scheduled_at = now() - interval '1 minute' WHERE id = $1";
    client.execute(put_off, &[&later.0]).await.expect("due");
    let low = submit_as(db, "low", &new("b", "default", -5, 0)).await.id;
    for (queue, tenant, expected) in
        [("mail", None, vec![]), ("default", Some("c"), vec![]), ("default", None, vec![later, low])]
    {
        assert_eq!(ids(db.claim_next(&ask(&[queue], tenant, 9)).await.expect("claim")), expected);
    }
    assert_eq!(row(db, held.id).await.status, Status::Submitted, "never claimed while it is held");
    decided(db, DecisionKind::Approve, &held).await;
    assert_eq!(claim(db, instance).await.id, held.id);
}

#[tokio::test]
async fn far_future_rows_are_not_read() {
    let test = database().await;
    let client = outside(&test.url).await;
    fill(&client, 20_000, "status, scheduled_at", "'QUEUED', now() + interval '1 year'").await;
    fill(&client, 10, "status, scheduled_at", "'QUEUED', now()").await;
    client.batch_execute("ANALYZE taskdeck.tasks; SET enable_seqscan = off").await.expect("analyze");
    let instance = worker(&test.db).await;
    let explain = format!("EXPLAIN (ANALYZE, FORMAT JSON) {}", text(CLAIM_NEXT));
    let plan = client.query_typed(&explain, &claim_params(&instance)).await.expect("explain");
    let plan: serde_json::Value = plan[0].get(0);
    let read = rows_read(&plan, "tasks");
    assert!(read >= 5.0, "the plan tells what it read: {plan:#}");
    assert!(read < 100.0, "{read} rows of `tasks` were read to claim 5: {plan:#}");
    assert_eq!(number(&client, "SELECT count(*) FROM taskdeck.tasks WHERE status = 'RUNNING'").await, 5);
}

#[tokio::test]
async fn only_a_working_instance_whose_lease_lasts_claims() {
    let test = database().await;
    let db = &test.db;
    let client = outside(&test.url).await;
    let task = submit(db, "nobody's").await;
    worker(db).await;
    let mut idle = vec![("unknown", InstanceId(uuid::Uuid::now_v7()))];
    for state in InstanceState::ALL.into_iter().filter(|state| *state != InstanceState::Working) {
        let new = new_instance(&["default"], LONG);
        db.register(&new).await.expect("register");
        let set = "UPDATE taskdeck.instances SET state = $2 WHERE id = $1";
        client.execute(set, &[&new.id.0, &state.as_str()]).await.expect("set");
        idle.push((state.as_str(), new.id));
    }
    idle.push(("expired", worker_with(db, Duration::ZERO).await));
    for (what, instance) in idle {
        let claimed = db.claim_next(&request(instance, 5)).await.expect("claim");
        assert_eq!(claimed, [], "{what}");
        let lost = db.claim_by_id(instance, task.id).await.expect("an answer");
        assert_eq!(lost, ClaimById::Lost { task: task.clone() }, "{what}");
    }
    assert_eq!(row(db, task.id).await, task, "nothing was changed");

    let instance = worker(db).await;
    db.heartbeat(instance, &beat(InstanceState::Draining, LONG)).await.expect("heartbeat");
    assert_eq!(db.claim_next(&request(instance, 5)).await.expect("claim"), []);
    db.heartbeat(instance, &beat(InstanceState::Working, LONG)).await.expect("heartbeat");
    assert_eq!(claim(db, instance).await.id, task.id);
    let missing = db.claim_by_id(instance, TaskId(i64::MAX)).await.expect("an answer");
    assert_eq!(missing, ClaimById::NotFound);
}

/// A row that another session holds is passed over, not waited for: or else a stuck session stops every worker.
#[tokio::test]
async fn a_locked_row_is_passed_over() {
    let test = database().await;
    let (first, second) = (submit(&test.db, "locked").await, submit(&test.db, "free").await);
    let mut client: Client = outside(&test.url).await;
    let holder = client.transaction().await.expect("begin");
    holder
        .execute("SELECT FROM taskdeck.tasks WHERE id = $1 FOR UPDATE", &[&first.id.0])
        .await
        .expect("lock");
    let instance = worker(&test.db).await;
    let claimed = test.db.claim_next(&request(instance, 5)).await.expect("claims without waiting");
    assert_eq!(claimed.iter().map(|claimed| claimed.id).collect::<Vec<_>>(), [second.id]);
    holder.rollback().await.expect("rollback");
    assert_eq!(claim(&test.db, instance).await.id, first.id);
}
