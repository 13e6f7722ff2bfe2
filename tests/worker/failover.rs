//! A primary dies and its standby takes over: the worker and the operator move on by themselves, and nothing that
//! was acknowledged is lost.

use std::time::Duration;

use taskdeck::db::{Db, Limits};
use taskdeck::domain::Status;
use taskdeck::worker::Config;

use crate::rig::{Running, Script, config, reaches, submit, submit_many};
use crate::support::{PATIENCE, Server, open, until};

/// A primary and its standby, which has everything that the primary has acknowledged.
struct Pair {
    primary: Server,
    standby: Server,
}

impl Pair {
    async fn start() -> Self {
        let mut primary = Server::start_restartable();
        primary.psql("postgres", "CREATE DATABASE work").expect("create");
        let standby = primary.start_standby();
        primary.psql("postgres", "ALTER SYSTEM SET synchronous_standby_names = '*'").expect("set");
        primary.psql("postgres", "SELECT pg_reload_conf()").expect("reload");
        until("a standby that keeps up", || async {
            let sql = "SELECT sync_state FROM pg_stat_replication";
            (primary.psql("postgres", sql).as_deref() == Ok("sync")).then_some(())
        })
        .await;
        Self { primary, standby }
    }

    /// The address of both, the primary first.
    fn url(&self, and: &str) -> String {
        let (first, second) = (self.primary.port(), self.standby.port());
        format!("postgresql://tester@127.0.0.1:{first},127.0.0.1:{second}/work{and}")
    }

    fn promote(&self) {
        assert_eq!(self.standby.psql("postgres", "SELECT pg_promote()").as_deref(), Ok("t"));
    }
}

/// What the program's sessions on `server` are, besides those of the test.
fn sessions(server: &Server) -> String {
    server
        .psql(
            "work",
            "SELECT count(*) FROM pg_stat_activity WHERE starts_with(application_name, 'taskdeck ')",
        )
        .expect("asked")
}

async fn all_done(db: &Db, ids: &[taskdeck::domain::TaskId]) {
    for id in ids {
        assert_eq!(reaches(db, *id, Status::Succeeded).await.claim_no, 1, "{id}");
    }
}

/// How the old primary comes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Back {
    /// As a standby, once the other has taken over.
    AfterPromotion,
    /// As a standby, before any other has taken over: for a while nobody takes writes.
    BeforePromotion,
}

async fn fails_over(and: &str, back: Back) {
    let mut pair = Pair::start().await;
    let db = open(&pair.url(and), Limits::default()).await;
    db.migrate().await.expect("migrate");
    let script = Script::new();
    // With a poll of an hour what comes later is found by wake-ups alone.
    let patient = Config { poll: Duration::from_hours(1), batch: 40, ..config() };
    let mut worker = Running::start(&db, patient, script.clone());
    let instance = worker.began().await;
    worker.is_well().await;
    let held = submit(&db, "held").await;
    script.runs_now(held).await;
    let mut ids = submit_many(&db, 1_000).await;
    until("work under way", || async { (script.runs().len() > 100).then_some(()) }).await;

    pair.primary.stop_immediately();
    if back == Back::BeforePromotion {
        pair.primary.start_again_demoted();
        let mut local = worker.handle.local();
        let told = local.wait_for(|local| local.trouble.as_ref().is_some_and(|told| told.contains("write")));
        tokio::time::timeout(PATIENCE, told).await.expect("told in time").expect("it lives");
    }
    pair.promote();
    if back == Back::AfterPromotion {
        pair.primary.start_again_demoted();
    }
    // The operator's pool first: what is submitted now is on the new primary.
    let made = until("a submit that is taken", || async {
        let key = taskdeck::domain::input::SubmissionKey::fresh();
        db.submit("two words", &taskdeck::domain::NewTask::default(), &key, &|_| {}).await.ok()
    });
    ids.push(made.await.task.id);
    script.open();
    ids.push(held);
    all_done(&db, &ids).await;
    worker.is_well().await;
    let woken = submit_many(&db, 50).await;
    all_done(&db, &woken).await;

    ids.extend(woken);
    let mut runs = script.runs();
    runs.sort_unstable();
    runs.dedup();
    assert_eq!((runs.len(), script.runs().len()), (ids.len(), ids.len()), "each task was run once");
    let count = "SELECT count(*), count(DISTINCT claimed_by) FROM taskdeck.tasks";
    assert_eq!(pair.standby.psql("work", count), Ok(format!("{}|1", ids.len())), "under one lease");
    let alive = "SELECT id FROM taskdeck.instances";
    assert_eq!(pair.standby.psql("work", alive), Ok(instance.to_string()));
    until("nobody stays with the old one", || async { (sessions(&pair.primary) == "0").then_some(()) }).await;
    assert_eq!(worker.drain().await, []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failover_is_followed_where_a_writable_host_is_asked_for() {
    fails_over("?target_session_attrs=read-write", Back::AfterPromotion).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failover_is_followed_where_any_host_would_do() {
    fails_over("", Back::BeforePromotion).await;
}
