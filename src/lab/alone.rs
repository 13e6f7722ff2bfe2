//! Steps in one order, each seen over the third connection.

use std::time::Duration;

use uuid::Uuid;

use super::cast::{Caller, Cast, TEXT};
use super::limits;
use super::races::{finishes, success};
use super::scene::{Said, of_holder, timed};
use super::watch::Clock;
use crate::db::{Db, DbError, Heartbeat, Limits, Preview, Renewal};
use crate::domain::lab::{Answer, Round};
use crate::domain::{InstanceId, InstanceState, TaskId, TextCounts};

/// How long the next call waits for the only connection.
const DEADLINE: Duration = Duration::from_millis(400);

/// As many rows as no buffer between here and there holds.
const ROWS: i64 = 200_000;

/// How long the lease of the one that stands still lasts.
const LEASE: Duration = Duration::from_millis(200);

/// How often it is looked whether it has passed.
const LOOK_EVERY: Duration = Duration::from_millis(20);

fn count(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// A result in a transaction that fails, then the real one, then another for the same claim.
pub(super) async fn rolled_back(cast: &Cast, round: &mut Round) -> Result<(), DbError> {
    let task = cast.queued().await?;
    let id = task.id;
    let [caller, _] = cast.two();
    caller.db.claim_by_id(caller.instance, id).await?;
    round.states.push(cast.state("before", &[id]).await?);
    let counts = TextCounts::of(TEXT);
    round.figures.insert("words".to_owned(), counts.words);
    let clock = Clock::start();
    let mut transaction = cast.stage.lab().transaction().await?;
    let asked = clock.us();
    let said = match transaction.write_result(id).await {
        Ok(rows) => Said::new(Answer::Committed, Some(count(rows))),
        Err(error) => Said::error(&error),
    };
    // Within a transaction nothing is committed yet.
    let said = if said.answer == Answer::Committed { Said { answer: Answer::Read, ..said } } else { said };
    round.calls.push(of_holder("write a result", asked, clock, said));
    round.states.push(cast.state("during", &[id]).await?);
    // That it fails is what it is for; how it ends is told by its end.
    let _ = transaction.fail().await;
    let asked = clock.us();
    let said = Said::ended(transaction.commit().await);
    round.calls.push(of_holder("commit", asked, clock, said));
    round.states.push(cast.state("rolled back", &[id]).await?);
    let claim_no = task.claim_no + 1;
    let finish = finishes(caller, "finish", success(id, claim_no, counts));
    round.calls.push(timed(clock, &finish.who, finish.act, finish.ask).await);
    let other = TextCounts { words: counts.words + 1, ..counts };
    let finish = finishes(caller, "finish otherwise", success(id, claim_no, other));
    round.calls.push(timed(clock, &finish.who, finish.act, finish.ask).await);
    round.states.push(cast.state("after", &[id]).await?);
    Ok(())
}

/// Reads the clock, for nothing but that it needs a connection.
async fn reads_the_clock(db: &Db) -> Said {
    match db.clock().await {
        Ok(_) => Said::new(Answer::Read, None),
        Err(error) => Said::error(&error),
    }
}

fn in_use(db: &Db) -> i64 {
    count(db.operator_pool().figures().in_use)
}

/// A half-read result holds the only connection of a pool.
pub(super) async fn half_read(cast: &Cast, round: &mut Round) -> Result<(), DbError> {
    let db = cast.another("pool", Limits { acquire: DEADLINE, ..limits(DEADLINE) }).await?;
    let figures = &mut round.figures;
    figures
        .insert("deadline_ms".to_owned(), count(usize::try_from(DEADLINE.as_millis()).unwrap_or(usize::MAX)));
    figures.insert("rows_asked".to_owned(), ROWS);
    let clock = Clock::start();
    let asked_us = clock.us();
    let half = db.lab().half_read(ROWS).await?;
    round.figures.insert("rows_read".to_owned(), half.read);
    let read = timed(clock, "A", "read one row", async { Said::new(Answer::Read, None) }).await;
    round.calls.push(crate::domain::lab::Call { asked_us, ..read });
    round.figures.insert("in_use_during".to_owned(), in_use(&db));
    round.calls.push(timed(clock, "B", "read the clock", reads_the_clock(&db)).await);
    drop(half);
    round.calls.push(timed(clock, "B", "read the clock again", reads_the_clock(&db)).await);
    round.figures.insert("in_use_after".to_owned(), in_use(&db));
    db.close();
    Ok(())
}

/// Reads one task.
async fn reads(db: &Db, cast: &Cast, id: TaskId) -> Said {
    match db.task(id, None, Preview::Whole).await {
        Ok(Some(task)) => Said { told: vec![cast.seen(&task)], ..Said::new(Answer::Read, None) },
        Ok(None) => Said::new(Answer::NotFound, None),
        Err(error) => Said::error(&error),
    }
}

/// A row with a value that this program cannot read, one that is not there, and a sound one.
pub(super) async fn unreadable(cast: &Cast, round: &mut Round) -> Result<(), DbError> {
    let (bad, sound) = (cast.queued().await?.id, cast.queued().await?.id);
    let db = cast.another("pool", limits(super::LOCK_WAIT)).await?;
    round.figures.insert("spoiled".to_owned(), count(cast.stage.lab().spoil(bad).await?));
    let clock = Clock::start();
    for (act, id) in
        [("read the bad row", bad), ("read a missing row", TaskId(i64::MAX)), ("read a sound row", sound)]
    {
        round.calls.push(timed(clock, "A", act, reads(&db, cast, id)).await);
    }
    round.figures.insert("in_use_after".to_owned(), in_use(&db));
    db.close();
    Ok(())
}

/// Renews a lease as a worker would.
async fn beats(caller: &Caller) -> Said {
    let beat = Heartbeat {
        lease: LEASE,
        state: InstanceState::Working,
        done_total: 0,
        failed_total: 0,
        done_per_s: 0.0,
        failed_per_min: 0.0,
        claims_per_s: 0.0,
    };
    match caller.db.heartbeat(caller.instance, &beat).await {
        Ok(Renewal::Renewed { .. }) => Said::new(Answer::Committed, Some(1)),
        Ok(Renewal::Lost) => Said::new(Answer::LeaseLost, Some(0)),
        Err(error) => Said::error(&error),
    }
}

/// A claims and stands still; B takes back what A held, claims it, and A comes back, twice.
pub(super) async fn lease_passed(cast: &Cast, round: &mut Round) -> Result<(), DbError> {
    let id = cast.queued().await?.id;
    let [first, other] = cast.two();
    // An instance of this round alone: one that was lost never works again.
    let frozen = Caller { instance: InstanceId(Uuid::now_v7()), ..first.clone() };
    frozen.register(LEASE).await?;
    round.states.push(cast.state("before", &[id]).await?);
    let counts = TextCounts::of(TEXT);
    round.figures.insert("words".to_owned(), counts.words);
    round
        .figures
        .insert("lease_ms".to_owned(), count(usize::try_from(LEASE.as_millis()).unwrap_or(usize::MAX)));
    let clock = Clock::start();
    let claims =
        |caller: Caller| async move { Said::claim(cast, caller.db.claim_by_id(caller.instance, id).await) };
    let claimed = timed(clock, "A", "claim", claims(frozen.clone())).await;
    let claim_no = claimed.told.first().map_or(0, |row| row.claim_no);
    round.calls.push(claimed);
    while !cast.witness.lab().lease_is_past(frozen.instance).await? {
        tokio::time::sleep(LOOK_EVERY).await;
    }
    let recovers = async {
        match other.db.recover(&other.actor()).await {
            Ok(taken) => {
                let rows = taken.iter().filter(|taken| taken.id == id).count();
                Said::new(Answer::Committed, Some(count(rows)))
            }
            Err(error) => Said::error(&error),
        }
    };
    round.calls.push(timed(clock, "B", "recover", recovers).await);
    round.states.push(cast.state("taken back", &[id]).await?);
    let late = TextCounts { words: counts.words + 1, ..counts };
    let finish = finishes(&frozen, "finish", success(id, claim_no, late));
    round.calls.push(timed(clock, "A", finish.act, finish.ask).await);
    round.states.push(cast.state("after the late finish", &[id]).await?);
    let claimed = timed(clock, "B", "claim", claims(other.clone())).await;
    let second_claim = claimed.told.first().map_or(0, |row| row.claim_no);
    round.calls.push(claimed);
    round.states.push(cast.state("claimed again", &[id]).await?);
    let finish = finishes(&frozen, "finish again", success(id, claim_no, late));
    round.calls.push(timed(clock, "A", finish.act, finish.ask).await);
    round.states.push(cast.state("after the second late finish", &[id]).await?);
    round.calls.push(timed(clock, "A", "heartbeat", beats(&frozen)).await);
    let finish = finishes(other, "finish", success(id, second_claim, counts));
    round.calls.push(timed(clock, "B", finish.act, finish.ask).await);
    round.states.push(cast.state("after", &[id]).await?);
    Ok(())
}
