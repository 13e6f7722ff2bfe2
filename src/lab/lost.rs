//! An answer, or a question, that is cut off on the wire.

use std::sync::atomic::{AtomicI64, Ordering};

use super::cast::{Cast, TEXT};
use super::proxy::{Cut, Proxy};
use super::races::decision;
use super::scene::{Said, timed};
use super::watch::Clock;
use crate::db::{Db, DbError, Trouble};
use crate::domain::input::SubmissionKey;
use crate::domain::lab::{Answer, Part, Round};
use crate::domain::{DecisionKind, NewTask};

/// The caller's connection, through somebody who cuts.
async fn through(cast: &Cast) -> Result<(Proxy, Db), DbError> {
    let wire = cast.stage.lab().wire().ok_or_else(|| {
        DbError::not_sent(
            "channel_binding=require binds what is said to its encryption, so nobody may cut it",
        )
    })?;
    let proxy = Proxy::start(wire).await.map_err(|error| {
        DbError::not_sent(format!("no port of this machine could be listened on: {error}"))
    })?;
    let db = cast.stage.lab().through(proxy.port(), cast.options("A")).await?;
    Ok((proxy, db))
}

/// A decision whose answer is lost, or that is lost on its way.
pub(super) async fn decision_lost(cast: &Cast, round: &mut Round) -> Result<(), DbError> {
    let task = cast.held().await?;
    let (proxy, db) = through(cast).await?;
    round.states.push(cast.state("before", &[task.id]).await?);
    let [caller, _] = cast.two();
    let asked = decision(caller, DecisionKind::Approve, &[&task]);
    let cut = if round.part == Part::DecisionLost { Cut::Request } else { Cut::Answer };
    // The operation's id travels as its bytes, and with the decision first.
    proxy.cut(cut, asked.operation.0.as_bytes());
    let unknown = AtomicI64::new(0);
    let count = |_: &Trouble| {
        unknown.fetch_add(1, Ordering::Relaxed);
    };
    let decides = async { Said::decision(cast, db.decide(&asked, &count).await) };
    round.calls.push(timed(Clock::start(), &caller.who, "approve", decides).await);
    round.figures.insert("cuts".to_owned(), proxy.cuts());
    round.figures.insert("told_unknown".to_owned(), unknown.load(Ordering::Relaxed));
    round.states.push(cast.state("after", &[task.id]).await?);
    db.close();
    Ok(())
}

/// A submit whose answer is lost.
pub(super) async fn submit_lost(cast: &Cast, round: &mut Round) -> Result<(), DbError> {
    let (proxy, db) = through(cast).await?;
    let key = SubmissionKey::fresh();
    proxy.cut(Cut::Answer, key.id.as_bytes());
    let unknown = AtomicI64::new(0);
    let count = |_: &Trouble| {
        unknown.fetch_add(1, Ordering::Relaxed);
    };
    let submits = async {
        match db.submit(TEXT, &NewTask::default(), &key, &count).await {
            Ok(submitted) => Said {
                told: vec![cast.seen(&submitted.task)],
                resolved_from_unknown: submitted.resolved_from_unknown,
                ..Said::new(Answer::Committed, Some(1))
            },
            Err(error) => Said::error(&error),
        }
    };
    round.calls.push(timed(Clock::start(), "A", "submit", submits).await);
    round.figures.insert("cuts".to_owned(), proxy.cuts());
    round.figures.insert("told_unknown".to_owned(), unknown.load(Ordering::Relaxed));
    let made = cast.witness.lab().made_by(key.id).await?;
    round.figures.insert("rows_made".to_owned(), i64::try_from(made.len()).unwrap_or(i64::MAX));
    round.states.push(cast.state("after", &made).await?);
    db.close();
    Ok(())
}
