//! The roles of `assets/sql`: each can do its work and nothing else, and the server is who refuses.

use taskdeck::db::{Db, DbError, Limits, NeededTo, Preview, Release};
use taskdeck::domain::decision::DecisionKind;
use taskdeck::domain::instance::{SeenInstance, Stop};
use taskdeck::domain::observed::Filter;
use taskdeck::domain::outbox::OutboxQuery;
use taskdeck::domain::outcome::Finished;
use taskdeck::domain::queue::{QueueAct, QueueDecision};
use taskdeck::domain::{InstanceId, InstanceState, NewTask, Status, StopMode, Task};

use crate::company::Company;
use crate::limits;
use crate::scene::{
    LONG, beat, claim, decided, decision, failure, finish, history, name, new_instance, operation, quiet,
    request, row, running, submit, submit_as, submit_held, success, worker,
};
use crate::support::{open, psql};

pub(crate) fn refused<T: std::fmt::Debug>(what: &str, answer: Result<T, DbError>) {
    match answer {
        Err(DbError::Refused(_)) => {}
        other => panic!("{what}: {other:?}"),
    }
}

fn queue_decision(act: QueueAct, version: i64) -> QueueDecision {
    QueueDecision {
        act,
        queue: name("default"),
        version,
        operator: "alice".to_owned(),
        reason: None,
        operation: operation(),
    }
}

fn stop(id: InstanceId) -> Stop {
    Stop {
        mode: StopMode::Drain,
        instances: vec![SeenInstance { id, stop_version: 0 }],
        operator: "alice".to_owned(),
        reason: None,
        operation: operation(),
    }
}

pub(crate) fn everywhere() -> OutboxQuery {
    OutboxQuery { task: None, tenant: None, after: None, limit: 9 }
}

pub(crate) fn told(tenant: &str) -> NewTask {
    NewTask { notify: true, tenant: name(tenant), ..NewTask::default() }
}

/// What anybody may do who may look.
async fn looks(db: &Db, task: &Task) {
    db.migrate().await.expect("there is nothing to migrate");
    db.check_schema().await.expect("schema");
    assert_eq!(&row(db, task.id).await, task);
    history(db, task.id).await;
    db.overview(None).await.expect("overview");
    db.instances(None).await.expect("instances");
    db.queues(None).await.expect("queues");
    db.tenant_limits(None).await.expect("limits");
    db.outbox(&everywhere()).await.expect("outbox");
    db.health().await.expect("health");
    let query = taskdeck::db::ListQuery {
        filter: Filter::default(),
        before: None,
        limit: 9,
        preview: Preview::Whole,
    };
    assert!(!db.list(&query).await.expect("list").rows.is_empty());
}

#[tokio::test]
async fn a_viewer_sees_everything_and_changes_nothing() {
    let company = Company::new().await;
    let (owner, viewer) = (&company.test.db, company.open("vic", "viewer").await);
    let id = worker(owner).await;
    let runs = running(owner, id, "runs").await;
    let (held, waits) = (submit_held(owner, "held").await, submit(owner, "waits").await);
    let gone = submit(owner, "gone").await;
    let gone = decided(owner, DecisionKind::Cancel, &gone).await;
    looks(&viewer, &waits).await;

    let before = company.everything();
    let key = taskdeck::domain::input::SubmissionKey::fresh();
    refused("submit", viewer.submit("x", &NewTask::default(), &key, &quiet).await);
    for (kind, task) in [
        (DecisionKind::Cancel, &waits),
        (DecisionKind::Approve, &held),
        (DecisionKind::Reject, &held),
        (DecisionKind::Requeue, &gone),
    ] {
        refused(kind.verb(), viewer.decide(&decision(kind, &[task]), &quiet).await);
    }
    refused("stop", viewer.stop(&stop(id), &quiet).await);
    for (act, version) in [(QueueAct::Pause, 0), (QueueAct::Resume, 0)] {
        refused(act.verb(), viewer.decide_queue(&queue_decision(act, version), &quiet).await);
    }
    refused("limit", viewer.decide_limit(&limits::decision("default", Some(9), None, 1), &quiet).await);
    refused("register", viewer.register(&new_instance(&["default"], LONG)).await);
    refused("heartbeat", viewer.heartbeat(id, &beat(InstanceState::Working, LONG)).await);
    refused("claim", viewer.claim_next(&request(id, 9)).await);
    refused("claim by id", viewer.claim_by_id(id, waits.id).await);
    refused("success", viewer.finish(id, "v", &[success(&runs)]).await);
    refused("failure", viewer.finish(id, "v", &[failure(&runs, "no")]).await);
    refused("release", viewer.release(id, "v", "no", &[Release::new(runs.id, runs.claim_no)]).await);
    refused("recover", viewer.recover("v").await);
    refused("end", viewer.end_instance(id, 0, 0).await);
    refused("prune", viewer.prune_instances().await);
    refused("claim to deliver", viewer.claim_deliveries(id, None, 9).await);
    refused("delivered", viewer.delivered(id, 1, 1).await);
    refused("not delivered", viewer.not_delivered(id, 1, 1, "no", LONG).await);
    refused("prune the outbox", viewer.prune_outbox().await);
    assert_eq!(company.everything(), before, "nothing was changed by any of them");
}

#[tokio::test]
async fn an_operator_decides_and_cannot_rewrite_history_or_results() {
    let company = Company::new().await;
    let url = company.login("olga", "operator");
    let operator = open(&url, Limits::default()).await;
    let owner = &company.test.db;
    let id = worker(owner).await;
    let held = submit_held(&operator, "held").await;
    looks(&operator, &held).await;
    limits::set(&operator, &limits::decision("default", Some(9), Some(9), 0)).await;
    let approved = decided(&operator, DecisionKind::Approve, &held).await;
    assert_eq!(approved.status, Status::Queued);
    let runs = claim(owner, id).await;
    let asked = decided(&operator, DecisionKind::Cancel, &row(owner, runs.id).await).await;
    assert!(asked.cancel_requested);
    finish(owner, id, &success(&runs)).await;
    let canceled = row(owner, runs.id).await;
    decided(&operator, DecisionKind::Requeue, &canceled).await;
    let rejected = submit_held(&operator, "to be rejected").await;
    decided(&operator, DecisionKind::Reject, &rejected).await;
    let to_be_told = submit_as(&operator, "to be told", &told("default")).await;
    decided(&operator, DecisionKind::Cancel, &to_be_told).await;
    assert_eq!(company.test.psql("SELECT move FROM taskdeck.outbox"), "cancel");
    operator.stop(&stop(id), &quiet).await.expect("stop");
    operator.decide_queue(&queue_decision(QueueAct::Pause, 0), &quiet).await.expect("pause");
    operator.decide_queue(&queue_decision(QueueAct::Resume, 1), &quiet).await.expect("resume");
    let roles = company.test.psql("SELECT DISTINCT session_role FROM taskdeck.events WHERE actor = 'alice'");
    assert_eq!(roles, format!("{}_olga", company.prefix), "the database says who it was");

    let before = company.everything();
    for sql in [
        "UPDATE taskdeck.events SET actor = 'bob'",
        "DELETE FROM taskdeck.events",
        "TRUNCATE taskdeck.events",
        "INSERT INTO taskdeck.events (task_id, actor, session_role, move, status_before, status_after, version_before, \
             version_after, operation_id) VALUES (1, 'bob', 'bob', 'cancel', 'QUEUED', 'CANCELED', 1, 2, gen_random_uuid())",
        "INSERT INTO taskdeck.events (task_id, actor, at, move, status_before, status_after, version_before, \
             version_after, operation_id) VALUES (1, 'bob', now(), 'cancel', 'QUEUED', 'CANCELED', 1, 2, gen_random_uuid())",
        "INSERT INTO taskdeck.events (task_id, actor, process, move, status_before, status_after, version_before, \
             version_after, operation_id) VALUES (1, 'bob', 'taskdeck cancel bob@far:1 operator', 'cancel', 'QUEUED', \
             'CANCELED', 1, 2, gen_random_uuid())",
        "UPDATE taskdeck.events SET process = NULL",
        "UPDATE taskdeck.events SET at = now()",
        "ALTER TABLE taskdeck.events ALTER COLUMN process DROP DEFAULT",
        "UPDATE taskdeck.outbox SET delivered_at = now()",
        "DELETE FROM taskdeck.outbox",
        "UPDATE taskdeck.tasks SET notify = false",
        "UPDATE taskdeck.tasks SET words = 7",
        "UPDATE taskdeck.tasks SET claim_no = 7",
        "UPDATE taskdeck.tasks SET tenant = 'mine'",
        "INSERT INTO taskdeck.tasks (id, tenant, queue, status, priority, max_attempts, created_at, scheduled_at, words, \
             finished_at) VALUES (99, 'default', 'default', 'SUCCEEDED', 0, 1, now(), now(), 7, now())",
        "DELETE FROM taskdeck.tasks",
        "UPDATE taskdeck.task_inputs SET input = 'x'",
        "DELETE FROM taskdeck.task_inputs",
        "UPDATE taskdeck.instances SET lease_until = now()",
        "DELETE FROM taskdeck.queues",
        "DELETE FROM taskdeck.limits",
        "INSERT INTO taskdeck.migrations (version) VALUES (99)",
        "CREATE TABLE taskdeck.mine ()",
    ] {
        let error = psql(&url, sql).expect_err(sql);
        assert!(error.contains("permission denied") || error.contains("must be owner"), "{sql}: {error}");
    }
    refused("claim", operator.claim_next(&request(id, 9)).await);
    refused("claim to deliver", operator.claim_deliveries(id, None, 9).await);
    refused("recover", operator.recover("o").await);
    refused("register", operator.register(&new_instance(&["default"], LONG)).await);
    assert_eq!(company.everything(), before);
}

#[tokio::test]
async fn a_worker_does_all_its_work_and_submits_nothing() {
    let company = Company::new().await;
    let url = company.login("will", "worker");
    let (owner, works) = (&company.test.db, open(&url, Limits::default()).await);
    let first = submit(owner, "first").await;
    looks(&works, &first).await;
    limits::set(owner, &limits::decision("default", Some(9), Some(9), 0)).await;
    let id = worker(&works).await;
    works.heartbeat(id, &beat(InstanceState::Working, LONG)).await.expect("beat");
    let claimed = claim(&works, id).await;
    assert!(matches!(finish(&works, id, &success(&claimed)).await, Finished::Committed { .. }));
    let second = running(owner, id, "second").await;
    let failed = finish(&works, id, &failure(&second, "no")).await;
    assert_eq!(failed, Finished::Committed { status: Status::Queued });
    let again = claim(&works, id).await;
    let release = Release::new(again.id, again.claim_no);
    works.release(id, "w", "shutting down", &[release]).await.expect("release");
    let lost = worker(&works).await;
    let last = claim(&works, lost).await;
    works.heartbeat(lost, &beat(InstanceState::Working, std::time::Duration::ZERO)).await.expect("beat");
    assert_eq!(works.recover("w").await.expect("recover").len(), 1);
    assert_eq!(row(owner, last.id).await.status, Status::Queued);
    for end in 0..3 {
        let task = submit_as(owner, "told", &NewTask { max_attempts: 1, ..told("default") }).await;
        // What was put back stands before it.
        let mut all = works.claim_next(&request(id, 9)).await.expect("claim");
        let claimed = all.remove(all.iter().position(|one| one.id == task.id).expect("it too"));
        let end = match end {
            0 => success(&claimed),
            _ => failure(&claimed, "no"),
        };
        finish(&works, id, &end).await;
    }
    assert_eq!(works.claim_deliveries(id, None, 9).await.expect("claim"), 3);
    let held = works.deliveries_held(id, &[]).await.expect("held");
    works.delivered(id, held[0].number, held[0].claim_no).await.expect("done");
    works.not_delivered(id, held[1].number, held[1].claim_no, "no", LONG).await.expect("retry");
    company.test.psql("UPDATE taskdeck.outbox SET delivered_at = delivered_at - interval '2 days'");
    works.prune_outbox().await.expect("prune");
    assert_eq!(company.test.psql("SELECT count(*) FROM taskdeck.outbox"), "2");
    for running in works.claimed(id).await.expect("held") {
        works.release(id, "w", "no", &[Release::new(running.id, running.claim_no)]).await.expect("release");
    }
    works.end_instance(id, 1, 1).await.expect("end");
    works.prune_instances().await.expect("prune");
    let key = taskdeck::domain::input::SubmissionKey::fresh();
    refused("submit", works.submit("x", &NewTask::default(), &key, &quiet).await);
    refused("pause", works.decide_queue(&queue_decision(QueueAct::Pause, 0), &quiet).await);
    refused("limit", works.decide_limit(&limits::decision("default", None, None, 1), &quiet).await);
    assert_eq!(company.test.psql("SELECT claims > 0 FROM taskdeck.limits"), "t", "its claims counted");
    for sql in [
        "UPDATE taskdeck.limits SET max_running = 99",
        "UPDATE taskdeck.events SET actor = 'bob'",
        "DELETE FROM taskdeck.events",
        "UPDATE taskdeck.tasks SET tenant = 'mine'",
    ] {
        let error = psql(&url, sql).expect_err(sql);
        assert!(error.contains("permission denied"), "{sql}: {error}");
    }
}

/// What the console and `doctor` ask, so that they offer what the role may do and say why not.
#[tokio::test]
async fn each_role_is_told_what_it_may_do() {
    let company = Company::new().await;
    let may = async |db: &Db| {
        let privileges = db.privileges().await.expect("asked");
        [NeededTo::Look, NeededTo::Operate, NeededTo::Direct, NeededTo::Work].map(|needed_to| {
            privileges
                .iter()
                .filter(|privilege| privilege.needed_to == needed_to)
                .all(|privilege| privilege.granted == Some(true))
        })
    };
    let (viewer, works) = (company.open("vic", "viewer").await, company.open("will", "worker").await);
    let operator = company.open("olga", "operator").await;
    assert_eq!(may(&viewer).await, [true, false, false, false]);
    assert_eq!(may(&operator).await, [true, true, true, false]);
    assert_eq!(may(&works).await, [true, false, false, true]);
    company.run("tenants.sql");
    assert_eq!(may(&operator).await, [true, true, false, false], "queues and processes are all tenants'");
    refused("stop", operator.stop(&stop(worker(&company.test.db).await), &quiet).await);
    refused("pause", operator.decide_queue(&queue_decision(QueueAct::Pause, 0), &quiet).await);
    assert_eq!(may(&company.test.db).await, [true; 4], "the owner");
}
