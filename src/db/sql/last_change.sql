-- Who changed each of the rows $1 last, and when.
-- $1 bigint[].
-- One row for each task that exists: the newest event if it made the row's present version, else what the row
-- itself records of its claim, finish or submit. `process` is what the session of an event called itself.
-- Index: events_task.
SELECT t.id,
       coalesce(v.actor, w.worker, 'unknown') AS actor,
       v.process,
       coalesce(v.move, own.move) AS move,
       coalesce(v.at, own.at) AS at,
       greatest(0, (extract(epoch FROM clock_timestamp() - coalesce(v.at, own.at)) * 1000))::bigint AS ago_ms,
       t.version AS version_after,
       v.reason
FROM {schema}.tasks t
LEFT JOIN LATERAL (
    SELECT e.* FROM {schema}.events e WHERE e.task_id = t.id ORDER BY e.id DESC LIMIT 1
) v ON v.version_after = t.version
LEFT JOIN LATERAL (
    SELECT i.host || ':' || i.pid AS worker FROM {schema}.instances i WHERE i.id = t.claimed_by
) w ON true
CROSS JOIN LATERAL (
    SELECT CASE WHEN t.finished_at IS NOT NULL THEN 'finish'
                WHEN t.status = 'RUNNING' THEN 'claim' ELSE 'submit' END AS move,
           coalesce(t.finished_at, CASE WHEN t.status = 'RUNNING' THEN t.started_at END, t.created_at) AS at
) own
WHERE t.id = ANY ($1::bigint[])
