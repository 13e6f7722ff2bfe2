//! Connections: a server that is away, sessions that end, half-read answers, rows that cannot be read. After each
//! of them the pool is as it was.

use std::time::Duration;

use futures_util::TryStreamExt as _;
use taskdeck::db::{Access, Db, DbError, Limits, ListQuery, Options, Preview, Schema};
use taskdeck::domain::decision::DecisionKind;
use taskdeck::domain::input::SubmissionKey;
use taskdeck::domain::observed::{Filter, Listed};
use taskdeck::domain::{NewTask, TaskId};
use tokio_postgres::Client;
use tokio_postgres::types::ToSql;

use crate::scene::{
    decide, decided, decision, fill, number, outside, quiet, request, row, submit, unavailable,
    until_waiting, worker,
};
use crate::support::{Server, conn_info, database, database_with, empty_database, open, until};

/// One connection in each pool, and little patience for more.
fn pools_of_one() -> Limits {
    Limits { operator_pool: 1, workers_pool: 1, acquire: Duration::from_millis(300), ..Limits::default() }
}

#[tokio::test]
async fn an_address_where_nobody_listens_is_an_error_at_the_start() {
    // A port that nobody is given.
    let info = conn_info("postgresql://tester@127.0.0.1:1/nothing");
    let options = Options {
        schema: Schema::new("taskdeck").expect("a name"),
        limits: Limits::default(),
        access: Access::ReadWrite,
        application: "test".to_owned(),
    };
    let trouble = unavailable(Db::open(info, options).await.map(drop));
    assert!(trouble.message.contains("127.0.0.1"), "{trouble}");
    assert!(trouble.hint.is_some(), "{trouble:?}");
}

/// Waits until every connection of both pools is known to be gone, so that nothing is sent on one.
async fn until_noticed(db: &Db, id: TaskId) {
    until("the pool to notice that the server went away", || async {
        let gone = matches!(
            db.task(id, None, Preview::Whole).await,
            Err(DbError::Unavailable(trouble)) if trouble.message.contains("cannot connect")
        );
        gone.then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_goes_away_and_comes_back() {
    let mut server = Server::start_restartable();
    server.psql("postgres", "CREATE DATABASE away").expect("create");
    let url = server.url("away");
    let db = open(&url, Limits::default()).await;
    db.migrate().await.expect("migrate");
    let instance = worker(&db).await;
    let before = submit(&db, "before").await;
    let key = SubmissionKey::fresh();

    for (immediate, text) in [(false, "while it was stopped"), (true, "while it had crashed")] {
        if immediate {
            server.stop_immediately();
        } else {
            server.stop();
        }
        until_noticed(&db, before.id).await;
        let trouble = unavailable(db.submit(text, &NewTask::default(), &key, &quiet).await);
        assert!(trouble.message.contains("cannot connect"), "{trouble}");
        unavailable(db.task(before.id, None, Preview::Whole).await);
        unavailable(db.task(TaskId(i64::MAX), None, Preview::Whole).await);
        unavailable(db.history(before.id, None).await);
        unavailable(db.decide(&decision(DecisionKind::Cancel, &[&before]), &quiet).await);
        unavailable(db.overview(None).await);
        unavailable(db.claim_next(&request(instance, 1)).await);
        unavailable(db.recover("x").await);

        server.start_again();
        assert_eq!(row(&db, before.id).await, before, "well again without being opened again");
        assert_eq!(db.claim_next(&request(instance, 0)).await.expect("the workers' pool too").len(), 1);
        let found = server.psql("away", "SELECT count(*) FROM taskdeck.task_inputs WHERE input <> 'before'");
        assert_eq!(found.as_deref(), Ok("0"), "what was answered Unavailable is not in the table");
        assert_eq!(db.task(TaskId(i64::MAX), None, Preview::Whole).await.expect("asked"), None);
        let back = "UPDATE taskdeck.tasks SET status = 'QUEUED', claimed_by = NULL, version = 0, attempt = 0, \
                    claim_no = 0, started_at = NULL";
        server.psql("away", back).expect("back");
    }
    assert!(db.submit("after", &NewTask::default(), &key, &quiet).await.expect("submit").created);
}

async fn terminate(client: &Client) -> i64 {
    number(
        client,
        "SELECT count(pg_terminate_backend(pid, 10000)) FROM pg_stat_activity \
         WHERE datname = current_database() AND starts_with(application_name, 'taskdeck ')",
    )
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn idle_connections_that_the_server_ended_are_replaced() {
    let test = database().await;
    let client = outside(&test.url).await;
    let task = submit(&test.db, "x").await;
    let instance = worker(&test.db).await;
    assert!(terminate(&client).await >= 2);
    until("a look-up that is answered", || async {
        test.db.task(task.id, None, Preview::Whole).await.ok().flatten()
    })
    .await;
    // A write loses nothing even if it meets such a connection first.
    for round in 0..10 {
        terminate(&client).await;
        let words = format!("round {round}");
        let new = NewTask::default();
        let submitted = test.db.submit(&words, &new, &SubmissionKey::fresh(), &quiet).await.expect("submit");
        assert!(submitted.created);
        test.db.register(&crate::scene::new_instance(&["x"], Duration::ZERO)).await.ok();
    }
    assert_eq!(number(&client, "SELECT count(*) FROM taskdeck.tasks").await, 11);
    until("a claim that is answered", || async { test.db.claim_next(&request(instance, 1)).await.ok() })
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_busy_connection_that_the_server_ends() {
    let test = database().await;
    let db = test.db.clone();
    let (mut holder, client) = (outside(&test.url).await, outside(&test.url).await);
    let task = submit(&db, "x").await;

    let blocked = holder.transaction().await.expect("begin");
    blocked.batch_execute("LOCK TABLE taskdeck.tasks IN ACCESS EXCLUSIVE MODE").await.expect("lock");
    let reading = tokio::spawn({
        let (db, id) = (db.clone(), task.id);
        async move { db.task(id, None, Preview::Whole).await }
    });
    until_waiting(&client).await;
    terminate(&client).await;
    let trouble = unavailable(reading.await.expect("no panic"));
    assert!(trouble.message.contains("the server ended the session"), "{trouble}");

    // A write is asked for again until it is known: here the first was rolled back with its session.
    let asked = decision(DecisionKind::Cancel, &[&task]);
    let deciding = tokio::spawn({
        let db = db.clone();
        async move { decide(&db, &asked).await }
    });
    until_waiting(&client).await;
    terminate(&client).await;
    blocked.rollback().await.expect("rollback");
    let answer = deciding.await.expect("no panic");
    assert!(answer.resolved_from_unknown);
    let now = row(&db, task.id).await;
    assert_eq!((now.version, answer.rows[0].0), (1, task.id));
    assert_eq!(number(&client, "SELECT count(*) FROM taskdeck.events").await, 1);
}

#[tokio::test]
async fn a_half_read_answer_holds_the_only_slot_and_gives_it_back() {
    let test = database_with(pools_of_one()).await;
    let task = submit(&test.db, "x").await;
    let none: [&(dyn ToSql + Sync); 0] = [];
    for keeps_stream in [false, true] {
        let mut session = test.db.operator_pool().acquire().await.expect("a slot");
        let rows = "SELECT n, repeat('x', 10000) FROM generate_series(1, 1000) n";
        let mut stream = Box::pin(session.client().query_raw(rows, none).await.expect("rows"));
        assert!(stream.try_next().await.expect("the first row").is_some());
        let trouble = unavailable(test.db.task(task.id, None, Preview::Whole).await);
        assert!(
            trouble.message.contains("operator pool") && trouble.message.contains("1 are in use"),
            "{trouble}"
        );
        assert!(test.db.operator_pool().figures().timed_out >= 1);
        if keeps_stream {
            // The stream outlives the session: the next borrower must not be given its connection.
            drop(session);
        } else {
            drop(stream);
            drop(session);
            stream = Box::pin(outside(&test.url).await.query_raw(rows, none).await.expect("rows"));
        }
        assert_eq!(row(&test.db, task.id).await, task, "the slot is free and its connection clean");
        drop(stream);
        let figures = test.db.operator_pool().figures();
        assert_eq!((figures.max, figures.in_use, figures.waiting), (1, 0, 0));
    }
}

#[tokio::test]
async fn a_transaction_left_open_by_hand_is_not_handed_on() {
    let test = database_with(pools_of_one()).await;
    let task = submit(&test.db, "x").await;
    let mut session = test.db.operator_pool().acquire().await.expect("a slot");
    let client = session.client();
    client.batch_execute("BEGIN; UPDATE taskdeck.tasks SET version = 99").await.expect("update");
    drop(session);
    assert_eq!(row(&test.db, task.id).await, task);
    decided(&test.db, DecisionKind::Cancel, &task).await;
}

/// Reading the version takes no second connection while one is held (it waited for the deadline, in silence).
#[tokio::test]
async fn a_pool_of_one_migrates_without_waiting_for_itself() {
    let url = empty_database();
    let db = open(&url, pools_of_one()).await;
    let made = db.migrate().await.expect("migrate");
    let again = db.migrate().await.expect("migrate");
    assert_eq!((made.from, again.from), (0, made.to));
    let figures = db.operator_pool().figures();
    assert_eq!((figures.timed_out, figures.in_use), (0, 0));
}

#[tokio::test]
async fn a_row_that_cannot_be_read_is_no_missing_row() {
    let test = database_with(pools_of_one()).await;
    let db = &test.db;
    let client = outside(&test.url).await;
    fill(&client, 3, "status, scheduled_at", "'QUEUED', now()").await;
    client
        .batch_execute(
            "ALTER TABLE taskdeck.tasks ALTER COLUMN words DROP NOT NULL; \
             UPDATE taskdeck.tasks SET words = NULL WHERE id = 2",
        )
        .await
        .expect("break a row");
    for _ in 0..3 {
        match db.task(TaskId(2), None, Preview::Whole).await {
            Err(DbError::BadRow { what, problem }) => {
                assert_eq!(what, "task 2");
                assert!(problem.starts_with("column words: "), "{problem}");
            }
            other => panic!("{other:?}"),
        }
        assert_eq!(db.operator_pool().figures().in_use, 0);
    }
    assert!(matches!(db.history(TaskId(2), None).await, Err(DbError::BadRow { .. })));
    let query = ListQuery { filter: Filter::default(), before: None, limit: 10, preview: Preview::Beginning };
    let page = db.list(&query).await.expect("the rest of the page");
    let shown: Vec<_> = page.rows.iter().map(|listed| (listed.id().0, listed.task().is_some())).collect();
    assert_eq!(shown, [(3, true), (2, false), (1, true)]);
    assert!(matches!(&page.rows[1], Listed::Bad { problem, .. } if problem.contains("column words")));

    client
        .batch_execute(
            "UPDATE taskdeck.tasks SET words = 0; ALTER TABLE taskdeck.tasks DROP CONSTRAINT \
        tasks_status; UPDATE taskdeck.tasks SET status = 'DONE' WHERE id = 2",
        )
        .await
        .expect("break it otherwise");
    match db.task(TaskId(2), None, Preview::Whole).await {
        Err(DbError::BadRow { problem, .. }) => {
            assert!(problem.contains("`DONE` is not a state"), "{problem}");
        }
        other => panic!("{other:?}"),
    }
    // A lost text is told as such too; its task can still be claimed and failed.
    client.batch_execute("DELETE FROM taskdeck.task_inputs WHERE id = 1").await.expect("delete");
    assert!(matches!(db.task(TaskId(1), None, Preview::Whole).await, Err(DbError::BadRow { .. })));
    let instance = worker(db).await;
    let claimed = db.claim_next(&request(instance, 9)).await.expect("claim");
    assert_eq!(
        claimed.iter().map(|c| (c.id.0, c.input.is_ok())).collect::<Vec<_>>(),
        [(1, false), (3, true)]
    );
}

#[tokio::test]
async fn a_statement_past_its_deadline_is_stopped_at_the_server() {
    let limits =
        Limits { statement: Duration::from_millis(300), lock: Duration::from_secs(30), ..pools_of_one() };
    let test = database_with(limits).await;
    let (mut holder, watch) = (outside(&test.url).await, outside(&test.url).await);
    let task = submit(&test.db, "x").await;
    let blocked = holder.transaction().await.expect("begin");
    blocked.batch_execute("LOCK TABLE taskdeck.tasks IN ACCESS EXCLUSIVE MODE").await.expect("lock");
    let trouble = unavailable(test.db.decide(&decision(DecisionKind::Cancel, &[&task]), &quiet).await);
    assert_eq!(trouble.sqlstate.as_deref(), Some("57014"), "the server's own word that nothing was applied");
    crate::scene::until_no_waiter(&watch).await;
    blocked.rollback().await.expect("rollback");
    assert_eq!(row(&test.db, task.id).await, task);
}

/// A server that was demoted keeps its sessions and answers, and refuses every write (gpustack#6105). The session that
/// met the refusal is thrown away like the idle ones; the next goes to wherever writes are taken.
#[tokio::test]
async fn a_session_that_refuses_writes_is_not_used_again() {
    let test = database_with(pools_of_one()).await;
    let db = &test.db;
    let client = outside(&test.url).await;
    submit(db, "before").await;
    let name = name_of_database(&client).await;
    client
        .batch_execute(&format!("ALTER DATABASE {name} SET default_transaction_read_only = on"))
        .await
        .expect("demote");
    terminate(&client).await;
    let refused = until("a write that is refused", || async {
        match db.submit("refused", &NewTask::default(), &SubmissionKey::fresh(), &quiet).await {
            Err(DbError::Unavailable(why)) if why.sqlstate.as_deref() == Some("25006") => Some(why),
            _ => None,
        }
    })
    .await;
    assert!(refused.message.contains("read-only"), "{refused}");
    // Promoted again: sessions that began before stay read-only for ever, so only a new one can write.
    let again = format!("SET default_transaction_read_only = off; ALTER DATABASE {name} RESET ALL");
    client.batch_execute(&again).await.expect("promote");
    submit(db, "after").await;
}

async fn name_of_database(client: &Client) -> String {
    client.query_one("SELECT current_database()::text", &[]).await.expect("its name").get(0)
}
