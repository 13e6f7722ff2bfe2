//! A tenant's limits are set by a decision like any other: versioned, audited, made once.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use taskdeck::db::{Db, Limits};
use taskdeck::domain::audit::AuditQuery;
use taskdeck::domain::decision::DecisionKind;
use taskdeck::domain::input::Admission;
use taskdeck::domain::limit::{LimitDecided, LimitDecision, LimitOutcome, LimitState, TenantLimits};
use taskdeck::domain::{NewTask, Task};
use tokio::sync::Barrier;
use tokio_postgres::Client;

use crate::proxy::{Cut, Proxy};
use crate::scene::{claim, decided, name, number, operation, outside, quiet, submit_as, worker};
use crate::support::{database, open, shared_server};

/// alice's decision.
pub(crate) fn decision(
    tenant: &str,
    max_running: Option<i64>,
    max_approved_per_day: Option<i64>,
    version: i64,
) -> LimitDecision {
    LimitDecision {
        tenant: name(tenant),
        max_running,
        max_approved_per_day,
        version,
        operator: "alice".to_owned(),
        reason: Some("a small contract".to_owned()),
        operation: operation(),
    }
}

pub(crate) async fn decide(db: &Db, decision: &LimitDecision) -> LimitDecided {
    db.decide_limit(decision, &quiet).await.expect("decide")
}

/// Sets it, and expects that it takes effect.
pub(crate) async fn set(db: &Db, decision: &LimitDecision) -> LimitState {
    let decided = decide(db, decision).await;
    assert_eq!(decided.outcome, LimitOutcome::Committed, "{decided:?}");
    decided.state
}

/// The tenant's limits with their use.
pub(crate) async fn used(db: &Db, tenant: &str) -> TenantLimits {
    db.tenant_limits(Some(tenant)).await.expect("read").pop().expect("it has limits")
}

pub(crate) fn new(tenant: &str) -> NewTask {
    NewTask { tenant: name(tenant), ..NewTask::default() }
}

/// A task of `tenant` that is held for approval.
pub(crate) fn hold(tenant: &str) -> NewTask {
    NewTask { admission: Admission::Hold, ..new(tenant) }
}

pub(crate) async fn held(db: &Db, tenant: &str) -> Task {
    submit_as(db, "held", &hold(tenant)).await
}

/// Takes the row of a tenant's limits, so that whoever needs it waits.
pub(crate) async fn hold_limit(client: &Client, tenant: &str) {
    let sql = format!("BEGIN; SELECT FROM taskdeck.limits WHERE tenant = '{tenant}' FOR UPDATE");
    client.batch_execute(&sql).await.expect("hold");
}

#[tokio::test]
async fn limits_are_listed_with_their_use_and_each_change_is_an_event() {
    let test = database().await;
    let (db, id) = (&test.db, worker(&test.db).await);
    assert_eq!(db.tenant_limits(None).await.expect("read"), []);
    assert_eq!(db.limit_state(&name("billing")).await.expect("read"), LimitState::NONE);
    let state = set(db, &decision("billing", Some(2), None, 0)).await;
    assert_eq!((state.max_running, state.max_approved_per_day, state.version), (Some(2), None, 1));
    let change = state.changed.clone().expect("who");
    assert_eq!((change.by.as_str(), change.reason.as_deref()), ("alice", Some("a small contract")));
    submit_as(db, "runs", &new("billing")).await;
    claim(db, id).await;
    decided(db, DecisionKind::Approve, &held(db, "billing").await).await;
    decided(db, DecisionKind::Approve, &held(db, "legal").await).await;
    let billing = TenantLimits { tenant: "billing".to_owned(), state, running: 1, approved_today: 1 };
    assert_eq!(db.tenant_limits(None).await.expect("read"), [billing]);
    assert_eq!(db.tenant_limits(Some("legal")).await.expect("read"), []);

    set(db, &decision("billing", Some(2), Some(5), 1)).await;
    set(db, &LimitDecision { reason: None, ..decision("billing", None, Some(5), 2) }).await;
    let none = set(db, &decision("billing", None, None, 3)).await;
    assert_eq!((none.max_running, none.max_approved_per_day, none.version), (None, None, 4));
    let told = test.psql(
        "SELECT actor, move, status_before, status_after, version_before, version_after, reason \
         FROM taskdeck.events WHERE tenant = 'billing' ORDER BY id",
    );
    assert_eq!(
        told,
        "alice|limit|none|running 2|0|1|a small contract\n\
         alice|limit|running 2|running 2, 5 a day|1|2|a small contract\n\
         alice|limit|running 2, 5 a day|5 a day|2|3|\n\
         alice|limit|5 a day|none|3|4|a small contract"
    );
    // A tenant's history is that of its tasks and of its limits.
    let query = AuditQuery { tenant: Some("billing".to_owned()), ..AuditQuery::default() };
    let events = db.audit(&query).await.expect("read").events;
    assert_eq!(events.len(), 5, "{events:?}");
    assert_eq!((events[0].tenant.as_deref(), events[0].task), (Some("billing"), None));
}

#[tokio::test]
async fn a_version_that_has_moved_on_or_what_is_so_already_changes_nothing() {
    let test = database().await;
    let db = &test.db;
    for (what, refused) in [
        ("no limit for who has none", decision("billing", None, None, 0)),
        ("a made up version", decision("billing", Some(1), None, 3)),
    ] {
        let answer = decide(db, &refused).await;
        assert_eq!((answer.outcome, answer.state), (LimitOutcome::Conflict, LimitState::NONE), "{what}");
    }
    set(db, &decision("billing", Some(1), None, 0)).await;
    let state = set(db, &decision("billing", Some(2), None, 1)).await;
    for (what, refused) in [
        ("an old version", decision("billing", Some(3), None, 1)),
        ("as if it had none", decision("billing", Some(3), None, 0)),
        ("a later version", decision("billing", Some(3), None, 3)),
        ("as it is", decision("billing", Some(2), None, 2)),
    ] {
        let answer = decide(db, &refused).await;
        assert_eq!((answer.outcome, &answer.state), (LimitOutcome::Conflict, &state), "{what}");
    }
    assert_eq!(test.psql("SELECT count(*), max(version) FROM taskdeck.limits"), "1|2");
    assert_eq!(test.psql("SELECT count(*) FROM taskdeck.events"), "2");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_operators_who_saw_the_same_one_decides() {
    let test = database().await;
    let other = test.open_again(Limits::default()).await;
    for round in 0..40 {
        // Even rounds: both set the tenant's first. Odd rounds: it has a row.
        let (tenant, version) = (format!("t{}", round / 2), round % 2);
        let gate = Arc::new(Barrier::new(2));
        let racer = |db: &Db, by: &str, most: i64| {
            let (db, gate) = (db.clone(), Arc::clone(&gate));
            let operator = by.to_owned();
            let asked = LimitDecision { operator, ..decision(&tenant, Some(most), None, version) };
            tokio::spawn(async move {
                gate.wait().await;
                (most, decide(&db, &asked).await)
            })
        };
        let (a, b) = (racer(&test.db, "alice", 10 + version), racer(&other, "bob", 20 + version));
        let answers = [a.await.expect("no panic"), b.await.expect("no panic")];
        let won: Vec<_> = answers.iter().filter(|(_, d)| d.outcome == LimitOutcome::Committed).collect();
        assert_eq!(won.len(), 1, "round {round}: {answers:?}");
        for (_, decided) in &answers {
            let told = (decided.state.max_running, decided.state.version);
            assert_eq!(told, (Some(won[0].0), version + 1), "round {round}: both are told what it is");
        }
    }
    assert_eq!(test.psql("SELECT count(*) FROM taskdeck.events"), "40");
}

#[tokio::test]
async fn a_decision_whose_answer_is_lost_is_made_once() {
    let test = database().await;
    let client = outside(&test.url).await;
    let proxy = Proxy::start(shared_server().port()).await;
    for (round, cut) in (0..).zip([Cut::Before, Cut::After, Cut::Stall]) {
        let db = open(&proxy.address(&test.url), cut.limits()).await;
        proxy.cut(cut, "(tenant, max_running");
        let lost = AtomicU32::new(0);
        let count = |_: &taskdeck::db::Trouble| {
            lost.fetch_add(1, Ordering::SeqCst);
        };
        let asked = decision("billing", Some(10 + round), None, round);
        let decided = db.decide_limit(&asked, &count).await.expect("decide");
        assert_eq!((decided.outcome, decided.state.version), (LimitOutcome::Committed, round + 1), "{cut:?}");
        assert!(decided.resolved_from_unknown && lost.load(Ordering::SeqCst) == 1, "{cut:?}");
        assert_eq!(number(&client, "SELECT count(*) FROM taskdeck.events").await, round + 1, "{cut:?}");
    }
}
