//! `status`, `instances`, `migrate`.

use serde_json::{Value, json};

use crate::runner::User;
use crate::support::{database, empty_database};

#[tokio::test]
async fn status_tells_all_in_one_look() {
    let db = database().await;
    let user = User::of(&db.url);
    user.text(0, &["submit", "x"]);
    user.text(0, &["submit", "--hold", "y"]);
    user.text(0, &["--tenant", "acme", "submit", "z"]);
    let answer = user.json(0, &["status"]);
    assert_eq!(answer["counts"]["QUEUED"], json!({"count": 2, "estimated": false}));
    assert_eq!(answer["counts"]["SUBMITTED"]["count"], 1);
    assert_eq!(answer["counts"].as_object().expect("an object").len(), 7);
    assert_eq!(answer["oldest_due"]["id"], 1);
    assert_eq!(answer["oldest_due"]["why"], "no live worker takes queue default");
    assert_eq!(answer["instances"], json!({"alive": 0, "lost": 0}));
    assert!(answer["done_per_s"].is_number() && answer["failed_per_min"].is_number());
    assert_eq!(answer["database"]["role"], "tester");
    assert!(answer["database"]["max_connections"].as_i64().is_some_and(|most| most > 0));
    assert_eq!(user.json(0, &["--tenant", "acme", "status"])["counts"]["QUEUED"]["count"], 1);
    let text = user.text(0, &["status"]);
    for part in
        ["QUEUED     2", "waiting    task 1 for ", "no live worker takes queue default", "instances  0 alive"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[tokio::test]
async fn instances_are_listed_also_when_there_are_none() {
    let db = database().await;
    let user = User::of(&db.url);
    assert_eq!(user.json(0, &["instances"]), json!({"instances": []}));
    assert!(user.text(0, &["instances"]).starts_with("no instance runs"));
}

#[tokio::test]
async fn migrating_makes_the_schema_once_and_a_start_does_too_unless_told_not_to() {
    let url = empty_database();
    let user = User::of(&url);
    let missing = user.json(2, &["--no-migrate", "list"]);
    assert_eq!(missing["error"]["kind"], "schema");
    assert!(missing["error"]["hint"].as_str().is_some_and(|hint| hint.contains("taskdeck migrate")));
    assert_eq!(user.json(2, &["--read-only", "list"])["error"]["kind"], "schema");
    let made = user.json(0, &["--no-migrate", "migrate"]);
    assert_eq!((&made["schema"], &made["from"]), (&json!("taskdeck"), &json!(0)));
    assert_eq!(user.json(0, &["migrate"])["from"], made["to"]);
    assert!(user.text(0, &["migrate"]).contains("nothing to do"));
    user.json(0, &["--no-migrate", "list"]);
    let run = user.run(&["--schema", "jobs_2", "list"]);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.err.contains("made the schema `jobs_2`"), "{run:?}");
    crate::support::psql(&url, "INSERT INTO taskdeck.migrations (version) VALUES (99)").expect("psql");
    let newer: Value = user.json(2, &["list"]);
    assert!(newer["error"]["message"].as_str().is_some_and(|text| text.contains("newer")), "{newer}");
}
