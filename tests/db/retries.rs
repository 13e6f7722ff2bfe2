//! What the server rolled back is decided again as a whole, a few times, and only if it may well succeed.

use taskdeck::db::sql::{DECIDE, Statement};
use taskdeck::db::{Db, Limits};
use taskdeck::domain::Status;
use taskdeck::domain::decision::DecisionKind;
use taskdeck::domain::outcome::{DecisionOutcome, Verdict};
use tokio_postgres::Client;

use crate::pooler::{Options, pooler};
use crate::scene::{decide, decision, number, outside, quiet, row, submit, unavailable, until_waiting};
use crate::support::{database, empty_database, open, shared_server};

/// The server rolls the next `times` changes of a task back with `code`; a sequence counts, which no rollback undoes.
async fn roll_back(client: &Client, times: u32, code: &str) {
    let sql = format!(
        "CREATE SEQUENCE IF NOT EXISTS tries; ALTER SEQUENCE tries RESTART; \
         CREATE OR REPLACE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
           IF nextval('tries') <= {times} THEN RAISE EXCEPTION 'as told' USING ERRCODE = '{code}'; END IF; \
           RETURN NEW; END $$; \
         CREATE OR REPLACE TRIGGER refuse BEFORE UPDATE ON taskdeck.tasks \
           FOR EACH ROW EXECUTE FUNCTION refuse()"
    );
    client.batch_execute(&sql).await.expect("a server that rolls back");
}

fn tries(db: &Db, statement: Statement) -> (u64, u64) {
    let figures = db.statement_figures();
    let figures = figures.iter().find(|figures| figures.name == statement.name).expect("called");
    (figures.calls, figures.errors)
}

#[tokio::test]
async fn three_times_more_and_no_more() {
    let test = database().await;
    let client = outside(&test.url).await;
    let mut before = (0, 0);
    for (code, times, tried) in [
        ("40P01", 0, 1),
        ("40P01", 1, 2),
        ("40001", 3, 4),
        ("40P01", 4, 4),
        ("40001", 1_000, 4),
        ("55P03", 1, 1),
        ("57014", 1, 1),
    ] {
        let task = submit(&test.db, "x").await;
        roll_back(&client, times, code).await;
        let answer = test.db.decide(&decision(DecisionKind::Cancel, &[&task]), &quiet).await;
        let now = tries(&test.db, DECIDE);
        assert_eq!(now.0 - before.0, tried, "{code} {times} times: tries");
        before = now;
        let again = u32::try_from(tried).expect("small") - 1;
        if u64::from(times) < tried {
            let decided = answer.expect("an answer");
            assert_eq!((decided.outcome(), decided.retries), (DecisionOutcome::Committed, again), "{code}");
            assert!(!decided.resolved_from_unknown, "{code}");
            continue;
        }
        let trouble = unavailable(answer);
        assert_eq!((trouble.sqlstate.as_deref(), trouble.retries), (Some(code), again), "{trouble}");
        assert_eq!(row(&test.db, task.id).await, task, "{code}: nothing was changed");
    }
}

/// Where nobody can set the isolation (a pooler swallows what a session asks for) the database's own may be stricter.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_serialization_failure_is_decided_again_or_is_a_conflict() {
    let url = empty_database();
    let client = outside(&url).await;
    let name: String = client.query_one("SELECT current_database()::text", &[]).await.expect("a name").get(0);
    let strict = format!("ALTER DATABASE {name} SET default_transaction_isolation = 'serializable'");
    client.batch_execute(&strict).await.expect("alter");
    let through = pooler(&url, shared_server().port(), Options::Swallowed).await;
    let db = open(&through, Limits::default()).await;
    db.migrate().await.expect("migrate");
    for (change, moved_on) in [("priority = 7", false), ("version = version + 1", true)] {
        let task = submit(&db, "x").await;
        let mut holder = outside(&url).await;
        let other = holder.transaction().await.expect("begin");
        let sql = format!("UPDATE taskdeck.tasks SET {change} WHERE id = {}", task.id);
        other.batch_execute(&sql).await.expect("change");
        let deciding = tokio::spawn({
            let (db, asked) = (db.clone(), decision(DecisionKind::Cancel, &[&task]));
            async move { decide(&db, &asked).await }
        });
        until_waiting(&client).await;
        other.commit().await.expect("commit");
        let answer = deciding.await.expect("no panic");
        let now = row(&db, task.id).await;
        assert_eq!(answer.retries, 1, "{change}");
        if moved_on {
            assert!(
                matches!(&answer.rows[0].1, Verdict::Conflict { task, .. } if *task == now),
                "{answer:?}"
            );
        } else {
            assert_eq!((answer.outcome(), now.status), (DecisionOutcome::Committed, Status::Canceled));
        }
        let events = format!("SELECT count(*) FROM taskdeck.events WHERE task_id = {}", task.id);
        assert_eq!(number(&client, &events).await, i64::from(!moved_on), "{change}");
    }
}
