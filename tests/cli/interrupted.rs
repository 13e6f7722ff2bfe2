//! Commands that a signal ends say what they have done, and what goes on without them.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, channel};

use serde_json::{Value, json};

use crate::runner::{User, eventually, numbered, wait};
use crate::stop::held;
use crate::support::{PATIENCE, TestDb, database};

/// A command that runs, and what it says meanwhile.
struct Going {
    child: Child,
    says: Receiver<String>,
}

impl Going {
    fn start(user: &User, args: &[&str]) -> Self {
        let mut command = user.command(args);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("start");
        let err = BufReader::new(child.stderr.take().expect("piped"));
        let (tell, says) = channel();
        std::thread::spawn(move || {
            for line in err.lines().map_while(Result::ok) {
                // Nobody need be listening any more.
                let _ = tell.send(line);
            }
        });
        Self { child, says }
    }

    /// Waits until it says something with `text` on standard error.
    fn says(&self, text: &str) {
        while !self
            .says
            .recv_timeout(PATIENCE)
            .unwrap_or_else(|_| panic!("it never says: {text}"))
            .contains(text)
        {}
    }

    fn signal(&self, signal: &str) {
        let pid = self.child.id().to_string();
        assert!(std::process::Command::new("kill").args([signal, &pid]).status().expect("kill").success());
    }

    /// Waits for its end: its exit code and its document.
    fn ended(mut self) -> (i32, Value) {
        let out = self.child.stdout.take().expect("piped");
        let code = wait(&mut self.child, &["a command"]);
        let answer = std::io::read_to_string(out).expect("UTF-8");
        (code, serde_json::from_str(&answer).unwrap_or_else(|error| panic!("{error}: {answer}")))
    }
}

/// Somebody who keeps every submit waiting for as long as this lives.
struct Holder {
    psql: Child,
    sql: Option<ChildStdin>,
}

impl Holder {
    fn of(db: &TestDb) -> Self {
        let mut psql = std::process::Command::new("psql")
            .args(["-X", "-q", "-d", &db.url])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .expect("psql starts");
        let mut sql = psql.stdin.take().expect("piped");
        writeln!(sql, "BEGIN; LOCK TABLE taskdeck.task_inputs IN EXCLUSIVE MODE;").expect("psql reads");
        let locks = "SELECT count(*) FROM pg_locks WHERE relation = 'taskdeck.task_inputs'::regclass AND mode = \
                     'ExclusiveLock' AND granted";
        eventually("the table is locked", || db.psql(locks) == "1");
        Self { psql, sql: Some(sql) }
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        drop(self.sql.take());
        let _ = self.psql.wait();
    }
}

/// `submit --lines` of 1,200 lines whose first lines wait.
fn waiting(db: &TestDb, user: &User, args: &[&str]) -> (Holder, Going) {
    user.file("lines", numbered("line", 1..=1_200));
    let holder = Holder::of(db);
    let all = [&["--statement-timeout", "1h", "--lock-timeout", "1h", "--output", "json"], args].concat();
    let going = Going::start(user, &all);
    let waits =
        "SELECT count(*) FROM pg_locks WHERE relation = 'taskdeck.task_inputs'::regclass AND NOT granted";
    eventually("lines are under way", || db.psql(waits) == "1");
    (holder, going)
}

#[tokio::test]
async fn lines_that_are_under_way_are_waited_for_and_told() {
    let db = database().await;
    let user = User::of(&db.url);
    let tasks = || db.psql("SELECT count(*) FROM taskdeck.tasks");
    let (holder, going) = waiting(&db, &user, &["submit", "--lines", "lines"]);
    going.signal("-TERM");
    going.says("SIGTERM: what is under way is waited for");
    drop(holder);
    let (code, answer) = going.ended();
    assert_eq!((code, answer["error"]["kind"].as_str()), (1, Some("interrupted")), "{answer}");
    assert_eq!((&answer["submitted"], &answer["stopped_at_line"]), (&json!(500), &json!(501)), "{answer}");
    assert_eq!((&answer["first_id"], &answer["last_id"]), (&json!(1), &json!(500)));
    let hint = answer["error"]["hint"].as_str().expect("a hint");
    assert!(hint.contains("tail -n +501 lines | taskdeck submit --lines -"), "{hint}");
    assert_eq!(tasks(), "500", "what is said is what is there");
    assert!(answer.get("known").is_none(), "without a key nothing is known");
    // As the hint says.
    let rest = user.run_with(&["submit", "--lines", "-"], numbered("line", 501..=1_200).as_bytes());
    assert_eq!((rest.code, rest.out.as_str()), (0, "submitted 700 (tasks 501 to 1200)\n"), "{rest:?}");
    assert_eq!(db.psql("SELECT count(DISTINCT input) FROM taskdeck.task_inputs"), "1200");
}

#[tokio::test]
async fn the_same_run_under_a_key_goes_on_and_makes_no_line_twice() {
    let db = database().await;
    let user = User::of(&db.url);
    let command = ["submit", "--lines", "lines", "--key", "import"];
    let (holder, going) = waiting(&db, &user, &command);
    going.signal("-INT");
    going.says("SIGINT: what is under way is waited for");
    drop(holder);
    let (code, answer) = going.ended();
    assert_eq!((code, &answer["submitted"], &answer["known"]), (1, &json!(500), &json!(0)), "{answer}");
    assert!(answer["error"]["hint"].as_str().is_some_and(|hint| hint.contains("same command")), "{answer}");
    let second = user.json(0, &command);
    assert_eq!((&second["submitted"], &second["known"]), (&json!(700), &json!(500)), "{second}");
    // Numbers are spent on lines that were there, too.
    let new = db.psql("SELECT min(id), max(id) FROM taskdeck.tasks WHERE id > 500");
    assert_eq!(format!("{}|{}", second["first_id"], second["last_id"]), new);
    assert!(second.get("stopped_at_line").is_none() && second.get("error").is_none(), "{second}");
    let third = user.json(0, &command);
    assert_eq!((&third["submitted"], &third["known"]), (&json!(0), &json!(1_200)), "{third}");
    assert_eq!((&third["first_id"], &third["last_id"]), (&json!(null), &json!(null)));
    assert_eq!(user.text(0, &command), "submitted 0; 1,200 were there before\n");
    assert_eq!(db.psql("SELECT count(*), count(DISTINCT input) FROM taskdeck.task_inputs"), "1200|1200");
    // A line has the key that one submit may have too.
    let line = user.json(0, &["submit", "--key", "import:7", "line 7"]);
    assert_eq!((&line["created"], &line["task"]["id"]), (&json!(false), &json!(7)));
    // Another tenant's lines are others.
    let other = user.json(0, &[&["--tenant", "other"], &command[..]].concat());
    assert_eq!(other["submitted"], 1_200);
}

#[tokio::test]
async fn a_second_signal_leaves_at_once_and_says_what_it_does_not_know() {
    let db = database().await;
    let user = User::of(&db.url);
    let (holder, going) = waiting(&db, &user, &["submit", "--lines", "lines"]);
    going.signal("-TERM");
    going.says("SIGTERM: what is under way is waited for");
    going.signal("-TERM");
    let (code, answer) = going.ended();
    assert_eq!((code, answer["error"]["kind"].as_str()), (6, Some("unknown")), "{answer}");
    assert_eq!((&answer["submitted"], &answer["stopped_at_line"]), (&json!(0), &json!(1)), "{answer}");
    let message = answer["error"]["message"].as_str().expect("a message");
    assert!(message.contains("what begins with line 1") && message.contains("may have been"), "{message}");
    drop(holder);
}

#[tokio::test]
async fn a_wait_for_a_task_that_is_ended_says_that_the_task_goes_on() {
    let db = database().await;
    let user = User::of(&db.url);
    let going = Going::start(&user, &["--output", "json", "submit", "--wait", "--timeout", "1h", "x"]);
    going.says("waiting for its end");
    going.signal("-TERM");
    let (code, answer) = going.ended();
    assert_eq!((code, &answer["created"], &answer["task"]["id"]), (1, &json!(true), &json!(1)), "{answer}");
    let error = &answer["error"];
    assert_eq!(
        (&error["kind"], &error["message"]),
        (&json!("interrupted"), &json!("ended by SIGTERM: task 1 is QUEUED"))
    );
    let hint = error["hint"].as_str().expect("a hint");
    assert!(hint.contains("goes on without being watched") && hint.contains("taskdeck show 1"), "{hint}");
}

#[tokio::test]
async fn a_wait_for_workers_that_is_ended_says_whom_it_asked_and_that_they_go_on() {
    let db = database().await;
    let user = User::of(&db.url);
    let busy = held(&user, "end");
    let all = ["--output", "json", "stop", "--all", "--wait", "--timeout", "1h", "--reason", "new release"];
    let going = Going::start(&user, &all);
    eventually("it was asked", || {
        db.psql("SELECT count(*) FROM taskdeck.events WHERE move = 'ask-drain'") == "1"
    });
    going.signal("-TERM");
    let (code, answer) = going.ended();
    assert_eq!((code, &answer["outcome"]), (1, &json!("committed")), "{answer}");
    assert_eq!(answer["instances"][0]["outcome"], "committed");
    let error = &answer["error"];
    assert_eq!(error["kind"], "interrupted", "{error}");
    assert!(error["message"].as_str().is_some_and(|text| text.contains("still at work: ")), "{error}");
    assert!(error["hint"].as_str().is_some_and(|hint| hint.contains("without being watched")), "{error}");
    user.file("end", "");
    assert_eq!(busy.ended(), 0, "it goes on ending");
}
