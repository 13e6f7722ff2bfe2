//! Lists: pages by key that show each row once, filters, searches that look at a bounded number of rows, and
//! plans that find what is rare by index.

use taskdeck::db::sql::{LIST, render};
use taskdeck::db::{Db, ListQuery, Preview, Schema};
use taskdeck::domain::decision::DecisionKind;
use taskdeck::domain::observed::{Filter, Listed};
use taskdeck::domain::{NewTask, Status, Task, TaskId};
use tokio_postgres::Client;
use tokio_postgres::types::Type;

use crate::scene::{
    decided, fill, name, number, outside, rows_read, running, submit, submit_as, submit_held, worker,
};
use crate::support::database;

fn query(filter: Filter, limit: i64) -> ListQuery {
    ListQuery { filter, before: None, limit, preview: Preview::Beginning }
}

/// Reads every page; returns the ids and how many pages there were.
async fn walk(db: &Db, mut query: ListQuery) -> (Vec<i64>, usize) {
    let mut ids = Vec::new();
    for pages in 1.. {
        let page = db.list(&query).await.expect("a page");
        assert!(page.rows.len() <= usize::try_from(query.limit).expect("small"));
        ids.extend(page.rows.iter().map(|listed| listed.id().0));
        let Some(next) = page.next_before else { return (ids, pages) };
        assert!(query.before.is_none_or(|before| next < before), "the walk goes on");
        query.before = Some(next);
    }
    unreachable!("the walk ends")
}

async fn ids(db: &Db, filter: Filter) -> Vec<i64> {
    walk(db, query(filter, 50)).await.0
}

#[tokio::test]
async fn pages_show_every_row_once_while_rows_are_added() {
    let test = database().await;
    let db = &test.db;
    let client = outside(&test.url).await;
    fill(&client, 95, "status, scheduled_at", "'QUEUED', now()").await;
    let mut seen = Vec::new();
    let mut at = query(Filter::default(), 10);
    loop {
        let page = db.list(&at).await.expect("a page");
        seen.extend(page.rows.iter().map(|listed| listed.id().0));
        fill(&client, 7, "status, scheduled_at", "'QUEUED', now()").await;
        match page.next_before {
            Some(next) => at.before = Some(next),
            None => break,
        }
    }
    let expected: Vec<i64> = (1..=95).rev().collect();
    assert_eq!(seen, expected, "each once, newest first, whatever came meanwhile");
    let empty = Filter { queue: Some("nobody".to_owned()), ..Filter::default() };
    let page = db.list(&query(empty, 10)).await.expect("a page");
    assert_eq!((page.rows, page.next_before), (Vec::new(), None));
    assert!(!page.read_at.is_zero());
}

#[tokio::test]
async fn filters_narrow_a_list() {
    let test = database().await;
    let db = &test.db;
    let instance = worker(db).await;
    let running = running(db, instance, "runs").await.id.0;
    let new = |tenant: &str, queue: &str| NewTask {
        tenant: name(tenant),
        queue: name(queue),
        ..NewTask::default()
    };
    let mail = submit_as(db, "a letter", &new("a", "mail")).await.id.0;
    let theirs = submit_as(db, "b's letter", &new("b", "mail")).await;
    let held = submit_held(db, "held").await.id.0;
    let canceled = decided(db, DecisionKind::Cancel, &theirs).await.id.0;

    assert_eq!(ids(db, Filter::default()).await, [held, canceled, mail, running]);
    for (statuses, expected) in [
        (vec![Status::Running], vec![running]),
        (vec![Status::Queued], vec![mail]),
        (vec![Status::Submitted, Status::Canceled], vec![held, canceled]),
        (vec![Status::Failed], vec![]),
    ] {
        assert_eq!(ids(db, Filter { statuses: statuses.clone(), ..Filter::default() }).await, expected);
        let a = Filter { statuses, tenant: Some("a".to_owned()), ..Filter::default() };
        let of_a: Vec<_> = expected.into_iter().filter(|id| *id == mail).collect();
        assert_eq!(ids(db, a).await, of_a, "another tenant's rows are not shown");
    }
    let queue = Filter { queue: Some("mail".to_owned()), ..Filter::default() };
    assert_eq!(ids(db, queue.clone()).await, [canceled, mail]);
    let both = Filter { tenant: Some("b".to_owned()), search: Some("LETTER".to_owned()), ..queue };
    assert_eq!(ids(db, both).await, [canceled]);
    assert!(ids(db, Filter { tenant: Some("c".to_owned()), ..Filter::default() }).await.is_empty());
}

#[tokio::test]
async fn a_search_is_for_the_very_characters() {
    let test = database().await;
    let db = &test.db;
    let texts = ["100% sure", "100 percent", "snake_case", "snakeXcase", "back\\slash", "ÄPFEL", "it's"];
    let mut made = Vec::new();
    for text in texts {
        made.push((submit(db, text).await.id.0, text));
    }
    for (search, expected) in [
        ("0%", vec!["100% sure"]),
        ("%", vec!["100% sure"]),
        ("e_c", vec!["snake_case"]),
        ("_", vec!["snake_case"]),
        ("SNAKE", vec!["snakeXcase", "snake_case"]),
        ("\\s", vec!["back\\slash"]),
        ("t's", vec!["it's"]),
        ("nothing", vec![]),
        ("100", vec!["100 percent", "100% sure"]),
    ] {
        let found = ids(db, Filter { search: Some(search.to_owned()), ..Filter::default() }).await;
        let found: Vec<&str> =
            found.iter().map(|id| made.iter().find(|(made, _)| made == id).expect("ours").1).collect();
        assert_eq!(found, expected, "{search}");
    }
    // In a database with locale C only ASCII has two cases; the very letters are found in any.
    assert_eq!(ids(db, Filter { search: Some("ÄPFEL".to_owned()), ..Filter::default() }).await.len(), 1);
}

#[tokio::test]
async fn a_search_finds_a_task_by_its_error() {
    let test = database().await;
    let db = &test.db;
    let client = outside(&test.url).await;
    fill(
        &client,
        3,
        "status, scheduled_at, finished_at, error",
        "'FAILED', now(), now(), 'Connection REFUSED'",
    )
    .await;
    client.batch_execute("UPDATE taskdeck.tasks SET error = NULL WHERE id = 2").await.expect("change");
    let of = |search: &str| Filter { search: Some(search.to_owned()), ..Filter::default() };
    assert_eq!(ids(db, of("refused")).await, [3, 1]);
    assert_eq!(ids(db, Filter { statuses: vec![Status::Failed], ..of("tion ref") }).await, [3, 1]);
    assert_eq!(ids(db, of("TEXT 2")).await, [2], "and by its text, without an error");
    assert!(ids(db, of("accepted")).await.is_empty());
}

#[tokio::test]
async fn a_search_looks_at_a_window_and_says_where_to_go_on() {
    let test = database().await;
    let db = &test.db;
    let client = outside(&test.url).await;
    fill(&client, 12_000, "status, scheduled_at", "'QUEUED', now()").await;
    client
        .batch_execute("UPDATE taskdeck.task_inputs SET input = 'needle' WHERE id IN (11, 12, 7001)")
        .await
        .expect("hide");
    let needle = Filter { search: Some("needle".to_owned()), ..Filter::default() };
    let first = db.list(&query(needle.clone(), 10)).await.expect("a page");
    assert_eq!((first.rows.len(), first.next_before), (1, Some(TaskId(7_001))), "5,000 rows were looked at");
    let (found, pages) = walk(db, query(needle.clone(), 10)).await;
    assert_eq!((found, pages), (vec![7_001, 12, 11], 3));
    let (found, _) = walk(db, query(needle, 1)).await;
    assert_eq!(found, [7_001, 12, 11], "also where a full page ends the look");
}

/// A hundred thousand rows, nearly all of one state and tenant.
async fn a_large_table(client: &Client) {
    fill(client, 100_000, "status, scheduled_at, finished_at", "'SUCCEEDED', now(), now()").await;
    client
        .batch_execute(
            "UPDATE taskdeck.tasks SET status = 'FAILED' WHERE id % 10000 = 1; \
             UPDATE taskdeck.tasks SET status = 'SUBMITTED', finished_at = NULL WHERE id % 10000 = 2; \
             UPDATE taskdeck.tasks SET status = 'RUNNING', finished_at = NULL, \
                claimed_by = gen_random_uuid() WHERE id % 10000 = 3; \
             UPDATE taskdeck.tasks SET status = 'QUEUED', finished_at = NULL WHERE id % 10000 = 4; \
             UPDATE taskdeck.tasks SET status = 'QUEUED', finished_at = NULL, \
                scheduled_at = created_at + interval '1 day' WHERE id % 10000 = 5; \
             UPDATE taskdeck.tasks SET queue = 'mail' WHERE id % 10000 = 6; \
             UPDATE taskdeck.tasks SET tenant = 'rare' WHERE id % 10000 = 1; \
             UPDATE taskdeck.task_inputs SET tenant = 'rare' WHERE id % 10000 = 1;",
        )
        .await
        .expect("change");
    for table in ["tasks", "task_inputs"] {
        client.batch_execute(&format!("VACUUM ANALYZE taskdeck.{table}")).await.expect("analyze");
    }
}

#[tokio::test]
async fn what_is_rare_is_found_by_index() {
    let test = database().await;
    let db = &test.db;
    let client = outside(&test.url).await;
    a_large_table(&client).await;
    let plain = Filter::default();
    let of = |status| Filter { statuses: vec![status], ..Filter::default() };
    let tenant = Filter { tenant: Some("rare".to_owned()), ..Filter::default() };
    let live = vec![Status::Submitted, Status::Queued, Status::Running];
    let mixed = vec![Status::Queued, Status::Failed];
    for (what, filter, rows) in [
        ("everything", plain, 50),
        ("failed", of(Status::Failed), 10),
        ("held", of(Status::Submitted), 10),
        ("running", of(Status::Running), 10),
        ("queued, due and put off", of(Status::Queued), 20),
        ("all that lives", Filter { statuses: live.clone(), ..Filter::default() }, 40),
        ("what ended otherwise, and waits", Filter { statuses: mixed, ..Filter::default() }, 30),
        ("none", of(Status::Canceled), 0),
        ("tenant", tenant.clone(), 10),
        ("tenant's failed", Filter { statuses: vec![Status::Failed], ..tenant.clone() }, 10),
        ("tenant's search", Filter { search: Some("text".to_owned()), ..tenant }, 10),
    ] {
        let page = db.list(&query(filter.clone(), 50)).await.expect("a page");
        assert_eq!(page.rows.len(), rows, "{what}");
        let read_by = explain(&client, &filter).await;
        for table in ["tasks", "task_inputs"] {
            let read = rows_read(&read_by, table);
            assert!(read <= 400.0, "{what}: {read} rows of {table} were read: {read_by:#}");
        }
    }
}

/// A queue has no index of its own for lists: a bounded number of rows is looked at, and the page says where to go on.
#[tokio::test]
async fn the_list_of_a_queue_looks_at_a_window() {
    let test = database().await;
    let db = &test.db;
    let client = outside(&test.url).await;
    a_large_table(&client).await;
    let mail = Filter { queue: Some("mail".to_owned()), ..Filter::default() };
    let page = db.list(&query(mail.clone(), 50)).await.expect("a page");
    assert_eq!((page.rows.len(), page.next_before), (0, Some(TaskId(95_001))));
    let read = rows_read(&explain(&client, &mail).await, "tasks");
    assert!(read <= 10_000.0, "{read} rows were read");
    let (found, _) = walk(db, query(mail, 50)).await;
    assert_eq!(found.len(), 10);
}

/// The plan of a page with what it read, as the program sends it: with its values, not as a generic plan.
async fn explain(client: &Client, filter: &Filter) -> serde_json::Value {
    const NO_ID: Option<i64> = None;
    let text = render(LIST.text, &Schema::new("taskdeck").expect("a name"));
    let statuses: Vec<&str> = filter.statuses.iter().map(|status| status.as_str()).collect();
    let statuses = (!statuses.is_empty()).then_some(statuses);
    let rows = client
        .query_typed(
            &format!("EXPLAIN (ANALYZE, FORMAT JSON) {text}"),
            &[
                (&statuses, Type::TEXT_ARRAY),
                (&filter.tenant, Type::TEXT),
                (&filter.queue, Type::TEXT),
                (&filter.search, Type::TEXT),
                (&NO_ID, Type::INT8),
                (&50_i64, Type::INT8),
                (&5_000_i64, Type::INT8),
                (&200_i32, Type::INT4),
            ],
        )
        .await
        .expect("explain");
    rows[0].get(0)
}

#[tokio::test]
async fn a_list_shows_the_beginning_of_a_text_and_its_whole_length() {
    let test = database().await;
    let db = &test.db;
    let long = "ü".repeat(500);
    let made: Task = submit(db, &long).await;
    assert!(!made.input_is_cut());
    let page = db.list(&query(Filter::default(), 1)).await.expect("a page");
    let shown = page.rows[0].task().expect("readable");
    assert_eq!((shown.input.chars().count(), shown.input_bytes), (200, 1_000));
    assert!(shown.input_is_cut());
    let whole = ListQuery { preview: Preview::Whole, ..query(Filter::default(), 1) };
    assert_eq!(db.list(&whole).await.expect("a page").rows, [Listed::Task(Box::new(made))]);
    assert_eq!(number(&outside(&test.url).await, "SELECT count(*) FROM taskdeck.tasks").await, 1);
}
