-- The rows $1 as a third connection sees them.
-- $1 bigint[].
-- Index: the primary key, events_task.
SELECT t.id, t.status, t.version, t.claim_no, t.claimed_by, t.cancel_requested, t.words,
       (SELECT count(*) FROM {schema}.events e WHERE e.task_id = t.id) AS events
FROM {schema}.tasks t
WHERE t.id = ANY ($1::bigint[])
ORDER BY t.id
