//! What a chunk of a decision about all that match reads: bounded, whatever the table holds.

use taskdeck::db::Schema;
use taskdeck::db::sql::{MATCHES, PREVIEW, Statement, render};
use taskdeck::domain::Status;
use tokio_postgres::Client;
use tokio_postgres::types::{ToSql, Type};

use crate::scene::{fill, outside, rows_read};
use crate::support::database;

/// Which rows are asked for.
struct Asked<'a> {
    statuses: &'a [Status],
    tenant: Option<&'a str>,
    search: Option<&'a str>,
    after: i64,
}

/// The plan with what it read, as the program sends it.
async fn explain(client: &Client, statement: Statement, asked: &Asked<'_>) -> serde_json::Value {
    const NOTHING: Option<&str> = None;
    const NO_TIME: Option<jiff::Timestamp> = None;
    let text = render(statement.text, &Schema::new("taskdeck").expect("a name"));
    let statuses: Vec<&str> = asked.statuses.iter().map(|status| status.as_str()).collect();
    let mut parameters: Vec<(&(dyn ToSql + Sync), Type)> = vec![
        (&statuses, Type::TEXT_ARRAY),
        (&asked.tenant, Type::TEXT),
        (&NOTHING, Type::TEXT),
        (&asked.search, Type::TEXT),
        (&NO_TIME, Type::TIMESTAMPTZ),
        (&asked.after, Type::INT8),
        (&1_000_000_i64, Type::INT8),
        (&5_000_i64, Type::INT8),
        (&Some(false), Type::BOOL),
    ];
    if statement == MATCHES {
        parameters.push((&500_i64, Type::INT8));
    }
    let rows = client
        .query_typed(&format!("EXPLAIN (ANALYZE, FORMAT JSON) {text}"), &parameters)
        .await
        .expect("explain");
    rows[0].get(0)
}

/// A hundred thousand rows: every fifth has failed, ten are of a rare tenant and every thirtieth of a middling one, ten
/// are held and ten wait.
#[tokio::test]
async fn no_call_reads_more_than_its_windows() {
    let test = database().await;
    let client = outside(&test.url).await;
    fill(&client, 100_000, "status, scheduled_at, finished_at", "'SUCCEEDED', now(), now()").await;
    client
        .batch_execute(
            "UPDATE taskdeck.tasks SET status = 'FAILED' WHERE id % 5 = 1; \
             UPDATE taskdeck.tasks SET status = 'SUBMITTED', finished_at = NULL WHERE id % 10000 = 2; \
             UPDATE taskdeck.tasks SET status = 'QUEUED', finished_at = NULL WHERE id % 10000 = 4; \
             UPDATE taskdeck.tasks SET tenant = 'rare' WHERE id % 10000 = 1; \
             UPDATE taskdeck.task_inputs SET tenant = 'rare' WHERE id % 10000 = 1; \
             UPDATE taskdeck.tasks SET tenant = 'middling' WHERE id % 30 = 8; \
             UPDATE taskdeck.task_inputs SET tenant = 'middling' WHERE id % 30 = 8",
        )
        .await
        .expect("change");
    for table in ["tasks", "task_inputs"] {
        client.batch_execute(&format!("VACUUM ANALYZE taskdeck.{table}")).await.expect("analyze");
    }
    let ended = [Status::Failed, Status::Canceled, Status::Rejected];
    let live = [Status::Submitted, Status::Queued, Status::Running];
    let asked = |statuses, tenant, search, after| Asked { statuses, tenant, search, after };
    for (what, asked, most) in [
        ("what has failed", asked(&ended[..], None, None, i64::MIN), 5_000.0),
        // Of what is not much more than a window the planner rather sorts all.
        ("what has failed, from the middle on", asked(&ended[..], None, None, 50_000), 10_000.0),
        ("what lives", asked(&live[..], None, None, i64::MIN), 20.0),
        ("what of a rare tenant has failed", asked(&ended[..], Some("rare"), None, i64::MIN), 5_010.0),
        (
            "what of a middling tenant has failed",
            asked(&ended[..], Some("middling"), None, i64::MIN),
            8_400.0,
        ),
        ("what of the large tenant has failed", asked(&ended[..], Some("default"), None, i64::MIN), 10_000.0),
        ("what of a tenant that nobody is", asked(&ended[..], Some("nobody"), None, i64::MIN), 5_000.0),
        ("a text", asked(&ended[..], None, Some("text 77"), i64::MIN), 5_000.0),
        ("what has succeeded", asked(&[Status::Succeeded][..], None, None, i64::MIN), 5_000.0),
    ] {
        for statement in [MATCHES, PREVIEW] {
            let plan = explain(&client, statement, &asked).await;
            let read = rows_read(&plan, "tasks");
            // Where something matches, a plan in which no row is found was not understood.
            let least = if asked.tenant == Some("nobody") { 0.0 } else { 1.0 };
            assert!(
                (least..=most).contains(&read),
                "{what}, {}: {read} rows of tasks were read: {plan:#}",
                statement.name
            );
            let texts = rows_read(&plan, "task_inputs");
            let least = if asked.search.is_some() { 1.0 } else { 0.0 };
            assert!(
                (least..=5_000.0).contains(&texts),
                "{what}, {}: {texts} texts were read: {plan:#}",
                statement.name
            );
        }
    }
}
