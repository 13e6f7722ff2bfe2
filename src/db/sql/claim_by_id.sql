-- Claims the one task $2 for the instance $1 if it is QUEUED, due, its queue is not paused and its tenant has room.
-- $1 uuid, $2 bigint, $3 how many characters of the text to return.
-- Always one row for a task that exists: `won` tells whether this statement changed it, the other columns are
-- the row as it is now. Zero rows: no such task. `max_running` is not NULL where it could have been claimed but for its
-- tenant's limit: then `running` tells how many of its tasks run, and if that is below the limit another claim of them
-- came first, so that it is worth asking again at once.
-- `cur` waits for whoever holds the row and then reads it as they left it: without the lock the loser would
-- be told the old row, by its own snapshot. Why the limit holds: `claim_next.sql`.
WITH cur AS MATERIALIZED (
    SELECT * FROM {schema}.tasks WHERE id = $2 FOR NO KEY UPDATE
), may AS MATERIALIZED (
    SELECT cur.id, cur.tenant
    FROM cur
    WHERE cur.status = 'QUEUED'
      AND cur.scheduled_at <= now()
      AND NOT EXISTS (SELECT FROM {schema}.queues p WHERE p.name = cur.queue AND p.paused)
      AND EXISTS (SELECT FROM {schema}.instances i
                  WHERE i.id = $1 AND i.state = 'working' AND i.lease_until > now())
), room AS MATERIALIZED (
    SELECT l.tenant, l.claims, l.version, l.max_running,
           (SELECT count(*) FROM {schema}.tasks r WHERE r.status = 'RUNNING' AND r.tenant = l.tenant) AS running
    FROM may
    JOIN {schema}.limits l ON l.tenant = may.tenant AND l.max_running IS NOT NULL
), taken AS (
    UPDATE {schema}.limits AS l
    SET claims = l.claims + 1
    FROM room
    WHERE l.tenant = room.tenant
      AND l.claims = room.claims
      AND l.version = room.version
      AND room.running < room.max_running
    RETURNING l.tenant
), upd AS (
    UPDATE {schema}.tasks AS t
    SET status = 'RUNNING',
        version = t.version + 1,
        claim_no = t.claim_no + 1,
        attempt = t.attempt + 1,
        claimed_by = $1,
        started_at = now()
    FROM may
    WHERE t.id = may.id
      AND t.status = 'QUEUED'
      AND (NOT EXISTS (SELECT FROM room) OR EXISTS (SELECT FROM taken))
    RETURNING t.*
), t AS (
    SELECT upd.*, true AS won FROM upd
    UNION ALL
    SELECT cur.*, false FROM cur WHERE NOT EXISTS (SELECT FROM upd)
)
SELECT {columns}, t.won, room.running, room.max_running
FROM t
LEFT JOIN room ON NOT t.won
{text_and_worker $3}
