//! Row-level security per tenant, of `assets/sql/tenants.sql`: what is another tenant's is not there.

use taskdeck::db::{ClaimRequest, DbError, Limits, Preview};
use taskdeck::domain::NewTask;
use taskdeck::domain::decision::DecisionKind;
use taskdeck::domain::outcome::{DecisionOutcome, Verdict};

use crate::company::Company;
use crate::limits;
use crate::roles::{everywhere, refused, told};
use crate::scene::{decide, decided, decision, name, quiet, request, row, submit_as, worker};
use crate::support::{open, psql};

/// A company whose operator ann belongs to `acme`, and by a group to `beta`; and where she is let in.
async fn company_of_tenants() -> (Company, String) {
    let company = Company::new().await;
    company.run("tenants.sql");
    let url = company.login("ann", "operator");
    let prefix = &company.prefix;
    company.test.psql(&format!(
        "CREATE ROLE {prefix}_crew; GRANT {prefix}_crew TO {prefix}_ann; \
         INSERT INTO taskdeck.tenant_members VALUES ('{prefix}_ann', 'acme'), ('{prefix}_gone', 'zeta'), \
           ('{prefix}_crew', 'beta')"
    ));
    (company, url)
}

fn of(tenant: &str) -> NewTask {
    NewTask { tenant: name(tenant), ..NewTask::default() }
}

#[tokio::test]
async fn with_row_level_security_another_tenants_rows_are_not_there() {
    let (company, url) = company_of_tenants().await;
    let ann = &open(&url, Limits::default()).await;
    let owner = &company.test.db;
    let theirs = submit_as(owner, "theirs", &of("zeta")).await;
    let ours = submit_as(owner, "ours", &of("acme")).await;
    decided(owner, DecisionKind::Cancel, &theirs).await;
    let theirs = row(owner, theirs.id).await;

    assert_eq!(row(ann, ours.id).await, ours);
    assert_eq!(ann.task(theirs.id, None, Preview::Whole).await.expect("asked"), None);
    assert_eq!(ann.last_changes(&[theirs.id]).await.expect("asked"), []);
    let answer = decide(ann, &decision(DecisionKind::Requeue, &[&theirs])).await;
    assert_eq!(answer.outcome(), DecisionOutcome::NotFound);
    let both = decide(ann, &decision(DecisionKind::Cancel, &[&theirs, &ours])).await;
    assert_eq!(both.outcome(), DecisionOutcome::NotFound);
    assert_eq!((row(owner, theirs.id).await, row(owner, ours.id).await), (theirs.clone(), ours.clone()));
    let key = taskdeck::domain::input::SubmissionKey::fresh();
    let elsewhere = ann.submit("x", &of("zeta"), &key, &quiet).await;
    let hint = elsewhere.as_ref().err().and_then(DbError::hint).unwrap_or_default();
    assert!(hint.contains("--tenant"), "{elsewhere:?}");
    refused("submit to another tenant", elsewhere);
    let made = submit_as(ann, "made", &of("acme")).await;
    decided(ann, DecisionKind::Cancel, &made).await;
    // A submission id that somebody has whom she does not see is taken, not unreadable.
    owner.submit("theirs too", &of("zeta"), &key, &quiet).await.expect("submit");
    let answer = ann.submit("x", &of("acme"), &key, &quiet).await;
    assert!(matches!(&answer, Err(DbError::Taken(_))), "{answer:?}");
    for (sql, seen) in [
        ("SELECT count(*) FROM taskdeck.tasks", "2"),
        ("SELECT count(*) FROM taskdeck.task_inputs", "2"),
        ("SELECT count(*) FROM taskdeck.events", "1"),
        // Of the list of members only her own lines, under whichever name of hers.
        ("SELECT string_agg(tenant, ',' ORDER BY tenant) FROM taskdeck.tenant_members", "acme,beta"),
        (
            "WITH u AS (UPDATE taskdeck.tasks SET version = 9 WHERE tenant = 'zeta' RETURNING 1) SELECT count(*) FROM u",
            "0",
        ),
    ] {
        assert_eq!(psql(&url, sql).as_deref(), Ok(seen), "{sql}");
    }
    let (zeta, acme) = (theirs.id, made.id);
    let event = |task| {
        format!(
            "INSERT INTO taskdeck.events (task_id, actor, move, status_before, status_after, version_before, version_after, \
             operation_id) VALUES ({task}, 'ann', 'cancel', 'QUEUED', 'CANCELED', 1, 2, gen_random_uuid())"
        )
    };
    for (sql, refusal) in [
        ("INSERT INTO taskdeck.tenant_members VALUES (current_user, 'zeta')", "permission denied"),
        ("ALTER TABLE taskdeck.tasks DISABLE ROW LEVEL SECURITY", "must be owner"),
        ("SET row_security = off; SELECT count(*) FROM taskdeck.tasks", "row-level security policy"),
        (
            "INSERT INTO taskdeck.tasks (id, tenant, queue, status, priority, max_attempts, created_at, scheduled_at) \
             VALUES (99, 'zeta', 'default', 'QUEUED', 0, 1, now(), now())",
            "row-level security policy",
        ),
        (&event(zeta), "row-level security policy"),
        ("DELETE FROM taskdeck.events", "permission denied"),
    ] {
        let error = psql(&url, sql).expect_err(sql);
        assert!(error.contains(refusal), "{sql}: {error}");
    }
    psql(&url, &event(acme)).expect("of what is hers she may record what she did");
    // Somebody who belongs to nobody sees nothing, and a worker sees all.
    let stranger = company.login("sue", "viewer");
    for table in ["tasks", "tenant_members"] {
        let count = format!("SELECT count(*) FROM taskdeck.{table}");
        assert_eq!(psql(&stranger, &count).as_deref(), Ok("0"), "{table}");
    }
    // Whom the group lets in sees what is the group's.
    let shared = submit_as(owner, "the crew's", &of("beta")).await;
    assert_eq!(row(ann, shared.id).await, shared);
    decided(owner, DecisionKind::Cancel, &shared).await;
    let works = company.open("will", "worker").await;
    let id = worker(&works).await;
    let all = ClaimRequest { limit: 9, ..request(id, 9) };
    assert_eq!(works.claim_next(&all).await.expect("claim").len(), 2, "what is still queued");
}

/// She sees the limits of her own tenants and heeds them, and sets none.
#[tokio::test]
async fn with_row_level_security_limits_are_heeded_by_who_may_not_set_them() {
    let (company, url) = company_of_tenants().await;
    let (owner, ann) = (&company.test.db, &open(&url, Limits::default()).await);
    for tenant in ["acme", "zeta"] {
        limits::set(owner, &limits::decision(tenant, None, Some(1), 0)).await;
    }
    let seen = ann.tenant_limits(None).await.expect("limits");
    assert_eq!(seen.iter().map(|limits| limits.tenant.as_str()).collect::<Vec<_>>(), ["acme"]);
    refused("limit", ann.decide_limit(&limits::decision("acme", None, Some(9), 1), &quiet).await);
    let (one, two) = (limits::held(ann, "acme").await, limits::held(ann, "acme").await);
    decided(ann, DecisionKind::Approve, &one).await;
    let over = decide(ann, &decision(DecisionKind::Approve, &[&two])).await;
    assert!(matches!(over.rows[0].1, Verdict::OverLimit { .. }), "{over:?}");
    for (sql, seen) in [
        ("SELECT count(*) FROM taskdeck.limits", "1"),
        ("SELECT count(*) FROM taskdeck.events WHERE tenant = 'zeta'", "0"),
        ("SELECT count(*) FROM taskdeck.events WHERE tenant = 'acme'", "1"),
        (
            "WITH u AS (UPDATE taskdeck.limits SET approved = 0 WHERE tenant = 'zeta' RETURNING 1) SELECT count(*) FROM u",
            "0",
        ),
    ] {
        assert_eq!(psql(&url, sql).as_deref(), Ok(seen), "{sql}");
    }
}

/// A notification is whose the task is: written by whoever decides, seen by its tenant alone, delivered by any worker.
#[tokio::test]
async fn with_row_level_security_notifications_are_their_tenants() {
    let (company, url) = company_of_tenants().await;
    let (owner, ann) = (&company.test.db, &open(&url, Limits::default()).await);
    for (db, tenant) in [(ann, "acme"), (owner, "zeta")] {
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
    let works = company.open("will", "worker").await;
    let id = worker(&works).await;
    assert_eq!(works.claim_deliveries(id, None, 9).await.expect("claim"), 2);
    let will = company.login("wilma", "worker");
    assert_eq!(psql(&will, "DELETE FROM taskdeck.outbox"), Ok(String::new()));
    assert_eq!(company.test.psql("SELECT count(*) FROM taskdeck.outbox"), "2", "what is not delivered stays");
}
