-- BROKEN ON PURPOSE, for the lab alone: `claim_by_id.sql` without its conditions on the state. A test holds the two
-- against each other.
WITH cur AS MATERIALIZED (
    SELECT * FROM {schema}.tasks WHERE id = $2 FOR NO KEY UPDATE
), may AS MATERIALIZED (
    SELECT cur.id, cur.tenant
    FROM cur
    WHERE cur.scheduled_at <= now()
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
