-- Gives claims of the instance $1 back before their analysers ran to the end: QUEUED, the attempt not spent;
-- CANCELED where that was requested.
-- $1 uuid, in ascending order of id: $2 bigint[] ids, $3 bigint[] claim numbers; $4 text actor, $5 text
-- reason, $6 uuid[] operation ids, one a claim.
-- Returns id and state of those that it changed, and whether a notification was written with a final one. An id that is
-- missing is no longer under that claim: `released.sql` tells whether it was this same release, sent before, that ended it.
-- As in `finish_success.sql`, `t.status || ''` keeps the planner off tasks_running.
-- Index: the primary key.
WITH cur AS MATERIALIZED (
    SELECT t.id, t.claim_no, t.cancel_requested
    FROM {schema}.tasks t
    WHERE t.id = ANY ($2::bigint[])
    ORDER BY t.id
    FOR NO KEY UPDATE
), upd AS (
    UPDATE {schema}.tasks AS t
    SET status = CASE WHEN cur.cancel_requested THEN 'CANCELED' ELSE 'QUEUED' END,
        version = t.version + 1,
        attempt = t.attempt - 1,
        claimed_by = NULL,
        cancel_requested = false,
        finished_at = CASE WHEN cur.cancel_requested THEN now() END
    FROM cur
    JOIN unnest($2::bigint[], $3::bigint[], $6::uuid[]) AS f(id, claim_no, operation_id) ON f.id = cur.id
    WHERE t.id = cur.id
      AND t.status || '' = 'RUNNING'
      AND t.claimed_by = $1
      AND t.claim_no = f.claim_no
    RETURNING t.id, t.status, t.version, t.tenant, t.queue, f.operation_id, t.notify AND t.status = 'CANCELED' AS told
), recorded AS (
    INSERT INTO {schema}.events
        (task_id, actor, move, status_before, status_after, version_before, version_after, reason,
         operation_id, instance)
    SELECT upd.id, $4, CASE upd.status WHEN 'CANCELED' THEN 'stop' ELSE 'release' END,
           'RUNNING', upd.status, upd.version - 1, upd.version, $5, upd.operation_id, $1
    FROM upd
), told AS (
    INSERT INTO {schema}.outbox
        (task_id, version, tenant, queue, move, status_before, status_after, actor, reason)
    SELECT upd.id, upd.version, upd.tenant, upd.queue, 'stop', 'RUNNING', upd.status, $4, $5
    FROM upd WHERE upd.told
)
SELECT upd.id, upd.status, upd.told FROM upd
