-- The tasks that the instance $1 holds, as a claim would have returned them: after a claim whose answer was
-- lost this tells what it won.
-- $1 uuid, $2 bigint[] tasks to leave out: what is known need not be read, texts and all.
-- Index: tasks_running.
SELECT t.id, t.tenant, t.claim_no, t.attempt, t.max_attempts, x.input
FROM {schema}.tasks t
LEFT JOIN {schema}.task_inputs x ON x.id = t.id
WHERE t.status = 'RUNNING' AND t.claimed_by = $1 AND t.id <> ALL ($2::bigint[])
ORDER BY t.priority DESC, t.id
