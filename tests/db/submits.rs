//! Submits: one row for each key, however often and from however many it comes.

use std::collections::HashSet;
use std::time::Duration;

use taskdeck::db::{Db, DbError, Limits, Preview};
use taskdeck::domain::input::{Admission, SubmissionKey};
use taskdeck::domain::outcome::Submitted;
use taskdeck::domain::{Approval, Name, NewTask, Status};

use crate::scene::{name, number, outside, quiet, row, unavailable, until_waiting};
use crate::support::{database, database_with, until};

fn key(text: &str) -> SubmissionKey {
    SubmissionKey::given(&Name::default_name(), text).expect("a key")
}

async fn all(db: &Db, texts: &[(SubmissionKey, &str)]) -> Vec<Submitted> {
    let answers = db.submit_all(texts, &NewTask::default(), Preview::Whole, &quiet).await.expect("submit");
    answers.into_iter().map(|answer| answer.submitted().expect("nobody else's")).collect()
}

#[tokio::test]
async fn a_key_names_one_row() {
    let test = database().await;
    let db = &test.db;
    let new = NewTask {
        tenant: name("a"),
        queue: name("mail"),
        priority: 7,
        max_attempts: 5,
        delay: std::time::Duration::from_secs(90),
        admission: Admission::Hold,
        submitted_by: Some("alice".to_owned()),
        approval: Approval::Another,
        notify: false,
    };
    let first = db.submit("one text", &new, &key("k"), &quiet).await.expect("submit");
    let task = &first.task;
    assert_eq!((task.tenant.as_str(), task.queue.as_str(), task.status), ("a", "mail", Status::Submitted));
    assert_eq!((task.priority, task.max_attempts, task.version, task.claim_no), (7, 5, 0, 0));
    assert_eq!(task.scheduled_at.duration_since(task.created_at).as_secs(), 90);
    assert_eq!((task.submitted_by.as_deref(), task.approval), (Some("alice"), Approval::Another));
    assert_eq!((first.created, first.resolved_from_unknown), (true, false));
    let other = NewTask { tenant: name("a"), ..NewTask::default() };
    let again = db.submit("another text", &other, &key("k"), &quiet).await.expect("submit");
    assert_eq!((again.created, &again.task), (false, task), "the first one's row, as it is");
    let client = outside(&test.url).await;
    for table in ["tasks", "task_inputs"] {
        assert_eq!(number(&client, &format!("SELECT count(*) FROM taskdeck.{table}")).await, 1);
    }
}

#[tokio::test]
async fn twenty_submits_of_one_key_at_once_make_one_row() {
    let test = database().await;
    let client = outside(&test.url).await;
    let mut callers = Vec::new();
    for n in 0..20 {
        let db = test.db.clone();
        callers.push(tokio::spawn(async move {
            let words = format!("text of caller {n}");
            db.submit(&words, &NewTask::default(), &key("one"), &quiet).await.expect("submit")
        }));
    }
    let mut answers = Vec::new();
    for caller in callers {
        answers.push(caller.await.expect("no panic"));
    }
    assert_eq!(answers.iter().filter(|answer| answer.created).count(), 1);
    let rows: HashSet<_> = answers.iter().map(|answer| (answer.task.id, answer.task.input.clone())).collect();
    assert_eq!(rows.len(), 1, "all are told the same row");
    assert_eq!(number(&client, "SELECT count(*) FROM taskdeck.tasks").await, 1);
    assert_eq!(number(&client, "SELECT count(*) FROM taskdeck.task_inputs").await, 1);
}

#[tokio::test]
async fn a_batch_of_known_and_new_keys_keeps_its_order() {
    let test = database().await;
    let db = &test.db;
    let known = all(db, &[(key("b"), "b"), (key("d"), "d")]).await;
    let texts: Vec<_> = ["a", "b", "c", "d", "e"].map(|text| (key(text), text)).into();
    let answers = all(db, &texts).await;
    let told: Vec<_> = answers.iter().map(|a| (a.task.input.as_str(), a.created)).collect();
    assert_eq!(told, [("a", true), ("b", false), ("c", true), ("d", false), ("e", true)]);
    assert_eq!((&answers[1].task, &answers[3].task), (&known[0].task, &known[1].task));
    let ids: Vec<_> = answers.iter().filter(|a| a.created).map(|a| a.task.id).collect();
    assert!(ids.is_sorted(), "lines get their numbers in order: {ids:?}");

    // The same key twice in one batch is one row, and only its first line made it.
    let twice = all(db, &[(key("x"), "first"), (key("y"), "y"), (key("x"), "second")]).await;
    let told: Vec<_> = twice.iter().map(|a| (a.task.input.as_str(), a.created)).collect();
    assert_eq!(told, [("first", true), ("y", true), ("first", false)]);

    let lines: Vec<String> = (0..2_000).map(|n| format!("line {n}")).collect();
    let bulk: Vec<_> = lines.iter().map(|line| (SubmissionKey::fresh(), line.as_str())).collect();
    let answers = all(db, &bulk).await;
    assert!(answers.is_sorted_by_key(|answer| answer.task.id));
    assert!(answers.iter().zip(&lines).all(|(answer, line)| answer.created && answer.task.input == *line));
    assert_eq!(all(db, &[]).await, []);
}

#[tokio::test]
async fn batches_with_the_same_keys_in_opposite_orders_do_not_hurt_each_other() {
    // Two that meet half-way are a deadlock, which the server finds after a second; a lock timeout must not be first.
    let test = database_with(Limits { lock: Duration::from_secs(30), ..Limits::default() }).await;
    let client = outside(&test.url).await;
    let keys: Vec<String> = (0..200).map(|n| format!("key {n}")).collect();
    let mut callers = Vec::new();
    for n in 0..2 {
        let (db, mut keys) = (test.db.clone(), keys.clone());
        if n % 2 == 1 {
            keys.reverse();
        }
        callers.push(tokio::spawn(async move {
            let texts: Vec<_> = keys.iter().map(|text| (key(text), text.as_str())).collect();
            all(&db, &texts).await.iter().filter(|answer| answer.created).count()
        }));
    }
    let mut created = 0;
    for caller in callers {
        created += caller.await.expect("no panic");
    }
    assert_eq!(created, 200);
    assert_eq!(number(&client, "SELECT count(*) FROM taskdeck.tasks").await, 200);
}

/// What must not come through the door is refused by the server too, and nothing of the batch is kept.
#[tokio::test]
async fn a_batch_is_all_or_nothing() {
    let test = database().await;
    let db = &test.db;
    let client = outside(&test.url).await;
    let texts = [(SubmissionKey::fresh(), "good"), (SubmissionKey::fresh(), "bad\0")];
    let answer = db.submit_all(&texts, &NewTask::default(), Preview::Whole, &quiet).await;
    assert_eq!(unavailable(answer).sqlstate.as_deref(), Some("22021"));
    let none = NewTask { max_attempts: 0, ..NewTask::default() };
    let answer = db.submit_all(&texts[..1], &none, Preview::Whole, &quiet).await;
    assert_eq!(unavailable(answer).sqlstate.as_deref(), Some("23514"));
    for table in ["tasks", "task_inputs"] {
        assert_eq!(number(&client, &format!("SELECT count(*) FROM taskdeck.{table}")).await, 0);
    }
}

#[tokio::test]
async fn a_submit_wakes_whoever_listens() {
    let test = database().await;
    let mut listener = test.db.listen().await.expect("listen");
    let waiting = tokio::spawn(async move { listener.wait(std::time::Duration::from_secs(20)).await });
    let db = test.db.clone();
    db.submit("x", &NewTask::default(), &SubmissionKey::fresh(), &quiet).await.expect("submit");
    assert_eq!(waiting.await.expect("no panic").expect("waits"), taskdeck::db::Wake::Work);
    // One that is asked for too soon is owed, and sent.
    let mut listener = test.db.listen().await.expect("listen");
    let waiting = tokio::spawn(async move { listener.wait(std::time::Duration::from_secs(20)).await });
    for _ in 0..3 {
        db.wake();
    }
    let sent = || async {
        let figures = db.statement_figures();
        let wakes = figures.iter().find(|figures| figures.name == "wake").map_or(0, |figures| figures.calls);
        (wakes >= 2).then_some(wakes)
    };
    assert!(until("the wake-up that was owed", sent).await <= 4, "not one for each");
    assert_eq!(waiting.await.expect("no panic").expect("waits"), taskdeck::db::Wake::Work);
}

fn of(tenant: &str) -> NewTask {
    NewTask { tenant: name(tenant), ..NewTask::default() }
}

/// An id that was taken beforehand, by SQL or by anything else, is no reason to show another tenant's task, to take it
/// for one's own, or to say that the text was submitted.
#[tokio::test]
async fn a_submission_id_of_another_tenants_task_is_taken_and_tells_nothing() {
    let test = database().await;
    let db = &test.db;
    let given = SubmissionKey::given(&name("ours"), "invoice-7").expect("a key");
    let theirs = db.submit("their secret", &of("theirs"), &given, &quiet).await.expect("submit").task;
    let answer = db.submit("our text", &of("ours"), &given, &quiet).await;
    let Err(DbError::Taken(trouble)) = answer else { panic!("{answer:?}") };
    let told = format!("{trouble} {:?}", trouble.hint);
    assert!(told.contains("taken") && told.contains("another key"), "{told}");
    for secret in ["their secret", "theirs", &format!("task {}", theirs.id)] {
        assert!(!told.contains(secret), "{told}");
    }
    // Of several only that one is not submitted.
    let texts = [(SubmissionKey::fresh(), "one"), (given, "our text"), (SubmissionKey::fresh(), "two")];
    let answers = db.submit_all(&texts, &of("ours"), Preview::Whole, &quiet).await.expect("submit");
    let told: Vec<Option<String>> =
        answers.into_iter().map(|answer| Some(answer.submitted()?.task.input)).collect();
    assert_eq!(told, [Some("one".to_owned()), None, Some("two".to_owned())]);
    assert_eq!(row(db, theirs.id).await, theirs);
    assert_eq!(test.psql("SELECT count(*) FROM taskdeck.tasks"), "3");
}

/// The id names the submit, whatever else it says: sent again for another tenant, as somebody has changed it after the
/// answer was lost, it is still the same submit.
#[tokio::test]
async fn a_submit_that_is_sent_again_for_another_tenant_never_makes_a_second_row() {
    let test = database().await;
    let db = &test.db;
    let key = SubmissionKey::fresh();
    let first = db.submit("once", &of("a"), &key, &quiet).await.expect("submit");
    let answer = db.submit("once", &of("b"), &key, &quiet).await;
    assert!(matches!(&answer, Err(DbError::Taken(_))), "{answer:?}");
    let again = db.submit("once", &of("a"), &key, &quiet).await.expect("submit");
    assert_eq!((again.created, again.task), (false, first.task));
    // Also while the first is still under way: the second waits for it.
    let key = SubmissionKey::fresh();
    let mut client = outside(&test.url).await;
    let open = client.transaction().await.expect("begin");
    let insert = format!(
        "INSERT INTO taskdeck.task_inputs (tenant, submission, input) VALUES ('a', '{}', 'on its way')",
        key.id
    );
    open.batch_execute(&insert).await.expect("insert");
    let (second, watch) = (test.db.clone(), outside(&test.url).await);
    let second = tokio::spawn(async move { second.submit("once", &of("b"), &key, &quiet).await });
    until_waiting(&watch).await;
    open.commit().await.expect("commit");
    let answer = second.await.expect("no panic");
    assert!(matches!(&answer, Err(DbError::Taken(_))), "{answer:?}");
    assert_eq!(test.psql("SELECT count(*), min(tenant), max(tenant) FROM taskdeck.task_inputs"), "2|a|a");
}
