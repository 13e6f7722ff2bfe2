//! Waits for locks: circles, an order without circles, and waits that take too long.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::FutureExt as _;

use super::cast::{Cast, quiet};
use super::races::{decides, decision};
use super::scene::{Asking, Said, of_holder, play};
use super::watch::Clock;
use super::{LOCK_WAIT, limits};
use crate::db::lab::{Ended, Transaction};
use crate::db::{DbError, Limits};
use crate::domain::lab::{Gate, HOLDER, Part, Round};
use crate::domain::{DecisionKind, TaskId};

/// How long the impatient one waits for a row; less than the server waits before it looks for a deadlock.
const IMPATIENT: Duration = Duration::from_millis(300);

/// What a transaction does when it has its first row: locks its second, changes it where that is asked for, commits.
async fn go_on(
    mut transaction: Transaction,
    second: TaskId,
    touched: Option<TaskId>,
) -> Result<Ended, DbError> {
    transaction.lock(&[second]).await?;
    if let Some(id) = touched {
        transaction.touch(id).await?;
    }
    transaction.commit().await
}

/// A decision A about two rows, which locks them in ascending order, and a holder that locks them in the opposite one. A
/// waits first by half the time after which the server looks for a circle, so it is in A's wait that it finds one.
pub(super) async fn deadlock(cast: &Cast, round: &mut Round) -> Result<(), DbError> {
    let (first, second) = (cast.queued().await?, cast.queued().await?);
    let ids = [first.id, second.id];
    round.states.push(cast.state("before", &ids).await?);
    let [caller, _] = cast.two();
    let mut holder = cast.stage.lab().transaction().await?;
    holder.lock(&[second.id]).await?;
    let touched = (round.part == Part::MovedOn).then_some(second.id);
    let clock = Clock::start();
    let transactions = [(holder.pid(), HOLDER)];
    let asking = vec![decides(cast, caller, DecisionKind::Cancel, &[&first, &second])];
    play(cast, round, clock, &transactions, asking, |mut waiting| async move {
        let all_waited = waiting.all_seen().await;
        tokio::time::sleep(cast.looks_after / 2).await;
        let asked = clock.us();
        let said = Said::ended(go_on(holder, first.id, touched).await);
        let gate = Gate { opened_us: Some(clock.us()), all_waited };
        (gate, vec![of_holder("lock both", asked, clock, said)])
    })
    .await?;
    round.states.push(cast.state("after", &ids).await?);
    Ok(())
}

/// Everybody in ascending order: the holder locks the first row, the callers wait for it, the holder locks the second.
pub(super) async fn ascending(cast: &Cast, round: &mut Round) -> Result<(), DbError> {
    let (first, second) = (cast.queued().await?, cast.queued().await?);
    let ids = [first.id, second.id];
    round.states.push(cast.state("before", &ids).await?);
    let mut holder = cast.stage.lab().transaction().await?;
    holder.lock(&[first.id]).await?;
    let clock = Clock::start();
    let transactions = [(holder.pid(), HOLDER)];
    // Named in descending order: the statement sorts them.
    let cancels = |caller| decides(cast, caller, DecisionKind::Cancel, &[&second, &first]);
    let asking: Vec<Asking<'_>> = cast.callers.iter().map(cancels).collect();
    let locked_second = AtomicU64::new(0);
    let noted = &locked_second;
    play(cast, round, clock, &transactions, asking, |mut waiting| async move {
        let all_waited = waiting.all_seen().await;
        let asked = clock.us();
        let locked = holder.lock(&[second.id]).await;
        noted.store(clock.us(), Ordering::Relaxed);
        let opened_us = Some(clock.us());
        let ended = match locked {
            Ok(_) => holder.commit().await,
            Err(error) => Err(error),
        };
        let gate = Gate { opened_us, all_waited };
        (gate, vec![of_holder("lock both", asked, clock, Said::ended(ended))])
    })
    .await?;
    let locked_second = locked_second.load(Ordering::Relaxed);
    round.figures.insert("locked_second_us".to_owned(), i64::try_from(locked_second).unwrap_or(i64::MAX));
    round.states.push(cast.state("after", &ids).await?);
    Ok(())
}

/// An impatient caller's wait for a row that is held for longer.
pub(super) async fn held_too_long(cast: &Cast, round: &mut Round) -> Result<(), DbError> {
    let task = cast.queued().await?;
    round.states.push(cast.state("before", &[task.id]).await?);
    let [caller, _] = cast.two();
    let impatient = cast.another(&caller.who, Limits { lock: IMPATIENT, ..limits(LOCK_WAIT) }).await?;
    let mut holder = cast.stage.lab().transaction().await?;
    holder.lock(&[task.id]).await?;
    let clock = Clock::start();
    let transactions = [(holder.pid(), HOLDER)];
    let asked = decision(caller, DecisionKind::Cancel, &[&task]);
    let (tell, told) = tokio::sync::oneshot::channel();
    let db = &impatient;
    let ask = async move {
        let said = Said::decision(cast, db.decide(&asked, &quiet).await);
        let _ = tell.send(());
        said
    };
    let asking = vec![Asking { who: caller.who.clone(), act: "cancel", ask: ask.boxed() }];
    play(cast, round, clock, &transactions, asking, |mut waiting| async move {
        let all_waited = waiting.all_seen().await;
        // It is held until the answer is there.
        let _ = tokio::time::timeout(LOCK_WAIT, told).await;
        let opened_us = Some(clock.us());
        let _ = holder.roll_back().await;
        (Gate { opened_us, all_waited }, Vec::new())
    })
    .await?;
    round
        .figures
        .insert("lock_timeout_ms".to_owned(), i64::try_from(IMPATIENT.as_millis()).unwrap_or(i64::MAX));
    round.states.push(cast.state("after", &[task.id]).await?);
    impatient.close();
    Ok(())
}

/// Two transactions that decide nothing again by themselves, so that the server's code is seen.
pub(super) async fn held_in_a_circle(cast: &Cast, round: &mut Round) -> Result<(), DbError> {
    let (first, second) = (cast.queued().await?.id, cast.queued().await?.id);
    round.states.push(cast.state("before", &[first, second]).await?);
    let [caller, _] = cast.two();
    let lab = cast.stage.lab();
    let (mut one, mut holder) = (lab.transaction().await?, lab.transaction().await?);
    one.lock(&[first]).await?;
    holder.lock(&[second]).await?;
    let clock = Clock::start();
    let transactions = [(holder.pid(), HOLDER), (one.pid(), caller.who.as_str())];
    let ask = async move { Said::ended(go_on(one, second, None).await) };
    let asking = vec![Asking { who: caller.who.clone(), act: "lock both", ask: ask.boxed() }];
    play(cast, round, clock, &transactions, asking, |mut waiting| async move {
        let all_waited = waiting.all_seen().await;
        let asked = clock.us();
        let said = Said::ended(go_on(holder, first, None).await);
        let gate = Gate { opened_us: Some(clock.us()), all_waited };
        (gate, vec![of_holder("lock both", asked, clock, said)])
    })
    .await?;
    round.states.push(cast.state("after", &[first, second]).await?);
    Ok(())
}

/// A wait that ends well, with the row changed meanwhile: no row, no error.
pub(super) async fn waited_in_vain(cast: &Cast, round: &mut Round) -> Result<(), DbError> {
    let task = cast.queued().await?;
    round.states.push(cast.state("before", &[task.id]).await?);
    let [caller, _] = cast.two();
    let mut holder = cast.stage.lab().transaction().await?;
    holder.lock(&[task.id]).await?;
    holder.touch(task.id).await?;
    let clock = Clock::start();
    let transactions = [(holder.pid(), HOLDER)];
    let asking = vec![decides(cast, caller, DecisionKind::Cancel, &[&task])];
    play(cast, round, clock, &transactions, asking, |mut waiting| async move {
        let all_waited = waiting.all_seen().await;
        let opened = clock.us();
        let said = Said::ended(holder.commit().await);
        let gate = Gate { opened_us: Some(opened), all_waited };
        (gate, vec![of_holder("change", opened, clock, said)])
    })
    .await?;
    round.states.push(cast.state("after", &[task.id]).await?);
    Ok(())
}
