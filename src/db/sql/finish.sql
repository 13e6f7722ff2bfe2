-- Ends the claim $3 of the task $2 by the instance $1, whatever its end: CANCELED if that was requested (and
-- the row lock says whether it was), else SUCCEEDED, else QUEUED again while attempts are left, else FAILED.
-- $1 uuid, $2 bigint, $3 bigint, $4 boolean succeeded, $5 bigint words, $6 bigint bytes, $7 bigint runes,
-- $8 text output, $9 text error, $10 seconds until a retry, $11 text actor, $12 uuid operation id.
-- One row if the task exists: `changed` tells whether this statement ended the claim, `own` whether this same
-- success had been committed before; then the row's state and claim number, and whether a notification was written with
-- its final state. Zero rows: no such task.
-- A success leaves no event: it is known again by its claim and by its very result in the row. Any other end is
-- known again by its event (`finished.sql`), which this statement could not see if it waited for the row.
-- As in `finish_success.sql`, `t.status || ''` keeps the planner off tasks_running.
-- Index: the primary key. `cur` locks the row and reads it as its last writer left it; what is decided from it
-- cannot change before this statement ends.
WITH cur AS MATERIALIZED (
    SELECT id, status, claim_no, claimed_by, attempt, max_attempts, cancel_requested, words, bytes, runes, output
    FROM {schema}.tasks WHERE id = $2 FOR NO KEY UPDATE
), upd AS (
    UPDATE {schema}.tasks AS t
    SET status = e.status,
        version = t.version + 1,
        words = CASE WHEN e.status = 'SUCCEEDED' THEN $5 ELSE 0 END,
        bytes = CASE WHEN e.status = 'SUCCEEDED' THEN $6 ELSE 0 END,
        runes = CASE WHEN e.status = 'SUCCEEDED' THEN $7 ELSE 0 END,
        output = CASE WHEN e.status = 'SUCCEEDED' THEN $8 END,
        error = CASE WHEN e.status IN ('QUEUED', 'FAILED') THEN $9 END,
        claimed_by = CASE WHEN e.status = 'QUEUED' THEN NULL ELSE t.claimed_by END,
        cancel_requested = false,
        scheduled_at = CASE WHEN e.status = 'QUEUED' THEN now() + make_interval(secs => $10)
                            ELSE t.scheduled_at END,
        finished_at = CASE WHEN e.status = 'QUEUED' THEN NULL ELSE now() END
    FROM cur
    CROSS JOIN LATERAL (SELECT CASE WHEN cur.cancel_requested THEN 'CANCELED'
                                    WHEN $4 THEN 'SUCCEEDED'
                                    WHEN cur.attempt < cur.max_attempts THEN 'QUEUED'
                                    ELSE 'FAILED' END AS status) e
    WHERE t.id = cur.id
      AND t.status || '' = 'RUNNING'
      AND t.claimed_by = $1
      AND t.claim_no = $3
    RETURNING t.id, t.status, t.version, t.claim_no, t.tenant, t.queue, t.notify AND t.status <> 'QUEUED' AS told
), recorded AS (
    INSERT INTO {schema}.events
        (task_id, actor, move, status_before, status_after, version_before, version_after, reason,
         operation_id, instance)
    SELECT upd.id, $11,
           CASE upd.status WHEN 'CANCELED' THEN 'stop' WHEN 'QUEUED' THEN 'retry' ELSE 'fail' END,
           'RUNNING', upd.status, upd.version - 1, upd.version,
           CASE WHEN upd.status <> 'CANCELED' THEN $9 END, $12, $1
    FROM upd WHERE upd.status <> 'SUCCEEDED'
), told AS (
    INSERT INTO {schema}.outbox
        (task_id, version, tenant, queue, move, status_before, status_after, actor, reason)
    SELECT upd.id, upd.version, upd.tenant, upd.queue,
           CASE upd.status WHEN 'CANCELED' THEN 'stop' WHEN 'SUCCEEDED' THEN 'finish' ELSE 'fail' END,
           'RUNNING', upd.status, $11, CASE WHEN upd.status = 'FAILED' THEN $9 END
    FROM upd WHERE upd.told
)
SELECT upd.id IS NOT NULL AS changed,
       cur.status = 'SUCCEEDED' AND cur.claimed_by = $1 AND cur.claim_no = $3 AND $4 AND cur.words = $5
         AND cur.bytes = $6 AND cur.runes = $7 AND cur.output IS NOT DISTINCT FROM $8 AS own,
       coalesce(upd.status, cur.status) AS status,
       cur.claim_no,
       coalesce(upd.told, false) AS told
FROM cur LEFT JOIN upd ON upd.id = cur.id
