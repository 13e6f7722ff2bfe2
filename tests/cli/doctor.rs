//! `doctor` on servers that are well, ill and away.

use serde_json::{Value, json};

use crate::runner::User;
use crate::support::{database, empty_database, free_port};

fn level<'a>(answer: &'a Value, name: &str) -> Option<&'a str> {
    answer["checks"].as_array()?.iter().find(|check| check["name"] == name)?["level"].as_str()
}

#[tokio::test]
async fn a_good_database_is_told_to_be_good() {
    let db = database().await;
    let user = User::of(&db.url);
    let answer = user.json(0, &["doctor"]);
    for name in [
        "connect",
        "server version",
        "encoding",
        "schema",
        "privileges",
        "isolation",
        "writable",
        "connections",
        "oldest transaction",
        "dead rows",
        "locks",
        "clock",
        "notifications",
    ] {
        assert!(level(&answer, name).is_some_and(|level| level != "fail"), "{name}: {answer}");
    }
    for name in ["connect", "encoding", "schema", "privileges", "writable", "notifications"] {
        assert_eq!(level(&answer, name), Some("ok"), "{name}: {answer}");
    }
    let keys: Vec<&String> = answer["checks"][0].as_object().expect("an object").keys().collect();
    assert_eq!(keys, ["hint", "level", "message", "name"]);
    let text = user.text(0, &["doctor"]);
    assert!(text.contains("ok    connect") && text.contains("from TASKDECK_DATABASE_URL"), "{text}");
}

#[tokio::test]
async fn a_missing_schema_fails_with_what_to_do() {
    let user = User::of(&empty_database());
    let answer = user.json(1, &["doctor"]);
    assert_eq!(level(&answer, "schema"), Some("fail"));
    let run = user.run(&["doctor"]);
    assert_eq!(run.code, 1);
    assert!(run.out.contains("fail  schema") && run.out.contains("taskdeck migrate"), "{run:?}");
    assert_eq!(user.json(2, &["--no-migrate", "list"])["error"]["kind"], "schema", "the doctor made nothing");
}

#[tokio::test]
async fn what_is_ill_is_a_warning_with_a_cure() {
    let db = database().await;
    let user = User::of(&db.url);
    user.text(0, &["submit", "x"]);
    let answer = user.json(0, &["--read-only", "doctor"]);
    assert_eq!(level(&answer, "writable"), Some("ok"), "it was asked for");
    db.psql("DO $$BEGIN EXECUTE format('ALTER DATABASE %I SET default_transaction_read_only = on', current_database()); END$$");
    let answer = user.json(0, &["doctor"]);
    assert_eq!(level(&answer, "writable"), Some("warn"), "{answer}");
}

#[tokio::test]
async fn a_server_that_is_away_is_exit_5_with_a_check_and_an_error() {
    let user = User::of(&format!("postgresql://nobody@127.0.0.1:{}/none", free_port()));
    let answer = user.json(5, &["doctor"]);
    assert_eq!((level(&answer, "connect"), &answer["error"]["kind"]), (Some("fail"), &json!("unavailable")));
    let text = user.text(5, &["doctor"]);
    assert!(text.starts_with("fail  connect"), "{text}");
}
