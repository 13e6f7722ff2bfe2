//! What the tests of workers share: an analyser that does what its text says, and waits for events and states.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use taskdeck::db::sql::{CLAIM_NEXT, HEARTBEAT, Statement};
use taskdeck::db::{Db, Preview};
use taskdeck::domain::Backoff;
use taskdeck::domain::input::SubmissionKey;
use taskdeck::domain::outcome::{Decided, SubmitVerdict, TaskHistory};
use taskdeck::domain::{
    Approval, Decision, DecisionKind, NewTask, OperationId, Seen, Status, Task, TaskId, TextCounts,
};
use taskdeck::worker::{
    Analyser, Analysis, Cancel, Config, Doing, Events, How, Job, Worker, WorkerEvent, WorkerHandle,
};
use tokio::sync::{mpsc, watch};

use crate::support::{PATIENCE, until};

/// Does what its text says, and remembers every run.
///
/// `fail …` fails; `panic …` panics; `held …` waits for [`Script::open`] or a cancel; `deaf …` waits for it whatever
/// is asked; `freeze …` stands still with everything on its thread for [`FROZEN_FOR`]; everything else is counted at once.
#[derive(Debug)]
pub(crate) struct Script {
    gate: watch::Sender<bool>,
    runs: Mutex<Vec<(TaskId, i64)>>,
    running: watch::Sender<HashSet<TaskId>>,
}

impl Script {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            gate: watch::Sender::new(false),
            runs: Mutex::default(),
            running: watch::Sender::default(),
        })
    }

    /// Lets everything go on that waits at the gate, now and from now on.
    pub(crate) fn open(&self) {
        self.gate.send_replace(true);
    }

    /// Every (task, claim) whose analyser was begun, in that order.
    pub(crate) fn runs(&self) -> Vec<(TaskId, i64)> {
        self.runs.lock().expect("no test panics here").clone()
    }

    /// Waits until the analyser of `id` runs.
    pub(crate) async fn runs_now(&self, id: TaskId) {
        let mut running = self.running.subscribe();
        let runs = running.wait_for(|running| running.contains(&id));
        tokio::time::timeout(PATIENCE, runs).await.expect("it runs in time").expect("the sender lives");
    }

    async fn act(&self, job: &Job, cancel: &Cancel) -> Analysis {
        let mut gate = self.gate.subscribe();
        let opened = gate.wait_for(|open| *open);
        match job.text.split_whitespace().next().unwrap_or_default() {
            "fail" => return Analysis::Failure { error: format!("as told: {}", job.text) },
            "panic" => panic!("as told: {}", job.text),
            "held" => tokio::select! {
                _ = opened => {}
                () = cancel.requested() => return Analysis::Stopped { said: String::new() },
            },
            "deaf" => drop(opened.await),
            "freeze" if job.claim_no == 1 => std::thread::sleep(FROZEN_FOR),
            _ => {}
        }
        Analysis::Success { counts: TextCounts::of(&job.text), output: None }
    }
}

impl Analyser for Script {
    fn analyse<'a>(&'a self, job: &'a Job, cancel: &'a Cancel, doing: &'a Doing) -> BoxFuture<'a, Analysis> {
        async move {
            doing.now("as told");
            self.runs.lock().expect("no test panics here").push((job.id, job.claim_no));
            self.running.send_modify(|running| {
                running.insert(job.id);
            });
            let analysis = self.act(job, cancel).await;
            self.running.send_modify(|running| {
                running.remove(&job.id);
            });
            analysis
        }
        .boxed()
    }
}

/// For how long `freeze …` stands still.
pub(crate) const FROZEN_FOR: Duration = Duration::from_secs(6);

/// Short waits, so that tests are.
pub(crate) fn config() -> Config {
    Config {
        workers: 2,
        poll: Duration::from_millis(100),
        lease: Duration::from_secs(20),
        retry: Backoff { base: Duration::from_millis(5), cap: Duration::from_millis(50) },
        host: "test".to_owned(),
        operator: "tester".to_owned(),
        ..Config::default()
    }
}

/// A worker and what it tells.
pub(crate) struct Running {
    pub(crate) handle: WorkerHandle,
    pub(crate) told: mpsc::Receiver<WorkerEvent>,
}

impl Running {
    pub(crate) fn start(db: &Db, config: Config, analyser: Arc<dyn Analyser>) -> Self {
        let (events, told) = Events::channel(10_000);
        Self { handle: Worker::start(db.clone(), config, analyser, events), told }
    }

    /// Waits for an event; those before it are dropped.
    pub(crate) async fn event<T>(
        &mut self,
        what: &str,
        mut wanted: impl FnMut(&WorkerEvent) -> Option<T>,
    ) -> T {
        let found = async {
            loop {
                let event = self.told.recv().await.expect("the worker lives");
                if let Some(found) = wanted(&event) {
                    return found;
                }
            }
        };
        tokio::time::timeout(PATIENCE, found).await.unwrap_or_else(|_| panic!("no event in time: {what}"))
    }

    /// Waits until the worker is registered; returns once it may claim.
    pub(crate) async fn began(&mut self) -> taskdeck::domain::InstanceId {
        self.event("began", |event| match event {
            WorkerEvent::Began { instance, .. } => Some(*instance),
            _ => None,
        })
        .await
    }

    /// Waits until the worker hears wake-ups and nothing troubles it.
    pub(crate) async fn is_well(&self) {
        let mut heard = self.handle.heard();
        let listening = heard.wait_for(|heard| heard.how == How::Listening);
        tokio::time::timeout(PATIENCE, listening).await.expect("it listens in time").expect("it lives");
        let mut local = self.handle.local();
        let well = local.wait_for(|local| local.trouble.is_none());
        tokio::time::timeout(PATIENCE, well).await.expect("well in time").expect("it lives");
    }

    /// Drains and returns what was left.
    pub(crate) async fn drain(&self) -> Vec<TaskId> {
        self.handle.shutdown(taskdeck::worker::Shutdown::Drain);
        self.ended().await
    }

    /// Waits for the end and returns what was left.
    pub(crate) async fn ended(&self) -> Vec<TaskId> {
        tokio::time::timeout(PATIENCE, self.handle.ended()).await.expect("it ends in time").left
    }
}

pub(crate) async fn submit(db: &Db, text: &str) -> TaskId {
    submit_as(db, text, NewTask::default()).await
}

pub(crate) async fn submit_as(db: &Db, text: &str, new: NewTask) -> TaskId {
    let submitted = db.submit(text, &new, &SubmissionKey::fresh(), &|_| {}).await.expect("submit");
    submitted.task.id
}

/// Submits `count` texts at once and returns their ids.
pub(crate) async fn submit_many(db: &Db, count: usize) -> Vec<TaskId> {
    let texts: Vec<_> = (0..count).map(|_| (SubmissionKey::fresh(), "two words")).collect();
    let mut ids = Vec::with_capacity(count);
    for part in texts.chunks(1_000) {
        let made =
            db.submit_all(part, &NewTask::default(), Preview::Beginning, &|_| {}).await.expect("submit");
        ids.extend(made.into_iter().filter_map(SubmitVerdict::submitted).map(|one| one.task.id));
    }
    ids
}

pub(crate) async fn task(db: &Db, id: TaskId) -> Task {
    db.task(id, None, Preview::Whole).await.expect("read").expect("it exists")
}

pub(crate) async fn history(db: &Db, id: TaskId) -> TaskHistory {
    db.history(id, None).await.expect("read").0.expect("it exists")
}

/// The moves in the history of `id`, oldest first.
pub(crate) async fn moves(db: &Db, id: TaskId) -> Vec<String> {
    history(db, id).await.events.into_iter().map(|event| event.movement).collect()
}

/// Waits until the row of `id` has `status`.
pub(crate) async fn reaches(db: &Db, id: TaskId, status: Status) -> Task {
    until(&format!("task {id} is {status}"), || async {
        Some(task(db, id).await).filter(|task| task.status == status)
    })
    .await
}

/// An operator's cancel of the row as it is now.
pub(crate) async fn cancel(db: &Db, id: TaskId) -> Decided {
    let version = task(db, id).await.version;
    db.decide(
        &Decision {
            kind: DecisionKind::Cancel,
            rows: vec![Seen { id, version }],
            tenant: None,
            operator: "alice".to_owned(),
            approval: Approval::Anybody,
            reason: None,
            operation: OperationId(uuid::Uuid::now_v7()),
        },
        &|_| {},
    )
    .await
    .expect("decide")
}

/// How often this process has sent a statement and got an answer.
pub(crate) fn calls(db: &Db, statement: Statement) -> u64 {
    let figures = db.statement_figures();
    figures.iter().find(|figure| figure.name == statement.name).map_or(0, |figure| figure.calls)
}

/// Waits until the heart of this process has beaten twice more: whatever was under way when it began is over, and
/// what was to come at once has come.
pub(crate) async fn two_beats(db: &Db) {
    let before = calls(db, HEARTBEAT);
    until("two heartbeats", || async { (calls(db, HEARTBEAT) >= before + 2).then_some(()) }).await;
}

/// Waits until the claimer has nothing more to look for: two heartbeats pass without a claim.
pub(crate) async fn rests(db: &Db) {
    until("the claimer rests", || async {
        let before = calls(db, CLAIM_NEXT);
        two_beats(db).await;
        (calls(db, CLAIM_NEXT) == before).then_some(())
    })
    .await;
}
