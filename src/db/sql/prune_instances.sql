-- Forgets instances that ended more than seven days ago and own no task: at most 100 at a time.
-- Until then a list can still say which host ran a task.
DELETE FROM {schema}.instances i
WHERE i.id IN (SELECT d.id FROM {schema}.instances d
               WHERE d.ended_at < now() - interval '7 days'
                 AND NOT EXISTS (SELECT FROM {schema}.tasks t WHERE t.status = 'RUNNING' AND t.claimed_by = d.id)
               LIMIT 100)
