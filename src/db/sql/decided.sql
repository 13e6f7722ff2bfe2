-- What the operation $1 has changed: after a decision whose answer was lost this tells whether it took effect.
-- $1 uuid, $2 how many characters of each text to return.
-- Zero rows: it has changed nothing.
-- Index: events_operation.
SELECT {columns}, v.version_before
FROM {schema}.events v
JOIN {schema}.tasks t ON t.id = v.task_id
{text_and_worker $2}
WHERE v.operation_id = $1
ORDER BY t.id
