//! Every kind of write loses its answer in every way: the request never arrives, its answer is cut off or held
//! back, or it waits in its commit for a replica until somebody gives up. Each ends as if nothing had been lost.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::future::join_all;
use taskdeck::db::Limits;
use taskdeck::db::sql::{FINISH, FINISH_SUCCESS, SUCCEEDED};
use taskdeck::domain::Status;
use taskdeck::domain::outcome::Finished;
use tokio::sync::watch;

use crate::proxy::{Cut, Proxy};
use crate::scene::{number, outside, request, submit, success, worker};
use crate::support::{Server, conn_info, database, open, shared_server, until};
use crate::writes::{Case, Kind, TABLE};

async fn cut_on_the_wire(cut: Cut, table: &[(Kind, &'static str, &'static str)]) {
    let test = database().await;
    let client = outside(&test.url).await;
    let proxy = Proxy::start(shared_server().port()).await;
    let db = open(&proxy.address(&test.url), cut.limits()).await;
    let (_calm, calm) = watch::channel(true);
    for line in table {
        let case = Case::prepare(&test.db, &client, *line).await;
        let (lost, before) = (AtomicUsize::new(0), proxy.cuts());
        proxy.cut(cut, line.1);
        case.write(&db, &lost, calm.clone()).await;
        assert_eq!((proxy.cuts() - before, lost.into_inner()), (1, 1), "{:?}, {cut:?}", case.kind);
        case.check(&client, &format!("{cut:?}")).await;
    }
    // The wake-up that a write owes is sent beside it, and may still be on its way.
    until("every place is free", || async {
        db.pool_figures().iter().all(|pool| pool.in_use == 0).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_write_survives_a_request_that_never_arrives() {
    cut_on_the_wire(Cut::Before, &TABLE).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_write_survives_an_answer_that_is_cut_off() {
    cut_on_the_wire(Cut::After, &TABLE).await;
}

/// Each statement once, as each of these waits for the deadline.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_write_survives_an_answer_that_is_held_back() {
    let mut table = TABLE.to_vec();
    table.dedup_by_key(|(_, marker, _)| *marker);
    cut_on_the_wire(Cut::Stall, &table).await;
}

/// The batch is told as a batch again: a bad line costs it a statement or two, not one a task.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_batch_of_successes_whose_answer_was_lost_is_found_in_one_statement() {
    const TASKS: usize = 50;
    let test = database().await;
    let proxy = Proxy::start(shared_server().port()).await;
    let db = open(&proxy.address(&test.url), Cut::After.limits()).await;
    let instance = worker(&test.db).await;
    for _ in 0..TASKS {
        submit(&test.db, "two words").await;
    }
    let claimed = test.db.claim_next(&request(instance, 100)).await.expect("claim");
    let batch: Vec<_> = claimed.iter().map(success).collect();
    proxy.cut(Cut::After, "AS f(id, claim_no, words");
    db.finish(instance, "x", &batch).await.expect_err("its answer was lost");
    let again = db.finish(instance, "x", &batch).await.expect("finish");
    assert_eq!(again, vec![Finished::Committed { status: Status::Succeeded }; TASKS]);
    let figures = db.statement_figures();
    let calls = |name| figures.iter().find(|figure| figure.name == name).map_or(0, |figure| figure.calls);
    assert_eq!([FINISH_SUCCESS, SUCCEEDED, FINISH].map(|statement| calls(statement.name)), [2, 1, 0]);
}

/// How a statement that waits in its commit for a replica that never answers is given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum GivenUp {
    /// By the client, whose deadline passes: it cancels at the server, which commits then.
    Deadline,
    /// By the server: the session ends, and the row is committed all the same.
    Terminated,
}

/// A server of its own whose commits can be made to wait, and a client that does not wait itself.
struct Replicated {
    server: Server,
    url: String,
}

impl Replicated {
    fn start() -> Self {
        let server = Server::start();
        server.psql("postgres", "CREATE DATABASE work").expect("create");
        server.psql("postgres", "ALTER DATABASE work SET synchronous_commit = on").expect("alter");
        Self { url: server.url("work"), server }
    }

    /// The address of sessions that do not wait for replicas.
    fn hasty(&self) -> String {
        format!("{}?options=-c%20synchronous_commit%3Dlocal", self.url)
    }

    /// Makes commits wait for `replica`; the empty name ends the wait of all.
    fn wait_for(&self, replica: &str) {
        let set = format!("ALTER SYSTEM SET synchronous_standby_names = '{replica}'");
        let local = conn_info(&self.hasty()).redacted_url().to_owned();
        crate::support::psql(&local, &set).expect("set");
        crate::support::psql(&local, "SELECT pg_reload_conf()").expect("reload");
    }
}

/// How many sessions of the program wait in their commits.
const WAITING: &str = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep' \
                       AND starts_with(application_name, 'taskdeck test ')";

async fn lost_in_a_commit(given_up: GivenUp) {
    let replicated = Replicated::start();
    let client = outside(&replicated.hasty()).await;
    let direct = open(&replicated.hasty(), Limits::default()).await;
    direct.migrate().await.expect("migrate");
    let cases = TABLE.iter().filter(|(kind, ..)| *kind != Kind::DeclareLost);
    let mut prepared = Vec::new();
    for line in cases {
        prepared.push(Case::prepare(&direct, &client, *line).await);
    }
    // A session each, since all of them wait at once.
    let limits = Limits {
        operator_pool: prepared.len(),
        workers_pool: prepared.len(),
        statement: if given_up == GivenUp::Deadline {
            Duration::from_secs(3)
        } else {
            Duration::from_secs(30)
        },
        lock: Duration::from_secs(30),
        ..Limits::default()
    };
    let db = open(&replicated.url, limits).await;
    replicated.wait_for("nosuch");
    // The server heeds it a moment later: from then on a commit waits.
    let heeded = outside(&replicated.url).await;
    let probe = tokio::spawn(async move {
        loop {
            let write = "CREATE TABLE probe (); DROP TABLE probe";
            if heeded.batch_execute(write).await.is_err() {
                return;
            }
        }
    });
    let probes = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
    until("a commit that waits", || async { (number(&client, probes).await == 1).then_some(()) }).await;

    let lost = AtomicUsize::new(0);
    let (calm, calms) = watch::channel(false);
    let writes = join_all(prepared.iter().map(|case| case.write(&db, &lost, calms.clone())));
    let all = i64::try_from(prepared.len()).expect("small");
    let events = async {
        // Where a deadline gives up, the first may have done so before the last waits.
        if given_up == GivenUp::Terminated {
            until("all wait in their commits", || async {
                (number(&client, WAITING).await == all).then_some(())
            })
            .await;
            let end = WAITING.replace("count(*)", "count(pg_terminate_backend(pid))");
            assert_eq!(number(&client, &end).await, all);
        }
        until("all answers are lost", || async {
            (lost.load(Ordering::SeqCst) == prepared.len()).then_some(())
        })
        .await;
        replicated.wait_for("");
        calm.send_replace(true);
    };
    tokio::join!(writes, events);
    probe.abort();
    assert_eq!(lost.into_inner(), prepared.len(), "each once");
    for case in &prepared {
        case.check(&client, &format!("{given_up:?}")).await;
    }
    drop(replicated.server);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_write_survives_a_deadline_that_passes_in_its_commit() {
    lost_in_a_commit(GivenUp::Deadline).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_write_survives_the_end_of_its_session_in_its_commit() {
    lost_in_a_commit(GivenUp::Terminated).await;
}
