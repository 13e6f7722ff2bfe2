//! `taskdeck queues`, `pause` and `resume`.

use serde_json::json;

use crate::runner::{User, eventually};
use crate::support::database;
use crate::workers::Worker;

#[tokio::test]
async fn a_paused_queue_is_told_with_who_and_why_and_its_tasks_wait() {
    let db = database().await;
    let user = User::of(&db.url);
    assert_eq!(user.json(0, &["queues"]), json!({ "queues": [] }));
    let paused = user.json(0, &["pause", "bills", "--reason", "bad import"]);
    assert_eq!(
        (&paused["outcome"], &paused["queue"]["paused"], &paused["queue"]["version"]),
        (&json!("committed"), &json!(true), &json!(1))
    );
    let _worker = Worker::start(&user, &["--queue", "bills,default"]);
    let waits = user.json(0, &["submit", "--queue", "bills", "waits"])["task"]["id"].to_string();
    user.json(0, &["submit", "--wait", "goes"]);
    assert_eq!(user.json(0, &["show", &waits])["task"]["status"], "QUEUED");
    let bills = &user.json(0, &["queues"])["queues"][0];
    assert_eq!(
        (&bills["name"], &bills["waiting"], &bills["takers"]),
        (&json!("bills"), &json!(1), &json!(1))
    );
    assert_eq!(
        (&bills["changed"]["by"], &bills["changed"]["reason"]),
        (&json!("tester"), &json!("bad import"))
    );
    let text = user.text(0, &["queues"]);
    assert!(
        text.contains("paused") && text.contains("tester at ") && text.contains(": bad import"),
        "{text}"
    );
    let status = user.text(0, &["status"]);
    assert!(status.contains("queue bills is paused by tester"), "{status}");

    let again = user.json(3, &["pause", "bills"]);
    assert_eq!(again["outcome"], "conflict");
    assert!(again["message"].as_str().is_some_and(|text| text.contains("paused (v1) by tester")), "{again}");
    assert_eq!(user.json(3, &["resume", "bills@0"])["outcome"], "conflict", "an old version");
    let resumed = user.text(0, &["resume", "bills@1"]);
    assert_eq!(resumed, "queue bills: resumed (v2)\n");
    eventually("it runs", || user.json(0, &["show", &waits])["task"]["status"] == "SUCCEEDED");
}

#[tokio::test]
async fn a_queue_that_cannot_be_is_refused_before_the_database_is_asked() {
    let user = User::of("postgresql://nobody@127.0.0.1:1/none");
    for bad in ["", "Bills", "a b", "bills@", "bills@-1", "bills@1@2"] {
        assert_eq!(user.run(&["pause", bad]).code, 2, "{bad}");
    }
    assert_eq!(user.json(7, &["--read-only", "resume", "bills"])["outcome"], "refused");
    assert_eq!(user.json(5, &["pause", "bills"])["outcome"], "unavailable");
}

/// A queue is nobody's: who may see one tenant's tasks alone does not pause everybody's.
#[test]
fn a_tenant_pauses_nothing() {
    let user = User::of("postgresql://nobody@127.0.0.1:1/none");
    for command in ["pause", "resume"] {
        let error = user.json(2, &["--tenant", "acme", command, "bills"]);
        assert_eq!(error["error"]["kind"], "usage");
        let message = error["error"]["message"].as_str().expect("a message");
        assert!(message.contains("queues are no tenant's"), "{message}");
    }
}

/// How often the server had rolled it back is told, whether it was given up or not.
#[tokio::test]
async fn a_decision_that_was_tried_again_says_so() {
    let db = database().await;
    let user = User::of(&db.url);
    db.psql(
        "CREATE SEQUENCE tries; \
         CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
           IF nextval('tries') < 7 THEN RAISE EXCEPTION 'as told' USING ERRCODE = '40001'; END IF; \
           RETURN NEW; END $$; \
         CREATE TRIGGER refuse BEFORE INSERT OR UPDATE ON taskdeck.queues FOR EACH ROW EXECUTE FUNCTION refuse()",
    );
    let given_up = user.json(5, &["pause", "bills"]);
    assert_eq!((&given_up["outcome"], &given_up["retries"]), (&json!("unavailable"), &json!(3)));
    let text = user.text(0, &["pause", "bills"]);
    assert!(text.ends_with("It was decided again 2 times, as the server had rolled it back.\n"), "{text}");
}
