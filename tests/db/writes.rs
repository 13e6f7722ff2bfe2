//! Each kind of write: what it is about, how the program makes it, and what is in the tables once it has taken effect.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicUsize, Ordering};

use taskdeck::db::{ClaimRequest, Claimed, Db, DbError, Finish, NewInstance, Release, Renewal};
use taskdeck::domain::decision::DecisionKind;
use taskdeck::domain::input::{Admission, SubmissionKey};
use taskdeck::domain::outcome::{ClaimById, DecisionOutcome, Finished, StopVerdict};
use taskdeck::domain::queue::{QueueAct, QueueOutcome};
use taskdeck::domain::{InstanceState, NewTask, OperationId, Status, StopMode, Task};
use tokio::sync::watch;
use tokio_postgres::Client;

use crate::fleet::stop;
use crate::queues;
use crate::scene::{LONG, beat, decided, decision, failure, new_instance, row, submit_as, success};

/// A kind of write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Submit,
    Cancel,
    RequestCancel,
    Approve,
    Reject,
    Requeue,
    ClaimNext,
    ClaimById,
    Success,
    Failure,
    Stop,
    Release,
    Heartbeat,
    Register,
    EndInstance,
    Recover,
    DeclareLost,
    PauseQueue,
    AskToStop,
}

/// Each kind; what tells its statement from all others; what is in the tables once it has taken effect: the task
/// (state, version, attempt, claim number, cancel requested), its events, and its instance.
#[rustfmt::skip]
pub(crate) const TABLE: [(Kind, &str, &str); 19] = [
    (Kind::Submit,        "task_inputs (tenant",           "QUEUED 0 0 0 false | | working 0"),
    (Kind::Cancel,        "judged AS",                     "CANCELED 1 0 0 false | cancel | working 0"),
    (Kind::RequestCancel, "judged AS",                     "RUNNING 2 1 1 true | request-cancel | working 0"),
    (Kind::Approve,       "judged AS",                     "QUEUED 1 0 0 false | approve | working 0"),
    (Kind::Reject,        "judged AS",                     "REJECTED 1 0 0 false | reject | working 0"),
    (Kind::Requeue,       "judged AS",                     "QUEUED 2 0 0 false | cancel requeue | working 0"),
    (Kind::ClaimNext,     "unnest($2::text[]) AS n(name)", "RUNNING 1 1 1 false | | working 0"),
    (Kind::ClaimById,     "cur.status = 'QUEUED'",         "RUNNING 1 1 1 false | | working 0"),
    (Kind::Success,       "AS f(id, claim_no, words",      "SUCCEEDED 2 1 1 false | | working 0"),
    (Kind::Failure,       "THEN 'stop' WHEN 'QUEUED'",     "QUEUED 2 1 1 false | retry | working 0"),
    (Kind::Stop,          "THEN 'stop' WHEN 'QUEUED'",     "CANCELED 3 1 1 false | request-cancel stop | working 0"),
    (Kind::Release,       "THEN 'stop' ELSE 'release'",    "QUEUED 2 0 1 false | release | working 0"),
    (Kind::Heartbeat,     "SET heartbeat_at",              "| | working 1"),
    (Kind::Register,      "(id, host, pid",                "| | working 0"),
    (Kind::EndInstance,   "SET state = 'stopped'",         "| | stopped 3"),
    (Kind::Recover,       "'recover', 'RUNNING'",          "QUEUED 2 1 1 false | recover | lost 0"),
    (Kind::DeclareLost,   "SET state = 'lost'",            "QUEUED 2 1 1 false | recover | lost 0"),
    (Kind::PauseQueue,    "'pause' ELSE 'resume'",         "| pause | working 0"),
    (Kind::AskToStop,     "'ask-' || $1",                  "| ask-drain | working 0"),
];

/// What one write is about: a queue of its own with at most one task in it, and an instance.
pub(crate) struct Case {
    pub(crate) kind: Kind,
    instance: NewInstance,
    task: Option<Task>,
    claimed: Option<Claimed>,
    expected: &'static str,
}

impl Case {
    /// Brings everything about, over a connection that loses nothing, to where the write is to come.
    pub(crate) async fn prepare(
        db: &Db,
        client: &Client,
        (kind, _, expected): (Kind, &str, &'static str),
    ) -> Self {
        let queue = format!("q{}", crate::support::unique());
        let instance = new_instance(&[&queue], LONG);
        if kind != Kind::Register {
            db.register(&instance).await.expect("register");
        }
        let mut case = Self { kind, instance, task: None, claimed: None, expected };
        let admission = match kind {
            Kind::Submit
            | Kind::Heartbeat
            | Kind::Register
            | Kind::EndInstance
            | Kind::PauseQueue
            | Kind::AskToStop => return case,
            Kind::Approve | Kind::Reject => Admission::Hold,
            _ => Admission::Queue,
        };
        let new = NewTask { admission, ..case.new_task() };
        let mut task = submit_as(db, "two words", &new).await;
        match kind {
            Kind::Requeue => task = decided(db, DecisionKind::Cancel, &task).await,
            Kind::Cancel | Kind::Approve | Kind::Reject | Kind::ClaimNext | Kind::ClaimById => {}
            _ => {
                case.claimed = Some(db.claim_next(&case.request()).await.expect("claim").remove(0));
                task = row(db, task.id).await;
            }
        }
        let id = case.instance.id;
        let lease = match kind {
            Kind::Stop => {
                task = decided(db, DecisionKind::Cancel, &task).await;
                return Self { task: Some(task), ..case };
            }
            Kind::Recover => "state = 'lost', lease_until = now() - interval '1 s'",
            Kind::DeclareLost => "lease_until = now() - interval '1 s'",
            _ => return Self { task: Some(task), ..case },
        };
        let sql = format!("UPDATE taskdeck.instances SET {lease} WHERE id = '{id}'");
        client.batch_execute(&sql).await.expect("a lease that has passed");
        Self { task: Some(task), ..case }
    }

    fn new_task(&self) -> NewTask {
        NewTask { queue: self.instance.queues[0].clone(), ..NewTask::default() }
    }

    fn request(&self) -> ClaimRequest {
        ClaimRequest { queues: self.instance.queues.clone(), ..crate::scene::request(self.instance.id, 5) }
    }

    /// Writes as the program does, over connections that lose answers; what a worker does after a lost answer comes
    /// when `calm` says so. Counts the loss in `lost`.
    pub(crate) async fn write(&self, db: &Db, lost: &AtomicUsize, mut calm: watch::Receiver<bool>) {
        let id = self.instance.id;
        let note = |_: &_| {
            lost.fetch_add(1, Ordering::SeqCst);
        };
        if self.kind == Kind::Submit {
            let key = SubmissionKey::fresh();
            let submitted = db.submit("two words", &self.new_task(), &key, &note).await.expect("submit");
            assert!(submitted.created && submitted.resolved_from_unknown);
            return;
        }
        if let Some(kind) = self.decides() {
            let asked = decision(kind, &[self.task.as_ref().expect("a task")]);
            let answer = db.decide(&asked, &note).await.unwrap_or_else(|error| panic!("{kind}: {error:?}"));
            let told = (answer.outcome(), answer.resolved_from_unknown, answer.retries);
            assert_eq!(told, (DecisionOutcome::Committed, true, 0), "{kind}");
            return;
        }
        let told = match self.kind {
            Kind::PauseQueue => {
                let queue = self.instance.queues[0].as_str();
                let pause = queues::decision("alice", QueueAct::Pause, queue, 0);
                let answer = db.decide_queue(&pause, &note).await.expect("pause");
                Some((answer.outcome == QueueOutcome::Committed, answer.resolved_from_unknown))
            }
            Kind::AskToStop => {
                let answer = db.stop(&stop("alice", StopMode::Drain, &[(id, 0)]), &note).await.expect("ask");
                let asked = matches!(answer.instances[..], [(_, StopVerdict::Committed { .. })]);
                Some((asked, answer.resolved_from_unknown))
            }
            _ => None,
        };
        if let Some(told) = told {
            return assert_eq!(told, (true, true), "{:?}", self.kind);
        }
        let finish = self.finish();
        match self.once(db, finish.as_ref()).await {
            Err(DbError::Unknown(_)) => lost.fetch_add(1, Ordering::SeqCst),
            other => panic!("{:?}: the answer was to be lost: {other:?}", self.kind),
        };
        calm.wait_for(|calm| *calm).await.expect("it comes");
        if matches!(self.kind, Kind::ClaimNext | Kind::ClaimById) {
            let held = db.claimed(id).await.expect("asked");
            if held.is_empty() {
                self.once(db, None).await.expect("claim");
            }
            let held = db.claimed(id).await.expect("asked");
            assert_eq!(held.iter().map(|claimed| claimed.claim_no).collect::<Vec<_>>(), [1]);
            return;
        }
        self.once(db, finish.as_ref()).await.expect("an answer");
    }

    fn decides(&self) -> Option<DecisionKind> {
        match self.kind {
            Kind::Cancel | Kind::RequestCancel => Some(DecisionKind::Cancel),
            Kind::Approve => Some(DecisionKind::Approve),
            Kind::Reject => Some(DecisionKind::Reject),
            Kind::Requeue => Some(DecisionKind::Requeue),
            _ => None,
        }
    }

    fn finish(&self) -> Option<Finish> {
        let claimed = self.claimed.as_ref()?;
        match self.kind {
            Kind::Success | Kind::Stop => Some(success(claimed)),
            Kind::Failure => Some(failure(claimed, "once")),
            _ => None,
        }
    }

    /// One call of a worker, sent again as it is. An answer that is not the right one is a panic. Ending and recovering
    /// answer what this call has changed, which is nothing where the one whose answer was lost has done it: of these the
    /// tables tell.
    async fn once(&self, db: &Db, finish: Option<&Finish>) -> Result<(), DbError> {
        let id = self.instance.id;
        match self.kind {
            Kind::ClaimNext => assert_eq!(db.claim_next(&self.request()).await?.len(), 1),
            Kind::ClaimById => {
                let claimed = db.claim_by_id(id, self.task.as_ref().expect("a task").id).await?;
                assert!(matches!(claimed, ClaimById::Won { .. }), "{claimed:?}");
            }
            Kind::Success | Kind::Failure | Kind::Stop => {
                let finish = finish.expect("a finish");
                let status = match self.kind {
                    Kind::Success => Status::Succeeded,
                    Kind::Failure => Status::Queued,
                    _ => Status::Canceled,
                };
                let answer = db.finish(id, "testhost:4242", std::slice::from_ref(finish)).await?;
                assert_eq!(answer, [Finished::Committed { status }]);
            }
            Kind::Release => {
                let claimed = self.claimed.as_ref().expect("a claim");
                // An id that is nobody else's, and the same when it is sent again.
                let operation = OperationId(id.0);
                let release = Release { id: claimed.id, claim_no: claimed.claim_no, operation };
                assert_eq!(db.release(id, "testhost:4242", "no slot", &[release]).await?, [claimed.id]);
            }
            Kind::Heartbeat => {
                let renewal = db.heartbeat(id, &beat(InstanceState::Working, LONG)).await?;
                assert_eq!(renewal, Renewal::Renewed { stop: None });
            }
            Kind::Register => db.register(&self.instance).await?,
            Kind::EndInstance => drop(db.end_instance(id, 3, 0).await?),
            Kind::Recover | Kind::DeclareLost => drop(db.recover("testhost:4242").await?),
            operator => panic!("{operator:?} is no worker's write"),
        }
        Ok(())
    }

    /// Compares the tables with what is expected: no second row, no second event, no second change.
    pub(crate) async fn check(&self, client: &Client, how: &str) {
        let (queue, id) = (&self.instance.queues[0], self.instance.id);
        let sql = format!(
            "SELECT (SELECT coalesce(string_agg(concat_ws(' ', status, version, attempt, claim_no, \
               cancel_requested::text), ' and '), '') FROM taskdeck.tasks WHERE queue = '{queue}'), \
             (SELECT coalesce(string_agg(move, ' ' ORDER BY e.id), '') FROM taskdeck.events e \
               LEFT JOIN taskdeck.tasks t ON t.id = e.task_id \
               WHERE t.queue = '{queue}' OR e.queue = '{queue}' OR e.instance = '{id}'), \
             (SELECT string_agg(state || ' ' || done_total, ' and ') FROM taskdeck.instances WHERE id = '{id}')"
        );
        let found = client.query_one(&sql, &[]).await.expect("read");
        let mut text = String::new();
        for (place, column) in (0..3).map(|place| (place, found.get::<_, String>(place))) {
            let bar = if place == 0 { "" } else { " | " };
            write!(text, "{bar}{column}").expect("a String");
        }
        let squeeze = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(squeeze(&text), self.expected, "{:?}, {how}", self.kind);
    }
}
