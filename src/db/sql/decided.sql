-- What the operation $1 has changed: after a decision whose answer was lost this tells whether it took effect.
-- $1 uuid, $2 how many characters of each text to return, $3 bigint[] the rows of the decision, $4 text its
-- verb, $5 text its tenant or NULL.
-- One row for each of $3 that it changed. Fewer than were asked about: it has changed nothing, or another
-- decision bears the same id, whose rows are none of this one's business.
-- Index: events_operation.
SELECT {columns}, v.version_before, v.status_after
FROM {schema}.events v
JOIN {schema}.tasks t ON t.id = v.task_id
{text_and_worker $2}
WHERE v.operation_id = $1
  AND v.task_id = ANY ($3::bigint[])
  AND (v.move = $4 OR (v.move = 'request-cancel' AND $4 = 'cancel'))
  AND ($5::text IS NULL OR t.tenant = $5)
ORDER BY t.id
