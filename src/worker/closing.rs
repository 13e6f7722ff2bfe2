//! The way out: nothing more is claimed, what waits is given back, what runs is waited for, what ended is
//! committed, and only then does the instance end.
//!
//! What a shutdown's *cancel* means for the rows: it asks the database to record a cancel request for each task
//! that runs here, as an operator's cancel would, with the operator's name; so the row shows the request while the
//! analyser still runs, and becomes CANCELED once it has returned. A task whose request could not be recorded (the
//! database does not answer, the row moved on) is stopped all the same, and given back with its attempt not spent:
//! without a request in the row nobody decided that it is to end. What was claimed but not begun is given back in
//! either mode.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::analyser::Cancel;
use super::event::{Part, Shutdown, WorkerEvent};
use super::ledger::Claim;
use super::shared::{Core, Life, Phase, Standing};
use super::watchers::publish;
use crate::db::{DbError, Preview, Release, SignedOff};
use crate::domain::Backoff;
use crate::domain::outcome::Verdict;
use crate::domain::{
    Approval, Decision, DecisionKind, InstanceId, OperationId, Seen, Status, StopMode, TaskId,
};

/// How long recording a cancel request may hold up the cancel itself.
const RECORD_WITHIN: Duration = Duration::from_secs(2);

/// How long the parts that are not needed any more may take to end a call that is under way.
const PARTS_END_WITHIN: Duration = Duration::from_secs(2);

/// How long it is tried to sign off. An instance that could not is declared lost when its lease passes, which harms
/// nothing as it holds nothing.
const SIGN_OFF_WITHIN: Duration = Duration::from_secs(5);

/// How often a row that moved on is read again for its cancel request.
const RECORD_TRIES: u32 = 3;

/// What a worker left behind.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Ended {
    /// Tasks that stay RUNNING until the lease of their instance passes; then others recover them.
    pub left: Vec<TaskId>,
    /// Tasks whose end or return was on its way to the database: they are left too, unless it has arrived.
    pub unanswered: Vec<TaskId>,
    /// Notifications, by task and version, whose delivery was begun and not confirmed: others deliver them once the
    /// lease has passed, and to whom that comes for the second time.
    pub undelivered: Vec<(TaskId, i64)>,
    /// Whether the database confirmed that the instance has ended and holds nothing.
    pub sign_off: SignOff,
    /// Whether anything besides may stay RUNNING whose number is not known.
    pub last_claim: LastClaim,
}

/// Whether everything is known here that this process has claimed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LastClaim {
    /// It is.
    #[default]
    Heard,
    /// A claim was under way, or its answer was lost: what it won stays RUNNING until the lease passes.
    Unheard,
}

/// Whether the database confirmed the end of an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SignOff {
    /// It did: nothing is RUNNING under the instance but what `left` names.
    #[default]
    Confirmed,
    /// It could not be asked. What this process knew of was finished or given back; a claim whose answer was lost may
    /// still be RUNNING until the lease passes.
    Unconfirmed,
}

/// Waits for a shutdown and carries it out. `parts` holds every part; the heart ends last.
pub(super) async fn run(core: Arc<Core>, mut parts: JoinSet<Part>) -> Ended {
    core.closing().await;
    let before = core.life();
    core.ledger().close();
    core.bells.releases.notify_one();
    tell(&core, None);
    let held = core.ledger().held();
    let settled = wait(&core).await;
    let lost = core.life().instance != before.instance;
    let ended = match settled {
        Settled::Left => left(&core),
        Settled::All if lost => {
            let left = still_held(&core, held, before.instance).await;
            let undelivered = undelivered(&core);
            Ended { left, undelivered, last_claim: core.last_claim(), ..Ended::default() }
        }
        Settled::All => {
            core.stop.set();
            let heart = async {
                while parts.join_next().await.is_some_and(|part| !matches!(part, Ok(Part::Heart))) {}
            };
            let _ = timeout(PARTS_END_WITHIN, heart).await;
            // What has not ended by then must not register or claim anything behind the sign-off.
            parts.shutdown().await;
            sign_off(&core).await
        }
    };
    parts.shutdown().await;
    // Only now, so that whoever reads that it has stopped may believe it; what runs on is what was left.
    core.over.set();
    publish(&core);
    ended
}

/// What stays behind if nothing is waited for any more.
pub(super) fn left(core: &Core) -> Ended {
    let (mut left, unanswered) = {
        let ledger = core.ledger();
        (ledger.held(), ledger.ending())
    };
    left.retain(|id| !unanswered.contains(id));
    let undelivered = undelivered(core);
    let sign_off = SignOff::Unconfirmed;
    Ended { left, unanswered, undelivered, sign_off, last_claim: core.last_claim() }
}

fn undelivered(core: &Core) -> Vec<(TaskId, i64)> {
    let mut undelivered: Vec<(TaskId, i64)> = core.in_flight().values().copied().collect();
    undelivered.sort_unstable();
    undelivered
}

enum Settled {
    /// Everything that was in flight has returned and its end is committed, or its lease was lost.
    All,
    /// Nobody waits any more.
    Left,
}

/// Waits until nothing is in flight any more. The grace time turns a drain into a cancel.
async fn wait(core: &Arc<Core>) -> Settled {
    let grace = tokio::time::Instant::now() + core.config.grace;
    let mut asked: JoinSet<()> = JoinSet::new();
    let mut seen = Phase::Draining;
    let mut reason = None;
    loop {
        let phase = core.phase();
        if phase == Phase::Leaving {
            return Settled::Left;
        }
        if phase == Phase::Canceling && seen < phase {
            for (claim, cancel) in core.ledger().runs() {
                asked.spawn(ask(Arc::clone(core), claim, cancel));
            }
        }
        if seen < phase {
            tell(core, reason);
            seen = phase;
        }
        if core.claims_ended.is_set() && core.deliveries_ended.is_set() && core.ledger().is_empty() {
            return Settled::All;
        }
        tokio::select! {
            () = core.bells.settled.notified() => {}
            () = core.reached(Phase::Canceling), if phase < Phase::Canceling => {}
            () = core.reached(Phase::Leaving) => {}
            () = tokio::time::sleep_until(grace), if phase == Phase::Draining => {
                if core.advance(Phase::Canceling) {
                    reason = Some("the grace time has passed");
                }
            }
        }
    }
}

fn tell(core: &Core, reason: Option<&'static str>) {
    let mode = if core.phase() == Phase::Draining { Shutdown::Drain } else { Shutdown::Cancel };
    let in_flight = core.ledger().running();
    core.events.tell(|| WorkerEvent::ShuttingDown { mode, reason, in_flight });
}

/// Has a cancel request recorded for one run, then asks its analyser to stop.
async fn ask(core: Arc<Core>, claim: Claim, cancel: Cancel) {
    match timeout(RECORD_WITHIN, record(&core, claim)).await {
        Ok(Ok(Recorded::Yes)) => {
            core.ledger().request(claim);
            let (id, claim_no) = claim;
            core.events.tell(|| WorkerEvent::CancelRequested { id, claim_no });
        }
        Ok(Ok(Recorded::MovedOn)) | Err(_) => {}
        Ok(Err(error)) => core.failed(Part::Closing, &error),
    }
    cancel.request();
    core.bells.view.notify_one();
}

enum Recorded {
    /// The row says that its task is to stop.
    Yes,
    /// The row is no longer under this claim.
    MovedOn,
}

async fn record(core: &Core, (id, claim_no): Claim) -> Result<Recorded, DbError> {
    for _ in 0..RECORD_TRIES {
        let Some(task) = core.db.task(id, None, Preview::Beginning).await? else {
            return Ok(Recorded::MovedOn);
        };
        if task.status != Status::Running || task.claim_no != claim_no {
            return Ok(Recorded::MovedOn);
        }
        if task.cancel_requested {
            return Ok(Recorded::Yes);
        }
        let (operator, reason) = responsible(core);
        let decision = Decision {
            kind: DecisionKind::Cancel,
            rows: vec![Seen { id, version: task.version }],
            tenant: None,
            operator,
            approval: Approval::Anybody,
            reason: Some(reason),
            operation: OperationId(uuid::Uuid::now_v7()),
        };
        let decided = core.db.decide(&decision, &|_| {}).await?;
        if matches!(decided.rows.as_slice(), [(_, Verdict::Committed { .. })]) {
            return Ok(Recorded::Yes);
        }
    }
    Ok(Recorded::MovedOn)
}

/// In whose name the tasks of a process that shuts down are canceled, and why.
fn responsible(core: &Core) -> (String, String) {
    match core.asked_to_stop() {
        Some(asked) if asked.mode == StopMode::Cancel => {
            let why = asked.reason.map_or_else(String::new, |reason| format!(": {reason}"));
            (asked.by, format!("{} was asked to stop at once{why}", core.actor))
        }
        _ => (core.config.operator.clone(), format!("{} is shutting down", core.actor)),
    }
}

/// Ends the instance, and says whether the database confirmed that.
async fn sign_off(core: &Core) -> Ended {
    let unconfirmed = Ended { sign_off: SignOff::Unconfirmed, ..Ended::default() };
    // An instance that never began, or whose lease is lost, holds nothing and has nothing to end. One that was to begin
    // and of which no answer told may have begun.
    let Life { instance, standing: Standing::Until(_) | Standing::Asked } = core.life() else {
        return Ended::default();
    };
    let deadline = Instant::now() + SIGN_OFF_WITHIN;
    let mut failures = 0;
    let mut releases = Vec::new();
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let error = match timeout(left, end_instance(core, instance, &mut releases)).await {
            Ok(Ok(ended)) => return ended,
            Ok(Err(error)) => error,
            Err(_) => return unconfirmed,
        };
        core.failed(Part::Closing, &error);
        failures += 1;
        // A refused connection fails at once, which no timeout of its own would ever cut short.
        if Instant::now() >= deadline {
            return unconfirmed;
        }
        tokio::select! {
            () = sleep(Backoff::CALLS.after(failures)) => {}
            () = core.reached(Phase::Leaving) => return unconfirmed,
        }
    }
}

/// Ends the instance's row. If that is refused, either it was declared lost, or rows are under it that nobody here
/// knows, from a claim whose answer was lost: those are given back, and it is tried once more. `releases` keeps those
/// that are sent until they are answered.
async fn end_instance(
    core: &Core,
    instance: InstanceId,
    releases: &mut Vec<Release>,
) -> Result<Ended, DbError> {
    let (done, failed) = core.rates().totals();
    give_back(core, instance, releases).await?;
    if core.db.end_instance(instance, done, failed).await? == SignedOff::Yes {
        return Ok(Ended::default());
    }
    let unknown = core.db.held(instance).await?;
    releases.extend(unknown.into_iter().map(|(id, claim_no)| Release::new(id, claim_no)));
    give_back(core, instance, releases).await?;
    core.db.end_instance(instance, done, failed).await?;
    let still = core.db.held(instance).await?;
    Ok(Ended { left: still.into_iter().map(|(id, _)| id).collect(), ..Ended::default() })
}

/// Sends `releases`, and tells what they gave back once that is known.
async fn give_back(core: &Core, instance: InstanceId, releases: &mut Vec<Release>) -> Result<(), DbError> {
    let reason = "shutting down";
    let tasks = core.db.release(instance, &core.actor, reason, releases).await?;
    releases.clear();
    if !tasks.is_empty() {
        core.events.tell(|| WorkerEvent::Released { tasks, reason });
        core.db.wake();
    }
    Ok(())
}

/// What is still RUNNING under a lease that was lost during the shutdown, asked in one statement however much there
/// was. If the database does not answer in time, everything in `known` may be.
async fn still_held(core: &Core, known: Vec<TaskId>, instance: InstanceId) -> Vec<TaskId> {
    let asked = async {
        let mut failures = 0;
        loop {
            match core.db.held(instance).await {
                Ok(held) => return held.into_iter().map(|(id, _)| id).collect(),
                Err(error) => core.failed(Part::Closing, &error),
            }
            failures += 1;
            sleep(Backoff::CALLS.after(failures)).await;
        }
    };
    tokio::select! {
        held = asked => held,
        () = sleep(SIGN_OFF_WITHIN) => known,
        () = core.reached(Phase::Leaving) => known,
    }
}
