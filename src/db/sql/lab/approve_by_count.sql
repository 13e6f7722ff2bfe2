-- BROKEN ON PURPOSE, for the lab alone: an approval that counts for itself whether the limit allows it.
-- $1 bigint id, $2 bigint version, $3 text tenant, $4 bigint limit.
-- Zero rows: the row has moved on, or the limit is reached as this statement's snapshot has it. Who waits for the row's
-- lock has counted before; what others approve meanwhile changes other rows, so that nothing makes it count again.
UPDATE {schema}.tasks AS t
SET status = 'QUEUED', version = t.version + 1
WHERE t.id = $1 AND t.version = $2 AND t.status = 'SUBMITTED'
  AND (SELECT count(*) FROM {schema}.tasks o WHERE o.tenant = $3 AND o.status = 'QUEUED') < $4
RETURNING t.id
