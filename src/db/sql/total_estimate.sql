-- The planner's estimate of all tasks (of the tenant $1): nothing is read but statistics and the table's size.
-- $1 text or NULL.
-- Of the texts, since a text is never rewritten: `tasks` grows with every claim and finish until it is vacuumed, and
-- its statistics of states are stale whenever many tasks have just run.
EXPLAIN (FORMAT JSON)
SELECT FROM {schema}.task_inputs x WHERE $1::text IS NULL OR x.tenant = $1
