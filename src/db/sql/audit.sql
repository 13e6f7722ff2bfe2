-- Events, the newest first.
-- $1 bigint task or NULL, $2 text actor or NULL, $3 timestamptz: not before it, or NULL, $4 bigint: only below this
-- number, or NULL, $5 text tenant or NULL: only its tasks' events, $6 bigint page size.
-- Indexes: events_task, events_actor, events_at, the primary key: the planner sees which of them the values call for.
SELECT v.id, v.at, v.actor, v.session_role, v.move, v.task_id, v.queue, v.instance, v.status_before, v.status_after,
       v.version_before, v.version_after, v.reason, v.operation_id
FROM {schema}.events v
WHERE ($1::bigint IS NULL OR v.task_id = $1)
  AND ($2::text IS NULL OR v.actor = $2)
  AND ($3::timestamptz IS NULL OR v.at >= $3)
  AND ($4::bigint IS NULL OR v.id < $4)
  AND ($5::text IS NULL OR EXISTS (SELECT FROM {schema}.tasks t WHERE t.id = v.task_id AND t.tenant = $5))
ORDER BY v.id DESC
LIMIT $6
