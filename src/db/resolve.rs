//! After an unknown outcome: find out what happened, by sending the same operation again, never by a guess.
//!
//! Sending again is sound because every write carries its own condition (a version, a claim number) or a
//! unique key: if the first is applied, the second changes nothing and finds it; if the second is applied, the
//! first, should it still arrive, changes nothing. So the write is its own fence.
//!
//! While the write itself cannot be had (the server takes no writes now, or the first still holds the row's lock) a
//! read may: where it finds the operation's own trace, the operation is applied, since only its commit makes that
//! trace visible. Finding none settles nothing: the first may still be on its way, and a read is no fence.

use std::future::Future;
use std::time::{Duration, Instant};

use super::error::{DbError, Trouble};
use crate::domain::Backoff;

/// The most times that a whole decision is decided again after the server rolled it back.
pub(crate) const RETRIES: u32 = 3;

/// For how long an unknown outcome is pursued.
pub(crate) const RESOLVE_WITHIN: Duration = Duration::from_secs(30);

/// The waits between two attempts.
const AGAIN: Backoff = Backoff { base: Duration::from_millis(10), cap: Duration::from_secs(2) };

/// Called once when an answer was lost and its outcome is being established.
pub type OnUnknown<'a> = &'a (dyn Fn(&Trouble) + Sync);

/// An answer, and what it took to get it.
#[derive(Debug)]
pub(crate) struct Resolved<T> {
    pub(crate) answer: T,
    pub(crate) from_unknown: bool,
    pub(crate) retries: u32,
}

/// Runs `attempt` until its outcome is known: a lost answer is pursued by attempting the same again, a deadlock
/// or serialization failure is decided again at most [`RETRIES`] times. Where another attempt does not tell either,
/// `trace` reads whether the operation has left its mark.
///
/// `attempt` must be safe to repeat. Once an answer was lost, "not applied" is only believed from an attempt that
/// was answered: while there is none the outcome stays unknown.
///
/// # Errors
/// `Unknown` if the outcome is still not known after [`RESOLVE_WITHIN`]; what else `attempt` says; `BadRow` at once, also
/// from `trace`, since asking again would not make the row readable.
pub(crate) async fn resolve<T, A, R>(
    on_unknown: OnUnknown<'_>,
    mut attempt: impl FnMut() -> A,
    mut trace: impl FnMut() -> R,
) -> Result<Resolved<T>, DbError>
where
    A: Future<Output = Result<T, DbError>>,
    R: Future<Output = Result<Option<T>, DbError>>,
{
    let mut unknown: Option<(DbError, Instant)> = None;
    let mut retries = 0;
    let mut failures = 0;
    loop {
        let again = unknown.is_some();
        match attempt().await {
            Ok(answer) => {
                return Ok(Resolved { answer, from_unknown: unknown.is_some(), retries });
            }
            Err(error) if error.may_retry_whole() && retries < RETRIES => retries += 1,
            Err(DbError::Unknown(trouble)) => {
                if unknown.is_none() {
                    on_unknown(&trouble);
                }
                let since = unknown.as_ref().map_or_else(Instant::now, |(_, since)| *since);
                if since.elapsed() > RESOLVE_WITHIN {
                    return Err(DbError::Unknown(trouble).after(retries));
                }
                unknown = Some((DbError::Unknown(trouble), since));
            }
            // It was answered, and what it did is told in the error: only the row cannot be read.
            Err(error @ DbError::BadRow { .. }) => return Err(error.after(retries)),
            Err(error) => match unknown {
                None => return Err(error.after(retries)),
                Some((unknown, since)) if since.elapsed() > RESOLVE_WITHIN => {
                    return Err(unknown.after(retries));
                }
                Some(_) => {}
            },
        }
        if again {
            match trace().await {
                Ok(Some(answer)) => return Ok(Resolved { answer, from_unknown: true, retries }),
                Err(error @ DbError::BadRow { .. }) => return Err(error.after(retries)),
                Ok(None) | Err(_) => {}
            }
        }
        failures += 1;
        tokio::time::sleep(AGAIN.after(failures)).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bad_row() -> DbError {
        DbError::BadRow { what: "applied, but task 1".to_owned(), problem: "column words".to_owned() }
    }

    fn unknown() -> DbError {
        DbError::Unknown(Trouble::new("no answer"))
    }

    /// What `resolve` says to these answers; it may not ask for more of them.
    async fn said(attempts: Vec<DbError>, traces: Vec<DbError>) -> DbError {
        let (mut attempts, mut traces) = (attempts.into_iter(), traces.into_iter());
        let attempt = || std::future::ready(Err::<(), _>(attempts.next().expect("it was answered")));
        let trace = || std::future::ready(Err::<Option<()>, _>(traces.next().expect("it was answered")));
        resolve(&|_| (), attempt, trace).await.expect_err("no answer that can be read")
    }

    #[tokio::test]
    async fn a_repeat_that_was_answered_with_a_row_that_cannot_be_read_is_an_answer() {
        assert_eq!(said(vec![unknown(), bad_row()], Vec::new()).await, bad_row());
        assert_eq!(said(vec![unknown(), unknown()], vec![bad_row()]).await, bad_row());
        assert_eq!(said(vec![bad_row()], Vec::new()).await, bad_row());
    }
}
