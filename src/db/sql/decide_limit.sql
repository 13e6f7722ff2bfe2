-- Sets the limits of the tenant $1.
-- $1 text, $2 bigint at most so many running or NULL, $3 bigint at most so many approvals a day or NULL, $4 bigint the
-- version that was seen (0: nobody had ever set one), $5 text operator, $6 text reason, $7 uuid operation id.
-- One row if it took effect. Zero rows: it has another version, or is as asked already; `limit.sql` tells which.
-- Index: the primary key, whose conflict is also what two first limits at once meet: the second waits for the first and
-- then finds its version. `cur` locks the row, so that the event tells what this statement has really replaced.
-- With the first limit of a tenant today's approvals so far are counted from `events` (index events_let_run); from then on
-- `decide.sql` counts. A claim or an approval that is under way meanwhile does not know of the limit yet.
WITH cur AS MATERIALIZED (
    SELECT l.* FROM {schema}.limits l WHERE l.tenant = $1 FOR NO KEY UPDATE
), today AS (
    SELECT count(*) AS approvals
    FROM {schema}.events v
    JOIN {schema}.tasks t ON t.id = v.task_id
    WHERE NOT EXISTS (SELECT FROM cur)
      AND v.at >= date_trunc('day', now() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC'
      AND v.move IN ('approve', 'requeue')
      AND t.tenant = $1
      AND (v.move = 'approve'
           OR (EXISTS (SELECT FROM {schema}.events h
                       WHERE h.task_id = v.task_id AND h.id < v.id AND h.status_before = 'SUBMITTED')
               AND NOT EXISTS (SELECT FROM {schema}.events r
                               WHERE r.task_id = v.task_id AND r.id < v.id AND r.move IN ('approve', 'requeue'))))
), made AS (
    INSERT INTO {schema}.limits AS l
        (tenant, max_running, max_approved_per_day, version, changed_by, changed_at, reason, approved_on, approved)
    SELECT $1, $2::bigint, $3::bigint, 1, $5, clock_timestamp(), $6, (now() AT TIME ZONE 'UTC')::date, today.approvals
    FROM today
    WHERE ($4::bigint = 0 AND num_nonnulls($2::bigint, $3::bigint) > 0) OR EXISTS (SELECT FROM cur)
    ON CONFLICT (tenant) DO UPDATE
    SET max_running = excluded.max_running,
        max_approved_per_day = excluded.max_approved_per_day,
        version = l.version + 1,
        changed_by = excluded.changed_by,
        changed_at = excluded.changed_at,
        reason = excluded.reason
    WHERE l.version = $4
      AND (l.max_running, l.max_approved_per_day)
          IS DISTINCT FROM (excluded.max_running, excluded.max_approved_per_day)
    RETURNING l.*
), recorded AS (
    INSERT INTO {schema}.events
        (tenant, actor, move, status_before, status_after, version_before, version_after, reason, operation_id)
    SELECT made.tenant, $5, 'limit', coalesce(before.words, 'none'), coalesce(after.words, 'none'),
           made.version - 1, made.version, $6, $7
    FROM made
    LEFT JOIN cur ON true
    CROSS JOIN LATERAL (
        SELECT nullif(concat_ws(', ', 'running ' || cur.max_running, cur.max_approved_per_day || ' a day'), '') AS words
    ) before
    CROSS JOIN LATERAL (
        SELECT nullif(concat_ws(', ', 'running ' || made.max_running, made.max_approved_per_day || ' a day'), '') AS words
    ) after
)
SELECT tenant, max_running, max_approved_per_day, version, changed_by, changed_at, reason FROM made
