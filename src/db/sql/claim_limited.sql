-- As `claim_next.sql`, where tenants have a limit of what runs.
-- $1 uuid, $2 text[], $3 bigint, $4 text or NULL.
-- One row for each task; then one without an id for each tenant whose limit kept something back: `kept_back` is `full`
-- where no place is left, `contended` where another claim of its tasks came first, so that it is worth asking again at
-- once. Where no tenant has such a limit, it is `none`.
-- Indexes: tasks_claim_due, tasks_claim_put_off; tasks_running where a tenant has a limit.
-- The limit: `room` counts by the statement's snapshot, and no update looks at that again. So every claim of a limited
-- tenant's task counts one up in the tenant's row, and `taken` carries the number that was read in the same snapshot:
-- where a claim was committed since, it changes no row, and nothing of that tenant is claimed. Ends since then only
-- made room. `held` locks the rows in the order of their names, as `decide.sql` does, so that two claims about the
-- same tenants do not wait in a circle; nobody who holds one waits for a task's row. No counter of what runs is kept:
-- every end would write it, and it would drift.
-- Tasks of a tenant that is full are passed over in the walk, so that they do not block the others'.
WITH limited AS MATERIALIZED (
    SELECT l.tenant, l.claims, l.version, l.max_running
    FROM {schema}.limits l
    WHERE l.max_running IS NOT NULL AND ($4::text IS NULL OR l.tenant = $4)
), running AS MATERIALIZED (
    SELECT r.tenant, count(*) AS rows
    FROM {schema}.tasks r
    WHERE r.status = 'RUNNING' AND EXISTS (SELECT FROM limited)
    GROUP BY r.tenant
), room AS MATERIALIZED (
    SELECT limited.tenant, limited.claims, limited.version,
           limited.max_running - coalesce(running.rows, 0) AS free
    FROM limited
    LEFT JOIN running ON running.tenant = limited.tenant
), candidates AS MATERIALIZED (
    SELECT c.id, c.priority, c.tenant
    FROM (SELECT n.name FROM unnest($2::text[]) AS n(name)
          WHERE NOT EXISTS (SELECT FROM {schema}.queues p WHERE p.name = n.name AND p.paused)) q
    CROSS JOIN LATERAL (
        SELECT * FROM (
            SELECT d.id, d.priority, d.tenant
            FROM {schema}.tasks d
            WHERE d.queue = q.name AND d.status = 'QUEUED' AND d.scheduled_at <= d.created_at
              AND ($4::text IS NULL OR d.tenant = $4)
              AND CASE WHEN d.tenant = ANY (ARRAY(SELECT room.tenant FROM room WHERE room.free <= 0)) THEN false ELSE true END
            ORDER BY d.priority DESC, d.id
            LIMIT $3
            FOR NO KEY UPDATE SKIP LOCKED
        ) due
        UNION ALL
        SELECT * FROM (
            SELECT d.id, d.priority, d.tenant
            FROM {schema}.tasks d
            WHERE d.queue = q.name AND d.status = 'QUEUED' AND d.scheduled_at > d.created_at
              AND d.scheduled_at <= now()
              AND ($4::text IS NULL OR d.tenant = $4)
              AND CASE WHEN d.tenant = ANY (ARRAY(SELECT room.tenant FROM room WHERE room.free <= 0)) THEN false ELSE true END
            ORDER BY d.scheduled_at, d.id
            LIMIT $3
            FOR NO KEY UPDATE SKIP LOCKED
        ) put_off
    ) c
), kept AS MATERIALIZED (
    SELECT c.id, c.tenant
    FROM (
        SELECT c.id, c.priority, NULL::text AS tenant
        FROM candidates c
        WHERE c.tenant <> ALL (ARRAY(SELECT room.tenant FROM room))
        UNION ALL
        SELECT n.id, n.priority, n.tenant
        FROM (
            SELECT c.id, c.priority, c.tenant, room.free,
                   row_number() OVER (PARTITION BY c.tenant ORDER BY c.priority DESC, c.id) AS nth
            FROM candidates c
            JOIN room ON room.tenant = c.tenant
        ) n
        WHERE n.nth <= n.free
    ) c
    ORDER BY c.priority DESC, c.id
    LIMIT $3
), held AS MATERIALIZED (
    SELECT l.tenant
    FROM {schema}.limits l
    WHERE l.tenant = ANY (ARRAY(SELECT DISTINCT kept.tenant FROM kept WHERE kept.tenant IS NOT NULL))
      AND EXISTS (SELECT FROM {schema}.instances i
                  WHERE i.id = $1 AND i.state = 'working' AND i.lease_until > now())
    ORDER BY l.tenant
    FOR NO KEY UPDATE
), taken AS (
    UPDATE {schema}.limits AS l
    SET claims = l.claims + 1
    FROM room
    JOIN held ON held.tenant = room.tenant
    WHERE l.tenant = room.tenant
      AND l.claims = room.claims
      AND l.version = room.version
    RETURNING l.tenant
), t AS (
    UPDATE {schema}.tasks AS t
    SET status = 'RUNNING',
        version = t.version + 1,
        claim_no = t.claim_no + 1,
        attempt = t.attempt + 1,
        claimed_by = $1,
        started_at = now()
    WHERE t.id = ANY (ARRAY(
            SELECT kept.id
            FROM kept
            WHERE kept.tenant IS NULL OR kept.tenant = ANY (ARRAY(SELECT taken.tenant FROM taken))
        ))
      AND t.status = 'QUEUED'
      AND EXISTS (SELECT FROM {schema}.instances i
                  WHERE i.id = $1 AND i.state = 'working' AND i.lease_until > now())
    RETURNING t.id, t.tenant, t.claim_no, t.attempt, t.max_attempts, t.priority
), told AS (
    SELECT t.id, t.tenant, t.claim_no, t.attempt, t.max_attempts, t.priority, NULL::text AS kept_back
    FROM t
    UNION ALL
    SELECT NULL, room.tenant, NULL, NULL, NULL, NULL,
           CASE WHEN held.tenant IS NOT NULL AND taken.tenant IS NULL THEN 'contended' ELSE 'full' END
    FROM room
    LEFT JOIN held ON held.tenant = room.tenant
    LEFT JOIN taken ON taken.tenant = room.tenant
    WHERE (held.tenant IS NOT NULL AND taken.tenant IS NULL)
       OR room.free <= (SELECT count(*) FROM kept WHERE kept.tenant = room.tenant)
    UNION ALL
    SELECT NULL, NULL, NULL, NULL, NULL, NULL, 'none' WHERE NOT EXISTS (SELECT FROM limited)
)
SELECT told.id, told.tenant, told.claim_no, told.attempt, told.max_attempts, x.input, told.kept_back
FROM told
LEFT JOIN {schema}.task_inputs x ON x.id = told.id
ORDER BY told.priority DESC NULLS LAST, told.id
