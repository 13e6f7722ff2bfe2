-- The queue $1 as it is, and whether the operation $2 has changed it: after a decision whose answer was lost this tells
-- whether it took effect.
-- $1 text, $2 uuid.
-- Always one row; the other columns are NULL where nobody ever paused it.
-- Indexes: the primary key, events_operation_queue.
SELECT n.name, q.paused, q.version, q.changed_by, q.changed_at, q.reason,
       EXISTS (SELECT FROM {schema}.events v WHERE v.operation_id = $2 AND v.queue = n.name) AS own
FROM (SELECT $1::text AS name) n
LEFT JOIN {schema}.queues q ON q.name = n.name
