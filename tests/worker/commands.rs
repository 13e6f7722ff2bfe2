//! Programs as analysers.

use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use taskdeck::domain::{NewTask, Status, Task, TextCounts};
use taskdeck::worker::{AnalyserKind, Config};

use crate::rig::{Running, cancel, config, reaches, submit_as};
use crate::support::{TestDb, database, until};

fn exec(line: &str) -> Config {
    Config {
        analyser: AnalyserKind::Command { line: line.to_owned() },
        grace: Duration::from_millis(300),
        ..config()
    }
}

/// Runs `text` once under `config` to its end.
async fn run(test: &TestDb, config: Config, input: &str) -> Task {
    let analyser = config.analyser().expect("a good command");
    let worker = Running::start(&test.db, config, analyser);
    let id = submit_as(&test.db, input, NewTask { max_attempts: 1, ..NewTask::default() }).await;
    let ended = until("it ends", || async {
        Some(crate::rig::task(&test.db, id).await).filter(|task| task.status.is_final())
    })
    .await;
    assert_eq!(worker.drain().await, []);
    ended
}

async fn error_of(test: &TestDb, config: Config, input: &str) -> String {
    let failed = run(test, config, input).await;
    assert_eq!((failed.status, failed.counts, failed.output), (Status::Failed, TextCounts::default(), None));
    failed.error.unwrap_or_default()
}

#[tokio::test]
async fn the_text_is_on_stdin_and_the_claim_in_the_environment() {
    let test = database().await;
    let line = r#"sh -c 'cat; echo; echo "$TASKDECK_TASK_ID $TASKDECK_CLAIM_NO $TASKDECK_TENANT"'"#;
    let done = run(&test, exec(line), "Go 语言").await;
    assert_eq!((done.status, done.counts), (Status::Succeeded, TextCounts::of("Go 语言")));
    assert_eq!(done.output, Some(format!("Go 语言\n{} 1 default\n", done.id)));
}

#[tokio::test]
async fn a_program_that_does_not_read_is_no_failure() {
    let test = database().await;
    let done = run(&test, exec("true"), &"long ".repeat(100_000)).await;
    assert_eq!((done.status, done.output.as_deref()), (Status::Succeeded, Some("")));
}

#[tokio::test]
async fn failures_say_how_it_ended_and_what_it_said_last() {
    let test = database().await;
    let error = error_of(&test, exec("sh -c 'echo partial; echo no such host >&2; exit 1'"), "x").await;
    assert_eq!(error, "exit 1: no such host");
    assert_eq!(error_of(&test, exec("false"), "x").await, "exit 1");
    assert_eq!(error_of(&test, exec("sh -c 'kill -SEGV $$'"), "x").await, "killed by SIGSEGV (11)");
    let error = error_of(&test, exec("/no/such/program"), "x").await;
    assert!(error.starts_with("cannot start `/no/such/program`: No such file"), "{error}");
    let error = error_of(&test, exec("sh -c 'printf \"a\\000b\\377\" >&2; exit 3'"), "x").await;
    assert_eq!(error, "exit 3: a\\0b\\xff");
    let error = error_of(&test, exec("sh -c 'seq 1 5000 >&2; exit 2'"), "x").await;
    assert!(error.starts_with("exit 2: …") && error.ends_with("5000"), "{error}");
    assert!(error.len() < 4_200, "{}", error.len());
}

#[tokio::test]
async fn long_output_is_cut_visibly() {
    let test = database().await;
    let done = run(&test, exec("sh -c 'yes 1234567 | head -c 200000'"), "x").await;
    let output = done.output.expect("output");
    assert_eq!(done.status, Status::Succeeded);
    assert!(output.len() <= 64 * 1024 && output.len() > 65_000, "{}", output.len());
    assert!(output.ends_with("[cut: the program wrote 200000 bytes]"), "{}", &output[output.len() - 60..]);
}

#[tokio::test]
async fn a_program_that_ignores_sigterm_is_killed_after_the_grace_time() {
    let test = database().await;
    let line = "sh -c 'trap \"\" TERM; echo deaf >&2; while :; do sleep 0.05; done'";
    let limited = Config { task_timeout: Some(Duration::from_millis(300)), ..exec(line) };
    let started = Instant::now();
    let error = error_of(&test, limited, "x").await;
    assert_eq!(error, "timed out after 300 ms: deaf");
    assert!(started.elapsed() >= Duration::from_millis(600), "the time and the grace time");
}

/// A cancel reaches the children of the program, and the task is RUNNING until they are gone.
#[tokio::test]
async fn a_cancel_reaches_the_whole_process_group() {
    let test = database().await;
    let folder = tempfile::tempdir().expect("a folder");
    let note = folder.path().join("pid");
    let line = format!("sh -c 'sleep 300 & echo $! > {}; wait'", note.display());
    // No SIGKILL comes within the patience of a test: it is the SIGTERM that reaches the child.
    let config = Config { grace: Duration::from_mins(10), ..exec(&line) };
    let analyser = config.analyser().expect("a good command");
    let worker = Running::start(&test.db, config, analyser);
    let id = submit_as(&test.db, "x", NewTask::default()).await;
    let child = until("the child runs", || async {
        std::fs::read_to_string(&note).ok().and_then(|text| text.trim().parse::<u32>().ok())
    })
    .await;
    assert!(runs(child));
    cancel(&test.db, id).await;
    reaches(&test.db, id, Status::Canceled).await;
    assert!(!runs(child), "the child has ended before the task did");
    assert_eq!(worker.drain().await, []);
}

/// What a program leaves running in its group does not outlive the task, and does not hold it up for ever.
#[tokio::test]
async fn what_a_program_leaves_behind_is_ended() {
    let test = database().await;
    let done = run(&test, exec("sh -c 'sleep 300 & echo $!'"), "x").await;
    assert_eq!(done.status, Status::Succeeded);
    let child = done.output.as_deref().unwrap_or_default().trim().parse().expect("a pid");
    assert!(!runs(child));
}

/// One that left the group keeps the pipe; it is no part of the task any more.
#[tokio::test]
async fn what_left_the_programs_group_is_not_waited_for() {
    let test = database().await;
    let folder = tempfile::tempdir().expect("a folder");
    let note = folder.path().join("pid").display().to_string();
    let line = format!(
        "sh -c 'setsid sh -c \"echo \\$\\$ >{note}; exec sleep 300\" & \
         until [ -s {note} ]; do sleep 0.01; done; echo said'"
    );
    let done = run(&test, exec(&line), "x").await;
    assert_eq!((done.status, done.output.as_deref()), (Status::Succeeded, Some("said\n")));
    let child = std::fs::read_to_string(&note).expect("a note").trim().parse().expect("a pid");
    assert!(runs(child), "the task ended before it");
    let pid = Pid::from_raw(i32::try_from(child).expect("a pid")).expect("not zero");
    kill_process(pid, Signal::KILL).expect("it runs");
}

#[tokio::test]
async fn leaving_kills_what_runs() {
    let test = database().await;
    let config = exec("sleep 300");
    let analyser = config.analyser().expect("a good command");
    let worker = Running::start(&test.db, config, analyser);
    submit_as(&test.db, "x", NewTask::default()).await;
    let mut local = worker.handle.local();
    let pid = |local: &taskdeck::domain::observed::LocalWorkers| {
        local.running.iter().find_map(|run| run.doing.strip_prefix("command pid ")?.parse::<u32>().ok())
    };
    let seen = local.wait_for(|local| pid(local).is_some());
    let seen =
        tokio::time::timeout(crate::support::PATIENCE, seen).await.expect("in time").expect("it lives");
    let child = pid(&seen).expect("a pid");
    drop(seen);
    assert!(runs(child));
    worker.handle.leave();
    worker.ended().await;
    until("the program is gone", || async { (!runs(child)).then_some(()) }).await;
}

/// Whether the process `pid` runs (a zombie does not).
fn runs(pid: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| !stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('Z')))
}

#[test]
fn bad_command_lines_are_refused() {
    for bad in ["", "  ", "''", "sh -c 'open", "a\0b"] {
        let refusal = exec(bad).analyser().expect_err(bad);
        assert_eq!(refusal.field, "exec");
    }
}
