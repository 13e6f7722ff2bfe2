//! The model held against the real statements: the same calls, the same answers, the same rows after each.
//!
//! A condition that is dropped from a statement makes a walk part from the model; the message names the seed and
//! shows the walk. `TASKDECK_WALKS` sets how many walks there are.
//!
//! No walk parts where the statement says the same once more: one of the two states in `claim_next.sql`,
//! `claim_by_id.sql` and `recover.sql`; owner or claim number in `upd` of `recover.sql`; version and state in `upd` of
//! `decide.sql`, whose `judged` has them from the locked row. The pair is what a guard of the model is, and without
//! both a walk parts, but for owner and claim number of a recovery, which only a second recovery tells apart: the
//! other test below.

use std::fmt::Write as _;

use taskdeck::db::{Limits, Preview};
use taskdeck::domain::{Status, TaskId};

use crate::protocol::{INSTANCES, Instance, TASKS, Task};
use crate::real::{Real, outside};
use crate::support::{PATIENCE, TestDb, database, database_with, until};
use crate::walk::{Answer, Call, Walk};

/// Steps of one walk; versions and operations of a walk must fit eight bits.
const STEPS: usize = 120;

#[tokio::test]
async fn the_statements_do_what_the_model_says() {
    let walks = std::env::var("TASKDECK_WALKS").map_or(30, |walks| walks.parse().expect("a number"));
    let test = database().await;
    let outside = outside(&test.url).await;
    for seed in 0..walks {
        let mut walk = Walk::new(seed);
        let mut real = Real::new(&test.db, &outside, seed);
        real.clear().await;
        for _ in 0..STEPS {
            let call = walk.next();
            let expected = walk.answer(&call);
            let answer = real.answer(&call).await;
            let rows = real.rows().await;
            let expected = (expected, walk.tables.tasks, walk.tables.instances);
            let found = (answer, rows.0, rows.1);
            assert!(found == expected, "{}", parted(seed, &walk, &found, &expected));
        }
    }
}

type Snapshot = (Answer, [Option<Task>; TASKS], [Option<Instance>; INSTANCES]);

fn parted(seed: u64, walk: &Walk, found: &Snapshot, expected: &Snapshot) -> String {
    let mut text = format!("walk {seed} parts from the model after {} steps:\n", walk.calls.len());
    for (step, call) in (1..).zip(&walk.calls) {
        let _ = writeln!(text, "{step:4} {call:?}");
    }
    let _ = writeln!(text, "model answer: {:?}\n real answer: {:?}", expected.0, found.0);
    for (model, real) in expected.1.iter().zip(&found.1) {
        let _ = writeln!(text, "model: {model:?}\n real: {real:?}");
    }
    for (model, real) in expected.2.iter().zip(&found.2) {
        let _ = writeln!(text, "model: {model:?}\n real: {real:?}");
    }
    text
}

/// The step that no walk can take: a recovery stands still between reading who is dead and locking a row, and
/// meanwhile another takes the task back and a living instance claims it. The row that is locked in the end has
/// no owner by the first reading's join, as if its owner were unknown: only the comparison of the claim, or of its
/// owner, with what was read keeps the recovery off it (`a_recovery_without_owner_and_token`).
#[tokio::test]
async fn a_recovery_that_read_early_takes_nothing_from_the_living() {
    // The recovery waits at its gate for as long as all the other calls take.
    let limits = Limits { statement: PATIENCE, lock: PATIENCE, ..Limits::default() };
    let test: TestDb = database_with(limits).await;
    let client = outside(&test.url).await;
    let mut real = Real::new(&test.db, &client, 0);
    for call in [
        Call::Submit { place: 0, status: Status::Queued },
        Call::Submit { place: 1, status: Status::Queued },
        Call::Register { id: 0 },
        Call::Register { id: 1 },
        Call::ClaimNext { id: 0 },
        Call::SetLease { id: 0, lease: false },
        Call::DeclareLost,
    ] {
        real.answer(&call).await;
    }
    // The first row's update waits at a gate, so the second row is locked when it opens.
    let gate = format!(
        "CREATE FUNCTION gate() RETURNS trigger LANGUAGE plpgsql AS \
           $$ BEGIN PERFORM pg_advisory_xact_lock(7); RETURN NEW; END $$; \
         CREATE TRIGGER gate BEFORE UPDATE ON taskdeck.tasks FOR EACH ROW WHEN (OLD.id = {}) \
           EXECUTE FUNCTION gate(); \
         SELECT pg_advisory_lock(7)",
        real.id(0)
    );
    client.batch_execute(&gate).await.expect("close the gate");
    let db = test.db.clone();
    let slow = tokio::spawn(async move { db.recover("slow").await.expect("recover") });
    let waits = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted \
                 AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";
    until("the recovery at the gate", || async {
        let waiting: i64 = client.query_one(waits, &[]).await.expect("locks").get(0);
        (waiting == 1).then_some(())
    })
    .await;
    // `SKIP LOCKED`: the other recovery leaves the first row to the slow one.
    let taken = real.answer(&Call::TakeBack).await;
    assert_eq!(taken, Answer::Recovered(vec![(1, Status::Queued, 1)]));
    assert_eq!(real.answer(&Call::ClaimNext { id: 1 }).await, Answer::Claimed(vec![(1, 2)]));
    client.batch_execute("SELECT pg_advisory_unlock(7)").await.expect("open the gate");
    let recovered: Vec<TaskId> = slow.await.expect("no panic").iter().map(|row| row.id).collect();
    assert_eq!(recovered, [real.id(0)]);
    let row = test.db.task(real.id(1), None, Preview::Whole).await.expect("look up").expect("is there");
    assert_eq!(
        (row.status, row.claimed_by, row.claim_no, row.version),
        (Status::Running, Some(real.instance(1)), 2, 3)
    );
}
