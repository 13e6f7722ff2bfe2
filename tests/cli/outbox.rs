//! `submit --notify`, `taskdeck outbox`, and `--hook`.

use serde_json::json;

use crate::runner::{User, eventually};
use crate::support::database;
use crate::workers::Worker;

#[tokio::test]
async fn what_waits_is_listed_and_stands_in_the_status_only_while_it_waits() {
    let db = database().await;
    let user = User::of(&db.url);
    assert_eq!(user.json(0, &["outbox"]), json!({ "notifications": [], "next_after": null }));
    assert_eq!(user.text(0, &["outbox"]), "nothing waits to be delivered\n");
    assert_eq!(user.json(0, &["status"]).get("outbox"), None);
    for _ in 0..2 {
        let id = user.json(0, &["submit", "--hold", "--notify", "x"])["task"]["id"].to_string();
        user.json(0, &["reject", "--reason", "wrong file", &id]);
    }
    user.json(0, &["cancel", &user.json(0, &["submit", "y"])["task"]["id"].to_string()]);
    let page = user.json(0, &["outbox", "--limit", "1"]);
    let first = &page["notifications"][0];
    assert_eq!(first["reason"], "wrong file");
    for (name, value) in [
        ("id", json!(1)),
        ("task_id", json!(1)),
        ("version", json!(1)),
        ("move", json!("reject")),
        ("from", json!("SUBMITTED")),
        ("to", json!("REJECTED")),
        ("actor", json!("tester")),
        ("tenant", json!("default")),
        ("queue", json!("default")),
        ("deliveries", json!(0)),
        ("error", json!(null)),
        ("claimed_by", json!(null)),
        ("owner", json!(null)),
        ("delivered_at", json!(null)),
    ] {
        assert_eq!(first[name], value, "{name}: {first}");
    }
    let after = page["next_after"].to_string();
    let rest = user.json(0, &["outbox", "--after", &after]);
    assert_eq!((&rest["notifications"][0]["task_id"], &rest["next_after"]), (&json!(2), &json!(null)));
    let status = user.json(0, &["status"]);
    assert_eq!(
        (&status["outbox"]["waiting"], &status["outbox"]["failing"], &status["outbox"]["error"]),
        (&json!(2), &json!(0), &json!(null))
    );
    assert!(user.text(0, &["status"]).contains("outbox     2 wait, oldest "));

    let failing = Worker::start(&user, &["--hook", "sh -c 'echo no such host >&2; exit 1'"]);
    eventually("both have failed", || user.text(0, &["status"]).contains("2 failing: exit 1: no such host"));
    let text = user.text(0, &["outbox"]);
    assert!(text.contains("exit 1: no such host"), "{text}");
    drop(failing);
    db.psql("UPDATE taskdeck.outbox SET due_at = now(), claimed_by = NULL");
    let _worker = Worker::start(&user, &["--hook", "true"]);
    eventually("all is delivered", || user.json(0, &["status"]).get("outbox").is_none());
    let of_one = user.json(0, &["outbox", "--task", "1"]);
    assert!(of_one["notifications"][0]["delivered_at"].is_string(), "{of_one}");
    let text = user.text(0, &["outbox", "--task", "1"]);
    assert!(text.contains("delivered ") && text.contains(" by "), "{text}");
    assert!(user.text(0, &["outbox", "--task", "9"]).contains("nothing was to be told of task 9"));
}

/// Every submit of a program that is set up so asks for it.
#[tokio::test]
async fn a_setting_asks_for_every_submit() {
    let db = database().await;
    let told = User::of(&db.url).with("TASKDECK_NOTIFY", "true");
    told.json(0, &["submit", "x"]);
    told.run_with(&["submit", "--lines", "-"], b"a\nb\n");
    let quiet = User::of(&db.url);
    quiet.json(0, &["submit", "x"]);
    quiet.json(0, &["submit", "--notify", "x"]);
    let notify = "SELECT string_agg(notify::text, ' ' ORDER BY id) FROM taskdeck.tasks";
    assert_eq!(db.psql(notify), "true true true false true");
}

#[test]
fn a_hook_is_for_a_process_without_a_terminal() {
    let user = User::of("postgresql://nobody@127.0.0.1:1/none");
    let error = user.json(2, &["--hook", "true"]);
    assert_eq!(error["error"]["kind"], "usage");
    let hint = error["error"]["hint"].as_str().expect("a hint");
    assert!(hint.contains("--no-ui --workers 0 --hook"), "{hint}");
    assert_eq!(user.json(2, &["--hook", "true", "status"])["error"]["kind"], "usage");
    for bad in ["", "sh -c 'open"] {
        let error = user.json(2, &["--no-ui", "--hook", bad]);
        assert!(error["error"]["message"].as_str().is_some_and(|text| text.contains("--hook")), "{error}");
    }
    assert_eq!(user.run(&["--no-ui", "--hook", "true", "--hook-timeout", "0s"]).code, 2);
    for bad in [&["outbox", "--task", "x"][..], &["outbox", "--limit", "0"], &["outbox", "--after", "-1"]] {
        assert_eq!(user.run(bad).code, 2, "{bad:?}");
    }
}
