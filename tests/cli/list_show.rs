//! `list` and `show`.

use serde_json::{Value, json};

use crate::runner::{User, numbered};
use crate::support::database;

fn ids(answer: &Value) -> Vec<i64> {
    answer["tasks"].as_array().expect("a list").iter().map(|task| task["id"].as_i64().expect("id")).collect()
}

#[tokio::test]
async fn pages_filters_and_searches() {
    let db = database().await;
    let user = User::of(&db.url);
    let file = user.file("lines", numbered("text", 1..=5));
    user.text(0, &["submit", "--lines", file.to_str().expect("UTF-8")]);
    user.text(0, &["--tenant", "acme", "submit", "--hold", "--queue", "mail", "Needle in TENANT acme"]);
    let first = user.json(0, &["list", "--limit", "2"]);
    assert_eq!((ids(&first), &first["next_before"]), (vec![6, 5], &json!(5)));
    let last = user.json(0, &["list", "--before", "3"]);
    assert_eq!((ids(&last), &last["next_before"]), (vec![2, 1], &Value::Null));
    assert_eq!(ids(&user.json(0, &["list", "--status", "submitted,failed"])), [6]);
    assert_eq!(ids(&user.json(0, &["list", "--queue", "mail"])), [6]);
    assert_eq!(ids(&user.json(0, &["list", "--search", "needle"])), [6]);
    assert_eq!(ids(&user.json(0, &["--tenant", "acme", "list"])), [6]);
    assert_eq!(ids(&user.json(0, &["--tenant", "nobody", "list"])), [0_i64; 0]);
    let text = user.text(0, &["list", "--limit", "2"]);
    let lines: Vec<&str> = text.lines().collect();
    assert!(
        lines[0].starts_with("ID  STATE") && lines[1].contains("SUBMITTED") && lines[1].ends_with("acme"),
        "{text}"
    );
    assert_eq!(lines.last(), Some(&"more: --before 5"));
    assert_eq!(user.text(0, &["list", "--queue", "nothing"]), "no tasks\n");
}

#[tokio::test]
async fn json_holds_the_whole_text_however_long() {
    let db = database().await;
    let user = User::of(&db.url);
    let long = "word ".repeat(2_000);
    assert_eq!(user.run_with(&["submit", "-"], long.as_bytes()).code, 0);
    assert_eq!(user.json(0, &["list"])["tasks"][0]["input"], long);
    let text = user.text(0, &["list"]);
    assert!(text.len() < 1_000 && text.trim_end().ends_with('…'), "a cut is marked: {text}");
}

#[tokio::test]
async fn a_row_that_cannot_be_read_is_told_and_the_others_are_printed() {
    let db = database().await;
    let user = User::of(&db.url);
    user.text(0, &["submit", "good"]);
    user.text(0, &["submit", "bad"]);
    db.psql("ALTER TABLE taskdeck.tasks ALTER priority DROP NOT NULL; UPDATE taskdeck.tasks SET priority = NULL WHERE id = 2");
    let answer = user.json(1, &["list"]);
    assert_eq!(ids(&answer), [1]);
    assert_eq!(answer["unreadable"][0]["id"], 2);
    assert!(answer["unreadable"][0]["problem"].as_str().is_some_and(|text| text.contains("priority")));
    let run = user.run(&["list"]);
    assert_eq!(run.code, 1);
    assert!(run.out.contains("(cannot be read)") && run.err.contains("task 2 cannot be read"), "{run:?}");
    let error = user.json(1, &["show", "2"]);
    assert_eq!(error["error"]["kind"], "bad_row", "not `not_found`: {error}");
}

#[tokio::test]
async fn show_tells_the_row_its_history_and_its_text() {
    let db = database().await;
    let user = User::of(&db.url);
    user.text(0, &["submit", "--hold", "first line\nsecond line"]);
    user.text(0, &["--operator", "alice", "reject", "1", "--reason", "too long"]);
    user.text(0, &["--operator", "bob", "requeue", "1@1"]);
    let answer = user.json(0, &["show", "1"]);
    assert_eq!((&answer["task"]["status"], &answer["task"]["version"]), (&json!("QUEUED"), &json!(2)));
    let event = &answer["events"][0];
    let mut names: Vec<&str> = event.as_object().expect("an object").keys().map(String::as_str).collect();
    names.sort_unstable();
    let expected = [
        "actor",
        "at",
        "from",
        "move",
        "operation_id",
        "process",
        "reason",
        "to",
        "version_after",
        "version_before",
    ];
    assert_eq!(names, expected);
    assert_eq!(
        (&event["actor"], &event["move"], &event["reason"]),
        (&json!("alice"), &json!("reject"), &json!("too long"))
    );
    assert_eq!((&event["from"], &event["to"]), (&json!("SUBMITTED"), &json!("REJECTED")));
    assert_eq!(answer["events"][1]["move"], "requeue");
    let text = user.text(0, &["show", "1"]);
    for part in ["state     QUEUED", "alice", "too long", "0 → 1", "  first line\n  second line\n"] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[tokio::test]
async fn what_is_not_there_is_not_found_and_another_tenants_neither() {
    let db = database().await;
    let user = User::of(&db.url);
    user.text(0, &["--tenant", "acme", "submit", "x"]);
    assert_eq!(user.json(4, &["show", "99"])["error"]["kind"], "not_found");
    let other = user.json(4, &["--tenant", "globex", "show", "1"]);
    assert_eq!(other["error"]["message"], "there is no task 1 of tenant globex");
    user.json(0, &["--tenant", "acme", "show", "1"]);
    for bad in ["-1", "x", "99999999999999999999"] {
        assert!(
            user.json(2, &["show", bad])["error"]["message"].as_str().is_some_and(|m| m.starts_with("id: ")),
            "{bad}"
        );
    }
    for (flag, value) in
        [("--limit", "0"), ("--limit", "-1"), ("--before", "-1"), ("--status", "DONE"), ("--search", "")]
    {
        let error = user.json(2, &["list", flag, value]);
        assert!(error["error"]["message"].as_str().is_some_and(|text| text.starts_with(flag)), "{error}");
    }
}
