//! A worker whose answers are lost, each kind of write once: nothing is run twice, nothing is left.

use std::time::Duration;

use taskdeck::db::{Db, Limits};
use taskdeck::domain::{Name, NewTask, Status, TaskId};
use taskdeck::worker::{Config, Shutdown, SignOff, WorkerEvent};

use crate::proxy::{Cut, Proxy};
use crate::rig::{
    Running, Script, cancel, config, moves, reaches, submit, submit_as, submit_many, task, two_beats,
};
use crate::support::{PATIENCE, Server, TestDb, database, open, shared_server, until};

/// The same database through a proxy that will cut in this way.
async fn through_a_proxy(test: &TestDb, cut: Cut) -> (Proxy, Db) {
    let proxy = Proxy::start(shared_server().port()).await;
    let db = open(&proxy.address(&test.url), cut.limits()).await;
    (proxy, db)
}

/// A task that an instance held that is gone; returns its id.
async fn left_behind(test: &TestDb) -> TaskId {
    let id = submit(&test.db, "left behind").await;
    test.psql(&format!(
        "UPDATE taskdeck.tasks SET status = 'RUNNING', claim_no = 1, attempt = 1, version = 1, \
         claimed_by = gen_random_uuid() WHERE id = {id}"
    ));
    id
}

async fn every_write_once(cut: Cut) {
    let test = database().await;
    let (proxy, db) = through_a_proxy(&test, cut).await;
    let script = Script::new();
    let mut expected = 0;
    let mut lose_by = |cut, marker| {
        expected += 1;
        proxy.cut(cut, marker);
        expected
    };
    let mut lose = |marker| lose_by(cut, marker);

    let behind = left_behind(&test).await;
    lose("(id, host, pid");
    lose("'recover', 'RUNNING'");
    // The recovery comes three times a lease and would look for what was won too: here the claimer has to.
    let one = Config { workers: 1, lease: Duration::from_hours(1), ..config() };
    let mut worker = Running::start(&db, one, script.clone());
    worker.began().await;
    reaches(&test.db, behind, Status::Succeeded).await;
    assert_eq!(moves(&test.db, behind).await, ["recover"]);

    lose("unnest($2::text[]) AS n(name)");
    lose("AS f(id, claim_no, words");
    let counted = submit(&test.db, "two words").await;
    assert_eq!(reaches(&test.db, counted, Status::Succeeded).await.version, 2);

    lose("THEN 'stop' WHEN 'QUEUED'");
    let failing = submit_as(&test.db, "fail", NewTask { max_attempts: 1, ..NewTask::default() }).await;
    reaches(&test.db, failing, Status::Failed).await;
    assert_eq!(moves(&test.db, failing).await, ["fail"]);

    lose("THEN 'stop' WHEN 'QUEUED'");
    let stopped = submit(&test.db, "held").await;
    script.runs_now(stopped).await;
    cancel(&test.db, stopped).await;
    reaches(&test.db, stopped, Status::Canceled).await;
    assert_eq!(moves(&test.db, stopped).await, ["request-cancel", "stop"]);

    let beats = lose("SET heartbeat_at");
    until("a heartbeat whose answer is lost", || async { (proxy.cuts() == beats).then_some(()) }).await;
    two_beats(&db).await;

    // Its row cannot be read, so no cancel request is recorded; it is stopped all the same, and given back.
    let back = submit(&test.db, "held").await;
    script.runs_now(back).await;
    lose("THEN 'stop' ELSE 'release'");
    lose("SET state = 'stopped'");
    let all = lose_by(Cut::Before, "WHERE t.id = $1 AND");
    worker.handle.shutdown(Shutdown::Cancel);
    let ended = tokio::time::timeout(PATIENCE, worker.handle.ended()).await.expect("it ends in time");
    assert_eq!((ended.left, ended.sign_off), (Vec::new(), SignOff::Confirmed));
    assert_eq!(proxy.cuts(), all, "{cut:?}: each was lost once");
    let now = task(&test.db, back).await;
    assert_eq!((now.status, now.version, now.attempt, now.claim_no), (Status::Queued, 2, 0, 1));
    assert_eq!(moves(&test.db, back).await, ["release"]);
    // Also where the first has taken effect and its answer was lost: sent again it is the same release.
    assert_eq!(worker.event("what was given back is told", released).await, [back]);
    assert_eq!(test.psql("SELECT count(*), min(state) FROM taskdeck.instances"), "1|stopped");
    once_each(&script);
}

/// What was given back.
fn released(event: &WorkerEvent) -> Option<Vec<TaskId>> {
    match event {
        WorkerEvent::Released { tasks, .. } => Some(tasks.clone()),
        _ => None,
    }
}

/// What a process holds that it does not know of, as a claim's answer was lost, it gives back when it ends.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_given_back_at_the_end_is_told_once_whether_its_answer_was_lost_or_not() {
    for cut in [Cut::Before, Cut::After] {
        let test = database().await;
        let (proxy, db) = through_a_proxy(&test, cut).await;
        let one = Config { workers: 1, lease: Duration::from_hours(1), ..config() };
        let mut worker = Running::start(&db, one, Script::new());
        let instance = worker.began().await;
        let other = Name::new("queue", "other").expect("a name");
        let id = submit_as(&test.db, "won", NewTask { queue: other, ..NewTask::default() }).await;
        test.psql(&format!(
            "UPDATE taskdeck.tasks SET status = 'RUNNING', claim_no = 1, attempt = 1, version = 1, \
             claimed_by = '{instance}' WHERE id = {id}"
        ));
        proxy.cut(cut, "THEN 'stop' ELSE 'release'");
        worker.handle.shutdown(Shutdown::Drain);
        let ended = tokio::time::timeout(PATIENCE, worker.handle.ended()).await.expect("it ends in time");
        assert_eq!((ended.left, ended.sign_off), (Vec::new(), SignOff::Confirmed), "{cut:?}");
        assert_eq!(worker.event("what was given back is told", released).await, [id], "{cut:?}");
        assert_eq!(proxy.cuts(), 1, "{cut:?}");
        assert_eq!(moves(&test.db, id).await, ["release"], "{cut:?}");
    }
}

fn once_each(script: &Script) {
    let mut runs = script.runs();
    runs.sort_unstable();
    runs.dedup();
    assert_eq!(runs.len(), script.runs().len(), "no claim was run twice");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_request_once_never_arrives() {
    every_write_once(Cut::Before).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_answer_once_is_cut_off() {
    every_write_once(Cut::After).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_answer_once_is_held_back() {
    every_write_once(Cut::Stall).await;
}

/// Commits wait for a replica that never answers, and the sessions that wait are ended: each commit has taken effect.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sessions_that_end_in_their_commit_repeat_nothing() {
    let server = Server::start();
    server.psql("postgres", "CREATE DATABASE work").expect("create");
    server.psql("postgres", "ALTER DATABASE work SET synchronous_commit = on").expect("alter");
    let hasty = format!("{}?options=-c%20synchronous_commit%3Dlocal", server.url("work"));
    let direct = open(&hasty, Limits::default()).await;
    direct.migrate().await.expect("migrate");
    let outside = |sql: &str| crate::support::psql(&hasty, sql).expect("asked");
    let db = open(&server.url("work"), Limits::default()).await;
    let script = Script::new();
    let quick = Config { batch: 10, lease: Duration::from_hours(1), ..config() };
    let mut worker = Running::start(&db, quick, script.clone());
    let instance = worker.began().await;
    outside("ALTER SYSTEM SET synchronous_standby_names = 'nosuch'");
    outside("SELECT pg_reload_conf()");
    let ids = submit_many(&direct, 100).await;
    let end = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity \
               WHERE wait_event = 'SyncRep' AND starts_with(application_name, 'taskdeck test workers')";
    // Many, or fewer where the worker has batched them so that all is done before.
    let left = "SELECT count(*) FROM taskdeck.tasks WHERE status <> 'SUCCEEDED'";
    let next = || async {
        if outside(end) != "0" {
            return Some(true);
        }
        (outside(left) == "0").then_some(false)
    };
    let mut ended = 0;
    while ended < 40 && until("a session that waits in its commit, or the end of all", next).await {
        ended += 1;
    }
    assert!(ended > 0, "no session has waited in its commit");
    outside("ALTER SYSTEM RESET synchronous_standby_names");
    outside("SELECT pg_reload_conf()");
    for id in &ids {
        let done = reaches(&direct, *id, Status::Succeeded).await;
        assert_eq!((done.claim_no, done.version, done.claimed_by), (1, 2, Some(instance)));
    }
    assert_eq!(script.runs().len(), ids.len());
    once_each(&script);
    worker
        .event("what was won is taken over", |event| {
            matches!(event, WorkerEvent::Adopted { .. }).then_some(())
        })
        .await;
    assert_eq!(worker.drain().await, []);
}
