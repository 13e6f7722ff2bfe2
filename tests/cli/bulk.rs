//! `cancel|approve|reject|requeue --all`: what matches is shown and asked about, and the sum says what the database holds.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use serde_json::{Value, json};

use crate::many::{events, many};
use crate::proxy::{Cut, Proxy};
use crate::runner::User;
use crate::support::{TestDb, database, shared_server, unique, until};

fn failed(db: &TestDb, count: i64, text: &str, error: &str) {
    many(db, count, text, &format!("'FAILED', now(), '{error}'"));
}

#[tokio::test]
async fn all_of_one_cause_are_requeued_and_the_sum_is_told() {
    let db = database().await;
    let user = User::of(&db.url);
    failed(&db, 600, "a letter", "connection refused");
    failed(&db, 7, "a letter", "bad address");
    let answer = user.json(0, &["requeue", "--all", "--search", "REFUSED", "--yes", "--reason", "mended"]);
    assert_eq!(
        answer,
        json!({
            "outcome": "committed", "matched": {"FAILED": 600}, "complete": true, "left_out": {}, "left_out_complete": true,
            "decided": 600, "asked_to_stop": 0, "conflicts": 0, "refused": 0, "not_found": 0, "chunks": 2, "stopped": false, "next_after": null,
            "examples": [], "resolved_from_unknown": false, "retries": 0, "message": "requeued 600 tasks in 2 chunks"
        })
    );
    assert_eq!(events(&db, "mended"), 600);
    assert_eq!(db.psql("SELECT count(*) FROM taskdeck.tasks WHERE status = 'FAILED'"), "7");
    let nothing = user.json(0, &["requeue", "--all", "--search", "refused", "--yes"]);
    assert_eq!((&nothing["outcome"], &nothing["decided"]), (&json!("committed"), &json!(0)));
    assert_eq!(nothing["message"], "nothing matches; nothing was changed");
    assert_eq!(user.text(0, &["requeue", "--all", "--yes"]), "requeued 7 tasks\n");
    assert_eq!(
        user.text(0, &["list", "--search", "REFUSED"]),
        "no tasks\n",
        "the cause is gone with the requeue"
    );
}

#[tokio::test]
async fn flags_narrow_it_and_a_dry_run_changes_nothing() {
    let db = database().await;
    let user = User::of(&db.url);
    for (tenant, queue) in [("acme", "mail"), ("acme", "bills"), ("globex", "mail")] {
        user.text(0, &["--tenant", tenant, "submit", "--hold", "--queue", queue, "x"]);
    }
    user.text(0, &["submit", "--queue", "mail", "y"]);
    db.psql("UPDATE taskdeck.tasks SET created_at = now() - interval '3 hours' WHERE id IN (1, 2)");
    let dry = user.json(0, &["cancel", "--all", "--queue", "mail", "--dry-run"]);
    assert_eq!((&dry["matched"], &dry["complete"]), (&json!({"SUBMITTED": 2, "QUEUED": 1}), &json!(true)));
    assert_eq!((&dry["up_to"], dry.get("outcome")), (&json!(4), None), "nothing was decided");
    let text = user.text(0, &["--read-only", "approve", "--all", "--dry-run"]);
    assert_eq!(
        text,
        "3 tasks match: 3 SUBMITTED\nleft as they are: 1 QUEUED (only SUBMITTED can be approved)\n\
         Nothing was changed (--dry-run); approve --all without it asks first\n"
    );
    assert_eq!(db.psql("SELECT sum(version) FROM taskdeck.tasks"), "0");
    let old = user
        .json(0, &["--tenant", "acme", "approve", "--all", "--queue", "mail", "--older-than", "2h", "--yes"]);
    assert_eq!(old["decided"], 1);
    let old =
        user.json(0, &["cancel", "--all", "--status", "submitted,queued", "--older-than", "2h", "--yes"]);
    assert_eq!((&old["decided"], &old["matched"]), (&json!(2), &json!({"SUBMITTED": 1, "QUEUED": 1})));
    assert_eq!(
        db.psql("SELECT string_agg(status, ' ' ORDER BY id) FROM taskdeck.tasks"),
        "CANCELED CANCELED SUBMITTED QUEUED"
    );
}

#[tokio::test]
async fn without_anybody_to_ask_it_takes_a_yes() {
    let db = database().await;
    let user = User::of(&db.url);
    user.text(0, &["submit", "--hold", "x"]);
    for narrowed in [&["reject", "--all"][..], &["reject", "--all", "--search", "x"]] {
        let error = user.json(2, narrowed);
        assert_eq!(error["error"]["kind"], "usage");
        assert!(error["error"]["hint"].as_str().is_some_and(|hint| hint.contains("--yes")), "{error}");
        // What is typed ahead is no answer where there is no terminal.
        assert_eq!(user.run_with(narrowed, b"y\nreject\n").code, 2);
    }
    for wrong in [
        &["reject"][..],
        &["reject", "1", "--all"],
        &["reject", "1", "--yes"],
        &["reject", "1", "--search", "x"],
        &["reject", "--all", "--yes", "--dry-run"],
        &["reject", "--all", "--yes", "--status", "QUEUED,FAILED"],
        &["reject", "--all", "--yes", "--status", "nonsense"],
        &["reject", "--all", "--yes", "--older-than", "-1h"],
        &["reject", "--all", "--yes", "--queue", "No Queue"],
        &["reject", "--all", "--yes", "--search", ""],
    ] {
        assert_eq!(user.run(wrong).code, 2, "{wrong:?}");
    }
    assert_eq!(db.psql("SELECT sum(version) FROM taskdeck.tasks"), "0");
}

#[tokio::test]
async fn who_may_not_change_anything_is_refused() {
    let db = database().await;
    let owner = User::of(&db.url);
    owner.text(0, &["submit", "--hold", "x"]);
    let answer = owner.json(7, &["--read-only", "approve", "--all", "--yes"]);
    assert_eq!((&answer["outcome"], &answer["decided"]), (&json!("refused"), &json!(0)));
    let viewer = format!("viewer{}", unique());
    db.psql(&format!(
        "CREATE ROLE {viewer} LOGIN; GRANT USAGE ON SCHEMA taskdeck TO {viewer}; \
         GRANT SELECT ON ALL TABLES IN SCHEMA taskdeck TO {viewer}"
    ));
    let user = User::of(&db.url.replace("tester@", &format!("{viewer}@")));
    assert_eq!(user.json(0, &["approve", "--all", "--dry-run"])["matched"], json!({"SUBMITTED": 1}));
    let answer = user.json(7, &["approve", "--all", "--yes"]);
    assert_eq!((&answer["outcome"], &answer["decided"]), (&json!("refused"), &json!(0)));
    assert_eq!(answer["error"]["kind"], "refused");
    let message = answer["message"].as_str().expect("words");
    assert!(!message.contains("nothing matches"), "it was not looked in vain: {message}");
    assert_eq!(db.psql("SELECT sum(version) FROM taskdeck.tasks"), "0");
    let nobody = User::of("postgresql://nobody@127.0.0.1:1/none");
    let answer = nobody.json(5, &["approve", "--all", "--yes"]);
    assert_eq!((&answer["outcome"], &answer["decided"]), (&json!("unavailable"), &json!(0)));
}

#[tokio::test]
async fn four_eyes_leave_what_is_anothers_to_approve() {
    let db = database().await;
    let user = User::of(&db.url).with("TASKDECK_FOUR_EYES", "true");
    user.text(0, &["submit", "--hold", "mine"]);
    user.text(0, &["--operator", "bob", "submit", "--hold", "bob's"]);
    let answer = user.json(7, &["approve", "--all", "--yes"]);
    assert_eq!(
        (&answer["outcome"], &answer["decided"], &answer["refused"]),
        (&json!("refused"), &json!(1), &json!(1))
    );
    let example = &answer["examples"][0];
    assert_eq!(
        (&example["id"], &example["outcome"], &example["status"]),
        (&json!(1), &json!("refused"), &json!("SUBMITTED"))
    );
    assert!(example["message"].as_str().is_some_and(|text| text.contains("four eyes")), "{answer}");
    assert_eq!(answer["error"]["kind"], "refused");
    assert_eq!(user.json(0, &["--operator", "bob", "approve", "--all", "--yes"])["decided"], 1);
}

/// A transaction that holds a row until it is told to end.
struct Holder {
    client: tokio_postgres::Client,
}

impl Holder {
    async fn of(db: &TestDb, sql: &str) -> Self {
        let (client, connection) =
            tokio_postgres::connect(&db.url, tokio_postgres::NoTls).await.expect("connect");
        tokio::spawn(connection);
        client.batch_execute(&format!("BEGIN; {sql}")).await.expect("hold");
        Self { client }
    }

    async fn let_go(self) {
        self.client.batch_execute("COMMIT").await.expect("commit");
    }
}

/// What ran is not said to be canceled before it is.
#[tokio::test]
async fn what_was_only_asked_to_stop_is_told_apart() {
    let db = database().await;
    let user = User::of(&db.url);
    for text in ["a", "b", "c"] {
        user.text(0, &["submit", text]);
    }
    db.psql(
        "UPDATE taskdeck.tasks SET status = 'RUNNING', claim_no = 1, attempt = 1, version = 1, \
         claimed_by = gen_random_uuid() WHERE id > 1",
    );
    let text = user.text(0, &["cancel", "--all", "--yes"]);
    assert!(text.starts_with("canceled 1 task\nasked 2 tasks to stop: RUNNING until"), "{text}");
    db.psql(
        "UPDATE taskdeck.tasks SET cancel_requested = false, version = version + 1 WHERE status = 'RUNNING'",
    );
    let answer = user.json(0, &["cancel", "--all", "--yes"]);
    assert_eq!((&answer["decided"], &answer["asked_to_stop"]), (&json!(2), &json!(2)));
}

/// The chunk as a whole asks for too much; what the day has left goes to the first of its rows.
#[tokio::test]
async fn what_a_limit_has_left_is_used_and_the_rest_is_told() {
    let db = database().await;
    let user = User::of(&db.url);
    for text in ["a", "b", "c", "d", "e"] {
        user.text(0, &["submit", "--hold", text]);
    }
    user.text(0, &["limit", "default", "--max-approved-per-day", "3"]);
    let answer = user.json(7, &["approve", "--all", "--yes"]);
    assert_eq!(
        (&answer["outcome"], &answer["decided"], &answer["refused"]),
        (&json!("refused"), &json!(3), &json!(2))
    );
    let hint = answer["error"]["hint"].as_str().expect("what to do");
    assert!(hint.contains("taskdeck limit"), "{hint}");
    let states = "SELECT string_agg(status, ' ' ORDER BY id) FROM taskdeck.tasks";
    assert_eq!(db.psql(states), "QUEUED QUEUED QUEUED SUBMITTED SUBMITTED");
    assert_eq!(db.psql("SELECT approved FROM taskdeck.limits"), "3");
}

async fn until_it_waits(db: &TestDb) {
    until("a statement that waits for the row", || async {
        let sql = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' \
                   AND datname = current_database() AND starts_with(application_name, 'taskdeck ')";
        (db.psql(sql) == "1").then_some(())
    })
    .await;
}

/// Two of the rows are changed by somebody else between being read and being decided about.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_had_moved_on_is_left_and_told() {
    let db = database().await;
    many(&db, 9, "x", "'SUBMITTED', NULL, NULL");
    let holder =
        Holder::of(&db, "UPDATE taskdeck.tasks SET priority = 1, version = version + 1 WHERE id IN (3, 4)")
            .await;
    let user = User::of(&db.url);
    let running = tokio::task::spawn_blocking(move || {
        user.run(&[
            "--lock-timeout",
            "1m",
            "--statement-timeout",
            "1m",
            "--output",
            "json",
            "approve",
            "--all",
            "--yes",
        ])
    });
    until_it_waits(&db).await;
    holder.let_go().await;
    let run = running.await.expect("it runs");
    assert_eq!(run.code, 3, "{run:?}");
    let answer = run.json();
    assert_eq!(
        (&answer["outcome"], &answer["decided"], &answer["conflicts"]),
        (&json!("conflict"), &json!(7), &json!(2))
    );
    let ids: Vec<&Value> =
        answer["examples"].as_array().expect("examples").iter().map(|row| &row["id"]).collect();
    assert_eq!(ids, [&json!(3), &json!(4)]);
    assert!(
        answer["message"].as_str().is_some_and(|text| text.starts_with(
            "approved 7 tasks. 2 tasks had moved on after they were read and were left as they are. task 3: "
        )),
        "{answer}"
    );
    assert_eq!(
        db.psql("SELECT string_agg(id::text, ' ') FROM taskdeck.tasks WHERE status = 'SUBMITTED'"),
        "3 4"
    );
    assert_eq!(db.psql("SELECT count(*) FROM taskdeck.events"), "7");
}

/// A signal comes while the second of three chunks waits for a row.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_signal_stops_it_after_the_chunk_that_is_under_way() {
    for signal in ["-INT", "-TERM"] {
        let db = database().await;
        many(&db, 1_200, "x", "'SUBMITTED', NULL, NULL");
        let holder = Holder::of(&db, "SELECT FROM taskdeck.tasks WHERE id = 700 FOR UPDATE").await;
        let user = User::of(&db.url);
        let flags = ["--lock-timeout", "1m", "--statement-timeout", "1m", "--output", "json"];
        let mut command =
            user.command(&[&flags[..], &["reject", "--all", "--yes", "--reason", "stopped"]].concat());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("start");
        until_it_waits(&db).await;
        let killed = std::process::Command::new("kill").args([signal, &child.id().to_string()]).status();
        assert!(killed.expect("kill").success());
        let mut said = BufReader::new(child.stderr.take().expect("piped")).lines();
        let line = said.next().expect("a line").expect("UTF-8");
        assert!(line.contains("stopping after the chunk that is under way"), "{line}");
        holder.let_go().await;
        let output = child.wait_with_output().expect("it ends");
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        let answer: Value = serde_json::from_slice(&output.stdout).expect("a document");
        assert_eq!(
            (&answer["stopped"], &answer["decided"], &answer["chunks"], &answer["next_after"]),
            (&json!(true), &json!(1_000), &json!(2), &json!(1_000))
        );
        assert_eq!((&answer["outcome"], &answer["error"]["kind"]), (&json!("committed"), &json!("stopped")));
        assert_eq!(events(&db, "stopped"), 1_000);
        assert_eq!(db.psql("SELECT min(id) FROM taskdeck.tasks WHERE status = 'SUBMITTED'"), "1001");
        let rest = user.json(0, &["reject", "--all", "--yes"]);
        assert_eq!(
            (&rest["decided"], &rest["matched"]),
            (&json!(200), &json!({"SUBMITTED": 200})),
            "it goes on"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_that_is_lost_in_the_middle_is_resolved_and_one_that_stays_lost_ends_it() {
    let db = database().await;
    many(&db, 1_200, "x", "'SUBMITTED', NULL, NULL");
    let server = shared_server().port();
    let proxy = Proxy::start(server).await;
    let url = db.url.replace(&format!(":{server}/"), &format!(":{}/", proxy.port()));
    let user = User::of(&format!("{url}?sslmode=disable"));
    proxy.cut(Cut::After, "lost once");
    let run = user.run(&["--output", "json", "approve", "--all", "--yes", "--reason", "lost once"]);
    assert_eq!((run.code, proxy.cuts()), (0, 1), "{run:?}");
    assert!(run.err.contains("the answer was lost"), "{run:?}");
    let answer = run.json();
    assert_eq!((&answer["resolved_from_unknown"], &answer["decided"]), (&json!(true), &json!(1_200)));
    assert_eq!(events(&db, "lost once"), 1_200);

    // The second chunk waits for a row, and nobody is let in any more after its answer is cut off.
    let holder = Holder::of(&db, "SELECT FROM taskdeck.tasks WHERE id = 700 FOR UPDATE").await;
    let running = tokio::task::spawn_blocking(move || {
        let flags = ["--lock-timeout", "1m", "--statement-timeout", "1m", "--output", "json"];
        user.run(&[&flags[..], &["cancel", "--all", "--yes", "--reason", "never answered"]].concat())
    });
    until_it_waits(&db).await;
    proxy.shut();
    holder.let_go().await;
    let run = running.await.expect("it runs");
    assert_eq!(run.code, 6, "{run:?}");
    let answer = run.json();
    assert_eq!(
        (&answer["outcome"], &answer["decided"], &answer["chunks"]),
        (&json!("unknown"), &json!(500), &json!(1))
    );
    assert_eq!(answer["uncertain"], json!({"from": 501, "to": 1_000, "tasks": 500}));
    let message = answer["error"]["message"].as_str().expect("a message");
    assert!(message.contains("tasks 501 to 1000") && message.contains("may have been applied"), "{answer}");
    assert!(
        answer["error"]["hint"].as_str().is_some_and(|hint| hint.contains("taskdeck show 501")),
        "{answer}"
    );
    // Nothing after it was sent; it itself is all or none.
    let done = events(&db, "never answered");
    assert!(done == 500 || done == 1_000, "{done}");
    assert_eq!(db.psql("SELECT count(*) FROM taskdeck.tasks WHERE id > 1000 AND status = 'QUEUED'"), "200");
}
