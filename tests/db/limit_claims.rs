//! Never more than `max_running` tasks of a tenant run at once, however many claim at the same moment.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use taskdeck::db::sql::{CLAIM_LIMITED, CLAIM_NEXT};
use taskdeck::db::{Claimed, Claims, Db, KeptBack, Limits};
use taskdeck::domain::limit::AtLimit;
use taskdeck::domain::outcome::ClaimById;
use taskdeck::domain::{InstanceId, InstanceState, NewTask, Task};
use tokio_postgres::Client;

use crate::claims::claim_params;
use crate::limits::{decision, hold_limit, new, set, used};
use crate::scene::{
    LONG, beat, decide, fill, finish, number, outside, request, rows_read, submit_as, success, text,
    until_so_many_wait, worker,
};
use crate::support::{database, database_with, open, until};

async fn running(client: &Client, tenant: &str) -> i64 {
    let sql = format!("SELECT count(*) FROM taskdeck.tasks WHERE status = 'RUNNING' AND tenant = '{tenant}'");
    number(client, &sql).await
}

/// Ends everything that runs, so that the next round begins with all places free.
async fn end_all(db: &Db, claimed: &[(InstanceId, Claimed)]) {
    for (instance, claimed) in claimed {
        finish(db, *instance, &success(claimed)).await;
    }
}

async fn billing(db: &Db) -> Task {
    submit_as(db, "of a limited tenant", &new("billing")).await
}

/// The first claim after a limit was set is about the other tenants, and learns of it.
async fn knows_limits(db: &Db, instance: InstanceId) {
    assert_eq!(claims(db, instance, 1).await.claimed, []);
}

async fn claims(db: &Db, instance: InstanceId, limit: i64) -> Claims {
    db.claim(&request(instance, limit)).await.expect("claim")
}

/// Thirty rounds of two claims that have both counted one place before either may take it: both wait for the row of the
/// limit, which a third session holds until then.
#[tokio::test]
async fn two_claims_that_counted_the_same_last_place_take_it_once() {
    let test = database().await;
    let db = &test.db;
    let (holder, client) = (outside(&test.url).await, outside(&test.url).await);
    let ids = [worker(db).await, worker(db).await];
    set(db, &decision("billing", Some(1), None, 0)).await;
    for round in 0..30 {
        billing(db).await;
        billing(db).await;
        hold_limit(&holder, "billing").await;
        let racers = ids.map(|id| {
            let db = db.clone();
            tokio::spawn(async move { (id, claims(&db, id, 1).await) })
        });
        until_so_many_wait(&client, 2).await;
        holder.batch_execute("ROLLBACK").await.expect("let go");
        let mut won = Vec::new();
        for racer in racers {
            let (id, answer) = racer.await.expect("no panic");
            assert_eq!(answer.kept_back, KeptBack::Full, "round {round}: both know that no place is left");
            won.extend(answer.claimed.into_iter().map(|claimed| (id, claimed)));
        }
        assert_eq!((won.len(), running(&client, "billing").await), (1, 1), "round {round}");
        end_all(db, &won).await;
    }
}

/// The same of claims of two given tasks, which both wait for their tasks' rows with the same snapshot.
#[tokio::test]
async fn two_claims_of_given_tasks_that_counted_the_same_last_place_take_it_once() {
    let test = database().await;
    let db = &test.db;
    let (holder, client) = (outside(&test.url).await, outside(&test.url).await);
    let ids = [worker(db).await, worker(db).await];
    set(db, &decision("billing", Some(1), None, 0)).await;
    for round in 0..30 {
        let tasks = [billing(db).await, billing(db).await];
        hold_tasks(&holder, &tasks).await;
        let racers = [0, 1].map(|place| {
            let (db, id, task) = (db.clone(), ids[place], tasks[place].id);
            tokio::spawn(async move { (id, db.claim_by_id(id, task).await.expect("an answer")) })
        });
        until_so_many_wait(&client, 2).await;
        holder.batch_execute("ROLLBACK").await.expect("let go");
        let (mut won, mut told) = (Vec::new(), Vec::new());
        for racer in racers {
            match racer.await.expect("no panic") {
                (id, ClaimById::Won { .. }) => {
                    won.extend(db.claimed(id).await.expect("read").pop().map(|c| (id, c)));
                }
                (_, ClaimById::AtLimit { at, .. }) => told.push(at),
                (_, other) => panic!("round {round}: {other:?}"),
            }
        }
        assert_eq!((won.len(), running(&client, "billing").await), (1, 1), "round {round}");
        let full = AtLimit { tenant: "billing".to_owned(), running: 1, max_running: 1 };
        assert_eq!(told, std::slice::from_ref(&full), "round {round}: the other is told why");
        assert_eq!(full.words(), "tenant billing runs 1 of 1");
        end_all(db, &won).await;
    }
}

async fn hold_tasks(client: &Client, tasks: &[Task]) {
    let ids: Vec<String> = tasks.iter().map(|task| task.id.to_string()).collect();
    let ids = ids.join(", ");
    let sql = format!("BEGIN; SELECT FROM taskdeck.tasks WHERE id IN ({ids}) ORDER BY id FOR UPDATE");
    client.batch_execute(&sql).await.expect("hold");
}

/// What the two tests above are for. Each task's own version and state and a count in a sub-query look like enough, and
/// after the wait only the first two are looked at again.
#[tokio::test]
async fn with_the_version_column_and_a_count_alone_both_would_run() {
    let test = database().await;
    let db = &test.db;
    let (holder, client) = (outside(&test.url).await, outside(&test.url).await);
    let mut both_ran = 0;
    for _ in 0..30 {
        let tasks = [billing(db).await, billing(db).await];
        hold_tasks(&holder, &tasks).await;
        let mut racers = Vec::new();
        for task in &tasks {
            let session = outside(&format!("{}?application_name=taskdeck%20broken", test.url)).await;
            let sql = format!(
                "UPDATE taskdeck.tasks SET status = 'RUNNING', version = version + 1, claim_no = claim_no + 1, \
                 claimed_by = gen_random_uuid() WHERE id = {} AND version = {} AND status = 'QUEUED' \
                 AND (SELECT count(*) FROM taskdeck.tasks WHERE status = 'RUNNING' AND tenant = 'billing') < 1",
                task.id, task.version
            );
            racers.push(tokio::spawn(async move { session.execute(&sql, &[]).await.expect("an answer") }));
        }
        until_so_many_wait(&client, 2).await;
        holder.batch_execute("ROLLBACK").await.expect("let go");
        let mut changed = 0;
        for racer in racers {
            changed += racer.await.expect("no panic");
        }
        both_ran += i32::from((changed, running(&client, "billing").await) == (2, 2));
        client.batch_execute("DELETE FROM taskdeck.tasks").await.expect("clear");
    }
    assert_eq!(both_ran, 30, "two ran where one may, in each round");
}

/// A limit that is lowered while a claim waits counts for it, too.
#[tokio::test]
async fn a_claim_that_read_the_limit_before_it_was_lowered_takes_nothing() {
    let test = database().await;
    let db = &test.db;
    let (holder, client) = (outside(&test.url).await, outside(&test.url).await);
    let id = worker(db).await;
    set(db, &decision("billing", Some(1), None, 0)).await;
    let task = billing(db).await;
    let lower = "UPDATE taskdeck.limits SET max_running = 0, version = version + 1; COMMIT";
    let claim = |db: Db| tokio::spawn(async move { claims(&db, id, 5).await });
    let by_id = |db: Db| tokio::spawn(async move { db.claim_by_id(id, task.id).await.expect("an answer") });
    hold_limit(&holder, "billing").await;
    let claim = claim(db.clone());
    until_so_many_wait(&client, 1).await;
    holder.batch_execute(lower).await.expect("lower");
    let answer = claim.await.expect("no panic");
    assert_eq!((answer.claimed, answer.kept_back), (vec![], KeptBack::Full));

    client.batch_execute("UPDATE taskdeck.limits SET max_running = 1").await.expect("raise");
    hold_limit(&holder, "billing").await;
    let by_id = by_id(db.clone());
    until_so_many_wait(&client, 1).await;
    holder.batch_execute(lower).await.expect("lower");
    let answer = by_id.await.expect("no panic");
    assert!(matches!(&answer, ClaimById::AtLimit { at, .. } if at.max_running == 0), "{answer:?}");
}

#[tokio::test]
async fn a_full_tenant_blocks_nobody_else_and_goes_on_when_one_has_ended() {
    let test = database().await;
    let db = &test.db;
    let id = worker(db).await;
    set(db, &decision("billing", Some(2), None, 0)).await;
    knows_limits(db, id).await;
    for number in 0..9 {
        submit_as(db, "urgent", &NewTask { priority: 9, ..new("billing") }).await;
        if number % 3 == 0 {
            submit_as(db, "other", &new("legal")).await;
        }
    }
    let of = |claims: &Claims| claims.claimed.iter().map(|one| one.tenant.clone()).collect::<Vec<_>>();
    let first = claims(db, id, 4).await;
    assert_eq!((of(&first), first.kept_back), (vec!["billing".to_owned(); 2], KeptBack::Full));
    // A task that was put off and is due: the other half of the walk.
    let late = submit_as(db, "late", &new("legal")).await;
    test.psql(&format!(
        "UPDATE taskdeck.tasks SET created_at = now() - interval '1 hour', scheduled_at = now() - interval '1 minute' \
         WHERE id = {}",
        late.id
    ));
    let second = claims(db, id, 3).await;
    assert_eq!((of(&second), second.kept_back), (vec!["legal".to_owned(); 3], KeptBack::Full));
    assert_eq!(of(&claims(db, id, 9).await), ["legal"]);
    let third = claims(db, id, 9).await;
    assert_eq!((third.claimed.len(), third.kept_back), (0, KeptBack::Full));
    let oldest = db.overview(None).await.expect("overview").oldest_due.expect("one is due");
    assert_eq!(oldest.why(), "tenant billing runs 2 of 2");
    finish(db, id, &success(&first.claimed[0])).await;
    assert_eq!(of(&claims(db, id, 9).await), ["billing"]);
    assert_eq!(claims(db, id, 9).await.claimed, []);
    let billing = used(db, "billing").await;
    assert_eq!((billing.running, billing.runs_all()), (2, true));
}

#[tokio::test]
async fn a_limit_is_lowered_raised_and_removed() {
    let test = database().await;
    let db = &test.db;
    let client = outside(&test.url).await;
    let id = worker(db).await;
    for _ in 0..9 {
        billing(db).await;
    }
    set(db, &decision("billing", Some(2), None, 0)).await;
    let two = claims(db, id, 9).await.claimed;
    assert_eq!(two.len(), 2);
    set(db, &decision("billing", Some(1), None, 1)).await;
    assert_eq!(running(&client, "billing").await, 2, "what runs goes on");
    for (ended, then) in two.iter().zip([0, 1]) {
        assert_eq!(claims(db, id, 9).await.claimed, []);
        finish(db, id, &success(ended)).await;
        assert_eq!(claims(db, id, 9).await.claimed.len(), then);
    }
    set(db, &decision("billing", Some(4), None, 2)).await;
    assert_eq!(claims(db, id, 9).await.claimed.len(), 3, "of which one runs already");
    set(db, &decision("billing", Some(0), None, 3)).await;
    assert_eq!(claims(db, id, 9).await.claimed, []);
    set(db, &decision("billing", None, None, 4)).await;
    let all = claims(db, id, 9).await;
    assert_eq!((all.claimed.len(), all.kept_back), (3, KeptBack::Nothing));
    // The next limit is heeded by who has forgotten that there are any.
    let other = submit_as(db, "other", &new("legal")).await;
    billing(db).await;
    set(db, &decision("billing", Some(0), None, 5)).await;
    let told = claims(db, id, 9).await;
    assert_eq!(told.claimed.iter().map(|one| one.id).collect::<Vec<_>>(), [other.id]);
    assert_eq!(claims(db, id, 9).await, Claims { claimed: vec![], kept_back: KeptBack::Full });
}

/// Many claimers and several limited tenants: no limit is ever passed, nobody waits in a circle, everything is run.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_claimers_of_several_limited_tenants_run_everything_within_the_limits() {
    const MOST: [(&str, Option<i64>); 4] = [("a", Some(1)), ("b", Some(2)), ("c", Some(5)), ("d", None)];
    let test = database_with(Limits { workers_pool: 8, ..Limits::default() }).await;
    let db = &test.db;
    for (tenant, most) in MOST {
        if most.is_some() {
            set(db, &decision(tenant, most, None, 0)).await;
        }
        for number in 0..25 {
            // Mixed, so that a claim is about several of them.
            submit_as(db, "x", &NewTask { priority: number % 7, ..new(tenant) }).await;
        }
    }
    let client = Arc::new(outside(&test.url).await);
    let over = Arc::new(AtomicBool::new(false));
    let mut claimers = Vec::new();
    for _ in 0..8 {
        let (db, client, over) = (db.clone(), Arc::clone(&client), Arc::clone(&over));
        claimers.push(tokio::spawn(async move {
            let id = worker(&db).await;
            loop {
                let won = claims(&db, id, 4).await.claimed;
                let rows = client
                    .query("SELECT tenant, count(*) FROM taskdeck.tasks WHERE status = 'RUNNING' GROUP BY tenant", &[])
                    .await
                    .expect("count");
                let now: HashMap<String, i64> = rows.iter().map(|row| (row.get(0), row.get(1))).collect();
                let passed = |(tenant, most): (&str, Option<i64>)| {
                    most.is_some_and(|most| now.get(tenant).copied().unwrap_or(0) > most)
                };
                if MOST.into_iter().any(passed) {
                    over.store(true, Ordering::SeqCst);
                }
                for claimed in won {
                    finish(&db, id, &success(&claimed)).await;
                }
                let left = "SELECT count(*) FROM taskdeck.tasks WHERE status = 'QUEUED'";
                if number(&client, left).await == 0 {
                    return;
                }
            }
        }));
    }
    for claimer in claimers {
        claimer.await.expect("no error, and so no deadlock");
    }
    assert!(!over.load(Ordering::SeqCst), "a limit was passed");
    assert_eq!(test.psql("SELECT count(*) FROM taskdeck.tasks WHERE status = 'SUCCEEDED'"), "100");
    // A session tells of its deadlocks at its end at the latest.
    db.close();
    until("the end of the sessions", || async {
        let sql = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() \
                   AND starts_with(application_name, 'taskdeck ')";
        (number(&client, sql).await == 0).then_some(())
    })
    .await;
    assert_eq!(test.psql("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"), "0");
}

/// An approval and a claim about the same two tenants take the rows in the same order: the one that comes second waits
/// outside, not with the row that the first one needs.
#[tokio::test]
async fn a_claim_and_an_approval_about_the_same_tenants_do_not_wait_in_a_circle() {
    let test = database().await;
    let db = &test.db;
    let (holder, client) = (outside(&test.url).await, outside(&test.url).await);
    let id = worker(db).await;
    let mut asked = Vec::new();
    for tenant in ["a", "b"] {
        set(db, &decision(tenant, Some(1), Some(1), 0)).await;
        submit_as(db, "x", &new(tenant)).await;
        asked.push(crate::limits::held(db, tenant).await);
    }
    hold_limit(&holder, "a").await;
    let approval = {
        let db = db.clone();
        let rows: Vec<&Task> = asked.iter().collect();
        let approve = crate::scene::decision(taskdeck::domain::DecisionKind::Approve, &rows);
        tokio::spawn(async move { decide(&db, &approve).await })
    };
    until_so_many_wait(&client, 1).await;
    let claim = {
        let db = db.clone();
        tokio::spawn(async move { claims(&db, id, 9).await })
    };
    until_so_many_wait(&client, 2).await;
    holder.batch_execute("ROLLBACK").await.expect("let go");
    let decided = approval.await.expect("no panic");
    assert_eq!(
        (decided.outcome(), decided.retries),
        (taskdeck::domain::outcome::DecisionOutcome::Committed, 0)
    );
    assert_eq!(claim.await.expect("no panic").claimed.len(), 2);
}

/// Or else a session that somebody forgot stops every worker.
#[tokio::test]
async fn while_somebody_holds_a_limits_row_the_other_tenants_are_served() {
    let test = database().await;
    let impatient = open(&test.url, Limits { lock: Duration::from_millis(200), ..Limits::default() }).await;
    let holder = outside(&test.url).await;
    let id = worker(&test.db).await;
    set(&test.db, &decision("billing", Some(2), None, 0)).await;
    knows_limits(&impatient, id).await;
    billing(&test.db).await;
    submit_as(&test.db, "other", &new("legal")).await;
    hold_limit(&holder, "billing").await;
    let served = claims(&impatient, id, 9).await;
    let tenants: Vec<&str> = served.claimed.iter().map(|one| one.tenant.as_str()).collect();
    assert_eq!((tenants, served.kept_back), (vec!["legal"], KeptBack::Full));
    // It is not waited for again at each claim.
    let waits = || {
        impatient.statement_figures().iter().find(|one| one.name == CLAIM_LIMITED.name).map(|one| one.calls)
    };
    let waited = waits();
    submit_as(&test.db, "another", &new("legal")).await;
    assert_eq!((claims(&impatient, id, 9).await.claimed.len(), waits()), (1, waited));
    holder.batch_execute("ROLLBACK").await.expect("let go");
    until("the limit's row is tried again", || async {
        (claims(&impatient, id, 9).await.claimed.len() == 1).then_some(())
    })
    .await;
}

/// The planner must not take the tasks of tenants that have room for rare: it would read and sort all that wait.
#[tokio::test]
async fn a_claim_beside_limits_reads_what_it_takes() {
    let test = database().await;
    let client = outside(&test.url).await;
    set(&test.db, &decision("billing", Some(2), None, 0)).await;
    fill(&client, 20_000, "status, scheduled_at", "'QUEUED', now()").await;
    client.batch_execute("ANALYZE taskdeck.tasks; SET enable_seqscan = off").await.expect("analyze");
    let id = worker(&test.db).await;
    for statement in [CLAIM_NEXT, CLAIM_LIMITED] {
        let explain = format!("EXPLAIN (ANALYZE, FORMAT JSON) {}", text(statement));
        let plan = client.query_typed(&explain, &claim_params(&id)).await.expect("explain");
        let read = rows_read(&plan[0].get(0), "tasks");
        assert!((5.0..100.0).contains(&read), "{}: {read} rows of `tasks` were read", statement.name);
    }
    assert_eq!(running(&client, "default").await, 10, "five each");
}

/// Whoever may not claim at all does not make others count again.
#[tokio::test]
async fn who_may_not_claim_is_no_contender() {
    let test = database().await;
    let db = &test.db;
    let id = worker(db).await;
    set(db, &decision("billing", Some(2), None, 0)).await;
    let task = billing(db).await;
    db.heartbeat(id, &beat(InstanceState::Draining, LONG)).await.expect("heartbeat");
    let answer = claims(db, id, 5).await;
    assert_eq!((answer.claimed, answer.kept_back), (vec![], KeptBack::Nothing));
    assert_eq!(db.claim_by_id(id, task.id).await, Ok(ClaimById::Lost { task }));
    assert_eq!(test.psql("SELECT claims FROM taskdeck.limits"), "0");
}
