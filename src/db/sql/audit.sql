-- Events, the newest first.
-- $1 bigint task or NULL, $2 text actor or NULL, $3 timestamptz: not before it, or NULL, $4 bigint: only below this
-- number, or NULL, $5 text tenant or NULL: only events about it and its tasks, $6 bigint page size, $7 bigint: how many of the newest
-- events (of that task or actor) a call that narrows by time or tenant looks at.
-- Always at least one row. `scanned_rows`, `scanned_to` and `scanned_at` say how far it looked, so that a reader who
-- found little can go on from there; `id` is NULL where the page is empty.
-- Indexes: events_task, events_actor, the primary key: the planner sees which of them the values call for. How far to
-- look is read from the index alone; without that bound a tenant with few events, or a moment with few after it, had
-- the whole table walked. With 1,000,000 events about 500,000 tasks and none of the tenant's among the newest 50,000:
-- 0.15 to 0.3 s, nearly all of it the look at each one's task; of a tenant with many, or by time alone, 25 to 45 ms.
-- The tenant is compared in a sub-query of its own: as an EXISTS it became a join that reads all tasks.
WITH looked AS MATERIALIZED (
    SELECT count(*) AS scanned_rows, min(w.id) AS scanned_to
    FROM (
        SELECT v.id
        FROM {schema}.events v
        WHERE ($1::bigint IS NULL OR v.task_id = $1)
          AND ($2::text IS NULL OR v.actor = $2)
          AND ($4::bigint IS NULL OR v.id < $4)
        ORDER BY v.id DESC
        LIMIT CASE WHEN $3::timestamptz IS NULL AND $5::text IS NULL THEN $6::bigint ELSE $7::bigint END
    ) w
)
SELECT l.scanned_rows, l.scanned_to, (SELECT o.at FROM {schema}.events o WHERE o.id = l.scanned_to) AS scanned_at,
       e.id, e.at, e.actor, e.session_role, e.process, e.move, e.task_id, e.queue, e.tenant, e.instance, e.status_before,
       e.status_after, e.version_before, e.version_after, e.reason, e.operation_id
FROM looked l
LEFT JOIN LATERAL (
    SELECT v.*
    FROM {schema}.events v
    WHERE v.id >= l.scanned_to
      AND ($1::bigint IS NULL OR v.task_id = $1)
      AND ($2::text IS NULL OR v.actor = $2)
      AND ($3::timestamptz IS NULL OR v.at >= $3)
      AND ($4::bigint IS NULL OR v.id < $4)
      AND ($5::text IS NULL OR v.tenant = $5
           OR (SELECT t.tenant FROM {schema}.tasks t WHERE t.id = v.task_id) = $5)
    ORDER BY v.id DESC
    LIMIT $6
) e ON true
ORDER BY e.id DESC
