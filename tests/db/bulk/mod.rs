//! Decisions about all that match: these rows and no others, and what moved on meanwhile is left and told.

mod faults;
mod plans;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use taskdeck::db::{Db, Limits};
use taskdeck::domain::bulk::{Bulk, Chunk, Count, Preview, Sum};
use taskdeck::domain::decision::DecisionKind;
use taskdeck::domain::input::Admission;
use taskdeck::domain::observed::Filter;
use taskdeck::domain::outcome::{DecisionOutcome, Verdict};
use taskdeck::domain::{Approval, NewTask, Seen, Status, TaskId};
use tokio_postgres::Client;

use crate::limits;
use crate::scene::{
    decided, fill, name, number, outside, quiet, row, submit, submit_as, submit_held, until_waiting,
};
use crate::support::{database, database_with};

/// Long enough for a lock that a test holds.
fn patient() -> Limits {
    Limits { lock: Duration::from_secs(50), statement: Duration::from_secs(55), ..Limits::default() }
}

pub(crate) async fn look(db: &Db, kind: DecisionKind, filter: &Filter) -> Preview {
    db.preview(kind, filter, None).await.expect("a look")
}

/// alice's decision about exactly what was found.
pub(crate) fn agreed(preview: &Preview) -> Bulk {
    Bulk {
        matching: preview.matching.clone(),
        operator: "alice".to_owned(),
        approval: Approval::Anybody,
        reason: Some("all of them".to_owned()),
    }
}

async fn chunk(db: &Db, bulk: &Bulk, after: Option<TaskId>) -> Chunk {
    db.decide_chunk(bulk, after, &quiet).await.expect("a chunk")
}

/// Decides chunk by chunk to the end.
async fn run(db: &Db, bulk: &Bulk) -> Sum {
    let mut sum = Sum::default();
    loop {
        let chunk = chunk(db, bulk, sum.next_after).await;
        assert!(chunk.next_after.is_none_or(|next| Some(next) > sum.next_after), "it goes on");
        sum.take(chunk);
        if sum.next_after.is_none() {
            return sum;
        }
    }
}

/// The ids of the events that alice's decisions left, parted by operation; each operation's in ascending order.
async fn operations(client: &Client) -> Vec<Vec<i64>> {
    let sql = "SELECT array_agg(task_id ORDER BY task_id) FROM taskdeck.events \
               WHERE actor = 'alice' AND reason = 'all of them' GROUP BY operation_id ORDER BY min(task_id)";
    client.query(sql, &[]).await.expect("events").iter().map(|row| row.get(0)).collect()
}

async fn changed(client: &Client) -> BTreeSet<i64> {
    operations(client).await.into_iter().flatten().collect()
}

/// A task of `tenant` in `queue` with a state, a text and an error, made by SQL; its id.
async fn put(
    client: &Client,
    tenant: &str,
    queue: &str,
    status: Status,
    text: &str,
    error: Option<&str>,
) -> i64 {
    let (ended, owner) = (status.is_final(), status == Status::Running);
    let sql = "WITH x AS (INSERT INTO taskdeck.task_inputs (tenant, submission, input) \
                          VALUES ($1, gen_random_uuid(), $4) RETURNING id) \
               INSERT INTO taskdeck.tasks (id, tenant, queue, status, max_attempts, priority, created_at, scheduled_at, \
                                           finished_at, claimed_by, error) \
               SELECT id, $1, $2, $3, 3, 0, now(), now(), CASE WHEN $6 THEN now() END, \
                      CASE WHEN $7 THEN gen_random_uuid() END, $5 FROM x RETURNING id";
    let parameters: [&(dyn tokio_postgres::types::ToSql + Sync); 7] =
        [&tenant, &queue, &status.as_str(), &text, &error, &ended, &owner];
    client.query_one(sql, &parameters).await.unwrap_or_else(|error| panic!("{error:?}")).get(0)
}

fn of(tenant: Option<&str>, queue: Option<&str>, search: Option<&str>, statuses: &[Status]) -> Filter {
    let [tenant, queue, search] = [tenant, queue, search].map(|text| text.map(str::to_owned));
    Filter { statuses: statuses.to_vec(), tenant, queue, search }
}

/// Every combination of tenant, queue, state, text and error is there once; each filter leaves what it says and nothing
/// else, for the look beforehand and for the decision alike.
#[tokio::test]
async fn all_that_match_are_decided_about_and_nothing_else() {
    use Status::{Canceled, Failed, Queued, Rejected, Running, Submitted};
    for (kind, filter, condition) in [
        (DecisionKind::Cancel, of(None, None, None, &[]), "status IN ('SUBMITTED', 'QUEUED', 'RUNNING')"),
        (DecisionKind::Approve, of(Some("a"), None, None, &[]), "status = 'SUBMITTED' AND t.tenant = 'a'"),
        (
            DecisionKind::Reject,
            of(None, Some("mail"), None, &[Submitted, Failed]),
            "status = 'SUBMITTED' AND queue = 'mail'",
        ),
        (
            DecisionKind::Requeue,
            of(None, None, Some("TimeOut"), &[Failed]),
            "status = 'FAILED' AND (input LIKE '%timeout%' OR error LIKE '%timeout%')",
        ),
        (
            DecisionKind::Requeue,
            of(Some("b"), Some("mail"), Some("timeout"), &[]),
            "status IN ('FAILED', 'CANCELED', 'REJECTED') AND t.tenant = 'b' AND queue = 'mail' \
             AND (input LIKE '%timeout%' OR error LIKE '%timeout%')",
        ),
        (
            DecisionKind::Cancel,
            of(Some("b"), None, None, &[Queued, Running]),
            "status IN ('QUEUED', 'RUNNING') AND t.tenant = 'b'",
        ),
        (DecisionKind::Cancel, of(Some("nobody"), None, None, &[]), "false"),
        (DecisionKind::Requeue, of(None, None, None, &[Queued]), "false"),
        (
            DecisionKind::Requeue,
            of(None, None, None, &[Canceled, Rejected]),
            "status IN ('CANCELED', 'REJECTED')",
        ),
    ] {
        let test = database().await;
        let client = outside(&test.url).await;
        for status in Status::ALL {
            for tenant in ["a", "b"] {
                for queue in ["mail", "bills"] {
                    for (text, error) in
                        [("timeout in the text", None), ("x", Some("a timeout")), ("x", Some("y"))]
                    {
                        put(&client, tenant, queue, status, text, error).await;
                    }
                }
            }
        }
        let sql = format!(
            "SELECT array_agg(t.id) FROM taskdeck.tasks t JOIN taskdeck.task_inputs x USING (id) WHERE {condition}"
        );
        let expected: Option<Vec<i64>> = client.query_one(&sql, &[]).await.expect("ids").get(0);
        let expected: BTreeSet<i64> = expected.unwrap_or_default().into_iter().collect();
        let sql = format!(
            "SELECT status, count(*) FROM taskdeck.tasks t JOIN taskdeck.task_inputs x USING (id) WHERE {condition} GROUP BY 1"
        );
        let by_state: BTreeMap<Status, i64> = client
            .query(&sql, &[])
            .await
            .expect("counts")
            .iter()
            .map(|row| (row.get::<_, &str>(0).parse().expect("a state"), row.get(1)))
            .collect();
        let preview = look(&test.db, kind, &filter).await;
        assert_eq!((preview.ready.clone(), preview.complete), (by_state, true), "{kind} {filter:?}");
        let sum = run(&test.db, &agreed(&preview)).await;
        assert_eq!(changed(&client).await, expected, "{kind} {filter:?}");
        let count = i64::try_from(expected.len()).expect("small");
        assert_eq!(
            (sum.committed, sum.left(), sum.chunks),
            (count, 0, i64::from(count > 0)),
            "{kind} {filter:?}"
        );
        let others = "SELECT count(*) FROM taskdeck.tasks WHERE version > 0";
        assert_eq!(number(&client, others).await, count, "nothing else was changed");
    }
}

#[tokio::test]
async fn what_matches_but_for_its_state_is_told() {
    let test = database().await;
    let client = outside(&test.url).await;
    for status in Status::ALL {
        put(&client, "a", "mail", status, "x", None).await;
    }
    put(&client, "a", "mail", Status::Running, "x", None).await;
    client
        .batch_execute("UPDATE taskdeck.tasks SET cancel_requested = true WHERE id = 3")
        .await
        .expect("asked to stop");
    let one = Count { rows: 1, complete: true };
    let preview = look(&test.db, DecisionKind::Cancel, &Filter::default()).await;
    assert_eq!(
        preview.ready,
        BTreeMap::from([(Status::Submitted, 1), (Status::Queued, 1), (Status::Running, 1)])
    );
    let ended = [Status::Succeeded, Status::Failed, Status::Canceled, Status::Rejected];
    let left: BTreeMap<_, _> =
        ended.into_iter().chain([Status::Running]).map(|status| (status, one)).collect();
    assert_eq!(preview.left_out, left, "who was asked to stop already is not asked again");
    let sum = run(&test.db, &agreed(&preview)).await;
    assert_eq!(changed(&client).await, BTreeSet::from([1, 2, 8]));
    assert_eq!((sum.committed, sum.left()), (3, 0));
}

#[tokio::test]
async fn what_comes_after_the_look_and_what_is_too_young_is_not_swept_in() {
    let test = database().await;
    let client = outside(&test.url).await;
    fill(&client, 5, "status, scheduled_at", "'SUBMITTED', now()").await;
    let preview = look(&test.db, DecisionKind::Approve, &Filter::default()).await;
    fill(&client, 5, "status, scheduled_at", "'SUBMITTED', now()").await;
    assert_eq!(preview.matching.up_to, TaskId(5));
    assert_eq!(run(&test.db, &agreed(&preview)).await.committed, 5);
    assert_eq!(changed(&client).await, (1..=5).collect());

    let age = "UPDATE taskdeck.tasks SET created_at = now() - interval '2 hours' WHERE id IN (6, 9)";
    client.batch_execute(age).await.expect("aged");
    let an_hour_ago = test.db.clock().await.expect("a clock") - jiff::SignedDuration::from_hours(1);
    let preview = test.db.preview(DecisionKind::Reject, &Filter::default(), Some(an_hour_ago)).await;
    let preview = preview.expect("a look");
    assert_eq!(preview.total(), Count { rows: 2, complete: true });
    assert_eq!(run(&test.db, &agreed(&preview)).await.committed, 2);
    let rejected = "SELECT sum(id) FROM taskdeck.tasks WHERE status = 'REJECTED'";
    assert_eq!(number(&client, &rejected.replace("sum(id)", "sum(id)::bigint")).await, 15);

    let empty = database().await;
    let preview = look(&empty.db, DecisionKind::Cancel, &Filter::default()).await;
    assert_eq!((preview.total(), preview.looked_at), (Count { rows: 0, complete: true }, 0));
    assert_eq!(run(&empty.db, &agreed(&preview)).await, Sum::default());
}

/// Rows 2 and 4 are changed and row 6 is removed between being read and being decided about.
#[tokio::test]
async fn rows_that_move_in_between_are_left_and_told_and_the_others_are_decided() {
    let test = database_with(patient()).await;
    let db = &test.db;
    let (client, mut holder) = (outside(&test.url).await, outside(&test.url).await);
    for text in 1..=7 {
        submit_held(db, &text.to_string()).await;
    }
    let preview = look(db, DecisionKind::Approve, &Filter::default()).await;
    let bulk = agreed(&preview);
    let held = holder.transaction().await.expect("begin");
    held.batch_execute(
        "UPDATE taskdeck.tasks SET priority = 5, version = version + 1 WHERE id IN (2, 4); \
         DELETE FROM taskdeck.tasks WHERE id = 6",
    )
    .await
    .expect("changed");
    let (chunk, ()) = tokio::join!(chunk(db, &bulk, None), async {
        until_waiting(&client).await;
        held.commit().await.expect("commit");
    });
    let left: Vec<_> = chunk.left.iter().map(|left| (left.seen, &left.verdict)).collect();
    let seen = |id| Seen { id: TaskId(id), version: 0 };
    match left.as_slice() {
        [
            (two, Verdict::Conflict { task, .. }),
            (four, Verdict::Conflict { .. }),
            (six, Verdict::NotFound),
        ] => {
            assert_eq!((*two, *four, *six), (seen(2), seen(4), seen(6)));
            assert_eq!((task.version, task.priority, task.status), (1, 5, Status::Submitted), "as it is now");
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(chunk.committed, 4);
    assert_eq!(
        operations(&client).await,
        [[1, 3, 5, 7]],
        "one decision about those that were as they had been read"
    );
    for id in [2, 4] {
        let task = row(db, TaskId(id)).await;
        assert_eq!(
            (task.version, task.status),
            (1, Status::Submitted),
            "never decided about with its new version"
        );
    }
    let mut sum = Sum::default();
    sum.take(chunk);
    assert_eq!((sum.conflicts, sum.not_found, sum.outcome()), (2, 1, DecisionOutcome::Conflict));
}

/// Whoever was first is named, as for a single decision.
#[tokio::test]
async fn who_was_first_is_named() {
    let test = database_with(patient()).await;
    let db = &test.db;
    let client = outside(&test.url).await;
    let mut blocker = outside(&test.url).await;
    let held = [submit_held(db, "1").await, submit_held(db, "2").await];
    let bulk = agreed(&look(db, DecisionKind::Approve, &Filter::default()).await);
    // The first row is only held, so that somebody decides about the second while the chunk waits.
    let hold = blocker.transaction().await.expect("begin");
    hold.batch_execute("SELECT FROM taskdeck.tasks WHERE id = 1 FOR UPDATE").await.expect("held");
    let (chunk, ()) = tokio::join!(chunk(db, &bulk, None), async {
        until_waiting(&client).await;
        decided(&test.open_again(Limits::default()).await, DecisionKind::Reject, &held[1]).await;
        hold.commit().await.expect("commit");
    });
    assert_eq!(chunk.committed, 1);
    match &chunk.left[0].verdict {
        Verdict::Conflict { task, last: Some(last) } => {
            assert_eq!(
                (task.id, task.status, last.movement.as_str()),
                (TaskId(2), Status::Rejected, "reject")
            );
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn four_eyes_rows_drop_out_with_their_reason() {
    let test = database().await;
    let db = &test.db;
    let mut hers = Vec::new();
    for (index, by) in ["alice", "bob", "alice", "carol"].into_iter().enumerate() {
        let new = NewTask {
            admission: Admission::Hold,
            submitted_by: Some(by.to_owned()),
            approval: if index == 2 { Approval::Anybody } else { Approval::Another },
            ..NewTask::default()
        };
        hers.push(submit_as(db, "x", &new).await);
    }
    let sum = run(db, &agreed(&look(db, DecisionKind::Approve, &Filter::default()).await)).await;
    assert_eq!((sum.committed, sum.refused, sum.outcome()), (3, 1, DecisionOutcome::Refused));
    assert_eq!(sum.examples.len(), 1);
    assert_eq!(sum.examples[0].verdict, Verdict::Refused { task: hers[0].clone() });
    assert_eq!(row(db, hers[0].id).await, hers[0]);
}

/// What a tenant's day has room for is approved, the rest told; another tenant's rows are none of its business.
#[tokio::test]
async fn what_a_limit_has_left_is_used_and_the_rest_is_told() {
    let test = database().await;
    let db = &test.db;
    limits::set(db, &limits::decision("billing", None, Some(3), 0)).await;
    for tenant in ["billing", "billing", "other", "billing", "billing", "other", "billing"] {
        limits::held(db, tenant).await;
    }
    let sum = run(db, &agreed(&look(db, DecisionKind::Approve, &Filter::default()).await)).await;
    assert_eq!((sum.committed, sum.refused, sum.outcome()), (5, 2, DecisionOutcome::Refused));
    let left: Vec<i64> = sum.examples.iter().map(|left| left.seen.id.0).collect();
    assert_eq!(left, [5, 7]);
    for left in &sum.examples {
        assert!(matches!(left.verdict, Verdict::OverLimit { .. }), "{left:?}");
    }
    assert_eq!(changed(&outside(&test.url).await).await, BTreeSet::from([1, 2, 3, 4, 6]));
    assert_eq!(limits::used(db, "billing").await.approved_today, 3);
}

/// A tenant with few rows among many and a few rows of a tenant with many are found in few calls, and a look that was
/// not complete says so.
#[tokio::test]
async fn a_look_is_bounded_and_says_so() {
    let test = database().await;
    let db = &test.db;
    let client = outside(&test.url).await;
    fill(&client, 30_000, "status, scheduled_at, finished_at, error", "'FAILED', now(), now(), 'a cause'")
        .await;
    let new = NewTask { tenant: name("small"), ..NewTask::default() };
    let small = submit_as(db, "x", &new).await;
    decided(db, DecisionKind::Cancel, &small).await;
    let last = submit(db, "y").await;
    decided(db, DecisionKind::Cancel, &last).await;
    let calls = |statement: &str| {
        let figures = db.statement_figures();
        figures.iter().find(|figures| figures.name == statement).map_or(0, |figures| figures.calls)
    };
    let before = calls("preview");
    let of_small = of(Some("small"), None, None, &[Status::Failed, Status::Canceled]);
    let preview = look(db, DecisionKind::Requeue, &of_small).await;
    assert_eq!((preview.ready, preview.complete), (BTreeMap::from([(Status::Canceled, 1)]), true));
    assert_eq!((calls("preview") - before, preview.looked_at), (1, 1), "by the tenant's own rows");
    let canceled = of(Some("default"), None, None, &[Status::Canceled]);
    let before = calls("preview");
    assert_eq!(look(db, DecisionKind::Requeue, &canceled).await.total().rows, 1);
    assert_eq!(calls("preview") - before, 1, "by the rows of the state");
    // Every row is looked at for a cause, window by window.
    let caused = of(None, None, Some("A CAUSE"), &[Status::Failed]);
    let preview = look(db, DecisionKind::Requeue, &caused).await;
    assert_eq!(preview.looked_at, preview.total().rows);
    assert!(preview.total().rows >= 5_000, "a window at least: {:?}", preview.total());
    assert_eq!(preview.total().rows == 30_000, preview.complete, "{:?}", preview.total());
    let all = look(db, DecisionKind::Cancel, &Filter::default()).await;
    assert_eq!(all.left_out[&Status::Failed], Count { rows: 5_000, complete: false }, "at least so many");
}
