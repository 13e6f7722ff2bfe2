-- BROKEN ON PURPOSE, for the lab alone: `claim_by_id.sql` without its condition on the state. A test holds the two
-- against each other.
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
