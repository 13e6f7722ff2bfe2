//! Who takes part: a stage that prepares and holds, a witness that looks, and the callers, each a program of its own as far
//! as the database can tell.

use std::time::Duration;

use uuid::Uuid;

use super::{Plan, limits};
use crate::db::{Access, Db, DbError, Limits, NewInstance, Options, Schema, Trouble};
use crate::domain::input::{Admission, SubmissionKey};
use crate::domain::lab::{HOLDER, RowSeen, Server, State};
use crate::domain::process::APPLICATION;
use crate::domain::{InstanceId, InstanceState, Name, NewTask, Task, TaskId};

/// A lease that no run outlives.
const LONG: Duration = Duration::from_hours(1);

/// How many connections the stage may have: two transactions, what prepares, and a wake-up.
const ON_STAGE: usize = 4;

/// The words of every task of the lab, by which its counts are known.
pub(super) const TEXT: &str = "one two three";

/// Everybody of one run.
#[derive(Debug)]
pub(super) struct Cast {
    /// Prepares rows, holds them, and has the transactions that are not the product's.
    pub(super) stage: Db,
    /// The third connection.
    pub(super) witness: Db,
    /// Those whose calls are under trial.
    pub(super) callers: Vec<Caller>,
    /// How the application names of this run's sessions begin.
    pub(super) prefix: String,
    /// How a connection of this run is opened.
    options: Options,
    /// The database beside whose schema the lab is.
    beside: Db,
    /// After what wait the server looks for a deadlock.
    pub(super) looks_after: Duration,
}

/// One of them.
#[derive(Debug, Clone)]
pub(super) struct Caller {
    /// A letter.
    pub(super) who: String,
    /// Pools of its own, with one connection each.
    pub(super) db: Db,
    /// The instance that it claims as.
    pub(super) instance: InstanceId,
}

/// A name by which the sessions of a run are told from those of another.
pub(super) fn name_of_run() -> String {
    let id = Uuid::now_v7().simple().to_string();
    // The end of it is at random.
    format!("lab {}", &id[id.len() - 8..])
}

/// Opens the stage of the run called `run`; its schema need not be there.
pub(super) async fn stage(db: &Db, run: &str, plan: &Plan, schema: &Schema) -> Result<Db, DbError> {
    let application = format!("{run} stage");
    let limits = Limits { operator_pool: ON_STAGE, ..limits(plan.acquire) };
    db.lab().another(Options { schema: schema.clone(), limits, access: Access::ReadWrite, application }).await
}

impl Cast {
    /// Opens the connections of everybody else and has the callers ready.
    pub(super) async fn open(
        db: &Db,
        stage: &Db,
        run: &str,
        plan: &Plan,
        server: &Server,
    ) -> Result<Self, DbError> {
        let application = run.to_owned();
        let prefix = format!("{APPLICATION}{application} ");
        let options = Options {
            schema: stage.schema().clone(),
            limits: limits(plan.acquire),
            access: Access::ReadWrite,
            application,
        };
        let named = |name: &str| Options {
            application: format!("{} {name}", options.application),
            ..options.clone()
        };
        let witness = db.lab().another(named("witness")).await?;
        let mut callers = Vec::new();
        for letter in ('A'..='Z').take(usize::try_from(plan.callers).unwrap_or(usize::MAX)) {
            let db = db.lab().another(named(&letter.to_string())).await?;
            let caller = Caller { who: letter.to_string(), db, instance: InstanceId(Uuid::now_v7()) };
            // The workers' connection is made by this, so that no round waits for it.
            caller.register(LONG).await?;
            callers.push(caller);
        }
        let looks_after = Duration::from_millis(u64::try_from(server.deadlock_timeout_ms).unwrap_or(0));
        Ok(Self { stage: stage.clone(), witness, callers, prefix, options, beside: db.clone(), looks_after })
    }

    /// A further connection of this run, called `name`.
    pub(super) fn options(&self, name: &str) -> Options {
        Options { application: format!("{} {name}", self.options.application), ..self.options.clone() }
    }

    /// Opens one with deadlines of its own.
    pub(super) async fn another(&self, name: &str, limits: Limits) -> Result<Db, DbError> {
        self.beside.lab().another(Options { limits, ..self.options(name) }).await
    }

    /// Closes everybody's pools but the stage's.
    pub(super) fn close(self) {
        self.witness.close();
        for caller in self.callers {
            caller.db.close();
        }
    }

    /// The first two, whom most experiments are about.
    pub(super) fn two(&self) -> [&Caller; 2] {
        [&self.callers[0], &self.callers[1]]
    }

    /// Submits a task.
    pub(super) async fn submit(&self, admission: Admission, tenant: &Name) -> Result<Task, DbError> {
        let new = NewTask { admission, tenant: tenant.clone(), ..NewTask::default() };
        let submitted = self.stage.submit(TEXT, &new, &SubmissionKey::fresh(), &quiet).await?;
        Ok(submitted.task)
    }

    /// Submits one that waits to be claimed.
    pub(super) async fn queued(&self) -> Result<Task, DbError> {
        self.submit(Admission::Queue, &Name::default_name()).await
    }

    /// Submits one that is held for approval.
    pub(super) async fn held(&self) -> Result<Task, DbError> {
        self.submit(Admission::Hold, &Name::default_name()).await
    }

    /// Who an instance is, if it is one of the callers.
    fn caller_of(&self, instance: &str) -> Option<String> {
        self.callers
            .iter()
            .find(|caller| caller.instance.to_string() == instance)
            .map(|caller| caller.who.clone())
    }

    /// A task as evidence.
    pub(super) fn seen(&self, task: &Task) -> RowSeen {
        let claimed_by = task.claimed_by.map(|id| id.to_string());
        RowSeen {
            id: task.id.0,
            status: task.status,
            version: task.version,
            claim_no: task.claim_no,
            claimed_by: claimed_by.map(|id| self.caller_of(&id).unwrap_or(id)),
            cancel_requested: task.cancel_requested,
            words: task.counts.words,
            events: None,
        }
    }

    /// The rows as the third connection sees them now.
    pub(super) async fn state(&self, when: &str, ids: &[TaskId]) -> Result<State, DbError> {
        let mut rows = self.witness.lab().rows(ids).await?;
        for row in &mut rows {
            row.claimed_by = row.claimed_by.take().map(|id| self.caller_of(&id).unwrap_or(id));
        }
        Ok(State { when: when.to_owned(), rows })
    }

    /// Who a session is, by what it calls itself.
    pub(super) fn who(&self, application: &str) -> Option<String> {
        let name = application.strip_prefix(&self.prefix)?.split(' ').next()?;
        Some(if name == "stage" { HOLDER.to_owned() } else { name.to_owned() })
    }
}

impl Caller {
    /// Begins this caller's instance.
    pub(super) async fn register(&self, lease: Duration) -> Result<(), DbError> {
        let new = NewInstance {
            id: self.instance,
            host: "lab".to_owned(),
            pid: i32::try_from(std::process::id()).unwrap_or(i32::MAX),
            kind: "headless",
            operator: format!("lab {}", self.who),
            queues: vec![Name::default_name()],
            slots: 1,
            state: InstanceState::Working,
            lease,
        };
        self.db.register(&new).await
    }

    /// What it is called in events.
    pub(super) fn actor(&self) -> String {
        format!("lab {}", self.who)
    }
}

/// Calls nobody when an answer is lost.
pub(super) fn quiet(_: &Trouble) {}
