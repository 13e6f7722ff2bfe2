-- Which tasks of the instance $1 were asked to stop.
-- $1 uuid.
-- Index: tasks_running.
SELECT t.id, t.claim_no
FROM {schema}.tasks t
WHERE t.status = 'RUNNING' AND t.claimed_by = $1 AND t.cancel_requested
