//! Many processes whose database goes away do not beat on its door, and are all back once it is open.

use std::time::{Duration, Instant};

use taskdeck::db::Limits;
use taskdeck::worker::Config;

use crate::proxy::Proxy;
use crate::rig::{Running, Script, config, submit_many};
use crate::support::{Server, open, until};

/// How many processes there are; each has pools of its own.
const PROCESSES: usize = 50;

/// The least time between two attempts of one process after the first few: three fifths of the gate's longest wait, and less.
const LEAST: Duration = Duration::from_millis(500);

/// For how long attempts are counted.
const COUNTED: Duration = Duration::from_secs(3);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fifty_processes_try_one_after_the_other_and_are_all_back() {
    let server = Server::start();
    server.psql("postgres", "CREATE DATABASE work").expect("create");
    let direct = open(&server.url("work"), Limits::default()).await;
    direct.migrate().await.expect("migrate");
    let proxy = Proxy::start(server.port()).await;
    let through = proxy.address(&server.url("work"));
    let limits = Limits { operator_pool: 1, workers_pool: 1, ..Limits::default() };
    let script = Script::new();
    let mut workers = Vec::new();
    for _ in 0..PROCESSES {
        let db = open(&through, limits.clone()).await;
        let lazy =
            Config { workers: 1, poll: Duration::from_secs(1), lease: Duration::from_mins(2), ..config() };
        workers.push(Running::start(&db, lazy, script.clone()));
    }
    for worker in &mut workers {
        worker.began().await;
    }
    proxy.shut();
    // Every part of each process has failed some times by then.
    tokio::time::sleep(COUNTED).await;
    let from = Instant::now();
    tokio::time::sleep(COUNTED).await;
    let counted = from.elapsed();
    let arrivals: Vec<Duration> =
        proxy.arrivals().into_iter().filter_map(|at| at.checked_duration_since(from)).collect();
    let bound = PROCESSES * (1 + usize::try_from(counted.as_millis() / LEAST.as_millis()).expect("small"));
    assert!(arrivals.len() <= bound, "{} attempts within {counted:?}, bound {bound}", arrivals.len());
    // Spread: in step they would come in one tenth of a second out of ten.
    let tenths = usize::try_from(counted.as_millis() / 100).expect("small");
    let mut filled: Vec<u128> = arrivals.iter().map(|at| at.as_millis() / 100).collect();
    filled.dedup();
    assert!(filled.len() * 2 > tenths, "attempts in {} of {tenths} tenths of a second", filled.len());

    proxy.let_in();
    let ids = submit_many(&direct, 2_000).await;
    until("all registered and nothing left", || async {
        let left = server.psql("work", "SELECT count(*) FROM taskdeck.tasks WHERE status <> 'SUCCEEDED'");
        let beating = format!(
            "SELECT count(*) FROM taskdeck.instances WHERE state = 'working' \
             AND heartbeat_at > now() - interval '{} s'",
            from.elapsed().as_secs() - COUNTED.as_secs()
        );
        let alive = server.psql("work", &beating);
        (left.as_deref() == Ok("0") && alive == Ok(PROCESSES.to_string())).then_some(())
    })
    .await;
    assert_eq!(script.runs().len(), ids.len());
    for worker in &workers {
        assert_eq!(worker.drain().await, []);
    }
}
