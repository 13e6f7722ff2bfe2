-- The tasks that the submission $1 made.
-- $1 uuid.
SELECT x.id FROM {schema}.task_inputs x WHERE x.submission = $1 ORDER BY x.id
