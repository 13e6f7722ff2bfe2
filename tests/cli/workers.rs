//! `--no-ui`, and what it takes a running worker to see: `--wait`, `instances`.

use std::process::{Child, Stdio};

use serde_json::json;

use crate::runner::{User, eventually, wait};
use crate::support::database;

/// A worker that ends with the test.
pub(crate) struct Worker(Child);

impl Worker {
    pub(crate) fn start(user: &User, args: &[&str]) -> Self {
        Self::start_as(user, &[&["--workers", "2", "--poll", "100ms"][..], args].concat())
    }

    /// One with nothing but these arguments.
    pub(crate) fn start_as(user: &User, args: &[&str]) -> Self {
        let mut command = user.command(&[&["--no-ui"][..], args].concat());
        Self(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("start"))
    }

    /// Asks it to drain; returns its exit code.
    fn stop(self) -> i32 {
        let pid = self.0.id().to_string();
        let killed = std::process::Command::new("kill").args(["-TERM", &pid]).status().expect("kill");
        assert!(killed.success());
        self.ended()
    }

    /// Waits for its end; returns its exit code.
    pub(crate) fn ended(mut self) -> i32 {
        wait(&mut self.0, &["--no-ui"])
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test]
async fn waiting_ends_with_the_task() {
    let db = database().await;
    let user = User::of(&db.url);
    let worker = Worker::start(&user, &[]);
    let answer = user.json(0, &["submit", "--wait", "hello world"]);
    assert_eq!(answer["task"]["status"], "SUCCEEDED");
    assert_eq!((&answer["task"]["words"], &answer["task"]["bytes"]), (&json!(2), &json!(11)));
    assert_eq!(user.text(0, &["submit", "--wait", "a b c"]), "task 2 SUCCEEDED: 3 words, 5 bytes, 5 runes\n");
    let instances = user.json(0, &["instances"]);
    let instance = &instances["instances"][0];
    assert_eq!((&instance["kind"], &instance["slots"]), (&json!("headless"), &json!(2)));
    assert!(user.text(0, &["instances"]).contains("working"));
    let text = user.text(0, &["status"]);
    assert!(text.contains("SUCCEEDED  2") && text.contains("instances  1 alive"), "{text}");
    assert_eq!(worker.stop(), 0, "a clean drain");
    eventually("the instance is stopped", || user.text(0, &["instances"]).contains("stopped"));
}

#[tokio::test]
async fn waiting_for_a_task_that_fails_is_exit_1_with_the_task() {
    let db = database().await;
    let user = User::of(&db.url);
    let _worker = Worker::start(&user, &["--exec", "sh -c 'echo broken pipe wrench >&2; exit 3'"]);
    let answer = user.json(1, &["submit", "--max-attempts", "1", "--wait", "x"]);
    assert_eq!(answer["task"]["status"], "FAILED");
    assert!(answer.get("error").is_none(), "the task is the answer: {answer}");
    let text = user.text(1, &["submit", "--max-attempts", "1", "--wait", "x"]);
    assert!(
        text.starts_with("task 2 FAILED after 1 of 1 attempts: ") && text.contains("broken pipe wrench"),
        "{text}"
    );
}

#[tokio::test]
async fn a_wait_whose_time_passes_is_exit_1_and_the_task_goes_on() {
    let db = database().await;
    let user = User::of(&db.url);
    let answer = user.json(1, &["submit", "--wait", "--timeout", "300ms", "x"]);
    assert_eq!((&answer["error"]["kind"], &answer["task"]["status"]), (&json!("timeout"), &json!("QUEUED")));
    let run = user.run(&["submit", "--wait", "--timeout", "300ms", "x"]);
    assert_eq!(run.code, 1);
    assert!(
        run.err.contains("task 2 is still QUEUED after 300ms") && run.err.contains("taskdeck show 2"),
        "{run:?}"
    );
    assert_eq!(db.psql("SELECT count(*) FROM taskdeck.tasks WHERE status = 'QUEUED'"), "2");
}

#[tokio::test]
async fn a_running_task_is_asked_to_stop_and_is_told_to_be_running_until_it_has() {
    let db = database().await;
    let user = User::of(&db.url);
    // Its analyser heeds no SIGTERM and ends when a file is there, and nobody kills it before.
    let home = user.home().to_str().expect("UTF-8");
    let deaf =
        format!("sh -c 'trap \"\" TERM; while [ -d {home} ] && [ ! -e {home}/end ]; do sleep 0.05; done'");
    let _worker = Worker::start(&user, &["--grace", "10m", "--exec", &deaf]);
    user.text(0, &["submit", "slow"]);
    let running = || user.json(0, &["show", "1"])["task"]["status"] == "RUNNING";
    eventually("it runs", running);
    let text = user.text(0, &["cancel", "1"]);
    assert!(text.contains("asked to stop") && text.contains("RUNNING until it has"), "{text}");
    assert!(user.text(0, &["list"]).contains("RUNNING, to stop"));
    let again = user.json(3, &["cancel", "1"]);
    assert!(again["message"].as_str().is_some_and(|text| text.contains("asked to stop already")), "{again}");
    assert!(running(), "asked is not ended");
    user.file("end", "");
    eventually("it has ended", || !running());
    let ended = user.json(0, &["show", "1"]);
    let [status, words, bytes, runes] =
        ["status", "words", "bytes", "runes"].map(|name| &ended["task"][name]);
    assert_eq!(
        (status, words, bytes, runes),
        (&json!("CANCELED"), &json!(0), &json!(0), &json!(0)),
        "{ended}"
    );
}

#[tokio::test]
async fn log_lines_go_to_the_file_that_is_named_and_as_json_when_asked() {
    let db = database().await;
    let user = User::of(&db.url);
    let log = user.home().join("worker.log");
    let path = log.to_str().expect("UTF-8");
    let worker = Worker::start(&user, &["--log-file", path, "--log-format", "json"]);
    eventually("it registers", || user.text(0, &["instances"]).contains("working"));
    assert_eq!(worker.stop(), 0);
    let text = std::fs::read_to_string(&log).expect("the log");
    let lines: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).expect("each line is JSON")).collect();
    assert!(lines.iter().any(|line| line["message"] == "registered" && line["level"] == "INFO"), "{text}");
}
