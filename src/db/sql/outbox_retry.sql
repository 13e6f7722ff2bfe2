-- The notification $2 was not delivered under the claim $3 by the instance $1: it is tried again after $5 seconds by
-- whoever comes first.
-- $1 uuid, $2 bigint, $3 bigint, $4 text error, $5 float8.
-- One row: it waits. Zero rows: somebody has claimed it since, or it is gone. Sent again it puts it off anew.
-- The later ones of its task wait with it (`behind`): each is put off too, so that a claim does not read all that wait
-- behind one that keeps failing. Nobody can hold them, as they are not the first of their task.
-- Indexes: the primary key, outbox_change.
WITH failed AS (
    UPDATE {schema}.outbox
    SET claimed_by = NULL,
        error = $4,
        due_at = clock_timestamp() + make_interval(secs => $5)
    WHERE id = $2 AND claim_no = $3 AND coalesce(claimed_by, $1) = $1 AND delivered_at IS NULL
    RETURNING id, task_id, version, due_at
), behind AS (
    UPDATE {schema}.outbox AS o
    SET due_at = failed.due_at
    FROM failed
    WHERE o.task_id = failed.task_id AND o.version > failed.version AND o.delivered_at IS NULL
      AND o.due_at < failed.due_at
)
SELECT id FROM failed
