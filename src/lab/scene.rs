//! One scene: callers are let go together, a holder keeps their rows until all of them are seen waiting, and a third
//! connection watches.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::future::{BoxFuture, join, join_all};
use tokio::sync::watch;
use tokio::time::timeout;

use super::cast::Cast;
use super::watch::{Clock, Watch};
use crate::db::DbError;
use crate::db::lab::{Ended, Transaction};
use crate::domain::lab::{Answer, Call, Gate, HOLDER, Round, RowSeen};
use crate::domain::outcome::{ClaimById, Decided, DecisionOutcome, Finished, Verdict};

/// The pause between two looks.
const LOOK_EVERY: Duration = Duration::from_millis(3);

/// How long the holder waits for all callers to be seen waiting: less than a caller waits for a row.
const SEEN_WITHIN: Duration = Duration::from_millis(2_500);

/// An answer, before it is known when it was asked for.
#[derive(Debug, Clone)]
pub(super) struct Said {
    pub(super) answer: Answer,
    pub(super) rows: Option<i64>,
    pub(super) sqlstate: Option<String>,
    pub(super) message: Option<String>,
    pub(super) retries: u32,
    pub(super) resolved_from_unknown: bool,
    pub(super) told: Vec<RowSeen>,
}

impl Said {
    /// An answer with nothing to it but how many rows were changed.
    pub(super) fn new(answer: Answer, rows: Option<i64>) -> Self {
        Self {
            answer,
            rows,
            sqlstate: None,
            message: None,
            retries: 0,
            resolved_from_unknown: false,
            told: Vec::new(),
        }
    }

    /// An error.
    pub(super) fn error(error: &DbError) -> Self {
        let answer = match error {
            DbError::Unavailable(_) | DbError::Schema(_) => Answer::Unavailable,
            DbError::Unknown(_) => Answer::Unknown,
            DbError::Refused(_) | DbError::Taken(_) => Answer::Refused,
            DbError::BadRow { .. } => Answer::BadRow,
        };
        let trouble = error.trouble();
        Self {
            sqlstate: trouble.and_then(|trouble| trouble.sqlstate.clone()),
            message: Some(error.to_string()),
            retries: trouble.map_or(0, |trouble| trouble.retries),
            ..Self::new(answer, None)
        }
    }

    /// The answer to a claim.
    pub(super) fn claim(cast: &Cast, answer: Result<ClaimById, DbError>) -> Self {
        match answer {
            Ok(ClaimById::Won { task }) => {
                Self { told: vec![cast.seen(&task)], ..Self::new(Answer::Won, Some(1)) }
            }
            Ok(ClaimById::Lost { task }) => {
                Self { told: vec![cast.seen(&task)], ..Self::new(Answer::Lost, Some(0)) }
            }
            Ok(ClaimById::AtLimit { task, .. }) => {
                Self { told: vec![cast.seen(&task)], ..Self::new(Answer::OverLimit, Some(0)) }
            }
            Ok(ClaimById::NotFound) => Self::new(Answer::NotFound, Some(0)),
            Err(error) => Self::error(&error),
        }
    }

    /// The answer to a decision.
    pub(super) fn decision(cast: &Cast, answer: Result<Decided, DbError>) -> Self {
        let decided = match answer {
            Ok(decided) => decided,
            Err(error) => return Self::error(&error),
        };
        let (answer, rows) = match decided.outcome() {
            DecisionOutcome::Committed => (Answer::Committed, decided.rows.len()),
            DecisionOutcome::Conflict => (Answer::Conflict, 0),
            DecisionOutcome::NotFound => (Answer::NotFound, 0),
            DecisionOutcome::Refused if over_limit(&decided) => (Answer::OverLimit, 0),
            DecisionOutcome::Refused => (Answer::Refused, 0),
        };
        let told = decided.rows.iter().filter_map(|(_, verdict)| match verdict {
            Verdict::Committed { task, .. }
            | Verdict::Conflict { task, .. }
            | Verdict::Refused { task }
            | Verdict::OverLimit { task, .. }
            | Verdict::Held { task } => Some(cast.seen(task)),
            Verdict::NotFound => None,
        });
        Self {
            told: told.collect(),
            retries: decided.retries,
            resolved_from_unknown: decided.resolved_from_unknown,
            ..Self::new(answer, i64::try_from(rows).ok())
        }
    }

    /// The answer to one finish.
    pub(super) fn finish(answer: Result<Vec<Finished>, DbError>) -> Self {
        match answer.map(|mut finished| finished.pop()) {
            Ok(Some(Finished::Committed { status })) => Self {
                message: Some(format!("the row is {status}")),
                ..Self::new(Answer::Committed, Some(1))
            },
            Ok(Some(Finished::LeaseLost { status, claim_no })) => Self {
                message: Some(format!("the row is {status}, its claim {claim_no}")),
                ..Self::new(Answer::LeaseLost, Some(0))
            },
            Ok(Some(Finished::NotFound) | None) => Self::new(Answer::NotFound, Some(0)),
            Err(error) => Self::error(&error),
        }
    }

    /// How a transaction ended.
    pub(super) fn ended(answer: Result<Ended, DbError>) -> Self {
        match answer {
            Ok(Ended::Committed) => Self::new(Answer::Committed, None),
            Ok(Ended::RolledBack { error }) => {
                let said = Self::error(&error);
                let message = said.message.map(|why| format!("{why}; the driver said done to the COMMIT"));
                Self { answer: Answer::RolledBack, message, ..said }
            }
            Err(error) => Self::error(&error),
        }
    }
}

/// Whether a limit, and nobody's four eyes, stood in the way.
fn over_limit(decided: &Decided) -> bool {
    decided.rows.iter().any(|(_, verdict)| matches!(verdict, Verdict::OverLimit { .. }))
}

/// One caller's question.
pub(super) struct Asking<'a> {
    pub(super) who: String,
    pub(super) act: &'static str,
    pub(super) ask: BoxFuture<'a, Said>,
}

/// Asks, and says when.
pub(super) async fn timed(clock: Clock, who: &str, act: &str, ask: impl Future<Output = Said>) -> Call {
    let asked_us = clock.us();
    let said = ask.await;
    let Said { answer, rows, sqlstate, message, retries, resolved_from_unknown, told } = said;
    Call {
        who: who.to_owned(),
        act: act.to_owned(),
        asked_us,
        answered_us: clock.us(),
        answer,
        rows,
        sqlstate,
        message,
        retries,
        resolved_from_unknown,
        told,
    }
}

/// What the holder is told: whether all callers have been seen waiting.
pub(super) struct Waiting(watch::Receiver<bool>);

impl Waiting {
    /// Waits until they have been, for as long as they wait themselves at most; says whether they have.
    pub(super) async fn all_seen(&mut self) -> bool {
        matches!(timeout(SEEN_WITHIN, self.0.wait_for(|seen| *seen)).await, Ok(Ok(_)))
    }
}

/// Plays a scene: lets `asking` go together, runs the `holder`'s part beside them, and watches until all are done. The
/// holder's part returns when it let go, and its own calls.
pub(super) async fn play<H, F>(
    cast: &Cast,
    round: &mut Round,
    clock: Clock,
    transactions: &[(i32, &str)],
    asking: Vec<Asking<'_>>,
    holder: H,
) -> Result<(), DbError>
where
    H: FnOnce(Waiting) -> F,
    F: Future<Output = (Gate, Vec<Call>)>,
{
    let callers: Vec<String> = asking.iter().map(|asking| asking.who.clone()).collect();
    let mut watch = Watch::begin(cast, clock, transactions).await?;
    let (seen, waiting) = watch::channel(false);
    let over = AtomicBool::new(false);
    let acting = async {
        let calls = asking
            .into_iter()
            .map(|asking| async move { timed(clock, &asking.who, asking.act, asking.ask).await });
        let done = join(join_all(calls), holder(Waiting(waiting))).await;
        over.store(true, Ordering::Relaxed);
        done
    };
    // A look is never broken off: its connection would be thrown away.
    let watching = async {
        loop {
            if let Err(error) = watch.look().await {
                return Some(error);
            }
            if watch.has_seen(&callers) {
                seen.send_replace(true);
            }
            if over.load(Ordering::Relaxed) {
                return None;
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    };
    let ((calls, (gate, of_holder)), trouble) = join(acting, watching).await;
    round.calls.extend(calls);
    round.calls.extend(of_holder);
    round.waits = watch.into_waits();
    round.gate = gate;
    trouble.map_or(Ok(()), Err)
}

/// The holder of a race: keeps the rows until all wait, then lets go without having changed anything.
pub(super) async fn let_go(clock: Clock, holder: Transaction, mut waiting: Waiting) -> (Gate, Vec<Call>) {
    let all_waited = waiting.all_seen().await;
    let opened_us = Some(clock.us());
    // If it cannot be ended in order it ends with its connection.
    let _ = holder.roll_back().await;
    (Gate { opened_us, all_waited }, Vec::new())
}

/// A transaction's whole as one call of the holder's.
pub(super) fn of_holder(act: &str, asked_us: u64, clock: Clock, said: Said) -> Call {
    let Said { answer, rows, sqlstate, message, retries, resolved_from_unknown, told } = said;
    Call {
        who: HOLDER.to_owned(),
        act: act.to_owned(),
        asked_us,
        answered_us: clock.us(),
        answer,
        rows,
        sqlstate,
        message,
        retries,
        resolved_from_unknown,
        told,
    }
}
