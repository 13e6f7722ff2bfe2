-- Sessions that wait for a lock, longest first, each with the first session that it waits for; at most 20.
SELECT a.pid, coalesce(a.application_name, '') AS application,
       greatest(0, extract(epoch FROM clock_timestamp() - a.query_start) * 1000)::bigint AS waiting_ms,
       b.pid AS blocked_by, coalesce(b.application_name, '') AS blocker_application,
       coalesce(a.wait_event, '') AS lock
FROM pg_stat_activity a
CROSS JOIN LATERAL (SELECT (pg_blocking_pids(a.pid))[1] AS pid) blocker
JOIN pg_stat_activity b ON b.pid = blocker.pid
WHERE a.wait_event_type = 'Lock' AND a.datname = current_database()
ORDER BY a.query_start
LIMIT 20
