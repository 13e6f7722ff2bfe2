//! Whatever goes wrong on the way, each chunk is all or none and the sum says what the history says.

use taskdeck::db::{DbError, Interrupted, Limits};
use taskdeck::domain::bulk::Sum;
use taskdeck::domain::decision::DecisionKind;
use taskdeck::domain::observed::Filter;
use taskdeck::domain::{Status, TaskId};

use super::{agreed, changed, chunk, look, operations, patient, run};
use crate::proxy::{Cut, Proxy};
use crate::scene::{fill, finish, number, outside, quiet, request, success, until_waiting, worker};
use crate::support::{Server, database, open, shared_server, until};

#[tokio::test]
async fn each_chunk_is_all_or_none() {
    let test = database().await;
    let client = outside(&test.url).await;
    fill(&client, 1_200, "status, scheduled_at", "'SUBMITTED', now()").await;
    let bulk = agreed(&look(&test.db, DecisionKind::Approve, &Filter::default()).await);
    client
        .batch_execute(
            "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
               RAISE EXCEPTION 'as told' USING ERRCODE = '23514'; END $$; \
             CREATE TRIGGER refuse BEFORE UPDATE ON taskdeck.tasks FOR EACH ROW WHEN (OLD.id = 999) \
               EXECUTE FUNCTION refuse()",
        )
        .await
        .expect("a server that refuses");
    let first = chunk(&test.db, &bulk, None).await;
    assert_eq!((first.committed, first.next_after), (500, Some(TaskId(500))));
    let Interrupted { chunk, error, uncertain } =
        *test.db.decide_chunk(&bulk, first.next_after, &quiet).await.expect_err("row 999 cannot be changed");
    assert!(matches!(error, DbError::Unavailable(_)), "{error:?}");
    assert_eq!((chunk.committed, chunk.next_after, uncertain), (0, Some(TaskId(500)), None));
    assert_eq!(changed(&client).await, (1..=500).collect(), "none of the second chunk");
    client.batch_execute("DROP TRIGGER refuse ON taskdeck.tasks").await.expect("mended");
    // Run again from the start: what is done does not match any more.
    let sum = run(&test.db, &bulk).await;
    assert_eq!((sum.committed, sum.chunks), (700, 2));
    let sizes: Vec<usize> = operations(&client).await.iter().map(Vec::len).collect();
    assert_eq!(sizes, [500, 500, 200]);
}

/// Workers take the rows that are being canceled, from the same end.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_sum_is_what_the_history_says_while_workers_claim() {
    let test = database().await;
    let client = outside(&test.url).await;
    fill(&client, 1_500, "status, scheduled_at", "'QUEUED', now()").await;
    let works = test.open_again(Limits::default()).await;
    let instance = worker(&works).await;
    let (done, end) = tokio::sync::watch::channel(false);
    let claiming = tokio::spawn(async move {
        let mut claimed = 0_i64;
        while !*end.borrow() {
            for task in works.claim_next(&request(instance, 5)).await.expect("claim") {
                finish(&works, instance, &success(&task)).await;
                claimed += 1;
            }
        }
        claimed
    });
    until("workers that claim", || async {
        (number(&client, "SELECT count(*) FROM taskdeck.tasks WHERE status = 'SUCCEEDED'").await > 20)
            .then_some(())
    })
    .await;
    let filter = Filter { statuses: vec![Status::Queued], ..Filter::default() };
    let sum = run(&test.db, &agreed(&look(&test.db, DecisionKind::Cancel, &filter).await)).await;
    done.send_replace(true);
    let claimed = claiming.await.expect("no panic");
    let operations = operations(&client).await;
    let events: usize = operations.iter().map(Vec::len).sum();
    assert_eq!(sum.committed, i64::try_from(events).expect("small"), "{sum:?}");
    assert_eq!(
        number(&client, "SELECT count(*) FROM taskdeck.tasks WHERE status = 'CANCELED'").await,
        sum.committed
    );
    assert_eq!((sum.committed + claimed, sum.refused, sum.not_found), (1_500, 0, 0), "each row went one way");
    assert!(sum.conflicts <= claimed && sum.committed > 0 && claimed > 20, "{claimed}: {sum:?}");
    assert!(operations.iter().all(|rows| rows.len() <= 500), "bounded");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_that_is_lost_within_a_chunk_is_resolved() {
    for cut in [Cut::Before, Cut::After, Cut::Middle] {
        let test = database().await;
        let client = outside(&test.url).await;
        fill(&client, 1_100, "status, scheduled_at, finished_at", "'FAILED', now(), now()").await;
        let proxy = Proxy::start(shared_server().port()).await;
        let db = open(&proxy.address(&test.url), Limits::default()).await;
        let bulk = agreed(&look(&db, DecisionKind::Requeue, &Filter::default()).await);
        let mut sum = Sum::default();
        sum.take(chunk(&db, &bulk, None).await);
        assert!(!sum.resolved_from_unknown);
        proxy.cut(cut, "all of them");
        let second = chunk(&db, &bulk, sum.next_after).await;
        assert_eq!((second.committed, second.resolved_from_unknown, proxy.cuts()), (500, true, 1), "{cut:?}");
        sum.take(second);
        sum.take(chunk(&db, &bulk, sum.next_after).await);
        assert_eq!((sum.committed, sum.left(), sum.resolved_from_unknown), (1_100, 0, true), "{cut:?}");
        let sizes: Vec<usize> = operations(&client).await.iter().map(Vec::len).collect();
        assert_eq!(sizes, [500, 500, 100], "{cut:?}: each once");
        assert_eq!(number(&client, "SELECT max(version) FROM taskdeck.tasks").await, 1);
    }
}

/// The server crashes while the second chunk waits for a row that somebody else holds, and is started again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_restarted_in_the_middle_is_told_truthfully() {
    let mut server = Server::start_restartable();
    server.psql("postgres", "CREATE DATABASE work").expect("create");
    let db = open(&server.url("work"), patient()).await;
    db.migrate().await.expect("migrate");
    let client = outside(&server.url("work")).await;
    fill(&client, 1_200, "status, scheduled_at", "'SUBMITTED', now()").await;
    let bulk = agreed(&look(&db, DecisionKind::Approve, &Filter::default()).await);
    let mut sum = Sum::default();
    sum.take(chunk(&db, &bulk, None).await);
    let mut holder = outside(&server.url("work")).await;
    let hold = holder.transaction().await.expect("begin");
    hold.batch_execute("SELECT FROM taskdeck.tasks WHERE id = 700 FOR UPDATE").await.expect("held");
    let deciding = {
        let (db, bulk, after) = (db.clone(), bulk.clone(), sum.next_after);
        tokio::spawn(async move { db.decide_chunk(&bulk, after, &quiet).await })
    };
    until_waiting(&client).await;
    tokio::task::block_in_place(|| {
        server.stop_immediately();
        server.start_again();
    });
    let second = deciding.await.expect("no panic").expect("it is resolved");
    assert!(second.resolved_from_unknown, "{second:?}");
    sum.take(second);
    sum.take(chunk(&db, &bulk, sum.next_after).await);
    let client = outside(&server.url("work")).await;
    let sizes: Vec<usize> = operations(&client).await.iter().map(Vec::len).collect();
    assert_eq!((sum.committed, sizes), (1_200, vec![500, 500, 200]));
    drop(hold);
}

#[tokio::test]
async fn what_the_server_rolls_back_is_decided_again_and_counted() {
    let test = database().await;
    let client = outside(&test.url).await;
    fill(&client, 40, "status, scheduled_at", "'SUBMITTED', now()").await;
    client
        .batch_execute(
            "CREATE SEQUENCE tries; \
             CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
               IF nextval('tries') <= 2 THEN RAISE EXCEPTION 'as told' USING ERRCODE = '40P01'; END IF; \
               RETURN NEW; END $$; \
             CREATE TRIGGER refuse BEFORE UPDATE ON taskdeck.tasks FOR EACH ROW EXECUTE FUNCTION refuse()",
        )
        .await
        .expect("a server that rolls back");
    let sum = run(&test.db, &agreed(&look(&test.db, DecisionKind::Reject, &Filter::default()).await)).await;
    assert_eq!((sum.committed, sum.retries, sum.left()), (40, 2, 0));
    assert_eq!(changed(&client).await.len(), 40);
}
