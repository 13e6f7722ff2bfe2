-- Claims the one task $2 for the instance $1 if it is QUEUED, due, and its queue is not paused.
-- $1 uuid, $2 bigint, $3 how many characters of the text to return.
-- Always one row for a task that exists: `won` tells whether this statement changed it, the other columns are
-- the row as it is now. Zero rows: no such task.
-- `cur` waits for whoever holds the row and then reads it as they left it: without the lock the loser would
-- be told the old row, by its own snapshot.
WITH cur AS MATERIALIZED (
    SELECT * FROM {schema}.tasks WHERE id = $2 FOR NO KEY UPDATE
), upd AS (
    UPDATE {schema}.tasks AS t
    SET status = 'RUNNING',
        version = t.version + 1,
        claim_no = t.claim_no + 1,
        attempt = t.attempt + 1,
        claimed_by = $1,
        started_at = now()
    FROM cur
    WHERE t.id = cur.id
      AND t.status = 'QUEUED' AND cur.status = 'QUEUED'
      AND cur.scheduled_at <= now()
      AND NOT EXISTS (SELECT FROM {schema}.queues p WHERE p.name = cur.queue AND p.paused)
      AND EXISTS (SELECT FROM {schema}.instances i
                  WHERE i.id = $1 AND i.state = 'working' AND i.lease_until > now())
    RETURNING t.*
), t AS (
    SELECT upd.*, true AS won FROM upd
    UNION ALL
    SELECT cur.*, false FROM cur WHERE NOT EXISTS (SELECT FROM upd)
)
SELECT {columns}, t.won
FROM t
{text_and_worker $3}
