-- Finds tasks by their submission ids.
-- $1 uuid[] submission ids, $2 how many characters of each text to return.
-- Zero rows: no such submit has been committed.
-- Index: task_inputs_submission.
SELECT {columns}, s.submission
FROM {schema}.task_inputs s
JOIN {schema}.tasks t ON t.id = s.id
{text_and_worker $2}
WHERE s.submission = ANY ($1::uuid[])
