//! The lab: watches races on the user's own database and keeps the evidence. May use `db` and `domain`.
//!
//! Invariants: everything happens in a schema of the lab's own, which is removed however the run ends, or at the beginning
//! of the next; the statements under trial are the product's own, called as the product calls them; what a round leaves
//! behind is evidence, and the verdict follows from that alone (`domain::lab`); a run is bounded by what its caller says
//! ends it, by rounds, callers and connections (two for each caller, ten besides).
//!
//! What happens is told as it happens ([`Told`]), so that a screen can draw a round when it is over.

mod alone;
mod cast;
mod locks;
mod lost;
mod proxy;
mod races;
mod scene;
mod watch;

use std::pin::Pin;
use std::time::Duration;

use tokio::time::timeout;

use crate::db::lab::Guarded;
use crate::db::{Db, DbError, Limits, Schema};
use crate::domain::lab::{Evidence, Kind, Part, Report, Round, Server, part_not_shown};
use cast::Cast;

/// The fewest callers of a race.
pub const LEAST_CALLERS: u32 = 2;

/// The most.
pub const MOST_CALLERS: u32 = 16;

/// How many rounds an experiment may have beyond those that were asked for, each of a part that was not shown yet: on a
/// machine with other work an overlap is missed now and then.
const MORE_ROUNDS: u32 = 4;

/// How long removing the schema may take.
const REMOVED_WITHIN: Duration = Duration::from_secs(20);

/// For how long a caller of the lab waits for a row.
const LOCK_WAIT: Duration = Duration::from_secs(5);

/// What is to be run.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The experiments, in their order.
    pub kinds: Vec<Kind>,
    /// Rounds of each, if it is not what each usually has.
    pub rounds: Option<u32>,
    /// Callers of a race.
    pub callers: u32,
    /// Which claim is under trial.
    pub variant: Variant,
    /// The schema beside which the lab makes its own.
    pub schema: Schema,
    /// How long a connection is waited for.
    pub acquire: Duration,
}

/// Which statements are under trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Variant {
    /// The product's own.
    Product,
    /// A claim without its condition on the state, to see that the lab sees it.
    ClaimWithoutStatus,
}

/// What a run tells while it goes on.
#[derive(Debug, Clone, PartialEq)]
pub enum Told {
    /// The server as it was found.
    Server(Server),
    /// An experiment begins.
    Begun {
        /// Which.
        kind: Kind,
        /// How many rounds it is to have.
        rounds: u32,
    },
    /// A round is over.
    Round {
        /// Of which experiment.
        kind: Kind,
        /// What it left behind.
        round: Box<Round>,
    },
    /// An experiment is over.
    Ended(Box<Evidence>),
}

/// How a run ended.
#[derive(Debug)]
pub struct Finished {
    /// The evidence and what follows from it.
    pub report: Report,
    /// Why the schema could not be removed, if it could not: the next run removes it.
    pub left_behind: Option<DbError>,
    /// Why it ended before everything was run.
    pub stopped: Option<String>,
}

/// Why there was no run.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// The database said no.
    #[error(transparent)]
    Db(#[from] DbError),
    /// The schema's name leaves no room for the lab's.
    #[error(transparent)]
    Name(#[from] crate::domain::Refusal),
    /// Another lab is at work beside the same schema.
    #[error("another lab is at work here{}", .by.as_ref().map_or_else(String::new, |(pid, name)| format!(": {name} (pid {pid})")))]
    Taken {
        /// The server's process that holds its lock, and what it calls itself.
        by: Option<(i32, String)>,
    },
}

/// What ends a run before its end; says why.
pub type Stop<'a> = Pin<&'a mut (dyn Future<Output = String> + Send)>;

/// Runs `plan` on `db`'s server until it is done or `stop` says why it ends, and removes what it made.
///
/// # Errors
/// Nothing was run: another lab is at work, the name is taken, or what the database says.
pub async fn run(
    db: &Db,
    plan: &Plan,
    stop: Stop<'_>,
    tell: &(dyn Fn(Told) + Sync),
) -> Result<Finished, LabError> {
    let schema = plan.schema.of_lab()?;
    let server = db.lab().server(&schema).await?;
    tell(Told::Server(server.clone()));
    let mut run = Run { plan, server, tell, gathered: Vec::new(), stopped: None };
    if let Some(why) = run.cannot_write() {
        for &kind in &plan.kinds {
            run.without_a_stage(kind, &why);
        }
        return Ok(run.finish(None));
    }
    let guard = match db.lab().guard(&schema).await? {
        Guarded::Mine(guard) => guard,
        Guarded::Taken { by } => return Err(LabError::Taken { by }),
    };
    let name = cast::name_of_run();
    let stage = cast::stage(db, &name, plan, &schema).await?;
    let ran = run.on_stage(db, &stage, &name, stop).await;
    let removed = timeout(REMOVED_WITHIN, stage.lab().remove()).await.unwrap_or_else(|_| {
        Err(DbError::away(format!("the schema {} could not be removed in time", schema.name())))
    });
    stage.close();
    drop(guard);
    ran?;
    Ok(run.finish(removed.err()))
}

struct Run<'a> {
    plan: &'a Plan,
    server: Server,
    tell: &'a (dyn Fn(Told) + Sync),
    gathered: Vec<Evidence>,
    stopped: Option<String>,
}

impl Run<'_> {
    /// Why no schema can be made here.
    fn cannot_write(&self) -> Option<String> {
        let Server { recovery, read_only, may_create, role, .. } = &self.server;
        if *recovery {
            Some("this server is a standby: nothing can be written here".to_owned())
        } else if *read_only {
            Some("the session is read-only: nothing can be written here".to_owned())
        } else if !may_create {
            Some(format!("the role {role} may not create a schema in this database"))
        } else {
            None
        }
    }

    /// Why `kind` cannot run here though others can.
    fn cannot_run(&self, kind: Kind, stage: &Db) -> Option<String> {
        let waits = i64::try_from(LOCK_WAIT.as_millis()).unwrap_or(i64::MAX);
        match kind {
            Kind::LockTimeout if self.server.pooler => Some(
                "a pooler in transaction mode takes no session settings, so no lock_timeout is in force"
                    .to_owned(),
            ),
            Kind::LostReply if stage.lab().wire().is_none() => Some(
                "channel_binding=require binds what is said to its encryption, so nobody may stand in between"
                    .to_owned(),
            ),
            // `disconnect_client(): bad client state: 0`, seen with 1.18: it ends for all who use it.
            Kind::PoolStarvation if self.server.pooler => Some(
                "to give a half-read result up is to ask the pooler to cancel it just as its client leaves, which \
                 PgBouncer 1.18 may not survive"
                    .to_owned(),
            ),
            Kind::Deadlock | Kind::LockTimeout if self.server.deadlock_timeout_ms + 1_000 > waits => {
                Some(format!(
                    "this server looks for a deadlock after {} ms only (deadlock_timeout), and the lab waits {waits} ms at most",
                    self.server.deadlock_timeout_ms
                ))
            }
            _ => None,
        }
    }

    /// `kind` where no schema can be made, for the reason `why`.
    fn without_a_stage(&mut self, kind: Kind, why: &str) {
        let mut evidence = self.begin(kind);
        if kind == Kind::Isolation {
            self.add(&mut evidence, Round::new(1, Part::Settings));
        } else {
            evidence.cannot_run = Some(why.to_owned());
        }
        self.end(evidence);
    }

    async fn on_stage(&mut self, db: &Db, stage: &Db, name: &str, mut stop: Stop<'_>) -> Result<(), DbError> {
        let opening = async {
            stage.lab().make().await?;
            stage.migrate().await?;
            Cast::open(db, stage, name, self.plan, &self.server).await
        };
        let cast = tokio::select! {
            biased;
            why = &mut stop => {
                self.stopped = Some(why);
                None
            }
            opened = opening => Some(opened?),
        };
        for &kind in &self.plan.kinds {
            if let Some(cast) = &cast {
                self.experiment(kind, cast, &mut stop).await;
            } else {
                let evidence = self.begin(kind);
                self.end(evidence);
            }
        }
        if let Some(cast) = cast {
            cast.close();
        }
        Ok(())
    }

    async fn experiment(&mut self, kind: Kind, cast: &Cast, stop: &mut Stop<'_>) {
        let mut evidence = self.begin(kind);
        evidence.cannot_run = self.cannot_run(kind, &cast.stage);
        if evidence.cannot_run.is_none() && self.stopped.is_none() {
            for number in 1..=evidence.rounds_asked + MORE_ROUNDS {
                let part = if number <= evidence.rounds_asked {
                    kind.part(number)
                } else if let Some(part) = part_not_shown(&evidence, &self.server) {
                    part
                } else {
                    break;
                };
                let round = tokio::select! {
                    biased;
                    why = &mut *stop => {
                        self.stopped = Some(why);
                        break;
                    }
                    round = round(cast, Round::new(number, part), self.plan.variant) => round,
                };
                self.add(&mut evidence, round);
            }
        }
        self.end(evidence);
    }

    fn begin(&self, kind: Kind) -> Evidence {
        let rounds = kind.rounds(self.plan.rounds);
        (self.tell)(Told::Begun { kind, rounds });
        Evidence {
            kind,
            callers: self.plan.callers,
            rounds_asked: rounds,
            cannot_run: None,
            stopped: None,
            rounds: Vec::new(),
        }
    }

    fn add(&self, evidence: &mut Evidence, round: Round) {
        (self.tell)(Told::Round { kind: evidence.kind, round: Box::new(round.clone()) });
        evidence.rounds.push(round);
    }

    fn end(&mut self, mut evidence: Evidence) {
        let short = evidence.rounds.len() < usize::try_from(evidence.rounds_asked).unwrap_or(usize::MAX);
        if short && evidence.cannot_run.is_none() {
            evidence.stopped.clone_from(&self.stopped);
        }
        (self.tell)(Told::Ended(Box::new(evidence.clone())));
        self.gathered.push(evidence);
    }

    fn finish(self, left_behind: Option<DbError>) -> Finished {
        Finished { report: Report::of(self.server, self.gathered), left_behind, stopped: self.stopped }
    }
}

/// One round; what goes wrong with the round itself is part of its evidence.
async fn round(cast: &Cast, mut round: Round, variant: Variant) -> Round {
    let played = match round.part {
        Part::Claim => races::claim(cast, &mut round, variant).await,
        Part::Decide => races::decide(cast, &mut round).await,
        Part::CancelAndClaim => races::cancel_and_claim(cast, &mut round).await,
        Part::CancelAndFinish => races::cancel_and_finish(cast, &mut round).await,
        Part::ByCount | Part::BySharedRow => races::budget(cast, &mut round).await,
        Part::DecidedAgain | Part::MovedOn => locks::deadlock(cast, &mut round).await,
        Part::Ascending => locks::ascending(cast, &mut round).await,
        Part::HeldTooLong => locks::held_too_long(cast, &mut round).await,
        Part::HeldInACircle => locks::held_in_a_circle(cast, &mut round).await,
        Part::WaitedInVain => locks::waited_in_vain(cast, &mut round).await,
        Part::RolledBack => alone::rolled_back(cast, &mut round).await,
        Part::HalfRead => alone::half_read(cast, &mut round).await,
        Part::Unreadable => alone::unreadable(cast, &mut round).await,
        Part::LeasePassed => alone::lease_passed(cast, &mut round).await,
        Part::DecisionAnswerLost | Part::DecisionLost => lost::decision_lost(cast, &mut round).await,
        Part::SubmitAnswerLost => lost::submit_lost(cast, &mut round).await,
        Part::Settings => Ok(()),
    };
    if let Err(error) = played {
        round.trouble = Some(format!("the round could not be played: {error}"));
    }
    round
}

/// Deadlines of a connection of the lab.
fn limits(acquire: Duration) -> Limits {
    Limits { operator_pool: 1, workers_pool: 1, acquire, statement: LOCK_WAIT * 3, lock: LOCK_WAIT }
}
