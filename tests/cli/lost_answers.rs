//! An answer that is lost on the wire: the outcome is established and told, never guessed, never repeated.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use serde_json::json;

use crate::proxy::{Cut, Proxy};
use crate::runner::{User, eventually};
use crate::support::{PATIENCE, TestDb, database, shared_server};
use crate::workers::Worker;

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

/// Each command whose answer is lost for good: what it is given, what is said of it, and how to find out.
const LOST: &[(&[&str], &str, &str)] = &[
    (
        &["approve", "1@0", "--reason", "never answered"],
        "the approve may have been applied",
        "`taskdeck show 1`",
    ),
    (
        &["cancel", "1@0", "2@0", "--reason", "never answered"],
        "the cancel may have",
        "either all were changed",
    ),
    (&["submit", "never answered"], "the submit may have been applied", "taskdeck list"),
    (&["submit", "--key", "k7", "never answered"], "the submit may have", "send it again with --key k7"),
    (&["submit", "--lines", "lines"], "what begins with line 1", "taskdeck list"),
    (
        &["stop", "--all", "--reason", "never answered"],
        "the stop may have been applied",
        "`taskdeck instances`",
    ),
    (&["pause", "bills", "--reason", "never answered"], "the pause of queue bills may", "`taskdeck queues`"),
    (
        &["cancel", "--all", "--yes", "--reason", "never answered"],
        "the cancel of tasks 1 to 2 (the 2 of them that match",
        "`taskdeck show 1` tells which",
    ),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_outcome_that_cannot_be_established_is_exit_6_and_says_how_to_find_out() {
    let mut runs = Vec::new();
    for (args, said, hint) in LOST {
        let db = database().await;
        let direct = User::of(&db.url);
        direct.text(0, &["submit", "--hold", "x"]);
        direct.text(0, &["submit", "--hold", "x"]);
        let (proxy, user) = behind_a_proxy(&db).await;
        user.file("lines", "never answered\n");
        runs.push(async move {
            let worker = (args[0] == "stop").then(|| Worker::start(&direct, &[]));
            eventually("somebody is there to be asked", || {
                worker.is_none() || direct.text(0, &["instances"]).contains("working")
            });
            proxy.cut(Cut::Last, "never answered");
            let format = if args[0] == "approve" { "text" } else { "json" };
            let all = [&["--output", format], *args].concat();
            // It pursues the answer for half a minute: all of them at the same time.
            let run = tokio::task::spawn_blocking(move || user.run(&all)).await.expect("it runs");
            assert_eq!((run.code, proxy.cuts()), (6, 1), "{run:?}");
            if format == "text" {
                assert!(run.err.contains(&format!("error: {said}")) && run.err.contains(hint), "{run:?}");
                return;
            }
            let answer = run.json();
            assert_eq!(answer["error"]["kind"], "unknown", "{answer}");
            assert!(answer["error"]["message"].as_str().is_some_and(|text| text.contains(said)), "{answer}");
            assert!(answer["error"]["hint"].as_str().is_some_and(|text| text.contains(hint)), "{answer}");
            if args[0] != "submit" {
                assert_eq!(answer["outcome"], "unknown", "{answer}");
            }
        });
    }
    let running: Vec<_> = runs.into_iter().map(tokio::spawn).collect();
    for run in running {
        run.await.expect("as it should be");
    }
}

/// What was committed is told at once; only then the program waits until the wake-up is sent.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_is_printed_before_the_wake_up_is_sent() {
    let commands: [&[&str]; 3] = [&["stop", "--all"], &["approve", "1"], &["pause", "bills"]];
    for args in commands {
        let db = database().await;
        let direct = User::of(&db.url);
        direct.text(0, &["submit", "--hold", "x"]);
        let _worker = Worker::start(&direct, &["--queue", "other"]);
        eventually("it works", || direct.text(0, &["instances"]).contains("working"));
        let (proxy, user) = behind_a_proxy(&db).await;
        proxy.cut(Cut::Stall, "pg_notify");
        let all = [&["--statement-timeout", "1h", "--output", "json"], args].concat();
        let mut command = user.command(&all);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("start");
        let out = child.stdout.take().expect("piped");
        let (told, said) = std::sync::mpsc::channel();
        std::thread::spawn(move || told.send(BufReader::new(out).lines().next()));
        let line = said.recv_timeout(PATIENCE);
        eventually("the wake-up is about to be sent", || proxy.cuts() == 1);
        child.kill().expect("kill");
        child.wait().expect("wait");
        let line = line.expect("it is told").expect("a line").expect("UTF-8");
        let answer: serde_json::Value = serde_json::from_str(&line).expect("a document");
        assert_eq!(answer["outcome"], "committed", "{args:?}");
    }
}

/// What is in the table is not told to be "certainly not applied" because it cannot be looked at later.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wait_that_loses_the_database_is_a_wait_in_vain_and_no_failed_submit() {
    let db = database().await;
    let (proxy, user) = behind_a_proxy(&db).await;
    let mut command = user.command(&["--output", "json", "submit", "--wait", "--timeout", "2s", "x"]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("start");
    let mut lines = BufReader::new(child.stderr.take().expect("piped")).lines();
    let waits = lines.next().expect("a line").expect("UTF-8");
    assert!(waits.contains("waiting for its end"), "{waits}");
    proxy.shut();
    let output = child.wait_with_output().expect("it ends");
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).expect("a document");
    assert_eq!((output.status.code(), &answer["error"]["kind"]), (Some(1), &json!("timeout")), "{answer}");
    assert_eq!((&answer["created"], &answer["task"]["id"]), (&json!(true), &json!(1)));
    assert!(
        answer["error"]["message"].as_str().is_some_and(|text| text.contains("cannot be looked at")),
        "{answer}"
    );
}
