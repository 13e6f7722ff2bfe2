//! A seeded run of the real program against a real server that is broken all the while: workers are killed and frozen,
//! answers are cut off, the server crashes. What the program said is kept, what ran is kept, and at the end a machine
//! counts every id.
//!
//! `make chaos SECONDS=600 SEED=7` runs long; the same run, short, is a test.

#[path = "../support/proxy.rs"]
#[expect(dead_code, reason = "each test binary uses a part of it")]
mod proxy;
#[path = "../support/mod.rs"]
#[expect(dead_code, reason = "each test binary uses a part of it")]
mod support;
#[path = "../support/terminal.rs"]
#[expect(dead_code, reason = "each test binary uses a part of it")]
mod terminal;

mod analyser;
mod audit;
mod cli;
mod consoles;
mod decisions;
mod evidence;
mod faults;
mod fleet;
mod ghosts;
mod journal;
mod plan;
mod report;
mod speed;
mod stage;
mod submits;
mod texts;
mod warden;

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::watch;
use tokio::task::JoinSet;

/// The most that any wait lasts before it is a failure; the terminal asks for it here.
pub(crate) use support::PATIENCE;

use analyser::Ledger;
use audit::{Broken, audit, tell};
use evidence::{Evidence, SESSIONS};
use fleet::Fleet;
use plan::Plan;
use proxy::Proxy;
use report::Report;
use speed::Speed;
use stage::{Route, Stage};

/// The most time that a run may take beyond its faults. Every wait in it has an end; this is for what is no wait.
const AFTERWARDS: Duration = Duration::from_mins(15);

/// How many tasks the evidence is printed of.
const SHOWN: usize = 10;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nothing_is_lost_or_done_twice_whatever_breaks() {
    let plan = Plan::from_environment();
    println!("chaos: seed {}, faults for {} s", plan.seed, plan.faults.as_secs());
    let in_time = tokio::time::timeout(plan.faults + AFTERWARDS, Box::pin(run(plan))).await;
    in_time.unwrap_or_else(|_| panic!("seed {}: the run did not end", plan.seed));
}

async fn run(plan: Plan) {
    let stage = Stage::set(plan).await;
    println!("chaos: its files are in {}", stage.folder().display());
    let ledger = Ledger::begin(stage.folder());
    let late = Arc::new(Proxy::start(stage.port()).await);
    let fleet = Arc::new(Fleet::start(&stage, &ledger, Route::Own(late.port())));
    let speed = Arc::new(Speed::default());
    let server = stage.rows_at_last("SELECT version()").await[0].word(0).to_owned();
    println!("chaos: {server}");

    let mut doomed = JoinSet::new();
    doomed.spawn(submits::doomed(Arc::clone(&stage)));
    doomed.spawn(decisions::doomed(Arc::clone(&stage)));
    broken_for_a_while(&stage, &fleet, &speed, late).await;
    stage.note("the last fault is over", "");
    let patience = PATIENCE * 2;
    let mut ended = everything_ends(&stage, &fleet, patience).await;
    while let Some(done) = doomed.join_next().await {
        done.expect("the run itself does not fail");
    }
    ended = ended && everything_ends(&stage, &fleet, patience).await;
    stage.note("every task is final", "");
    all_go(&stage, &fleet).await;
    stage.note("every process has ended", "");

    let evidence = Evidence::read(&stage, &fleet, &ledger, speed.crashes()).await;
    let mut findings = audit(&evidence);
    if !ended {
        let what = format!("tasks were not final {patience:?} after the last fault");
        findings.broken.push(Broken { rule: "I6", task: None, what });
    }
    let recoveries = speed.recoveries(&stage).await;
    // How soon is for the report: it is the machine's doing as much as the program's.
    for recovery in recoveries.iter().filter(|recovery| recovery.after == 0) {
        let what = format!("after a crash of the server nothing was finished any more: {recovery:?}");
        findings.broken.push(Broken { rule: "pace", task: None, what });
    }
    let report = Report { stage: &stage, server, findings: &findings, recoveries: &recoveries }.text();
    println!("{report}");
    if findings.broken.is_empty() {
        std::fs::remove_dir_all(stage.folder()).expect("remove the run's files");
        return;
    }
    keep(&stage, &evidence, &findings.broken, &report);
    panic!("seed {}: {} rules broken; {}", plan.seed, findings.broken.len(), stage.folder().display());
}

/// Work, and what disturbs it, until the time is over; then nothing is broken any more.
async fn broken_for_a_while(stage: &Arc<Stage>, fleet: &Arc<Fleet>, speed: &Arc<Speed>, late: Arc<Proxy>) {
    let (direct, proxied) = (Route::Direct, Route::Proxied);
    let (enough, told) = watch::channel(false);
    let feeder = tokio::spawn(submits::feed(Arc::clone(stage), told));
    let mut under_way = JoinSet::new();
    for (name, route) in [("submitter-1", direct), ("submitter-2", proxied)] {
        under_way.spawn(submits::submit(Arc::clone(stage), name, route));
    }
    for (name, route) in [("decider-1", direct), ("decider-2", proxied)] {
        under_way.spawn(decisions::decide(Arc::clone(stage), name, route));
    }
    for (name, route) in [("console-1", direct), ("console-2", proxied)] {
        under_way.spawn(consoles::run(Arc::clone(stage), name, route));
    }
    under_way.spawn(ghosts::run(Arc::clone(stage), Arc::clone(fleet), late));
    under_way.spawn(faults::workers::run(Arc::clone(stage), Arc::clone(fleet)));
    under_way.spawn(faults::wire::run(Arc::clone(stage)));
    under_way.spawn(faults::server::run(Arc::clone(stage), Arc::clone(speed)));
    let mut tending = tokio::time::interval(Duration::from_millis(200));
    loop {
        tokio::select! {
            done = under_way.join_next() => match done {
                Some(done) => done.expect("the run itself does not fail"),
                None => break,
            },
            _ = tending.tick() => fleet.tend().await,
        }
    }
    enough.send_replace(true);
    feeder.await.expect("the feeder does not fail");
}

/// Lets what is held run, and waits until every task is final; whether that came.
async fn everything_ends(stage: &Stage, fleet: &Fleet, patience: Duration) -> bool {
    let started = Instant::now();
    let open = "SELECT count(*) FROM taskdeck.tasks WHERE status IN ('SUBMITTED', 'QUEUED', 'RUNNING')";
    while stage.number(open).await > 0 {
        if started.elapsed() > patience {
            return false;
        }
        fleet.tend().await;
        decisions::release_held(stage).await;
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    true
}

/// Waits until whoever was killed has been declared lost, drains the others, and waits until the server is alone.
async fn all_go(stage: &Stage, fleet: &Fleet) {
    let open = "SELECT count(*) FROM taskdeck.instances WHERE state NOT IN ('stopped', 'lost')";
    let alive = i64::try_from(fleet.size()).expect("a small number");
    let mut started = Instant::now();
    while stage.number(open).await != alive && started.elapsed() < PATIENCE {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    fleet.drain().await;
    started = Instant::now();
    while stage.number(SESSIONS).await > 0 && started.elapsed() < PATIENCE {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Keeps what a person needs to see what went wrong.
fn keep(stage: &Stage, evidence: &Evidence, broken: &[Broken], report: &str) {
    let mut shown: Vec<i64> = broken.iter().filter_map(|broken| broken.task).collect();
    shown.sort_unstable();
    shown.dedup();
    let told: String = shown.iter().take(SHOWN).map(|id| tell(evidence, *id)).collect();
    println!("{told}");
    let mut all = String::new();
    for broken in broken {
        let _ = writeln!(all, "{broken:?}");
    }
    let every: String = shown.iter().take(1_000).map(|id| tell(evidence, *id)).collect();
    let promises = format!("{:#?}\n{:#?}\n", evidence.submits, evidence.decisions);
    for (name, text) in [
        ("report.txt", report),
        ("broken.txt", &all),
        ("evidence.txt", &every),
        ("journal.txt", &promises),
        ("faults.txt", &stage.chronicle()),
        ("server.log", &stage.server_log()),
    ] {
        std::fs::write(stage.folder().join(name), text).expect("write into the run's folder");
    }
}
