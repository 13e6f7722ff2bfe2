//! An address that names several hosts: which one is asked, and what a silent or a read-only one costs.

use std::time::Duration;

use taskdeck::db::{Access, Db, Limits, Options, Preview, Retry, Schema};
use taskdeck::domain::NewTask;
use taskdeck::domain::input::SubmissionKey;
use tokio::net::TcpListener;

use crate::scene::{quiet, row, submit, unavailable};
use crate::support::{Server, conn_info, database, free_port, open, shared_server, until};

fn both(first: u16, second: u16, database: &str) -> String {
    format!("postgresql://tester@127.0.0.1:{first},127.0.0.1:{second}/{database}")
}

/// A host that takes connections and never says a word.
async fn silent() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("bind");
    let port = listener.local_addr().expect("address").port();
    tokio::spawn(async move {
        let mut held = Vec::new();
        while let Ok((client, _)) = listener.accept().await {
            held.push(client);
        }
    });
    port
}

#[tokio::test]
async fn a_silent_host_leaves_time_for_the_others() {
    let test = database().await;
    let name = test.psql("SELECT current_database()");
    let limits = Limits { acquire: Duration::from_secs(3), ..Limits::default() };
    for and in ["", "?target_session_attrs=read-write"] {
        let url = both(silent().await, shared_server().port(), &name) + and;
        let db = open(&url, limits.clone()).await;
        let task = submit(&db, "x").await;
        assert_eq!(row(&db, task.id).await, task);
        // The one that answered is asked first from now on, so that the other costs its time once.
        let instance = crate::scene::worker(&db).await;
        assert_eq!(db.claimed(instance).await.expect("the workers' pool"), []);
        let waits: Vec<_> = db.pool_figures().iter().map(|pool| (pool.name, pool.wait_p99)).collect();
        assert!(waits[1].1 < waits[0].1, "{waits:?}");
    }
}

/// What a silent host costs is paid once also where only a standby answers beside it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_silent_host_beside_a_standby_costs_its_time_once() {
    let mut primary = Server::start();
    primary.psql("postgres", "CREATE DATABASE work").expect("create");
    let standby = primary.start_standby();
    open(&primary.url("work"), Limits::default()).await.migrate().await.expect("migrate");
    until("the standby has the schema", || async {
        let found = standby.psql("work", "SELECT count(*) FROM taskdeck.tasks");
        (found.as_deref() == Ok("0")).then_some(())
    })
    .await;
    primary.stop();
    let limits = Limits { acquire: Duration::from_secs(4), ..Limits::default() };
    let db = open(&both(silent().await, standby.port(), "work"), limits).await;
    let instance = taskdeck::domain::InstanceId(uuid::Uuid::now_v7());
    assert_eq!(db.claimed(instance).await.expect("the workers' pool"), []);
    let waits: Vec<_> = db.pool_figures().iter().map(|pool| (pool.name, pool.wait_p99)).collect();
    assert!(waits[1].1 < waits[0].1 / 2, "{waits:?}");
}

/// Of several hosts one answers and takes no writes while the others are away: that is what is told, and that it may
/// pass.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn that_none_takes_writes_says_more_than_that_one_is_away() {
    let mut standby = Server::start();
    standby.stop();
    standby.start_again_demoted();
    let url = both(standby.port(), free_port(), "postgres") + "?target_session_attrs=read-write";
    let options = Options {
        schema: Schema::new("taskdeck").expect("a name"),
        limits: Limits::default(),
        access: Access::ReadWrite,
        application: "test".to_owned(),
    };
    let trouble = unavailable(Db::open(conn_info(&url), options).await.map(drop));
    assert!(trouble.message.contains("does not allow writes"), "{trouble}");
    assert!(trouble.hint.as_ref().is_some_and(|hint| hint.contains("takes writes now")), "{trouble:?}");
    assert_eq!(trouble.retry, Retry::Later);
}

/// Without a word about it in the address, a host that takes writes is preferred; while there is none a standby will
/// do to read, and a refused write is certainly not applied.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_standby_is_for_reading_while_there_is_no_primary() {
    let mut primary = Server::start_restartable();
    primary.psql("postgres", "CREATE DATABASE work").expect("create");
    let standby = primary.start_standby();
    let db = open(&both(standby.port(), primary.port(), "work"), Limits::default()).await;
    db.migrate().await.expect("the primary is found behind the standby");
    let task = submit(&db, "x").await;
    until("the standby has it", || async {
        let found = standby.psql("work", "SELECT count(*) FROM taskdeck.tasks");
        (found.as_deref() == Ok("1")).then_some(())
    })
    .await;
    primary.stop();
    let reading = open(&both(standby.port(), primary.port(), "work"), Limits::default()).await;
    assert_eq!(row(&reading, task.id).await, task);
    let key = SubmissionKey::fresh();
    let refused = unavailable(try_submit(&reading, &key).await);
    assert_eq!(refused.sqlstate.as_deref(), Some("25006"), "{refused}");
    // From now on only a host that takes writes will do, and there is none.
    let none = unavailable(try_submit(&reading, &key).await);
    assert!(none.message.contains("cannot connect"), "{none}");
    assert_eq!(standby.psql("postgres", "SELECT pg_promote()").as_deref(), Ok("t"));
    for db in [&db, &reading] {
        let made = until("a submit that is taken", || async { try_submit(db, &key).await.ok() }).await;
        assert_eq!(row(db, made.task.id).await.input, "y");
    }
    assert_eq!(standby.psql("work", "SELECT count(*) FROM taskdeck.tasks").as_deref(), Ok("2"));
    assert!(db.task(task.id, None, Preview::Whole).await.expect("read").is_some());
}

async fn try_submit(
    db: &Db,
    key: &SubmissionKey,
) -> Result<taskdeck::domain::outcome::Submitted, taskdeck::db::DbError> {
    db.submit("y", &NewTask::default(), key, &quiet).await
}
