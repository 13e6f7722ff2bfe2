-- Instances that live, and those that ended within the last hour, with what they have in flight.
-- With a tenant ($1) only its own tasks are named, and those of others are counted.
-- Returns one row a task in flight (at most 100 an instance), or one with a NULL task.
-- Of the tasks that were taken back from one, the latest 20 are named with the state that they were left in.
-- Indexes: tasks_running, events_recovered.
SELECT i.id, i.host, i.pid, i.version, i.kind, i.operator, i.queues, i.slots, i.state, i.started_at,
       i.heartbeat_at, extract(epoch FROM i.lease_until - now())::float8 AS lease_left_s,
       i.done_total, i.failed_total, i.done_per_s, i.failed_per_min, i.claims_per_s, i.recovered,
       i.stop_version, i.stop_mode, i.stop_by, i.stop_at, i.stop_reason, r.ids AS recovered_ids, r.states AS recovered_states,
       (SELECT count(*) FROM {schema}.tasks t WHERE t.status = 'RUNNING' AND t.claimed_by = i.id) AS running,
       (SELECT count(*) FROM {schema}.tasks t
        WHERE t.status = 'RUNNING' AND t.claimed_by = i.id AND t.tenant <> $1::text) AS of_other_tenants,
       f.id AS task_id, f.claim_no, f.cancel_requested, f.status
FROM {schema}.instances i
LEFT JOIN LATERAL (
    SELECT t.id, t.claim_no, t.cancel_requested, t.status FROM {schema}.tasks t
    WHERE t.status = 'RUNNING' AND t.claimed_by = i.id AND ($1::text IS NULL OR t.tenant = $1)
    ORDER BY t.id LIMIT 100
) f ON true
LEFT JOIN LATERAL (
    SELECT array_agg(v.task_id ORDER BY v.id DESC) AS ids, array_agg(v.status_after ORDER BY v.id DESC) AS states
    FROM (SELECT e.id, e.task_id, e.status_after FROM {schema}.events e
          JOIN {schema}.tasks t ON t.id = e.task_id AND ($1::text IS NULL OR t.tenant = $1)
          WHERE e.move = 'recover' AND e.instance = i.id
          ORDER BY e.id DESC LIMIT 20) v
) r ON i.recovered > 0
WHERE i.ended_at IS NULL OR i.ended_at > now() - interval '1 hour'
ORDER BY i.started_at, i.id, f.id
