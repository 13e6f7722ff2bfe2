-- What the instance $1 holds: each RUNNING task and the number of its claim. No texts, however many they are.
-- $1 uuid.
-- Zero rows: it holds nothing.
-- Index: tasks_running.
SELECT t.id, t.claim_no
FROM {schema}.tasks t
WHERE t.status = 'RUNNING' AND t.claimed_by = $1
ORDER BY t.id
