-- The newest $2 events of the task $1, newest first.
-- $1 bigint, $2 bigint.
-- Index: events_task.
SELECT v.at, v.actor, v.process, v.move, v.status_before, v.status_after, v.version_before, v.version_after, v.reason,
       v.operation_id
FROM {schema}.events v
WHERE v.task_id = $1
ORDER BY v.id DESC
LIMIT $2
