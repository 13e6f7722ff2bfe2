-- Finds the tasks of one tenant by their submission ids.
-- $1 uuid[] submission ids, $2 how many characters of each text to return, $3 text the tenant of the submit.
-- An id that is missing: no such submit of this tenant has been committed. After `submit.sql` found that the id is
-- there, it is taken: by another tenant's task, which is neither shown nor taken for this submit's own.
-- Why not one id a tenant: the id names the submit, whatever else it says. A submit that is sent again for another
-- tenant, as the tenant was changed after its answer was lost, must meet the row that it perhaps made before.
-- Index: task_inputs_submission.
SELECT {columns}, s.submission
FROM {schema}.task_inputs s
JOIN {schema}.tasks t ON t.id = s.id
{text_and_worker $2}
WHERE s.submission = ANY ($1::uuid[]) AND s.tenant = $3
