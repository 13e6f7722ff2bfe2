//! Never more than `max_approved_per_day` of a tenant's held tasks are let run in a day, however many approve at the same
//! moment, and all or none of a decision counts.

use std::sync::atomic::{AtomicU32, Ordering};

use taskdeck::db::Db;
use taskdeck::domain::decision::DecisionKind;
use taskdeck::domain::limit::OverLimit;
use taskdeck::domain::outcome::{Decided, DecisionOutcome, Verdict};
use taskdeck::domain::{Approval, Decision, NewTask, Status, Task};
use tokio_postgres::Client;

use crate::limits::{decision as limit, held, hold, hold_limit, new, set, used};
use crate::proxy::{Cut, Proxy};
use crate::scene::{
    claim, decide, decided, decision, failure, finish, number, outside, row, submit_as, until_so_many_wait,
    worker,
};
use crate::support::{database, open, shared_server};

async fn approve(db: &Db, tasks: &[&Task]) -> Decided {
    decide(db, &decision(DecisionKind::Approve, tasks)).await
}

/// Sets the first limit of `tenant`: so many approvals a day.
async fn most_a_day(db: &Db, tenant: &str, most: i64) {
    set(db, &limit(tenant, None, Some(most), 0)).await;
}

async fn approved_today(db: &Db, tenant: &str) -> i64 {
    used(db, tenant).await.approved_today
}

async fn approved_rows(client: &Client, tenant: &str) -> i64 {
    let sql = format!("SELECT count(*) FROM taskdeck.tasks WHERE status = 'QUEUED' AND tenant = '{tenant}'");
    number(client, &sql).await
}

/// Thirty rounds of two approvals with one left, both held back until both have judged their rows.
#[tokio::test]
async fn of_two_approvals_with_one_left_one_is_made_and_the_other_told_why() {
    let test = database().await;
    let db = &test.db;
    let (holder, client) = (outside(&test.url).await, outside(&test.url).await);
    for round in 0..30 {
        let tenant = format!("t{round}");
        most_a_day(db, &tenant, 2).await;
        decided(db, DecisionKind::Approve, &held(db, &tenant).await).await;
        let tasks = [held(db, &tenant).await, held(db, &tenant).await];
        hold_limit(&holder, &tenant).await;
        let racers = [0, 1].map(|place| {
            let (db, task) = (db.clone(), tasks[place].clone());
            tokio::spawn(async move { approve(&db, &[&task]).await })
        });
        until_so_many_wait(&client, 2).await;
        holder.batch_execute("ROLLBACK").await.expect("let go");
        let mut outcomes = Vec::new();
        for (racer, task) in racers.into_iter().zip(&tasks) {
            let answer = racer.await.expect("no panic");
            if answer.outcome() == DecisionOutcome::Refused {
                let over = OverLimit { used: 2, most: 2, asked: 1 };
                assert_eq!(answer.rows, [(task.id, Verdict::OverLimit { task: task.clone(), over })]);
                assert_eq!(&row(db, task.id).await, task, "round {round}: untouched");
            }
            outcomes.push(answer.outcome());
        }
        outcomes.sort_by_key(|outcome| *outcome == DecisionOutcome::Refused);
        assert_eq!(outcomes, [DecisionOutcome::Committed, DecisionOutcome::Refused], "round {round}");
        assert_eq!((approved_today(db, &tenant).await, approved_rows(&client, &tenant).await), (2, 2));
    }
}

/// What the test above is for: versions do not protect a sum over rows.
#[tokio::test]
async fn with_the_version_column_and_a_sum_alone_both_would_be_approved() {
    let test = database().await;
    let db = &test.db;
    let (holder, client) = (outside(&test.url).await, outside(&test.url).await);
    let mut both_approved = 0;
    for round in 0..30 {
        let tenant = format!("t{round}");
        let tasks = [held(db, &tenant).await, held(db, &tenant).await];
        let ids = format!("{}, {}", tasks[0].id, tasks[1].id);
        let hold = format!("BEGIN; SELECT FROM taskdeck.tasks WHERE id IN ({ids}) ORDER BY id FOR UPDATE");
        holder.batch_execute(&hold).await.expect("hold");
        let mut racers = Vec::new();
        for task in &tasks {
            let session = outside(&format!("{}?application_name=taskdeck%20broken", test.url)).await;
            let sql = format!(
                "WITH upd AS (UPDATE taskdeck.tasks SET status = 'QUEUED', version = version + 1 \
                     WHERE id = {} AND version = {} AND status = 'SUBMITTED' \
                     AND (SELECT count(*) FROM taskdeck.events v JOIN taskdeck.tasks t ON t.id = v.task_id \
                          WHERE v.move = 'approve' AND t.tenant = '{tenant}') < 1 RETURNING id) \
                 INSERT INTO taskdeck.events (task_id, actor, move, status_before, status_after, version_before, \
                     version_after, operation_id) \
                 SELECT id, 'eve', 'approve', 'SUBMITTED', 'QUEUED', 0, 1, gen_random_uuid() FROM upd",
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
        both_approved += i32::from((changed, approved_rows(&client, &tenant).await) == (2, 2));
    }
    assert_eq!(both_approved, 30, "two were approved where one may, in each round");
}

#[tokio::test]
async fn of_a_decision_about_several_tenants_all_count_or_none() {
    let test = database().await;
    let db = &test.db;
    most_a_day(db, "billing", 2).await;
    most_a_day(db, "legal", 9).await;
    let mut tasks = Vec::new();
    for tenant in ["billing", "legal", "billing", "free", "billing"] {
        tasks.push(held(db, tenant).await);
    }
    let rows: Vec<&Task> = tasks.iter().collect();
    let answer = approve(db, &rows).await;
    assert_eq!(answer.outcome(), DecisionOutcome::Refused);
    let over = OverLimit { used: 0, most: 2, asked: 3 };
    for (place, (id, verdict)) in answer.rows.iter().enumerate() {
        let task = tasks[place].clone();
        let expected = match place {
            1 | 3 => Verdict::Held { task },
            _ => Verdict::OverLimit { task, over },
        };
        assert_eq!((*id, verdict), (tasks[place].id, &expected));
        assert_eq!(row(db, *id).await, tasks[place], "nothing was changed");
    }
    assert_eq!((approved_today(db, "billing").await, approved_today(db, "legal").await), (0, 0));
    assert_eq!(test.psql("SELECT count(*) FROM taskdeck.events WHERE task_id IS NOT NULL"), "0");

    assert_eq!(approve(db, &rows[..4]).await.outcome(), DecisionOutcome::Committed);
    assert_eq!((approved_today(db, "billing").await, approved_today(db, "legal").await), (2, 1));
    // One that has moved on: nothing counts of the others either.
    let other = held(db, "legal").await;
    assert_eq!(approve(db, &[&tasks[0], &other]).await.outcome(), DecisionOutcome::Conflict);
    assert_eq!(approved_today(db, "legal").await, 1);
    // Neither do the other decisions.
    decided(db, DecisionKind::Reject, &other).await;
    decided(db, DecisionKind::Cancel, &tasks[4]).await;
    assert_eq!((approved_today(db, "billing").await, approved_today(db, "legal").await), (2, 1));
}

/// What was held and that nobody let run is let run by a requeue: it counts as what it is, once.
#[tokio::test]
async fn a_requeue_is_no_way_round_the_limit() {
    let test = database().await;
    let db = &test.db;
    let id = worker(db).await;
    most_a_day(db, "billing", 1).await;
    let (first, second) = (held(db, "billing").await, held(db, "billing").await);
    let rejected = decided(db, DecisionKind::Reject, &first).await;
    let canceled = decided(db, DecisionKind::Cancel, &second).await;
    let queued = decided(db, DecisionKind::Requeue, &rejected).await;
    assert_eq!((queued.status, approved_today(db, "billing").await), (Status::Queued, 1));
    let refused = decide(db, &decision(DecisionKind::Requeue, &[&canceled])).await;
    let over = OverLimit { used: 1, most: 1, asked: 1 };
    assert_eq!(refused.rows, [(canceled.id, Verdict::OverLimit { task: canceled.clone(), over })]);
    // What was let run once, and what was never held, is brought back as often as one likes.
    let again = decided(db, DecisionKind::Cancel, &queued).await;
    decided(db, DecisionKind::Requeue, &again).await;
    let claimed = claim(db, id).await;
    finish(db, id, &failure(&claimed, "no")).await;
    let plain = submit_as(db, "plain", &new("billing")).await;
    let plain = decided(db, DecisionKind::Cancel, &plain).await;
    assert_eq!(decided(db, DecisionKind::Requeue, &plain).await.status, Status::Queued);
    assert_eq!(approved_today(db, "billing").await, 1);
    assert_eq!(row(db, canceled.id).await, canceled);
}

/// A requeue that was sent before the rejection was committed finds no event that tells of it: the row as it was tells.
#[tokio::test]
async fn a_requeue_that_waits_for_the_rejection_is_no_way_round_either_rule() {
    let test = database().await;
    let db = &test.db;
    let (holder, client) = (outside(&test.url).await, outside(&test.url).await);
    most_a_day(db, "billing", 0).await;
    let own = NewTask { submitted_by: Some("alice".to_owned()), approval: Approval::Another, ..hold("free") };
    for (task, limited) in [(held(db, "billing").await, true), (submit_as(db, "own", &own).await, false)] {
        let sql = format!("BEGIN; SELECT FROM taskdeck.tasks WHERE id = {} FOR UPDATE", task.id);
        holder.batch_execute(&sql).await.expect("hold");
        let send = |asked: Decision| {
            let db = db.clone();
            tokio::spawn(async move { decide(&db, &asked).await })
        };
        let bob = "bob".to_owned();
        let reject = send(Decision { operator: bob, ..decision(DecisionKind::Reject, &[&task]) });
        until_so_many_wait(&client, 1).await;
        let rejected = Task { version: task.version + 1, ..task };
        let requeue = send(decision(DecisionKind::Requeue, &[&rejected]));
        until_so_many_wait(&client, 2).await;
        holder.batch_execute("ROLLBACK").await.expect("let go");
        assert_eq!(reject.await.expect("no panic").outcome(), DecisionOutcome::Committed);
        let answer = requeue.await.expect("no panic");
        match &answer.rows[0].1 {
            Verdict::OverLimit { task, .. } if limited => assert_eq!(task.status, Status::Rejected),
            Verdict::Refused { task } if !limited => assert_eq!(task.status, Status::Rejected),
            other => panic!("limited {limited}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn a_day_begins_with_nothing_approved_and_never_comes_back() {
    let test = database().await;
    let db = &test.db;
    most_a_day(db, "billing", 1).await;
    let tasks = [held(db, "billing").await, held(db, "billing").await, held(db, "billing").await];
    assert_eq!(approve(db, &[&tasks[0]]).await.outcome(), DecisionOutcome::Committed);
    assert_eq!(approve(db, &[&tasks[1]]).await.outcome(), DecisionOutcome::Refused);
    test.psql("UPDATE taskdeck.limits SET approved_on = approved_on - 1");
    assert_eq!(approved_today(db, "billing").await, 0);
    assert_eq!(approve(db, &[&tasks[1]]).await.outcome(), DecisionOutcome::Committed);
    assert_eq!(approve(db, &[&tasks[2]]).await.outcome(), DecisionOutcome::Refused);
    let days = "SELECT approved, approved_on - (now() AT TIME ZONE 'UTC')::date FROM taskdeck.limits";
    assert_eq!(test.psql(days), "1|0");
    // The database's clock was set back a day, or this began before midnight and comes after one that began later.
    test.psql("UPDATE taskdeck.limits SET approved_on = approved_on + 1");
    assert_eq!(approve(db, &[&tasks[2]]).await.outcome(), DecisionOutcome::Refused);
    assert_eq!(test.psql(days), "1|1");
}

#[tokio::test]
async fn with_a_tenants_first_limit_what_was_approved_today_counts() {
    let test = database().await;
    let db = &test.db;
    for _ in 0..2 {
        decided(db, DecisionKind::Approve, &held(db, "billing").await).await;
    }
    decided(db, DecisionKind::Approve, &held(db, "legal").await).await;
    // Let run by a requeue; brought back by the others.
    let mut gone = decided(db, DecisionKind::Reject, &held(db, "billing").await).await;
    for _ in 0..3 {
        let queued = decided(db, DecisionKind::Requeue, &gone).await;
        gone = decided(db, DecisionKind::Cancel, &queued).await;
    }
    let plain = decided(db, DecisionKind::Cancel, &submit_as(db, "x", &new("billing")).await).await;
    decided(db, DecisionKind::Requeue, &plain).await;
    let early = decided(db, DecisionKind::Approve, &held(db, "billing").await).await;
    test.psql(&format!("UPDATE taskdeck.events SET at = at - interval '1 day' WHERE task_id = {}", early.id));

    most_a_day(db, "billing", 4).await;
    assert_eq!(approved_today(db, "billing").await, 3);
    let (one, two) = (held(db, "billing").await, held(db, "billing").await);
    assert_eq!(approve(db, &[&one]).await.outcome(), DecisionOutcome::Committed);
    assert_eq!(approve(db, &[&two]).await.outcome(), DecisionOutcome::Refused);
    // From now on it is counted whatever the limit is, so that another one begins with the truth.
    set(db, &limit("billing", Some(9), None, 1)).await;
    assert_eq!(approve(db, &[&two]).await.outcome(), DecisionOutcome::Committed);
    set(db, &limit("billing", Some(9), Some(5), 2)).await;
    assert_eq!(approved_today(db, "billing").await, 5);
    let last = held(db, "billing").await;
    let refused = approve(db, &[&last]).await;
    assert!(matches!(&refused.rows[0].1, Verdict::OverLimit { over, .. } if over.used == 5));
    set(db, &limit("billing", Some(9), Some(6), 3)).await;
    assert_eq!(approve(db, &[&last]).await.outcome(), DecisionOutcome::Committed);
}

/// The other rule comes first, and what it refuses is not counted.
#[tokio::test]
async fn what_four_eyes_refuses_does_not_count() {
    let test = database().await;
    let db = &test.db;
    most_a_day(db, "billing", 1).await;
    let own =
        NewTask { submitted_by: Some("alice".to_owned()), approval: Approval::Another, ..hold("billing") };
    let own = submit_as(db, "own", &own).await;
    let answer = approve(db, &[&own]).await;
    assert_eq!(answer.rows, [(own.id, Verdict::Refused { task: own.clone() })]);
    assert_eq!(approved_today(db, "billing").await, 0);
    let bobs = Decision { operator: "bob".to_owned(), ..decision(DecisionKind::Approve, &[&own]) };
    assert_eq!(decide(db, &bobs).await.outcome(), DecisionOutcome::Committed);
    assert_eq!(approved_today(db, "billing").await, 1);
}

#[tokio::test]
async fn an_approval_whose_answer_is_lost_counts_once() {
    let test = database().await;
    let proxy = Proxy::start(shared_server().port()).await;
    most_a_day(&test.db, "billing", 9).await;
    for (round, cut) in (1..).zip([Cut::Before, Cut::After, Cut::Stall]) {
        let db = open(&proxy.address(&test.url), cut.limits()).await;
        let task = held(&test.db, "billing").await;
        proxy.cut(cut, "judged AS");
        let lost = AtomicU32::new(0);
        let count = |_: &taskdeck::db::Trouble| {
            lost.fetch_add(1, Ordering::SeqCst);
        };
        let answer = db.decide(&decision(DecisionKind::Approve, &[&task]), &count).await.expect("decide");
        assert_eq!(answer.outcome(), DecisionOutcome::Committed, "{cut:?}");
        assert!(answer.resolved_from_unknown && lost.load(Ordering::SeqCst) == 1, "{cut:?}");
        assert_eq!(approved_today(&test.db, "billing").await, round, "{cut:?}");
    }
}
