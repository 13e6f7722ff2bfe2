//! The roles of `assets/sql`: each can do its work and nothing else, and the server is who refuses.

use std::process::Command;

use taskdeck::db::{ClaimRequest, Db, DbError, Limits, NeededTo, Preview};
use taskdeck::domain::decision::DecisionKind;
use taskdeck::domain::instance::{SeenInstance, Stop};
use taskdeck::domain::observed::Filter;
use taskdeck::domain::outbox::OutboxQuery;
use taskdeck::domain::outcome::{DecisionOutcome, Finished};
use taskdeck::domain::queue::{QueueAct, QueueDecision};
use taskdeck::domain::{InstanceId, InstanceState, NewTask, Status, StopMode, Task};

use crate::scene::{
    LONG, beat, claim, decide, decided, decision, failure, finish, history, name, new_instance, operation,
    quiet, request, row, running, submit, submit_as, submit_held, success, worker,
};
use crate::support::{TestDb, database, open, psql, unique};

/// A database with the roles of `assets/sql/roles.sql` under a prefix of its own, since roles are the whole server's.
struct Company {
    test: TestDb,
    prefix: String,
}

impl Company {
    async fn new() -> Self {
        let test = database().await;
        let prefix = format!("r{}", unique());
        let company = Self { test, prefix };
        company.run("roles.sql");
        company
    }

    fn run(&self, file: &str) {
        let path = format!("{}/assets/sql/{file}", env!("CARGO_MANIFEST_DIR"));
        // Twice, since it is to be run again after an upgrade.
        for _ in 0..2 {
            let output = Command::new("psql")
                .args([
                    "-X",
                    "-q",
                    "-d",
                    &self.test.url,
                    "-v",
                    &format!("prefix={}", self.prefix),
                    "-f",
                    &path,
                ])
                .output()
                .expect("psql starts");
            assert!(output.status.success(), "{file}: {}", String::from_utf8_lossy(&output.stderr));
        }
    }

    /// The address for a new login that is a member of `role`.
    fn login(&self, login: &str, role: &str) -> String {
        let login = format!("{}_{login}", self.prefix);
        self.test.psql(&format!("CREATE ROLE {login} LOGIN IN ROLE {}_{role}", self.prefix));
        self.test.url.replace("tester@", &format!("{login}@"))
    }

    async fn open(&self, login: &str, role: &str) -> Db {
        open(&self.login(login, role), Limits::default()).await
    }

    /// Everything that is in the tables.
    fn everything(&self) -> String {
        self.test.psql(
            "SELECT md5(coalesce(string_agg(t.*::text, ' ' ORDER BY t.id), '')) FROM taskdeck.tasks t UNION ALL \
             SELECT md5(coalesce(string_agg(x.*::text, ' ' ORDER BY x.id), '')) FROM taskdeck.task_inputs x UNION ALL \
             SELECT md5(coalesce(string_agg(i.*::text, ' ' ORDER BY i.id), '')) FROM taskdeck.instances i UNION ALL \
             SELECT md5(coalesce(string_agg(q.*::text, ' ' ORDER BY q.name), '')) FROM taskdeck.queues q UNION ALL \
             SELECT md5(coalesce(string_agg(o.*::text, ' ' ORDER BY o.id), '')) FROM taskdeck.outbox o UNION ALL \
             SELECT md5(coalesce(string_agg(v.*::text, ' ' ORDER BY v.id), '')) FROM taskdeck.events v",
        )
    }
}

fn refused<T: std::fmt::Debug>(what: &str, answer: Result<T, DbError>) {
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

fn everywhere() -> OutboxQuery {
    OutboxQuery { task: None, tenant: None, after: None, limit: 9 }
}

fn told(tenant: &str) -> NewTask {
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
    refused("register", viewer.register(&new_instance(&["default"], LONG)).await);
    refused("heartbeat", viewer.heartbeat(id, &beat(InstanceState::Working, LONG)).await);
    refused("claim", viewer.claim_next(&request(id, 9)).await);
    refused("claim by id", viewer.claim_by_id(id, waits.id).await);
    refused("success", viewer.finish(id, "v", &[success(&runs)]).await);
    refused("failure", viewer.finish(id, "v", &[failure(&runs, "no")]).await);
    refused("release", viewer.release(id, "v", "no", &[(runs.id, runs.claim_no)]).await);
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
        "INSERT INTO taskdeck.migrations (version) VALUES (99)",
        "CREATE TABLE taskdeck.mine ()",
    ] {
        let error = psql(&url, sql).expect_err(sql);
        assert!(error.contains("permission denied"), "{sql}: {error}");
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
    let id = worker(&works).await;
    works.heartbeat(id, &beat(InstanceState::Working, LONG)).await.expect("beat");
    let claimed = claim(&works, id).await;
    assert!(matches!(finish(&works, id, &success(&claimed)).await, Finished::Committed { .. }));
    let second = running(owner, id, "second").await;
    let failed = finish(&works, id, &failure(&second, "no")).await;
    assert_eq!(failed, Finished::Committed { status: Status::Queued });
    let again = claim(&works, id).await;
    works.release(id, "w", "shutting down", &[(again.id, again.claim_no)]).await.expect("release");
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
        works.release(id, "w", "no", &[(running.id, running.claim_no)]).await.expect("release");
    }
    works.end_instance(id, 1, 1).await.expect("end");
    works.prune_instances().await.expect("prune");
    let key = taskdeck::domain::input::SubmissionKey::fresh();
    refused("submit", works.submit("x", &NewTask::default(), &key, &quiet).await);
    refused("pause", works.decide_queue(&queue_decision(QueueAct::Pause, 0), &quiet).await);
    for sql in [
        "UPDATE taskdeck.events SET actor = 'bob'",
        "DELETE FROM taskdeck.events",
        "UPDATE taskdeck.tasks SET tenant = 'mine'",
    ] {
        let error = psql(&url, sql).expect_err(sql);
        assert!(error.contains("permission denied"), "{sql}: {error}");
    }
}

#[tokio::test]
async fn with_row_level_security_another_tenants_rows_are_not_there() {
    let company = Company::new().await;
    company.run("tenants.sql");
    let url = company.login("ann", "operator");
    let ann = open(&url, Limits::default()).await;
    let prefix = &company.prefix;
    company.test.psql(&format!(
        "INSERT INTO taskdeck.tenant_members VALUES ('{prefix}_ann', 'acme'), ('{prefix}_gone', 'zeta')"
    ));
    let owner = &company.test.db;
    let of = |tenant: &str| NewTask { tenant: name(tenant), ..NewTask::default() };
    let theirs = submit_as(owner, "theirs", &of("zeta")).await;
    let ours = submit_as(owner, "ours", &of("acme")).await;
    decided(owner, DecisionKind::Cancel, &theirs).await;
    let theirs = row(owner, theirs.id).await;

    assert_eq!(row(&ann, ours.id).await, ours);
    assert_eq!(ann.task(theirs.id, None, Preview::Whole).await.expect("asked"), None);
    assert_eq!(ann.last_changes(&[theirs.id]).await.expect("asked"), []);
    let answer = decide(&ann, &decision(DecisionKind::Requeue, &[&theirs])).await;
    assert_eq!(answer.outcome(), DecisionOutcome::NotFound);
    let both = decide(&ann, &decision(DecisionKind::Cancel, &[&theirs, &ours])).await;
    assert_eq!(both.outcome(), DecisionOutcome::NotFound);
    assert_eq!((row(owner, theirs.id).await, row(owner, ours.id).await), (theirs.clone(), ours.clone()));
    let key = taskdeck::domain::input::SubmissionKey::fresh();
    refused("submit to another tenant", ann.submit("x", &of("zeta"), &key, &quiet).await);
    let made = submit_as(&ann, "made", &of("acme")).await;
    decided(&ann, DecisionKind::Cancel, &made).await;
    for (sql, seen) in [
        ("SELECT count(*) FROM taskdeck.tasks", "2"),
        ("SELECT count(*) FROM taskdeck.task_inputs", "2"),
        ("SELECT count(*) FROM taskdeck.events", "1"),
        (
            "WITH u AS (UPDATE taskdeck.tasks SET version = 9 WHERE tenant = 'zeta' RETURNING 1) SELECT count(*) FROM u",
            "0",
        ),
    ] {
        assert_eq!(psql(&url, sql).as_deref(), Ok(seen), "{sql}");
    }
    for sql in [
        "INSERT INTO taskdeck.tenant_members VALUES (current_user, 'zeta')",
        "ALTER TABLE taskdeck.tasks DISABLE ROW LEVEL SECURITY",
    ] {
        psql(&url, sql).expect_err(sql);
    }
    // The notifications are whose the task is: written by both, seen by each alone.
    for (db, tenant) in [(&ann, "acme"), (owner, "zeta")] {
        let task = submit_as(db, "told", &told(tenant)).await;
        decided(db, DecisionKind::Cancel, &task).await;
    }
    let seen = ann.outbox(&everywhere()).await.expect("outbox").rows;
    assert_eq!(seen.iter().map(|row| row.notification.tenant.as_str()).collect::<Vec<_>>(), ["acme"]);
    let waits = ann.overview(None).await.expect("overview").outbox.expect("one");
    assert_eq!(waits.waiting, 1);
    let forged = "INSERT INTO taskdeck.outbox (task_id, version, tenant, queue, move, status_before, status_after, actor) \
                  VALUES (1, 99, 'zeta', 'default', 'cancel', 'QUEUED', 'CANCELED', 'ann')";
    assert!(psql(&url, forged).expect_err("another tenant's").contains("row-level security"));
    // Somebody who belongs to nobody sees nothing, and a worker sees all.
    let stranger = company.login("sue", "viewer");
    assert_eq!(psql(&stranger, "SELECT count(*) FROM taskdeck.tasks").as_deref(), Ok("0"));
    let works = company.open("will", "worker").await;
    let id = worker(&works).await;
    assert_eq!(works.claim_deliveries(id, None, 9).await.expect("claim"), 2);
    let will = company.login("wilma", "worker");
    assert_eq!(psql(&will, "DELETE FROM taskdeck.outbox"), Ok(String::new()));
    assert_eq!(company.test.psql("SELECT count(*) FROM taskdeck.outbox"), "2", "what is not delivered stays");
    let all = ClaimRequest { limit: 9, ..request(id, 9) };
    assert_eq!(works.claim_next(&all).await.expect("claim").len(), 1, "what is still queued");
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
