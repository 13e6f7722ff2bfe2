//! The door to the server: who has business at it, who waits before it, and what a refused write makes of the
//! connections that went through it.

use std::time::Duration;

use taskdeck::db::{Db, DbError, Limits, Preview};
use taskdeck::domain::input::SubmissionKey;
use taskdeck::domain::{NewTask, TaskId};

use crate::proxy::Proxy;
use crate::scene::{LONG, new_instance, number, outside, quiet, submit, unavailable, worker};
use crate::support::{PATIENCE, Server, database, open, shared_server, until};

/// Waits until a call waits for a connection of the operator's pool.
async fn until_one_waits(db: &Db) {
    until("a call that waits", || async { (db.operator_pool().figures().waiting == 1).then_some(()) }).await;
}

/// What waits for a place in a full pool makes no connection: it neither takes the one attempt from who would, nor
/// fails since connecting does.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_waits_for_a_place_in_a_full_pool_has_no_business_at_the_gate() {
    let test = database().await;
    let server = shared_server().port();
    let proxy = Proxy::start(server).await;
    let url = test.url.replace(&format!(":{server}/"), &format!(":{}/", proxy.port()));
    let limits = Limits { operator_pool: 1, acquire: PATIENCE, ..Limits::default() };
    let db = open(&format!("{url}?sslmode=disable"), limits).await;
    let session = db.operator_pool().acquire().await.expect("the only one");
    proxy.refuse(u32::MAX);
    unavailable(db.listen().await.map(drop));
    let waiting = tokio::spawn({
        let db = db.clone();
        async move { db.task(TaskId(1), None, Preview::Whole).await }
    });
    until_one_waits(&db).await;
    unavailable(db.listen().await.map(drop));
    proxy.refuse(0);
    let listening = tokio::time::timeout(PATIENCE / 2, db.listen()).await.expect("the attempt is free");
    drop(listening.expect("it listens"));
    assert!(!waiting.is_finished(), "its place is taken");
    drop(session);
    assert_eq!(waiting.await.expect("no panic").expect("the place is free"), None);
}

/// The server has no connection left for this role: who waits for one of the pool's own is let in as well when the
/// server has one again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_has_a_connection_again_is_found_by_who_waits_for_one_of_the_pools() {
    let server = Server::start();
    server.psql("postgres", "CREATE ROLE few LOGIN CONNECTION LIMIT 1").expect("create");
    let url = server.url("postgres").replace("tester@", "few@");
    let db = open(&url, Limits { operator_pool: 2, acquire: PATIENCE, ..Limits::default() }).await;
    let held = db.operator_pool().acquire().await.expect("the only one");
    let waiting = tokio::spawn({
        let db = db.clone();
        async move { db.operator_pool().acquire().await.map(drop) }
    });
    until("a refusal", || async { server.log().contains("too many connections").then_some(()) }).await;
    until_one_waits(&db).await;
    server.psql("postgres", "ALTER ROLE few CONNECTION LIMIT -1").expect("enough");
    tokio::time::timeout(PATIENCE / 2, waiting)
        .await
        .expect("it is noticed")
        .expect("no panic")
        .expect("a connection of its own");
    drop(held);
}

/// Sessions that began while the server refused writes go on refusing them; one refusal is enough for all: the other
/// pool does not read there any more, and the listener looks for where something is announced.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_refused_write_makes_both_pools_and_the_listener_leave_the_server() {
    let test = database().await;
    let client = outside(&test.url).await;
    let task = submit(&test.db, "before").await;
    let name: String = client.query_one("SELECT current_database()::text", &[]).await.expect("a name").get(0);
    let demote = format!("ALTER DATABASE {name} SET default_transaction_read_only = on");
    client.batch_execute(&demote).await.expect("demote");
    let db = test.open_again(Limits::default()).await;
    let instance = new_instance(&["default"], LONG);
    assert_eq!(db.claimed(instance.id).await.expect("the workers' pool reads"), []);
    let mut listener = db.listen().await.expect("it listens");
    let promote = format!("SET default_transaction_read_only = off; ALTER DATABASE {name} RESET ALL");
    client.batch_execute(&promote).await.expect("promote");
    let key = SubmissionKey::fresh();
    let refused = unavailable(db.submit("refused", &NewTask::default(), &key, &quiet).await);
    assert_eq!(refused.sqlstate.as_deref(), Some("25006"), "{refused}");

    let heard = tokio::time::timeout(PATIENCE, listener.wait(Duration::from_hours(1))).await;
    let lost = heard.expect("at once").expect_err("nothing is announced there any more");
    assert!(matches!(&lost, DbError::Unavailable(why) if why.message.contains("takes no writes")), "{lost}");
    db.register(&instance).await.expect("the other pool has left too");
    assert!(db.task(task.id, None, Preview::Whole).await.expect("asked").is_some());
    worker(&db).await;
    let both = "SELECT count(*) FROM taskdeck.instances";
    assert_eq!(number(&client, both).await, 2);
}
