//! What befalls the server: a crash, sessions that it ends, and commits that it holds and never confirms.

use std::sync::Arc;
use std::time::Duration;

use crate::plan::{Deck, Micros, millis, now};
use crate::speed::{Restart, Speed};
use crate::stage::Stage;

#[derive(Debug, Clone, Copy)]
enum Act {
    Restart,
    Terminate,
    /// Commits wait for a standby that does not exist: the rows are written, nobody sees them, and then the sessions
    /// are ended.
    Hold,
}

/// How long it is quiet before a crash, so that the pace before it is known.
pub(crate) const QUIET: Duration = Duration::from_secs(2);

/// Does it until the faults are over; then the server is up and confirms commits.
pub(crate) async fn run(stage: Arc<Stage>, speed: Arc<Speed>) {
    let mut dice = stage.plan.dice("server");
    let mut deck = Deck::new(&[Act::Restart, Act::Terminate, Act::Hold]);
    while stage.pause(millis(&mut dice, 300, 1_500)).await {
        match deck.deal(&mut dice) {
            Act::Restart => {
                if !stage.pause(QUIET).await {
                    return;
                }
                let down_for = millis(&mut dice, 0, 500);
                restart(&stage, &speed, down_for).await;
                speed.wait_until_back(&stage).await;
            }
            Act::Terminate => {
                let count = dice.usize(1..6);
                let ended = terminate(&stage, &format!("true ORDER BY random() LIMIT {count}")).await;
                stage.note("pg_terminate_backend", format!("{ended} sessions"));
            }
            Act::Hold => hold(&stage, millis(&mut dice, 200, 700)).await,
        }
    }
}

async fn restart(stage: &Stage, speed: &Speed, down_for: Duration) {
    let down = now();
    stage
        .with_server(move |server| {
            server.stop_immediately();
            std::thread::sleep(down_for);
            server.start_again();
        })
        .await;
    let restart = Restart { down, up: now() };
    speed.restarted(restart);
    stage.note("restart of the server, immediate", format!("down for {:.2} s", restart.downtime()));
}

/// Ends sessions of the program; how many.
async fn terminate(stage: &Stage, which: &str) -> i64 {
    let sql = format!(
        "SELECT count(pg_terminate_backend(pid)) FROM (SELECT pid FROM pg_stat_activity
         WHERE datname = 'chaos' AND application_name LIKE 'taskdeck %' AND {which}) chosen"
    );
    stage.number(&sql).await
}

async fn hold(stage: &Stage, held_for: Duration) {
    let began: Micros = now();
    stage.rows_at_last("ALTER SYSTEM SET synchronous_standby_names = 'nosuch'").await;
    stage.rows_at_last("SELECT pg_reload_conf()").await;
    tokio::time::sleep(held_for).await;
    let ended = terminate(stage, "wait_event = 'SyncRep'").await;
    stage.rows_at_last("ALTER SYSTEM RESET synchronous_standby_names").await;
    stage.rows_at_last("SELECT pg_reload_conf()").await;
    let lasted = (now() - began) / 1_000;
    stage.note("commits held, then their sessions ended", format!("{ended} sessions after {lasted} ms"));
}
