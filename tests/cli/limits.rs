//! `taskdeck limits` and `limit`, and what they do to workers and operators.

use std::path::Path;

use serde_json::json;

use crate::runner::{User, eventually};
use crate::support::database;
use crate::workers::Worker;

#[tokio::test]
async fn a_limit_is_set_told_and_taken_away() {
    let db = database().await;
    let user = User::of(&db.url);
    assert_eq!(user.json(0, &["limits"]), json!({ "limits": [] }));
    assert_eq!(user.text(0, &["limits"]), "no tenant has a limit\n");
    let set = user.json(0, &["limit", "billing", "--max-running", "2", "--reason", "small contract"]);
    assert_eq!(set["outcome"], "committed");
    let limit = &set["limit"];
    assert_eq!(
        (&limit["tenant"], &limit["max_running"], &limit["max_approved_per_day"], &limit["version"]),
        (&json!("billing"), &json!(2), &json!(null), &json!(1))
    );
    // What is not named stays.
    let text = user.text(0, &["limit", "billing@1", "--max-approved-per-day", "5"]);
    assert_eq!(text, "tenant billing: at most 2 running and 5 approvals a day (v2)\n");
    let listed = &user.json(0, &["limits"])["limits"][0];
    assert_eq!(
        (&listed["max_running"], &listed["running"], &listed["approved_today"], &listed["changed"]["by"]),
        (&json!(2), &json!(0), &json!(0), &json!("tester"))
    );
    let table = user.text(0, &["limits"]);
    assert!(table.contains("billing") && table.contains("tester at "), "{table}");

    let again = user.json(3, &["limit", "billing@1", "--max-running", "3"]);
    let message = again["message"].as_str().expect("a message");
    assert!(
        message.contains("at most 2 running and 5 approvals a day (v2) by tester at ")
            && message.ends_with("Nothing was changed."),
        "{message}"
    );
    assert_eq!(user.json(3, &["limit", "billing", "--max-running", "2"])["outcome"], "conflict", "as it is");
    let none = user.text(0, &["limit", "billing", "--max-running", "none", "--max-approved-per-day", "none"]);
    assert_eq!(none, "tenant billing: no limit (v3)\n");
    let event = user.json(0, &["events", "--limit", "1"])["events"][0].clone();
    assert_eq!(
        (&event["tenant"], &event["task"], &event["move"], &event["from"], &event["to"]),
        (&json!("billing"), &json!(null), &json!("limit"), &json!("running 2, 5 a day"), &json!("none"))
    );
    assert!(user.text(0, &["events"]).contains("tenant billing"));
}

#[tokio::test]
async fn who_has_no_approvals_left_is_told_so_and_how_to_go_on() {
    let db = database().await;
    let user = User::of(&db.url);
    for _ in 0..4 {
        user.text(0, &["submit", "--hold", "--tenant", "billing", "x"]);
    }
    user.text(0, &["submit", "--hold", "--tenant", "legal", "x"]);
    user.text(0, &["limit", "billing", "--max-approved-per-day", "2"]);
    user.text(0, &["approve", "1"]);
    let several = user.json(7, &["approve", "2", "3", "5"]);
    let outcomes: Vec<_> =
        several["tasks"].as_array().expect("rows").iter().map(|row| &row["outcome"]).collect();
    assert_eq!(outcomes, [&json!("refused"), &json!("refused"), &json!("not_applied")]);
    let words = "tenant billing has 1 of 2 approvals today, and 2 were asked for";
    assert_eq!(several["error"]["message"], words);
    assert_eq!(user.json(0, &["limits"])["limits"][0]["approved_today"], 1);
    user.text(0, &["approve", "2"]);
    let refused = user.json(7, &["approve", "3"]);
    assert_eq!((&refused["outcome"], &refused["task"]["status"]), (&json!("refused"), &json!("SUBMITTED")));
    let message = refused["message"].as_str().expect("a message");
    assert_eq!(
        message,
        "task 3: left SUBMITTED: tenant billing has 2 of 2 approvals today. Nothing was changed."
    );
    let hint = refused["error"]["hint"].as_str().expect("a hint");
    assert!(hint.contains("taskdeck limits") && hint.contains("taskdeck limit billing"), "{hint}");
    assert_eq!(user.json(0, &["show", "3"])["events"], json!([]));
    user.text(0, &["limit", "billing", "--max-approved-per-day", "3"]);
    user.text(0, &["approve", "3"]);
}

#[tokio::test]
async fn a_limit_that_cannot_be_is_refused_before_the_database_is_asked() {
    let user = User::of("postgresql://nobody@127.0.0.1:1/none");
    for bad in [
        &["limit", "Billing", "--max-running", "1"][..],
        &["limit", "billing@", "--max-running", "1"],
        &["limit", "billing@-1", "--max-running", "1"],
        &["limit", "billing", "--max-running", "-1"],
        &["limit", "billing", "--max-running", "some"],
        &["limit", "billing", "--max-approved-per-day", "1.5"],
        &["limit", "billing"],
        &["limit", "--max-running", "1"],
        &["--tenant", "acme", "limit", "billing", "--max-running", "1"],
    ] {
        assert_eq!(user.run(bad).code, 2, "{bad:?}");
    }
    let one = ["limit", "billing", "--max-running", "1"];
    assert_eq!(user.json(7, &[&["--read-only"][..], &one].concat())["outcome"], "refused");
    assert_eq!(user.json(5, &one)["outcome"], "unavailable");
    // Its own limit may be named under --tenant: what it asks for is not another's.
    assert_eq!(user.json(5, &[&["--tenant", "billing"][..], &one].concat())["outcome"], "unavailable");
}

/// A command that tells how many of its kind ran beside it, in a folder of its own.
fn counting(user: &User) -> String {
    let script = "here=$(dirname \"$0\"); mkdir \"$here/runs/$TASKDECK_TASK_ID\"; \
                  ls \"$here/runs\" | wc -l >>\"$here/seen\"; sleep 0.1; rmdir \"$here/runs/$TASKDECK_TASK_ID\"\n";
    let path = user.file("counting", script);
    std::fs::create_dir(user.home().join("runs")).expect("make the folder");
    format!("sh {}", path.display())
}

fn seen(home: &Path) -> Vec<u32> {
    let seen = std::fs::read_to_string(home.join("seen")).unwrap_or_default();
    seen.lines().map(|line| line.trim().parse().expect("a number")).collect()
}

/// Two processes with four slots each never run more than two of a tenant that may have two, and go on by themselves when
/// one has ended: neither would look again by itself for an hour.
#[tokio::test]
async fn processes_together_run_no_more_than_a_tenant_may_and_do_not_wait_to_look_again() {
    let db = database().await;
    let user = User::of(&db.url);
    let exec = counting(&user);
    user.text(0, &["limit", "billing", "--max-running", "2"]);
    let args = ["--workers", "4", "--poll", "1h", "--analyser", "command", "--exec", &exec];
    let workers = [Worker::start_as(&user, &args), Worker::start_as(&user, &args)];
    eventually("both work", || user.json(0, &["status"])["instances"]["alive"] == 2);
    let lines: String = (0..20).map(|_| "x\n").collect();
    let file = user.file("lines", lines);
    user.text(0, &["submit", "--tenant", "billing", "--lines", &file.display().to_string()]);
    eventually("all are done", || user.json(0, &["status"])["counts"]["SUCCEEDED"]["count"] == 20);
    let seen = seen(user.home());
    assert_eq!(seen.len(), 20);
    assert_eq!(seen.iter().max(), Some(&2), "never more, and two at times: {seen:?}");
    assert_eq!(user.json(0, &["limits"])["limits"][0]["running"], 0);
    drop(workers);
}
