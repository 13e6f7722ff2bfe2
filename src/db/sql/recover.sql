-- Takes up to $1 RUNNING tasks back from instances that no longer live: QUEUED, or FAILED when the attempts
-- are spent, or CANCELED when that was requested.
-- $1 bigint, $2 text actor, $3 uuid operation id.
-- Returns what it changed; `told` tells whether a notification was written with a final state. `SKIP LOCKED`, so that several recoverers share the work; the condition on `t`
-- decides: state, owner, claim number, and an owner that is lost with its lease past by the database's clock,
-- or ended, or unknown.
-- `dead` joins by the statement's snapshot. Where a row was taken back and claimed again before it is locked, the
-- locked row has another owner than the one it was joined with, and the outer join makes that an unknown one, as if
-- it were dead. `t` is the row as it was first read: that owner or claim number differ from it keeps this off it.
-- `owners` locks the instances' rows in ascending id, as `stop.sql` does: in any other order the two could wait in a
-- circle.
-- Index: tasks_running.
WITH dead AS MATERIALIZED (
    SELECT t.id, t.claimed_by, t.claim_no, t.attempt, t.max_attempts, t.cancel_requested,
           i.host || ':' || i.pid AS owner
    FROM {schema}.tasks t
    LEFT JOIN {schema}.instances i ON i.id = t.claimed_by
    WHERE t.status = 'RUNNING'
      AND (i.id IS NULL OR (i.state IN ('lost', 'stopped') AND i.lease_until < clock_timestamp()))
    ORDER BY t.id
    LIMIT $1
    FOR NO KEY UPDATE OF t SKIP LOCKED
), upd AS (
    UPDATE {schema}.tasks AS t
    SET status = e.status,
        version = t.version + 1,
        claimed_by = NULL,
        cancel_requested = false,
        error = CASE WHEN e.status = 'CANCELED' THEN t.error ELSE e.reason END,
        scheduled_at = CASE WHEN e.status = 'QUEUED' THEN now() ELSE t.scheduled_at END,
        finished_at = CASE WHEN e.status = 'QUEUED' THEN NULL ELSE now() END
    FROM dead
    CROSS JOIN LATERAL (
        SELECT CASE WHEN dead.cancel_requested THEN 'CANCELED'
                    WHEN dead.attempt < dead.max_attempts THEN 'QUEUED'
                    ELSE 'FAILED' END AS status,
               'lease lost: ' || coalesce(dead.owner, 'an unknown instance') || ' no longer answers' AS reason
    ) e
    WHERE t.id = dead.id
      AND t.status = 'RUNNING'
      AND t.claimed_by = dead.claimed_by
      AND t.claim_no = dead.claim_no
    RETURNING t.id, t.status, t.version, t.claim_no, t.tenant, t.queue, e.reason, dead.claimed_by,
              t.notify AND t.status <> 'QUEUED' AS told
), owners AS MATERIALIZED (
    SELECT i.id FROM {schema}.instances i
    WHERE i.id IN (SELECT claimed_by FROM upd)
    ORDER BY i.id
    FOR NO KEY UPDATE
), counted AS (
    UPDATE {schema}.instances i
    SET recovered = i.recovered + n.rows
    FROM owners
    JOIN (SELECT claimed_by, count(*) AS rows FROM upd GROUP BY claimed_by) n ON n.claimed_by = owners.id
    WHERE i.id = owners.id
), recorded AS (
    INSERT INTO {schema}.events
        (task_id, actor, move, status_before, status_after, version_before, version_after, reason,
         operation_id, instance)
    SELECT id, $2, 'recover', 'RUNNING', status, version - 1, version, reason, $3, claimed_by FROM upd
), told AS (
    INSERT INTO {schema}.outbox
        (task_id, version, tenant, queue, move, status_before, status_after, actor, reason)
    SELECT id, version, tenant, queue, 'recover', 'RUNNING', status, $2, reason FROM upd WHERE told
)
SELECT id, status, claim_no, reason, told FROM upd ORDER BY id
