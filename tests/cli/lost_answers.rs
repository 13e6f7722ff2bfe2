//! An answer that is lost on the wire: the outcome is established and told, never guessed, never repeated.

use serde_json::json;

use crate::proxy::{Cut, Proxy};
use crate::runner::User;
use crate::support::{TestDb, database, shared_server};

/// A user of the database behind a proxy. The program runs while the proxy's threads pass on what it says.
async fn behind_a_proxy(db: &TestDb) -> (Proxy, User) {
    let server = shared_server().port();
    let proxy = Proxy::start(server).await;
    let url = db.url.replace(&format!(":{server}/"), &format!(":{}/", proxy.port()));
    (proxy, User::of(&format!("{url}?sslmode=disable")))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_submit_whose_answer_was_lost_is_resolved_to_one_task() {
    let db = database().await;
    let (proxy, user) = behind_a_proxy(&db).await;
    proxy.cut(Cut::After, "the text that is cut off");
    let run = user.run(&["--output", "json", "submit", "the text that is cut off"]);
    assert_eq!((run.code, proxy.cuts()), (0, 1), "{run:?}");
    assert!(run.err.contains("the answer was lost"), "{run:?}");
    let answer = run.json();
    assert_eq!((&answer["created"], &answer["resolved_from_unknown"]), (&json!(true), &json!(true)));
    assert_eq!(db.psql("SELECT count(*) FROM taskdeck.tasks"), "1");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_decision_whose_answer_was_lost_is_resolved_to_one_change() {
    let db = database().await;
    User::of(&db.url).text(0, &["submit", "--hold", "x"]);
    let (proxy, user) = behind_a_proxy(&db).await;
    proxy.cut(Cut::After, "because it was cut off");
    let run = user.run(&["--output", "json", "approve", "1@0", "--reason", "because it was cut off"]);
    assert_eq!((run.code, proxy.cuts()), (0, 1), "{run:?}");
    let answer = run.json();
    assert_eq!((&answer["outcome"], &answer["resolved_from_unknown"]), (&json!("committed"), &json!(true)));
    assert_eq!(db.psql("SELECT version FROM taskdeck.tasks"), "1");
    assert_eq!(db.psql("SELECT count(*) FROM taskdeck.events"), "1");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_outcome_that_cannot_be_established_is_exit_6() {
    let db = database().await;
    User::of(&db.url).text(0, &["submit", "--hold", "x"]);
    let (proxy, user) = behind_a_proxy(&db).await;
    proxy.cut(Cut::Last, "never answered");
    let run = user.run(&["--output", "json", "approve", "1@0", "--reason", "never answered"]);
    assert_eq!((run.code, proxy.cuts()), (6, 1), "{run:?}");
    let answer = run.json();
    assert_eq!((&answer["outcome"], &answer["error"]["kind"]), (&json!("unknown"), &json!("unknown")));
}
