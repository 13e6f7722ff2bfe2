//! Many tasks made by SQL, outside what is under test.

use crate::support::TestDb;

/// Makes `count` tasks with a text; `values` are their state, end and error.
pub(crate) fn many(db: &TestDb, count: i64, text: &str, values: &str) {
    db.psql(&format!(
        "WITH x AS (INSERT INTO taskdeck.task_inputs (tenant, submission, input) \
           SELECT 'default', gen_random_uuid(), '{text}' FROM generate_series(1, {count}) RETURNING id) \
         INSERT INTO taskdeck.tasks (id, tenant, queue, max_attempts, priority, created_at, scheduled_at, status, \
                                     finished_at, error) \
         SELECT id, 'default', 'default', 3, 0, now(), now(), {values} FROM x"
    ));
}

/// How many rows the decision with this reason has changed, by the history.
pub(crate) fn events(db: &TestDb, reason: &str) -> i64 {
    db.psql(&format!("SELECT count(*) FROM taskdeck.events WHERE reason = '{reason}'"))
        .parse()
        .expect("a number")
}
