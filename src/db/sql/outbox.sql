-- A page of notifications, the oldest first, by key: those that are not delivered, or all of the task $1.
-- $1 bigint or NULL, $2 text tenant or NULL, $3 bigint: only numbers above it, or NULL, $4 bigint page size.
-- Indexes: outbox_undelivered; outbox_change for a task.
SELECT o.id, o.task_id, o.version, o.tenant, o.queue, o.move, o.status_before, o.status_after, o.actor, o.reason, o.at,
       o.claim_no, o.due_at, o.error, o.claimed_by, i.host || ':' || i.pid AS owner, o.delivered_at
FROM (
    (SELECT w.* FROM {schema}.outbox w
     WHERE $1::bigint IS NULL AND w.delivered_at IS NULL
       AND ($2::text IS NULL OR w.tenant = $2) AND ($3::bigint IS NULL OR w.id > $3)
     ORDER BY w.id LIMIT $4)
    UNION ALL
    (SELECT w.* FROM {schema}.outbox w
     WHERE w.task_id = $1
       AND ($2::text IS NULL OR w.tenant = $2) AND ($3::bigint IS NULL OR w.id > $3)
     ORDER BY w.id LIMIT $4)
) o
LEFT JOIN {schema}.instances i ON i.id = o.claimed_by
ORDER BY o.id
