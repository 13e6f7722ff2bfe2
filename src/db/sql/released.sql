-- Which of these releases have taken effect: after one that found its claim ended this tells whether it was this same
-- release, sent before, that ended it.
-- $1 bigint[] ids, $2 uuid[] operation ids.
-- An id that is missing: that release has changed nothing. A statement of its own, since the one that waited for a row's
-- lock reads events by a snapshot from before the wait.
-- Index: events_operation.
SELECT v.task_id AS id
FROM unnest($1::bigint[], $2::uuid[]) AS f(id, operation_id)
JOIN {schema}.events v ON v.operation_id = f.operation_id AND v.task_id = f.id
