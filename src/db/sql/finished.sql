-- The state that the operation $1 left the task $2 in: after a finish that found its claim ended this tells whether
-- it was this same finish, sent before, that ended it.
-- $1 uuid, $2 bigint.
-- Zero rows: it has changed nothing. A statement of its own, since the one that waited for the row's lock reads
-- events by a snapshot from before the wait.
-- Index: events_operation.
SELECT v.status_after
FROM {schema}.events v
WHERE v.operation_id = $1 AND v.task_id = $2
