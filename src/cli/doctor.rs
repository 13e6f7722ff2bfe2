//! `taskdeck doctor`: asks what can be wrong with a database and says how to mend it.

mod checks;

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use serde::Serialize;

use super::exit::{Exit, Failure};
use super::open::{SchemaCheck, Session, open};
use super::run::Call;
use crate::db::{Db, DbError, Wake};
use crate::domain::text::visible;

/// How long a wake-up may take to be delivered.
const DELIVERY: Duration = Duration::from_secs(3);

/// How a check came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
enum Level {
    /// Nothing to do.
    Ok,
    /// It works, and something follows from it.
    Warn,
    /// Something does not work.
    Fail,
}

/// One check with its outcome.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Check {
    name: &'static str,
    level: Level,
    message: String,
    hint: Option<String>,
}

impl Check {
    fn new(name: &'static str, level: Level, message: impl Into<String>) -> Self {
        Self { name, level, message: message.into(), hint: None }
    }

    fn ok(name: &'static str, message: impl Into<String>) -> Self {
        Self::new(name, Level::Ok, message)
    }

    fn warn(name: &'static str, message: impl Into<String>) -> Self {
        Self::new(name, Level::Warn, message)
    }

    fn fail(name: &'static str, message: impl Into<String>) -> Self {
        Self::new(name, Level::Fail, message)
    }

    fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// A question that got no answer.
    fn unanswered(name: &'static str, error: &DbError) -> Self {
        let check = Self::fail(name, error.to_string());
        match error.hint() {
            Some(hint) => check.hint(hint),
            None => check,
        }
    }
}

#[derive(Debug, Serialize)]
struct Document<'a> {
    checks: &'a [Check],
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a Failure>,
}

/// Checks everything. The exit code is 0 if nothing fails, 1 if something does, 5 if nobody answers.
///
/// # Errors
/// The settings themselves are wrong.
pub(super) async fn run(call: &Call) -> Result<Exit, Failure> {
    let session = match open(&call.settings, "doctor", SchemaCheck::ByCommand).await {
        Ok(session) => session,
        Err(failure) if failure.exit == Exit::Usage => return Err(failure),
        Err(failure) => {
            let check = Check { hint: failure.hint.clone(), ..Check::fail("connect", &failure.message) };
            print(call, &[check], Some(&failure))?;
            return Ok(failure.exit);
        }
    };
    let checks = examine(call, &session).await;
    session.close().await;
    print(call, &checks, None)?;
    let failed = checks.iter().any(|check| check.level == Level::Fail);
    Ok(if failed { Exit::Unexpected } else { Exit::Done })
}

async fn examine(call: &Call, session: &Session) -> Vec<Check> {
    let db = &session.db;
    let mut checks = vec![Check::ok("connect", format!("{} (from {})", session.label, session.source))];
    match db.server_facts().await {
        Ok(facts) => checks.extend([checks::version(&facts), checks::encoding(&facts)]),
        Err(error) => checks.push(Check::unanswered("server", &error)),
    }
    let schema = db.check_schema().await;
    checks.push(checks::schema(call.settings.schema.name(), &schema));
    if schema.is_ok() {
        match db.privileges().await {
            Ok(privileges) => checks.push(checks::privileges(&privileges)),
            Err(error) => checks.push(Check::unanswered("privileges", &error)),
        }
    }
    match db.health().await {
        Ok(health) => {
            checks.push(checks::isolation(&health));
            checks.push(checks::writable(&health, call.settings.access));
            checks.push(checks::connections(&health, &call.settings.limits));
            checks.push(checks::oldest_transaction(&health));
            checks.push(checks::dead_rows(&health));
            checks.push(checks::lock_waits(&health));
        }
        Err(error) => checks.push(Check::unanswered("health", &error)),
    }
    checks.push(clock(db).await);
    checks.push(delivery(db).await);
    checks
}

/// Compares the clocks at the middle of a round trip.
async fn clock(db: &Db) -> Check {
    let (before, started) = (Timestamp::now(), Instant::now());
    match db.clock().await {
        Ok(theirs) => {
            let round_trip = started.elapsed();
            let ours = before + round_trip / 2;
            let apart = Duration::try_from(theirs.duration_since(ours).abs()).unwrap_or_default();
            checks::clock(apart, round_trip)
        }
        Err(error) => Check::unanswered("clock", &error),
    }
}

/// Whether a wake-up really arrives: some poolers accept LISTEN and deliver nothing.
async fn delivery(db: &Db) -> Check {
    if db.behind_pooler() {
        return checks::behind_pooler();
    }
    let mut listener = match db.listen().await {
        Ok(listener) => listener,
        Err(error) => return Check::unanswered("notifications", &error),
    };
    let started = Instant::now();
    db.wake();
    match listener.wait(DELIVERY).await {
        Ok(Wake::Work | Wake::Fleet) => checks::delivered(started.elapsed()),
        Ok(Wake::TimedOut) => checks::undelivered(DELIVERY),
        Err(error) => Check::unanswered("notifications", &error),
    }
}

fn print(call: &Call, checks: &[Check], error: Option<&Failure>) -> Result<(), Failure> {
    call.output.print(&Document { checks, error }, || text(call, checks))?;
    Ok(())
}

fn text(call: &Call, checks: &[Check]) -> String {
    let mut text = String::new();
    for check in checks {
        let (level, colour) = match check.level {
            Level::Ok => ("ok  ", "32"),
            Level::Warn => ("warn", "33"),
            Level::Fail => ("fail", "31"),
        };
        // Writing to a String cannot fail.
        let level = call.output.coloured(colour, level);
        let _ = writeln!(text, "{level}  {:<18}  {}", check.name, visible(&check.message));
        if let Some(hint) = &check.hint {
            let _ = writeln!(text, "{:26}{}", "", visible(hint));
        }
    }
    let count = |level| checks.iter().filter(|check| check.level == level).count();
    let _ = match (count(Level::Fail), count(Level::Warn)) {
        (0, 0) => writeln!(text, "\nall is well"),
        (0, warned) => writeln!(text, "\nit works; {warned} to look at"),
        (failed, warned) => writeln!(text, "\n{failed} failed, {warned} to look at"),
    };
    text
}
