-- Every queue that holds something or that somebody has paused or resumed.
-- $1 text: count only this tenant's tasks, or NULL.
-- Indexes: tasks_claim_due, tasks_claim_put_off, tasks_running, tasks_held. It grows with what waits (500,000 waiting
-- tasks: about 0.1 s), not with what is finished.
WITH due AS (
    SELECT t.queue, count(*) AS waiting, min(t.id) AS first FROM {schema}.tasks t
    WHERE t.status = 'QUEUED' AND t.scheduled_at <= t.created_at AND ($1::text IS NULL OR t.tenant = $1)
    GROUP BY t.queue
), put_off AS (
    SELECT t.queue, count(*) FILTER (WHERE t.scheduled_at <= now()) AS waiting,
           count(*) FILTER (WHERE t.scheduled_at > now()) AS later,
           min(t.scheduled_at) FILTER (WHERE t.scheduled_at <= now()) AS since
    FROM {schema}.tasks t
    WHERE t.status = 'QUEUED' AND t.scheduled_at > t.created_at AND ($1::text IS NULL OR t.tenant = $1)
    GROUP BY t.queue
), running AS (
    SELECT t.queue, count(*) AS rows FROM {schema}.tasks t
    WHERE t.status = 'RUNNING' AND ($1::text IS NULL OR t.tenant = $1)
    GROUP BY t.queue
), held AS (
    SELECT t.queue, count(*) AS rows FROM {schema}.tasks t
    WHERE t.status = 'SUBMITTED' AND ($1::text IS NULL OR t.tenant = $1)
    GROUP BY t.queue
), names AS (
    SELECT queue AS name FROM due
    UNION SELECT queue FROM put_off
    UNION SELECT queue FROM running
    UNION SELECT queue FROM held
    UNION SELECT name FROM {schema}.queues
)
SELECT n.name, q.paused, q.version, q.changed_by, q.changed_at, q.reason,
       coalesce(due.waiting, 0) + coalesce(put_off.waiting, 0) AS waiting,
       coalesce(put_off.later, 0) AS later,
       coalesce(running.rows, 0) AS running,
       coalesce(held.rows, 0) AS held,
       CASE WHEN coalesce(first.created_at, put_off.since) IS NOT NULL
            THEN greatest(0, extract(epoch FROM now() - least(first.created_at, put_off.since)) * 1000)::bigint
       END AS waiting_ms,
       (SELECT count(*) FROM {schema}.instances i
        WHERE i.state = 'working' AND i.lease_until > now() AND n.name = ANY (i.queues)) AS takers
FROM names n
LEFT JOIN {schema}.queues q ON q.name = n.name
LEFT JOIN due ON due.queue = n.name
LEFT JOIN put_off ON put_off.queue = n.name
LEFT JOIN running ON running.queue = n.name
LEFT JOIN held ON held.queue = n.name
LEFT JOIN LATERAL (SELECT t.created_at FROM {schema}.tasks t WHERE t.id = due.first) first ON true
ORDER BY n.name
