-- Pauses or resumes the queue $1.
-- $1 text, $2 boolean paused, $3 bigint the version that was seen (0: nobody had ever paused it), $4 text operator,
-- $5 text reason, $6 uuid operation id.
-- One row if it took effect. Zero rows: it has another version, or is as asked already; `queue.sql` tells which.
-- Index: the primary key, whose conflict is also what two first pauses at once meet: the second waits for the first and
-- then finds its version.
WITH made AS (
    INSERT INTO {schema}.queues AS q (name, paused, version, changed_by, changed_at, reason)
    SELECT $1, $2, 1, $4, clock_timestamp(), $5
    WHERE ($2 AND $3::bigint = 0) OR EXISTS (SELECT FROM {schema}.queues k WHERE k.name = $1)
    ON CONFLICT (name) DO UPDATE
    SET paused = excluded.paused,
        version = q.version + 1,
        changed_by = excluded.changed_by,
        changed_at = excluded.changed_at,
        reason = excluded.reason
    WHERE q.version = $3 AND q.paused <> excluded.paused
    RETURNING q.*
), recorded AS (
    INSERT INTO {schema}.events
        (queue, actor, move, status_before, status_after, version_before, version_after, reason, operation_id)
    SELECT name, $4, CASE WHEN paused THEN 'pause' ELSE 'resume' END,
           CASE WHEN paused THEN 'open' ELSE 'paused' END, CASE WHEN paused THEN 'paused' ELSE 'open' END,
           version - 1, version, $5, $6
    FROM made
)
SELECT name, paused, version, changed_by, changed_at, reason FROM made
