//! An answer that is lost on the wire: the outcome is established and told, never guessed, never repeated.

use serde_json::json;

use crate::proxy::{Afterwards, cut_after};
use crate::runner::User;
use crate::support::{database, shared_server};

#[tokio::test]
async fn a_submit_whose_answer_was_lost_is_resolved_to_one_task() {
    let db = database().await;
    let server = shared_server().port();
    let port = cut_after(server, "the text that is cut off", Afterwards::Works);
    let user = User::of(&db.url.replace(&format!(":{server}/"), &format!(":{port}/")));
    let run = user.run(&["--output", "json", "submit", "the text that is cut off"]);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.err.contains("the answer was lost"), "{run:?}");
    let answer = run.json();
    assert_eq!((&answer["created"], &answer["resolved_from_unknown"]), (&json!(true), &json!(true)));
    assert_eq!(db.psql("SELECT count(*) FROM taskdeck.tasks"), "1");
}

#[tokio::test]
async fn a_decision_whose_answer_was_lost_is_resolved_to_one_change() {
    let db = database().await;
    User::of(&db.url).text(0, &["submit", "--hold", "x"]);
    let server = shared_server().port();
    let port = cut_after(server, "because it was cut off", Afterwards::Works);
    let user = User::of(&db.url.replace(&format!(":{server}/"), &format!(":{port}/")));
    let run = user.run(&["--output", "json", "approve", "1@0", "--reason", "because it was cut off"]);
    assert_eq!(run.code, 0, "{run:?}");
    let answer = run.json();
    assert_eq!((&answer["outcome"], &answer["resolved_from_unknown"]), (&json!("committed"), &json!(true)));
    assert_eq!(db.psql("SELECT version FROM taskdeck.tasks"), "1");
    assert_eq!(db.psql("SELECT count(*) FROM taskdeck.events"), "1");
}

#[tokio::test]
async fn an_outcome_that_cannot_be_established_is_exit_6() {
    let db = database().await;
    User::of(&db.url).text(0, &["submit", "--hold", "x"]);
    let server = shared_server().port();
    let port = cut_after(server, "never answered", Afterwards::Dead);
    let user = User::of(&db.url.replace(&format!(":{server}/"), &format!(":{port}/")));
    let run = user.run(&["--output", "json", "approve", "1@0", "--reason", "never answered"]);
    assert_eq!(run.code, 6, "{run:?}");
    let answer = run.json();
    assert_eq!((&answer["outcome"], &answer["error"]["kind"]), (&json!("unknown"), &json!("unknown")));
}
