//! `submit`: where the text comes from, what is refused, keys, lines.

use serde_json::json;
use taskdeck::domain::Name;
use taskdeck::domain::input::SubmissionKey;

use crate::runner::{User, numbered};
use crate::support::database;

#[tokio::test]
async fn a_text_is_submitted_and_answered_with_the_whole_task() {
    let db = database().await;
    let user = User::of(&db.url);
    let answer = user.json(0, &["submit", "hello", "wide", "world"]);
    assert_eq!(answer["created"], true);
    let task = &answer["task"];
    let names: Vec<&str> = task.as_object().expect("an object").keys().map(String::as_str).collect();
    let mut expected = vec![
        "id",
        "tenant",
        "queue",
        "status",
        "version",
        "attempt",
        "max_attempts",
        "claim_no",
        "claimed_by",
        "cancel_requested",
        "priority",
        "input",
        "words",
        "bytes",
        "runes",
        "output",
        "error",
        "created_at",
        "scheduled_at",
        "started_at",
        "finished_at",
        "submitted_by",
    ];
    expected.sort_unstable();
    assert_eq!(names, expected);
    assert_eq!(task["input"], "hello wide world");
    assert_eq!(
        (&task["status"], &task["tenant"], &task["queue"]),
        (&json!("QUEUED"), &json!("default"), &json!("default"))
    );
    assert!(task["created_at"].as_str().is_some_and(|at| at.ends_with('Z')), "{task}");
    assert_eq!(user.text(0, &["submit", "x"]), "task 2 is QUEUED\n");
}

#[tokio::test]
async fn every_flag_reaches_the_row() {
    let db = database().await;
    let user = User::of(&db.url);
    let answer = user.json(
        0,
        &[
            "--tenant",
            "acme",
            "submit",
            "--hold",
            "--queue",
            "mail",
            "--priority",
            "-7",
            "--max-attempts",
            "9",
            "--delay",
            "1h",
            "x",
        ],
    );
    let task = &answer["task"];
    assert_eq!(task["status"], "SUBMITTED");
    assert_eq!((&task["tenant"], &task["queue"]), (&json!("acme"), &json!("mail")));
    assert_eq!((&task["priority"], &task["max_attempts"]), (&json!(-7), &json!(9)));
    let later = "SELECT scheduled_at - created_at = interval '1 hour' FROM taskdeck.tasks";
    assert_eq!(db.psql(later), "t");
    assert!(user.text(0, &["submit", "--hold", "y"]).contains("waits for approval"));
}

#[tokio::test]
async fn a_text_comes_from_standard_input_or_a_file_unchanged() {
    let db = database().await;
    let user = User::of(&db.url);
    let text = "two\r\nlines, 语言\n";
    let run = user.run_with(&["--output", "json", "submit", "-"], text.as_bytes());
    assert_eq!(run.json()["task"]["input"], text);
    let file = user.file("a text", text);
    let answer = user.json(0, &["submit", "--file", file.to_str().expect("UTF-8")]);
    assert_eq!(answer["task"]["input"], text);
}

#[tokio::test]
async fn bad_input_is_refused_before_the_database_is_asked() {
    // Nobody listens there: exit 2 proves that the text was looked at first.
    let user = User::of("postgresql://nobody@127.0.0.1:1/none").with("TASKDECK_MAX_INPUT_BYTES", "10");
    let refused = |args: &[&str], input: &[u8], field: &str| {
        let args: Vec<&str> = ["--output", "json"].iter().chain(args).copied().collect();
        let run = user.run_with(&args, input);
        assert_eq!(run.code, 2, "{args:?} {run:?}");
        let message = run.json()["error"]["message"].as_str().expect("a message").to_owned();
        assert!(message.starts_with(field), "{args:?}: {message}");
        run.json()["error"]["kind"].as_str().expect("a kind").to_owned()
    };
    assert_eq!(refused(&["submit", "-"], b"a\0b", "text: has a NUL"), "input");
    assert_eq!(refused(&["submit", "-"], b"a\xff", "text: is not valid UTF-8 at byte 1"), "input");
    assert_eq!(refused(&["submit", "-"], b" \n", "text: is empty"), "input");
    assert_eq!(refused(&["submit", "-"], &[b'x'; 11], "text: has more bytes"), "input");
    assert_eq!(refused(&["submit", "12345678901"], b"", "text: has 11 bytes"), "input");
    assert_eq!(refused(&["submit", "--queue", "No Name", "x"], b"", "queue: "), "input");
    assert_eq!(refused(&["submit", "--key", "", "x"], b"", "key: "), "input");
    assert_eq!(refused(&["submit", "--file", "/nowhere", "x"], b"", "the argument"), "usage");
    assert_eq!(refused(&["submit", "--file", "/nowhere"], b"", "/nowhere cannot be read"), "input");
    assert_eq!(refused(&["submit"], b"", "submit: there is no text"), "usage");
    assert_eq!(refused(&["submit", "--max-attempts", "-1", "x"], b"", "--max-attempts: `-1`"), "usage");
    assert_eq!(refused(&["submit", "--delay", "-5s", "x"], b"", "--delay: `-5s` is negative"), "usage");
    assert_eq!(refused(&["submit", "--timeout", "5s", "x"], b"", "the following required"), "usage");
    assert_eq!(refused(&["--tenant", "A B", "submit", "x"], b"", "--tenant: `A B`"), "usage");
}

#[tokio::test]
async fn the_same_key_never_makes_a_second_task() {
    let db = database().await;
    let user = User::of(&db.url);
    let first = user.json(0, &["submit", "--key", "invoice-7", "x"]);
    let second = user.json(0, &["submit", "--key", "invoice-7", "x"]);
    assert_eq!((&first["created"], &second["created"]), (&json!(true), &json!(false)));
    assert_eq!(first["task"]["id"], second["task"]["id"]);
    let other = user.text(0, &["submit", "--key", "invoice-7", "y"]);
    assert!(other.contains("submitted before") && other.contains("with another text"), "{other}");
    assert_eq!(user.json(0, &["--tenant", "b", "submit", "--key", "invoice-7", "x"])["created"], true);
    assert_eq!(db.psql("SELECT count(*) FROM taskdeck.tasks"), "2");
}

#[tokio::test]
async fn a_file_makes_a_task_a_line_and_names_the_lines_it_refuses() {
    let db = database().await;
    let user = User::of(&db.url);
    let mut bytes = b"one\r\ntwo\n\nfour\nnul\0here\n\xff\xfe\n".to_vec();
    bytes.extend(numbered("line", 7..=1_300).into_bytes());
    let file = user.file("lines", &bytes);
    let path = file.to_str().expect("UTF-8");
    let answer = user.json(2, &["submit", "--queue", "bulk", "--lines", path]);
    assert_eq!(answer["submitted"], 1_297);
    assert_eq!((&answer["first_id"], &answer["last_id"]), (&json!(1), &json!(1_297)));
    let refused: Vec<(i64, &str)> = answer["refused"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|line| (line["line"].as_i64().expect("a number"), line["message"].as_str().expect("a text")))
        .collect();
    let lines: Vec<i64> = refused.iter().map(|(line, _)| *line).collect();
    assert_eq!(lines, [3, 5, 6]);
    assert!(refused[0].1.contains("empty") && refused[1].1.contains("NUL") && refused[2].1.contains("UTF-8"));
    assert_eq!(db.psql("SELECT input FROM taskdeck.task_inputs WHERE id IN (1, 3) ORDER BY id"), "one\nfour");
    assert_eq!(db.psql("SELECT count(*) FROM taskdeck.tasks WHERE queue = 'bulk'"), "1297");
    let run = user.run_with(&["submit", "--lines", "-"], b"a\n\nb");
    assert_eq!((run.code, run.out.as_str()), (2, "submitted 2 (tasks 1298 to 1299), refused 1\n"));
    assert_eq!(run.err, "line 2: text: is empty\n");
    let good = user.file("good", "a\nb\n");
    let good = user.text(0, &["submit", "--lines", good.to_str().expect("UTF-8")]);
    assert_eq!(good, "submitted 2 (tasks 1300 to 1301)\n");
}

#[tokio::test]
async fn a_file_that_the_database_stops_half_way_is_told_to_the_line() {
    let db = database().await;
    let user = User::of(&db.url);
    db.psql("ALTER TABLE taskdeck.task_inputs ADD CHECK (input <> 'line 700')");
    let file = user.file("lines", numbered("line", 1..=1_200));
    let path = file.to_str().expect("UTF-8");
    let answer = user.json(5, &["submit", "--lines", path]);
    assert_eq!((&answer["submitted"], &answer["last_id"]), (&json!(500), &json!(500)));
    let message = answer["error"]["message"].as_str().expect("a message");
    assert!(message.contains("stopped before line 501"), "{message}");
    assert_eq!(answer["stopped_at_line"], 501);
    let hint = answer["error"]["hint"].as_str().expect("a hint");
    assert!(hint.contains("tail -n +501 "), "{hint}");
    assert_eq!(db.psql("SELECT count(*) FROM taskdeck.tasks"), "500", "what is said is what is there");
    let run = user.run(&["submit", "--lines", path]);
    assert_eq!(run.code, 5);
    assert!(run.out.starts_with("submitted 500 ") && run.err.contains("stopped before line 501"), "{run:?}");
}

#[tokio::test]
async fn a_file_under_a_key_that_the_database_stopped_goes_on_and_tells_a_line_that_has_changed() {
    let db = database().await;
    let user = User::of(&db.url);
    db.psql("ALTER TABLE taskdeck.task_inputs ADD CONSTRAINT no_700 CHECK (input <> 'line 700')");
    user.file("lines", numbered("line", 1..=1_200));
    let command = ["submit", "--lines", "lines", "--key", "k"];
    let stopped = user.json(5, &command);
    assert_eq!((&stopped["submitted"], &stopped["stopped_at_line"]), (&json!(500), &json!(501)), "{stopped}");
    let hint = stopped["error"]["hint"].as_str().expect("a hint");
    assert!(hint.contains("run the same command again"), "{hint}");
    db.psql("ALTER TABLE taskdeck.task_inputs DROP CONSTRAINT no_700");
    // Beyond what a list shows of a text it is compared too.
    let long = "x".repeat(300);
    let changed = numbered("line", 1..=1_200).replace("line 3\n", &format!("{long}a\n"));
    user.file("lines", &changed);
    let second = user.json(2, &command);
    assert_eq!((&second["submitted"], &second["known"]), (&json!(700), &json!(499)), "{second}");
    let refused = &second["refused"];
    assert_eq!((refused.as_array().map(Vec::len), &refused[0]["line"]), (Some(1), &json!(3)), "{refused}");
    let message = refused[0]["message"].as_str().expect("a message");
    assert!(message.contains("task 3 ") && message.contains("another text"), "{message}");
    user.file("other", format!("{long}a\n"));
    user.json(0, &["submit", "--lines", "other", "--key", "long"]);
    user.file("other", format!("{long}b\n"));
    assert_eq!(user.json(2, &["submit", "--lines", "other", "--key", "long"])["refused"][0]["line"], 1);
    assert_eq!(db.psql("SELECT count(*) FROM taskdeck.tasks"), "1201");
    let long_key = "k".repeat(180);
    assert_eq!(user.json(2, &["submit", "--lines", "lines", "--key", &long_key])["error"]["kind"], "input");
}

/// A key whose submission id another tenant's task has: nothing of that task is shown, and nothing is said to be done.
#[tokio::test]
async fn a_key_that_another_tenants_task_has_taken_is_a_conflict_that_tells_nothing() {
    let db = database().await;
    let user = User::of(&db.url);
    let taken = |key: &str| {
        let ours = Name::new("tenant", "ours").expect("a name");
        let id = SubmissionKey::given(&ours, key).expect("a key").id;
        db.psql(&format!(
            "WITH x AS (INSERT INTO taskdeck.task_inputs (tenant, submission, input) \
               VALUES ('theirs', '{id}', 'their secret') RETURNING id) \
             INSERT INTO taskdeck.tasks (id, tenant, queue, status, priority, max_attempts, created_at, scheduled_at) \
             SELECT id, 'theirs', 'default', 'QUEUED', 0, 1, now(), now() FROM x"
        ));
    };
    taken("invoice-7");
    let run = user.run(&["--output", "json", "--tenant", "ours", "submit", "--key", "invoice-7", "x"]);
    assert_eq!((run.code, run.json()["error"]["kind"].as_str()), (3, Some("conflict")), "{run:?}");
    assert!(!run.out.contains("secret") && !run.out.contains("theirs"), "{run:?}");
    // Of a file only that line is refused.
    taken("file:2");
    user.file("lines", "one\ntwo\nthree\n");
    let run =
        user.run(&["--output", "json", "--tenant", "ours", "submit", "--lines", "lines", "--key", "file"]);
    let answer = run.json();
    assert_eq!(
        (run.code, &answer["submitted"], &answer["refused"][0]["line"]),
        (2, &json!(2), &json!(2)),
        "{run:?}"
    );
    assert!(!run.out.contains("secret") && !run.out.contains("theirs"), "{run:?}");
    assert_eq!(db.psql("SELECT count(*) FROM taskdeck.tasks WHERE tenant = 'ours'"), "2");
}
