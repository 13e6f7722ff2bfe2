//! Waits for two rows by the built program: a deadlock is decided again and counted, a wait that is too long is neither
//! called a deadlock nor tried again, and an answer that is lost on the way is found by its operation.

use serde_json::json;

use crate::proxy::{Cut, Proxy};
use crate::racers::{Racer, for_a_row, until_all_wait};
use crate::runner::User;
use crate::scene::outside;
use crate::support::{database, shared_server};

/// An outside session holds the second row and then asks for the first, which the decision holds by then.
async fn deadlock(outside_does: &str) -> (crate::racers::Told, String) {
    let test = database().await;
    let user = User::of(&test.url);
    for _ in 0..2 {
        user.text(0, &["submit", "--hold", "x"]);
    }
    let (mut client, watch) = (outside(&test.url).await, outside(&test.url).await);
    // The server ends whose wait has lasted longest when it looks: the decision's, which looks first.
    client.batch_execute("SET deadlock_timeout = '50s'").await.expect("set");
    let holder = client.transaction().await.expect("begin");
    holder.batch_execute("SELECT FROM taskdeck.tasks WHERE id = 2 FOR UPDATE").await.expect("hold");
    let racer = Racer::start(&user, "ann", "approve", &["2@0".to_owned(), "1@0".to_owned()]);
    let waits = until_all_wait(&watch, &[racer.pid], |_, wait| for_a_row(wait)).await;
    assert_eq!(waits, [racer.pid], "it holds the first and waits for the second");
    holder.batch_execute("SELECT FROM taskdeck.tasks WHERE id = 1 FOR UPDATE").await.expect("survives");
    holder.batch_execute(outside_does).await.expect("change");
    holder.commit().await.expect("commit");
    let told = racer.end();
    (told, test.psql("SELECT id, status, version FROM taskdeck.tasks ORDER BY id"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_victim_decides_again_as_a_whole_and_says_how_often() {
    let (told, rows) = deadlock("SELECT").await;
    assert_eq!((told.code, &told.answer["retries"]), (0, &json!(1)), "{told:?}");
    assert_eq!(told.answer["outcome"], "committed");
    assert_eq!(rows, "1|QUEUED|1\n2|QUEUED|1");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_victim_is_told_where_a_row_has_moved_on() {
    let (told, rows) = deadlock("UPDATE taskdeck.tasks SET version = version + 1 WHERE id = 2").await;
    assert_eq!((told.code, &told.answer["retries"]), (3, &json!(1)), "{told:?}");
    let outcomes = ["not_applied", "conflict"].map(|outcome| json!(outcome));
    let rows_told = told.answer["tasks"].as_array().expect("rows");
    assert_eq!(rows_told.iter().map(|row| row["outcome"].clone()).collect::<Vec<_>>(), outcomes);
    assert_eq!(rows, "1|SUBMITTED|0\n2|SUBMITTED|1");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wait_that_is_too_long_is_called_that_and_not_tried_again() {
    let test = database().await;
    let user = User::of(&test.url);
    user.text(0, &["submit", "--hold", "x"]);
    let mut client = outside(&test.url).await;
    let holder = client.transaction().await.expect("begin");
    holder.batch_execute("SELECT FROM taskdeck.tasks WHERE id = 1 FOR UPDATE").await.expect("hold");
    let args = ["--lock-timeout", "300ms", "approve", "1@0"];
    let answer = tokio::task::block_in_place(|| user.json(5, &args));
    assert_eq!((&answer["outcome"], &answer["retries"]), (&json!("unavailable"), &json!(0)));
    let message = answer["message"].as_str().expect("a message");
    assert!(message.contains("waited too long for a row lock") && message.contains("55P03"), "{message}");
    assert!(!message.contains("deadlock") && !message.contains("tried again"), "{message}");
    assert!(answer["error"]["hint"].as_str().is_some_and(|hint| hint.contains("--lock-timeout")), "{answer}");
    holder.rollback().await.expect("rollback");
    assert_eq!(test.psql("SELECT status, version FROM taskdeck.tasks"), "SUBMITTED|0");
    user.json(0, &["approve", "1@0"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_that_is_lost_is_found_by_its_operation() {
    let test = database().await;
    for _ in 0..2 {
        User::of(&test.url).text(0, &["submit", "--hold", "x"]);
    }
    let proxy = Proxy::start(shared_server().port()).await;
    proxy.cut(Cut::After, "the answer is cut off");
    let user = User::of(&proxy.address(&test.url));
    let args = ["approve", "2@0", "1@0", "--reason", "the answer is cut off"];
    let answer = tokio::task::block_in_place(|| user.json(0, &args));
    assert_eq!(proxy.cuts_of(Cut::After), 1);
    assert_eq!((&answer["outcome"], &answer["resolved_from_unknown"]), (&json!("committed"), &json!(true)));
    let told = answer["tasks"].as_array().expect("rows");
    let told: Vec<_> = told.iter().map(|row| (&row["outcome"], &row["task"]["version"])).collect();
    assert_eq!(told, [(&json!("committed"), &json!(1)); 2], "{answer}");
    assert_eq!(
        test.psql("SELECT id, status, version FROM taskdeck.tasks ORDER BY id"),
        "1|QUEUED|1\n2|QUEUED|1"
    );
    let events = "SELECT count(*), count(DISTINCT operation_id), min(version_after) FROM taskdeck.events";
    assert_eq!(test.psql(events), "2|1|1", "one operation, once");
}
