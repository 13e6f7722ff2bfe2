//! Every statement is accepted by the server, and migrations are safe when many start at once.

use taskdeck::db::sql::{ALL, DECLARE_LOST};
use taskdeck::db::{DbError, Limits};
use taskdeck::domain::TaskId;

use crate::scene::{history, text};
use crate::support::{database, empty_database, open, psql};

#[tokio::test]
async fn every_statement_prepares() {
    let test = database().await;
    for statement in ALL {
        if let Err(error) = test.db.prepare_check(*statement).await {
            panic!("{}: {error:?}", statement.name);
        }
    }
}

/// Compiling a short statement costs a hundred times what it saves.
#[tokio::test]
async fn no_statement_is_compiled() {
    let test = database().await;
    let mut session = test.db.workers_pool().acquire().await.expect("a slot");
    let explain = format!("EXPLAIN (ANALYZE, FORMAT JSON) {}", text(DECLARE_LOST));
    let rows = session.client().query_typed(&explain, &[]).await.expect("explain");
    let plan: serde_json::Value = rows[0].get(0);
    assert!(plan.pointer("/0/Plan").is_some(), "{plan:#}");
    assert_eq!(plan.pointer("/0/JIT"), None, "{plan:#}");
}

#[tokio::test]
async fn thirty_processes_migrate_at_once() {
    let url = empty_database();
    let mut running = Vec::new();
    for _ in 0..30 {
        let url = url.clone();
        running.push(tokio::spawn(async move {
            let db = open(&url, Limits { operator_pool: 2, ..Limits::default() }).await;
            db.migrate().await
        }));
    }
    let mut made = 0;
    let mut now = 0;
    for run in running {
        let migrated = run.await.expect("no panic").expect("migrates");
        made += i32::from(migrated.from == 0);
        now = migrated.to;
    }
    assert_eq!(made, 1, "exactly one process made the schema");
    let versions = psql(&url, "SELECT count(*), max(version) FROM taskdeck.migrations");
    assert_eq!(versions, Ok(format!("{now}|{now}")), "each migration once");
}

/// A database of an earlier version is brought up with everything in it; until then it is said that it is older.
#[tokio::test]
async fn a_schema_of_an_earlier_version_is_brought_up_with_what_is_in_it() {
    let url = empty_database();
    let first = include_str!("../../src/db/sql/migrations/0001_tasks.sql").replace("{schema}", "taskdeck");
    psql(
        &url,
        &format!(
            "CREATE SCHEMA taskdeck; \
             CREATE TABLE taskdeck.migrations \
                 (version integer PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now()); \
             INSERT INTO taskdeck.migrations (version) VALUES (1); {first} \
             INSERT INTO taskdeck.task_inputs (id, tenant, submission, input) VALUES (7, 'default', gen_random_uuid(), 'x'); \
             INSERT INTO taskdeck.tasks (id, tenant, queue, status, version, max_attempts, priority, created_at, scheduled_at, \
                 finished_at) VALUES (7, 'default', 'default', 'CANCELED', 1, 3, 0, now(), now(), now()); \
             INSERT INTO taskdeck.events (task_id, actor, move, status_before, status_after, version_before, version_after, \
                 operation_id) VALUES (7, 'alice', 'cancel', 'QUEUED', 'CANCELED', 0, 1, gen_random_uuid())"
        ),
    )
    .expect("a schema as the first version made it");
    let db = open(&url, Limits::default()).await;
    let error = db.check_schema().await.expect_err("older");
    assert!(error.hint().is_some_and(|hint| hint.contains("taskdeck migrate")), "{error:?}");
    let migrated = db.migrate().await.expect("migrates");
    assert_eq!(migrated.from, 1);
    db.check_schema().await.expect("is the present one");
    let history = history(&db, TaskId(7)).await;
    assert_eq!((history.task.version, history.events.len()), (1, 1));
    assert_eq!(history.events[0].actor, "alice");
}

#[tokio::test]
async fn a_schema_that_is_missing_or_newer_is_a_clear_error() {
    let url = empty_database();
    let db = open(&url, Limits::default()).await;
    let error = db.check_schema().await.expect_err("no schema");
    assert!(matches!(&error, DbError::Schema(trouble) if trouble.message.contains("no schema")), "{error}");
    db.migrate().await.expect("migrates");
    db.check_schema().await.expect("is there");
    psql(&url, "INSERT INTO taskdeck.migrations (version) VALUES (99)").expect("psql");
    for error in [db.check_schema().await.expect_err("newer"), db.migrate().await.expect_err("newer")] {
        assert!(matches!(&error, DbError::Schema(trouble) if trouble.message.contains("newer")), "{error}");
    }
}

#[tokio::test]
async fn a_role_that_may_not_migrate_is_refused_with_what_to_do() {
    let url = empty_database();
    psql(&url, "CREATE ROLE plain_role LOGIN")
        .or_else(|error| if error.contains("already exists") { Ok(String::new()) } else { Err(error) })
        .expect("role");
    let db = open(&url.replace("tester@", "plain_role@"), Limits::default()).await;
    let error = db.migrate().await.expect_err("may not create a schema");
    assert!(matches!(error, DbError::Refused(_)), "{error:?}");
    assert!(error.hint().is_some_and(|hint| hint.contains("taskdeck migrate")), "{error:?}");
}

/// The key under which a write is known again: one operation is one event about each row, process, queue or tenant.
#[tokio::test]
async fn an_operation_stands_once_in_the_history() {
    let test = database().await;
    let operation = uuid::Uuid::now_v7();
    for (about, value, key) in [
        ("task_id", "7".to_owned(), "events_operation"),
        ("instance", format!("'{}'", uuid::Uuid::nil()), "events_operation_instance"),
        ("queue", "'bills'".to_owned(), "events_operation_queue"),
        ("tenant", "'billing'".to_owned(), "events_operation_tenant"),
    ] {
        let sql = format!(
            "INSERT INTO taskdeck.events ({about}, actor, move, status_before, status_after, version_before, version_after, \
             operation_id) VALUES ({value}, 'alice', 'move', 'a', 'b', 0, 1, '{operation}')"
        );
        test.psql(&sql);
        let again = psql(&test.url, &sql).expect_err("once");
        assert!(again.contains(&format!("\"{key}\"")), "{about}: {again}");
    }
}
