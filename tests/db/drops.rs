//! Calls that are given up half-way: dropped at each of their await points, they leave no open transaction, no lost
//! slot and no half write.

use std::cell::RefCell;
use std::time::Duration;

use taskdeck::db::sql::{ALL, TASK};
use taskdeck::db::{Db, Limits, ListQuery, Preview, Release, Wake};
use taskdeck::domain::audit::AuditQuery;
use taskdeck::domain::decision::DecisionKind;
use taskdeck::domain::input::SubmissionKey;
use taskdeck::domain::observed::Filter;
use taskdeck::domain::outbox::OutboxQuery;
use taskdeck::domain::queue::QueueAct;
use taskdeck::domain::{InstanceState, NewTask, StopMode, TaskId};

use crate::bulk::{agreed, look};
use crate::deliveries::{fill as fill_outbox, take};
use crate::dropping::{Scene, calls, polled, pools_of_one};
use crate::fleet::stop;
use crate::limits;
use crate::queues;
use crate::scene::{
    LONG, beat, claim, decided, decision, failure, fill, name, new_instance, number, outside, quiet, request,
    row, running, submit, submit_held, success, until_no_transaction, until_no_waiter, until_waiting, worker,
    worker_with,
};
use crate::support::{PATIENCE, database, empty_database, open};

async fn nothing(_: &Db) {}

#[tokio::test]
async fn every_statement_may_be_given_up_anywhere() {
    let scene = Scene::new().await;
    Box::pin(operators_calls(&scene)).await;
    Box::pin(readers_calls(&scene)).await;
    Box::pin(workers_calls(&scene)).await;
    Box::pin(deliverers_calls(&scene)).await;
    Box::pin(calls_about_processes_and_queues(&scene)).await;
    Box::pin(opening(&scene)).await;
    Box::pin(a_large_tables_overview(&scene)).await;
    let sent = scene.sent.borrow();
    let missed: Vec<_> = ALL.iter().map(|one| one.name).filter(|name| !sent.contains(name)).collect();
    assert!(missed.is_empty(), "no call that was given up sends {missed:?}");
}

async fn operators_calls(scene: &Scene) {
    scene
        .drop_everywhere("submit", nothing, async |db, ()| {
            db.submit("x", &NewTask::default(), &SubmissionKey::fresh(), &quiet).await
        })
        .await;
    let key = || SubmissionKey::given(&taskdeck::domain::Name::default_name(), "k").expect("a key");
    let known = async |db: &Db| {
        db.submit("known", &NewTask::default(), &key(), &quiet).await.expect("submit");
    };
    scene
        .drop_everywhere("submit of a known key", known, async |db, ()| {
            let texts = [(key(), "known"), (SubmissionKey::fresh(), "new")];
            db.submit_all(&texts, &NewTask::default(), Preview::Whole, &quiet).await
        })
        .await;
    let two = async |db: &Db| [submit(db, "a").await, submit(db, "b").await];
    scene
        .drop_everywhere("decide", two, async |db, [a, b]| {
            db.decide(&decision(DecisionKind::Cancel, &[&a, &b]), &quiet).await
        })
        .await;
    let stale = async |db: &Db| {
        let seen = submit(db, "moved on").await;
        decided(db, DecisionKind::Cancel, &seen).await;
        seen
    };
    scene
        .drop_everywhere("decide in vain", stale, async |db, seen| {
            db.decide(&decision(DecisionKind::Cancel, &[&seen]), &quiet).await
        })
        .await;
    let held = async |db: &Db| {
        submit_held(db, "a").await;
        submit_held(db, "b").await;
        agreed(&look(db, DecisionKind::Reject, &Filter::default()).await)
    };
    scene
        .drop_everywhere("preview and decide_chunk", held, async |db, bulk| {
            look(db, DecisionKind::Cancel, &bulk.matching.filter).await;
            db.decide_chunk(&bulk, None, &quiet).await
        })
        .await;
    scene
        .drop_everywhere("settle_wakes", nothing, async |db, ()| {
            db.wake();
            db.settle_wakes().await;
        })
        .await;
}

async fn calls_about_processes_and_queues(scene: &Scene) {
    let asked = async |db: &Db| worker(db).await;
    scene
        .drop_everywhere("stop", asked, async |db, id| {
            db.stop(&stop("bob", StopMode::Drain, &[(id, 0)]), &quiet).await
        })
        .await;
    scene
        .drop_everywhere("stop in vain", asked, async |db, id| {
            db.stop(&stop("bob", StopMode::Drain, &[(id, 9)]), &quiet).await
        })
        .await;
    let act = |act, version| queues::decision("bob", act, "other", version);
    let version = async |db: &Db| db.queue_state(&name("other")).await.expect("read");
    scene
        .drop_everywhere("pause or resume", version, async |db, state| {
            let next = if state.paused { QueueAct::Resume } else { QueueAct::Pause };
            db.decide_queue(&act(next, state.version), &quiet).await
        })
        .await;
    scene
        .drop_everywhere("pause in vain", nothing, async |db, ()| {
            db.decide_queue(&act(QueueAct::Pause, 999), &quiet).await
        })
        .await;
    let most = |running, version| limits::decision("other", Some(running), None, version);
    let version = async |db: &Db| db.limit_state(&name("other")).await.expect("read").version;
    scene
        .drop_everywhere("limit", version, async |db, version| {
            db.decide_limit(&most(version, version), &quiet).await
        })
        .await;
    scene
        .drop_everywhere("limit in vain", nothing, async |db, ()| {
            db.decide_limit(&most(1, 999), &quiet).await
        })
        .await;
    // With nothing to claim it asks both statements.
    scene.clear().await;
    let instance = scene.instance;
    scene
        .drop_everywhere("claim beside a limit", nothing, async |db, ()| {
            db.claim_next(&request(instance, 9)).await
        })
        .await;
    scene.drop_everywhere("limits", nothing, async |db, ()| db.tenant_limits(None).await).await;
    let all = AuditQuery { limit: 9, ..AuditQuery::default() };
    scene.drop_everywhere("audit", nothing, async |db, ()| db.audit(&all).await).await;
    scene.drop_everywhere("queues", nothing, async |db, ()| db.queues(None).await).await;
}

async fn readers_calls(scene: &Scene) {
    scene
        .drop_everywhere("task", nothing, async |db, ()| db.task(TaskId(1), None, Preview::Whole).await)
        .await;
    scene.drop_everywhere("clock", nothing, async |db, ()| db.clock().await).await;
    scene.drop_everywhere("privileges", nothing, async |db, ()| db.privileges().await).await;
    scene.drop_everywhere("server_facts", nothing, async |db, ()| db.server_facts().await).await;
    scene.drop_everywhere("history", nothing, async |db, ()| db.history(TaskId(1), None).await).await;
    scene.drop_everywhere("last_changes", nothing, async |db, ()| db.last_changes(&[TaskId(1)]).await).await;
    let query = ListQuery { filter: Filter::default(), before: None, limit: 50, preview: Preview::Whole };
    scene.drop_everywhere("list", nothing, async |db, ()| db.list(&query).await).await;
    scene.drop_everywhere("overview", nothing, async |db, ()| db.overview(None).await).await;
    scene.drop_everywhere("instances", nothing, async |db, ()| db.instances(None).await).await;
    scene.drop_everywhere("health", nothing, async |db, ()| db.health().await).await;
    Box::pin(scene.drop_everywhere("listen", nothing, async |db, ()| db.listen().await.map(drop))).await;
    scene.drop_everywhere("check_schema", nothing, async |db, ()| db.check_schema().await).await;
    scene.drop_everywhere("prepare_check", nothing, async |db, ()| db.prepare_check(TASK).await).await;
}

async fn workers_calls(scene: &Scene) {
    let instance = scene.instance;
    let queued = async |db: &Db| submit(db, "x").await;
    scene
        .drop_everywhere("claim_next", queued, async |db, _| db.claim_next(&request(instance, 9)).await)
        .await;
    scene.clear().await;
    scene
        .drop_everywhere("claim_by_id", queued, async |db, task| db.claim_by_id(instance, task.id).await)
        .await;
    scene.clear().await;
    let two = async |db: &Db| {
        let claims = [submit(db, "a").await, submit(db, "b").await].map(|task| task.id);
        let claimed = db.claim_next(&request(instance, 9)).await.expect("claim");
        claimed.into_iter().filter(|claimed| claims.contains(&claimed.id)).collect::<Vec<_>>()
    };
    scene
        .drop_everywhere("finish", two, async |db, claims| {
            db.finish(instance, "x", &[success(&claims[0]), failure(&claims[1], "no")]).await
        })
        .await;
    scene.clear().await;
    let ended = async |db: &Db| {
        let failed = failure(&running(db, instance, "x").await, "no");
        db.finish(instance, "x", std::slice::from_ref(&failed)).await.expect("finish");
        // Otherwise the next claim would win the retry.
        self::canceled(db, failed.id).await;
        failed
    };
    scene
        .drop_everywhere("a finish that was sent before", ended, async |db, failed| {
            db.finish(instance, "x", &[failed]).await
        })
        .await;
    scene.clear().await;
    let succeeded = async |db: &Db| {
        let done = success(&running(db, instance, "x").await);
        db.finish(instance, "x", std::slice::from_ref(&done)).await.expect("finish");
        done
    };
    scene
        .drop_everywhere("a success that was sent before", succeeded, async |db, done| {
            db.finish(instance, "x", &[done]).await
        })
        .await;
    scene.clear().await;
    scene.drop_everywhere("held", two, async |db, _| db.held(instance).await).await;
    scene.clear().await;
    scene
        .drop_everywhere("claimed", two, async |db, claims| {
            let known: Vec<_> = claims.iter().map(|claimed| claimed.id).take(1).collect();
            db.claimed_besides(instance, &known).await
        })
        .await;
    scene.clear().await;
    scene
        .drop_everywhere("release", two, async |db, claims| {
            let releases: Vec<_> =
                claims.iter().map(|claimed| Release::new(claimed.id, claimed.claim_no)).collect();
            db.release(instance, "x", "draining", &releases).await
        })
        .await;
    scene.clear().await;
    let given_back = async |db: &Db| {
        let claimed = two(db).await.remove(0);
        let release = Release::new(claimed.id, claimed.claim_no);
        db.release(instance, "x", "draining", &[release]).await.expect("release");
        release
    };
    scene
        .drop_everywhere("a release that was sent before", given_back, async |db, release| {
            db.release(instance, "x", "draining", &[release]).await
        })
        .await;
    scene.clear().await;
    let dead = async |db: &Db| {
        let dead = worker(db).await;
        submit(db, "held by the dead").await;
        claim(db, dead).await;
        db.heartbeat(dead, &beat(InstanceState::Working, Duration::ZERO)).await.expect("heartbeat");
    };
    scene.drop_everywhere("recover", dead, async |db, ()| db.recover("r").await).await;
    scene
        .drop_everywhere("cancel_requests", nothing, async |db, ()| db.cancel_requests(instance).await)
        .await;
    let new = async |_: &Db| new_instance(&["default"], LONG);
    scene.drop_everywhere("register", new, async |db, new| db.register(&new).await).await;
    let other = async |db: &Db| worker_with(db, LONG).await;
    let beat = beat(InstanceState::Draining, LONG);
    scene.drop_everywhere("heartbeat", other, async |db, id| db.heartbeat(id, &beat).await).await;
    scene.drop_everywhere("end_instance", other, async |db, id| db.end_instance(id, 1, 1).await).await;
    scene.drop_everywhere("prune_instances", nothing, async |db, ()| db.prune_instances().await).await;
}

async fn deliverers_calls(scene: &Scene) {
    scene.clear().await;
    let done = async |db: &Db| {
        let ended = success(&running(db, scene.instance, "x").await);
        db.finish(scene.instance, "x", std::slice::from_ref(&ended)).await.expect("finish");
        ended
    };
    scene
        .drop_everywhere("a success that was sent before", done, async |db, ended| {
            db.finish(scene.instance, "x", &[ended]).await
        })
        .await;
    scene.drop_everywhere("held", nothing, async |db, ()| db.held(scene.instance).await).await;
    let waiting = async |db: &Db| {
        scene.client.batch_execute("TRUNCATE taskdeck.outbox").await.expect("clear");
        fill_outbox(&scene.test, 1, 2);
        worker(db).await
    };
    scene
        .drop_everywhere("claim_deliveries", waiting, async |db, by| db.claim_deliveries(by, None, 9).await)
        .await;
    let begun = async |db: &Db| {
        let by = waiting(db).await;
        (by, take(db, by, 9, &[]).await.remove(0))
    };
    scene
        .drop_everywhere("deliveries_held", begun, async |db, (by, _)| db.deliveries_held(by, &[]).await)
        .await;
    scene
        .drop_everywhere("delivered", begun, async |db, (by, held)| {
            db.delivered(by, held.number, held.claim_no).await
        })
        .await;
    scene
        .drop_everywhere("not_delivered", begun, async |db, (by, held)| {
            db.not_delivered(by, held.number, held.claim_no, "no", LONG).await
        })
        .await;
    let query = OutboxQuery { task: None, tenant: None, after: None, limit: 9 };
    scene.drop_everywhere("outbox", nothing, async |db, ()| db.outbox(&query).await).await;
    scene.drop_everywhere("prune_outbox", nothing, async |db, ()| db.prune_outbox().await).await;
}

/// Cancels the task as it is now.
async fn canceled(db: &Db, id: TaskId) {
    decided(db, DecisionKind::Cancel, &row(db, id).await).await;
}

/// Opening the database asks it too; what it sent is counted by what was opened.
async fn opening(scene: &Scene) {
    let url = &scene.test.url;
    let opened = RefCell::new(None);
    scene
        .drop_everywhere("open", nothing, async |_, ()| {
            opened.replace(Some(open(url, pools_of_one()).await));
        })
        .await;
    let opened = opened.into_inner().expect("opened in the end");
    scene.sent.borrow_mut().extend(calls(&opened).into_keys());
}

/// Where counting would cost too much other statements are sent.
async fn a_large_tables_overview(scene: &Scene) {
    scene.clear().await;
    // So wide that few rows are many bytes, and not so wide that they are stored elsewhere.
    let columns = "status, scheduled_at, finished_at, error";
    fill(&scene.client, 12_000, columns, "'FAILED', now(), now(), repeat('e', 1700)").await;
    scene.drop_everywhere("overview of a large table", nothing, async |db, ()| db.overview(None).await).await;
}

/// A wait that is given up at any of its await points swallows no wake-up.
#[tokio::test]
async fn a_wait_for_a_wake_up() {
    let test = database().await;
    let client = outside(&test.url).await;
    for polls in 0..1_000 {
        let mut listener = test.db.listen().await.expect("listen");
        client.batch_execute("NOTIFY taskdeck_taskdeck").await.expect("notify");
        let first = polled(polls, listener.wait(PATIENCE)).await;
        if let Some(first) = first {
            assert_eq!(first.expect("a wait"), Wake::Work);
            let second = listener.wait(Duration::from_millis(1)).await.expect("a wait");
            assert_eq!(second, Wake::TimedOut, "one wake-up is one");
            return;
        }
        let second = listener.wait(PATIENCE).await.expect("the listener is as good as before");
        assert_eq!(second, Wake::Work, "after {polls} polls the wake-up is still to come");
    }
    panic!("the wait does not end");
}

/// How many tables the schema has.
const TABLES: i64 = 8;

#[tokio::test]
async fn a_migration() {
    for polls in 0..1_000 {
        let url = empty_database();
        let db = open(&url, pools_of_one()).await;
        let done = polled(polls, db.migrate()).await;
        let client = outside(&url).await;
        until_no_transaction(&client).await;
        let tables = "SELECT count(*) FROM pg_tables WHERE schemaname = 'taskdeck'";
        let made = number(&client, tables).await;
        assert!(made == 0 || made == TABLES, "{made} of {TABLES} tables after {polls} polls");
        db.migrate().await.unwrap_or_else(|error| panic!("after {polls} polls: {error}"));
        assert_eq!(number(&client, tables).await, TABLES);
        db.check_schema().await.expect("complete");
        if done.is_some() {
            assert!(polls > 5, "the migration waited for hardly anything: it was not tried");
            return;
        }
    }
    panic!("the migration does not end");
}

#[tokio::test]
async fn a_dropped_call_frees_its_slot_at_once_and_is_stopped_at_the_server() {
    let test = database().await;
    let long = Duration::from_secs(25);
    let db = test.open_again(Limits { statement: long, lock: long, ..pools_of_one() }).await;
    let task = submit(&test.db, "x").await;
    let (mut holder, watch) = (outside(&test.url).await, outside(&test.url).await);
    let held = holder.transaction().await.expect("begin");
    held.execute("SELECT FROM taskdeck.tasks WHERE id = $1 FOR UPDATE", &[&task.id.0]).await.expect("lock");
    let deciding = tokio::spawn({
        let (db, task) = (db.clone(), task.clone());
        async move { db.decide(&decision(DecisionKind::Cancel, &[&task]), &quiet).await }
    });
    until_waiting(&watch).await;
    deciding.abort();
    assert!(deciding.await.expect_err("given up").is_cancelled());
    assert_eq!(row(&db, task.id).await, task, "the only slot is free, while the lock is still held");
    until_no_waiter(&watch).await;
    held.rollback().await.expect("rollback");
    assert_eq!(row(&db, task.id).await, task, "what was stopped changed nothing");
}
