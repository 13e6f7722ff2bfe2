-- The due task that has waited longest, and who could take it.
-- $1 text tenant or NULL.
-- Zero rows: nothing is due.
-- `max_running` is NULL where its tenant has no such limit, else `running` tells how many of the tenant's tasks run.
-- Indexes: tasks_oldest_due; tasks_running; tasks_claim_put_off, whose queues are found by skipping from one to the next.
WITH RECURSIVE queues(name) AS (
    (SELECT t.queue FROM {schema}.tasks t
     WHERE t.status = 'QUEUED' AND t.scheduled_at > t.created_at ORDER BY t.queue LIMIT 1)
    UNION ALL
    SELECT (SELECT t.queue FROM {schema}.tasks t
            WHERE t.status = 'QUEUED' AND t.scheduled_at > t.created_at AND t.queue > queues.name
            ORDER BY t.queue LIMIT 1)
    FROM queues WHERE queues.name IS NOT NULL
), oldest AS (
    SELECT c.id, c.queue, c.tenant, c.since FROM (
        (SELECT t.id, t.queue, t.tenant, t.created_at AS since FROM {schema}.tasks t
         WHERE t.status = 'QUEUED' AND t.scheduled_at <= t.created_at AND ($1::text IS NULL OR t.tenant = $1)
         ORDER BY t.id LIMIT 1)
        UNION ALL
        SELECT p.id, p.queue, p.tenant, p.scheduled_at
        FROM queues
        CROSS JOIN LATERAL (
            SELECT t.id, t.queue, t.tenant, t.scheduled_at FROM {schema}.tasks t
            WHERE t.status = 'QUEUED' AND t.scheduled_at > t.created_at AND t.queue = queues.name
              AND t.scheduled_at <= now() AND ($1::text IS NULL OR t.tenant = $1)
            ORDER BY t.scheduled_at LIMIT 1) p
    ) c
    ORDER BY c.since
    LIMIT 1
)
SELECT o.id, o.queue, o.tenant,
       greatest(0, extract(epoch FROM now() - o.since) * 1000)::bigint AS waiting_ms,
       coalesce(takers.takers, 0) AS takers,
       coalesce(takers.free_slots, 0)::bigint AS free_slots,
       paused.changed_by AS paused_by,
       l.max_running,
       (SELECT count(*) FROM {schema}.tasks t
        WHERE l.max_running IS NOT NULL AND t.status = 'RUNNING' AND t.tenant = o.tenant) AS running
FROM oldest o
LEFT JOIN {schema}.queues paused ON paused.name = o.queue AND paused.paused
LEFT JOIN {schema}.limits l ON l.tenant = o.tenant
CROSS JOIN LATERAL (
    SELECT count(*) AS takers, sum(greatest(0, i.slots - r.running)) AS free_slots
    FROM {schema}.instances i
    CROSS JOIN LATERAL (SELECT count(*) AS running FROM {schema}.tasks t
                        WHERE t.status = 'RUNNING' AND t.claimed_by = i.id) r
    WHERE i.state = 'working' AND i.lease_until > now() AND o.queue = ANY (i.queues)
) takers
