//! What gives calls up half-way and looks at what that has left: each is dropped at each of its await points.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

use taskdeck::db::{Db, Limits, Preview};
use taskdeck::domain::{InstanceId, TaskId};
use tokio_postgres::Client;

use crate::scene::{number, outside, until_no_transaction, worker};
use crate::support::{TestDb, database, until};

/// Polls `future` at most `polls` times and drops it: none if it was dropped before its end.
pub(crate) async fn polled<F: Future>(polls: usize, future: F) -> Option<F::Output> {
    let mut future = pin!(future);
    let mut left = polls;
    poll_fn(|context| {
        if left == 0 {
            return Poll::Ready(None);
        }
        left -= 1;
        match future.as_mut().poll(context) {
            Poll::Ready(output) => Poll::Ready(Some(output)),
            Poll::Pending if left == 0 => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}

/// One connection in each pool: a slot that is lost is missed at once.
pub(crate) fn pools_of_one() -> Limits {
    Limits { operator_pool: 1, workers_pool: 1, ..Limits::default() }
}

pub(crate) struct Scene {
    pub(crate) test: TestDb,
    /// What is under test.
    db: Db,
    pub(crate) client: Client,
    pub(crate) instance: InstanceId,
    /// The statements that the calls under test have sent.
    pub(crate) sent: RefCell<BTreeSet<&'static str>>,
}

/// How often each statement was sent.
pub(crate) fn calls(db: &Db) -> HashMap<&'static str, u64> {
    db.statement_figures().into_iter().map(|figure| (figure.name, figure.calls)).collect()
}

impl Scene {
    pub(crate) async fn new() -> Self {
        let test = database().await;
        let db = test.open_again(pools_of_one()).await;
        let client = outside(&test.url).await;
        let instance = worker(&test.db).await;
        Self { test, db, client, instance, sent: RefCell::default() }
    }

    /// Drops `call` at its first await, at its second, … until it runs to its end.
    pub(crate) async fn drop_everywhere<P, R>(
        &self,
        what: &str,
        prepare: impl AsyncFn(&Db) -> P,
        call: impl AsyncFn(&Db, P) -> R,
    ) {
        for polls in 0..1_000 {
            let prepared = prepare(&self.test.db).await;
            let before = calls(&self.db);
            let done = polled(polls, call(&self.db, prepared)).await;
            if done.is_some() {
                let after = calls(&self.db).into_iter();
                let sent = after.filter(|(name, calls)| before.get(name).is_none_or(|before| before < calls));
                self.sent.borrow_mut().extend(sent.map(|(name, _)| name));
            }
            self.check(&format!("{what} after {polls} polls")).await;
            if done.is_some() {
                assert!(polls > 1, "{what} waited for nothing: it was not tried");
                return;
            }
        }
        panic!("{what} does not end");
    }

    async fn check(&self, what: &str) {
        self.db
            .task(TaskId(1), None, Preview::Beginning)
            .await
            .unwrap_or_else(|error| panic!("{what}: {error}"));
        self.db.claimed(self.instance).await.unwrap_or_else(|error| panic!("{what}: {error}"));
        // A wake-up that was still owed is sent by itself, so it may hold the slot for a moment.
        until(&format!("{what}: free slots"), || async {
            let free = self.db.pool_figures().iter().all(|pool| (pool.in_use, pool.waiting) == (0, 0));
            free.then_some(())
        })
        .await;
        until_no_transaction(&self.client).await;
        for (broken, sql) in [
            (
                "a text without its row, or a row without its text",
                "SELECT count(*) FROM taskdeck.tasks FULL JOIN taskdeck.task_inputs USING (id) \
                 WHERE tasks.id IS NULL OR task_inputs.id IS NULL",
            ),
            (
                "a change without its version or its event",
                "SELECT count(*) FROM taskdeck.tasks t WHERE t.version <> t.claim_no \
                 + (SELECT count(*) FROM taskdeck.events v WHERE v.task_id = t.id) \
                 + (t.status = 'SUCCEEDED')::int",
            ),
        ] {
            assert_eq!(number(&self.client, sql).await, 0, "{what}: {broken}");
        }
    }

    /// Ends whatever waits or runs, so that the next claim finds only what was prepared for it.
    pub(crate) async fn clear(&self) {
        self.client
            .batch_execute("TRUNCATE taskdeck.tasks, taskdeck.task_inputs, taskdeck.events")
            .await
            .expect("clear");
    }
}
