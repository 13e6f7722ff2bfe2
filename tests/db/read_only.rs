//! A session that is opened to read only: it is the server that refuses, whoever owns the tables.

use taskdeck::db::{Access, Db, DbError, Limits, Options, Schema};
use taskdeck::domain::decision::DecisionKind;
use taskdeck::domain::input::SubmissionKey;
use taskdeck::domain::queue::QueueAct;
use taskdeck::domain::{NewTask, StopMode};

use crate::company::everything;
use crate::scene::{LONG, decision, new_instance, quiet, request, submit, submit_held, worker};
use crate::support::{conn_info, database};

async fn read_only(url: &str) -> Db {
    let options = Options {
        schema: Schema::new("taskdeck").expect("a name"),
        limits: Limits::default(),
        access: Access::ReadOnly,
        application: "test".to_owned(),
    };
    Db::open(conn_info(url), options).await.expect("open the database")
}

fn is_refused<T: std::fmt::Debug>(what: &str, answer: Result<T, DbError>) {
    match answer {
        // The server's own word, not the program's: read_only_sql_transaction. A standby says the same, and another may do
        // it, so it is told as something that was certainly not applied.
        Err(DbError::Unavailable(trouble)) => {
            assert_eq!(trouble.sqlstate.as_deref(), Some("25006"), "{what}: {trouble:?}");
        }
        other => panic!("{what}: {other:?}"),
    }
}

#[tokio::test]
async fn the_server_refuses_every_write_of_a_session_that_only_reads() {
    let test = database().await;
    let held = submit_held(&test.db, "held").await;
    submit(&test.db, "waits").await;
    let id = worker(&test.db).await;
    let db = read_only(&test.url).await;
    let before = everything(&test);

    let new = NewTask::default();
    is_refused("submit", db.submit("x", &new, &SubmissionKey::fresh(), &quiet).await);
    is_refused("decide", db.decide(&decision(DecisionKind::Approve, &[&held]), &quiet).await);
    let pause = crate::queues::decision("alice", QueueAct::Pause, "default", 0);
    is_refused("decide_queue", db.decide_queue(&pause, &quiet).await);
    let limit = crate::limits::decision("billing", Some(1), None, 0);
    is_refused("decide_limit", db.decide_limit(&limit, &quiet).await);
    let stop = crate::fleet::stop("alice", StopMode::Drain, &[(id, 0)]);
    is_refused("stop", db.stop(&stop, &quiet).await);
    is_refused("register", db.register(&new_instance(&["default"], LONG)).await);
    is_refused("claim", db.claim_next(&request(id, 1)).await);
    assert_eq!(everything(&test), before);

    // What was asked for is possible, and the session can look.
    assert_eq!(db.task(held.id, None, taskdeck::db::Preview::Whole).await.expect("look"), Some(held.clone()));
    crate::scene::decided(&test.db, DecisionKind::Approve, &held).await;
    assert_ne!(everything(&test), before);
}
