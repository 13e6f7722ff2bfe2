-- Which instances the operation $1 has asked to stop: after a request whose answer was lost this tells whether it took
-- effect.
-- $1 uuid, $2 uuid[] the instances.
-- Zero rows: it has asked none of them.
-- Index: events_operation_instance.
SELECT v.instance
FROM {schema}.events v
WHERE v.operation_id = $1 AND v.task_id IS NULL AND v.instance = ANY ($2::uuid[])
