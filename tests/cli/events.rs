//! `taskdeck events`: the audit trail for people and scripts, and as it happens.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, Stdio};

use serde_json::{Value, json};

use crate::runner::{User, eventually, wait};
use crate::support::{TestDb, database};

fn told(document: &Value) -> Vec<(String, String)> {
    let events = document["events"].as_array().expect("a list");
    let word = |event: &Value, name: &str| event[name].as_str().unwrap_or_default().to_owned();
    events.iter().map(|event| (word(event, "actor"), word(event, "move"))).collect()
}

#[tokio::test]
async fn the_trail_is_read_by_task_by_operator_and_by_time() {
    let db = database().await;
    let user = User::of(&db.url);
    assert_eq!(user.json(0, &["events"]), json!({ "events": [], "next_before": null }));
    assert_eq!(user.text(0, &["events"]), "no such event\n");
    user.text(0, &["submit", "--hold", "one"]);
    user.text(0, &["submit", "--tenant", "acme", "two"]);
    user.text(0, &["--operator", "alice", "approve", "1"]);
    user.text(0, &["--operator", "bob", "cancel", "2", "--reason", "wrong file"]);
    user.text(0, &["--operator", "bob", "pause", "default"]);
    user.text(0, &["--operator", "alice", "requeue", "2"]);
    let pair = |actor: &str, movement: &str| (actor.to_owned(), movement.to_owned());
    let (approve, cancel) = (pair("alice", "approve"), pair("bob", "cancel"));
    let (pause, requeue) = (pair("bob", "pause"), pair("alice", "requeue"));

    let all = user.json(0, &["events"]);
    assert_eq!(told(&all), [approve.clone(), cancel.clone(), pause.clone(), requeue.clone()]);
    let one = &all["events"][1];
    assert_eq!(
        (&one["task"], &one["queue"], &one["from"], &one["to"]),
        (&json!(2), &Value::Null, &json!("QUEUED"), &json!("CANCELED"))
    );
    assert_eq!(
        (&one["version_before"], &one["version_after"], &one["reason"], &one["role"]),
        (&json!(0), &json!(1), &json!("wrong file"), &json!("tester"))
    );
    assert_eq!((&all["events"][2]["task"], &all["events"][2]["queue"]), (&Value::Null, &json!("default")));
    assert_eq!(told(&user.json(0, &["events", "--task", "2"])), [cancel.clone(), requeue.clone()]);
    assert_eq!(told(&user.json(0, &["events", "--operator", "bob"])), [cancel.clone(), pause.clone()]);
    assert_eq!(told(&user.json(0, &["--tenant", "acme", "events"])), [cancel.clone(), requeue.clone()]);
    let second = all["events"][2]["at"].as_str().expect("a time");
    assert_eq!(told(&user.json(0, &["events", "--since", second])), [pause.clone(), requeue.clone()]);
    assert_eq!(told(&user.json(0, &["events", "--since", "1h"])).len(), 4);
    db.psql("UPDATE taskdeck.events SET at = at - interval '2 hours' WHERE actor = 'bob'");
    assert_eq!(told(&user.json(0, &["events", "--since", "1h"])), [approve.clone(), requeue.clone()]);

    let page = user.json(0, &["events", "--limit", "3"]);
    assert_eq!(told(&page), [cancel, pause, requeue], "the newest, the oldest of them first");
    let before = page["next_before"].to_string();
    assert_eq!(told(&user.json(0, &["events", "--limit", "3", "--before", &before])), [approve]);
    let text = user.text(0, &["events", "--task", "2"]);
    assert!(text.contains("wrong file") && text.contains("task 2") && text.contains("0 → 1"), "{text}");
    for bad in [["--task", "x"], ["--since", "yesterday"], ["--limit", "0"], ["--before", "-1"]] {
        assert_eq!(user.run(&["events", bad[0], bad[1]]).code, 2, "{bad:?}");
    }
}

#[tokio::test]
async fn what_happens_is_told_as_it_happens_each_once_and_in_spite_of_an_outage() {
    let db = database().await;
    let user = User::of(&db.url);
    user.text(0, &["submit", "--hold", "one"]);
    user.text(0, &["approve", "1"]);
    let mut command = user.command(&["--output", "json", "events", "--follow"]);
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("start");
    let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
    let mut next = || -> Value {
        serde_json::from_str(&lines.next().expect("a line").expect("UTF-8")).expect("a document a line")
    };
    assert_eq!(next()["move"], "approve", "what there was");
    user.text(0, &["cancel", "1"]);
    assert_eq!(next()["move"], "cancel");
    // One that was written before the others and is seen after them: its transaction took longer.
    db.psql(
        "INSERT INTO taskdeck.events (task_id, at, actor, move, status_before, status_after, version_before, version_after, \
         operation_id) VALUES (1, now() - interval '20 seconds', 'slow', 'cancel', 'QUEUED', 'CANCELED', 7, 8, gen_random_uuid())",
    );
    assert_eq!(next()["actor"], "slow");
    db.psql(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
         WHERE application_name LIKE 'taskdeck events%' AND datname = current_database()",
    );
    user.text(0, &["requeue", "1"]);
    let last = next();
    assert_eq!((&last["move"], &last["version_after"]), (&json!("requeue"), &json!(3)), "nothing twice");
    let pid = child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-TERM", &pid]).status().expect("kill").success());
    assert_eq!(wait(&mut child, &["events"]), 0);
}

/// So many events, each a second after the other, the last of them `ago` seconds old.
fn fill(db: &TestDb, count: u32, ago: u32, task: &str, actor: &str) {
    db.psql(&format!(
        "INSERT INTO taskdeck.events (task_id, queue, at, actor, move, status_before, status_after, version_before, \
         version_after, operation_id) \
         SELECT {task}, 'q', now() - ({ago} + {count} - n) * interval '1 second', '{actor} ' || n, 'pause', 'open', 'paused', n, \
         n + 1, gen_random_uuid() FROM generate_series(1, {count}) AS n ORDER BY n"
    ));
}

/// A run of `events --follow`, and what it prints.
fn following(user: &User, args: &[&str]) -> (Child, impl FnMut() -> Value + use<>) {
    let all = [&["--output", "json", "events", "--follow"], args].concat();
    let mut command = user.command(&all);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().expect("start");
    let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
    let next = move || {
        serde_json::from_str(&lines.next().expect("a line").expect("UTF-8")).expect("a document a line")
    };
    (child, next)
}

fn end(mut child: Child) {
    let pid = child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-TERM", &pid]).status().expect("kill").success());
    assert_eq!(wait(&mut child, &["events"]), 0);
}

#[tokio::test]
async fn what_was_there_before_is_no_news() {
    let db = database().await;
    let user = User::of(&db.url);
    fill(&db, 40, 5, "NULL", "before");
    let (child, mut next) = following(&user, &["--limit", "2", "--statement-timeout", "10m"]);
    assert_eq!((&next()["actor"], &next()["actor"]), (&json!("before 39"), &json!("before 40")));
    // Once it has looked again, older ones would have been printed.
    user.text(0, &["pause", "default"]);
    assert_eq!(next()["actor"], "tester", "nothing old, nothing out of order");
    // One whose statement took as long as a statement may take here.
    fill(&db, 1, 500, "NULL", "slow");
    assert_eq!(next()["actor"], "slow 1");
    end(child);
}

#[tokio::test]
async fn following_ends_when_nobody_reads_it() {
    let db = database().await;
    let user = User::of(&db.url);
    fill(&db, 1, 0, "NULL", "one");
    let (mut child, mut next) = following(&user, &[]);
    assert_eq!(next()["actor"], "one 1");
    drop(next);
    // Nothing more happens, so nothing more is written.
    assert_eq!(wait(&mut child, &["events"]), 0);
}

#[tokio::test]
async fn a_signal_ends_it_while_a_read_is_under_way() {
    let db = database().await;
    let user = User::of(&db.url);
    fill(&db, 1, 0, "NULL", "one");
    let (child, mut next) = following(&user, &["--statement-timeout", "1h", "--lock-timeout", "1h"]);
    assert_eq!(next()["actor"], "one 1");
    let mut holder = std::process::Command::new("psql")
        .args(["-X", "-q", "-d", &db.url])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .expect("psql starts");
    let mut sql = holder.stdin.take().expect("piped");
    writeln!(sql, "BEGIN; LOCK TABLE taskdeck.events IN ACCESS EXCLUSIVE MODE;").expect("psql reads");
    eventually("a read waits", || {
        db.psql("SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'taskdeck.events'::regclass")
            == "1"
    });
    end(child);
    drop(sql);
    assert!(holder.wait().expect("wait").success());
}

/// However few match, one call reads a bounded number of events and says where to go on.
#[tokio::test]
async fn a_call_that_finds_little_says_where_to_go_on() {
    let db = database().await;
    let user = User::of(&db.url);
    user.text(0, &["submit", "--tenant", "acme", "x"]);
    user.text(0, &["submit", "y"]);
    user.text(0, &["cancel", "1"]);
    fill(&db, 50_000, 0, "2", "busy");
    let first = user.json(0, &["--tenant", "acme", "events"]);
    assert_eq!(first["events"], json!([]));
    let before = first["next_before"].as_i64().expect("where to go on").to_string();
    let second = user.json(0, &["--tenant", "acme", "events", "--before", &before]);
    assert_eq!(told(&second), [("tester".to_owned(), "cancel".to_owned())]);
    assert_eq!(second["next_before"], Value::Null);
    let run = user.run(&["--tenant", "acme", "events"]);
    assert!(run.out.contains("no such event") && run.err.contains(&format!("--before {before}")), "{run:?}");
    // What is named by its task is found at once.
    assert_eq!(told(&user.json(0, &["--tenant", "acme", "events", "--task", "1"])).len(), 1);
    // What is older than was asked for is not gone on with.
    let recent = user.json(0, &["events", "--since", "1s"]);
    assert_eq!(recent["next_before"], Value::Null, "{recent}");
}
