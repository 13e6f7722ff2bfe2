-- Sessions that wait for a lock, longest first, each with the first session that it waits for; at most 20.
-- Who blocks whom is only asked for those 20: asking takes the lock manager's own locks.
SELECT a.pid, a.application, a.waiting_ms, b.pid AS blocked_by,
       coalesce(b.application_name, '') AS blocker_application, a.lock
FROM (
    SELECT a.pid, coalesce(a.application_name, '') AS application, coalesce(a.wait_event, '') AS lock,
           greatest(0, extract(epoch FROM clock_timestamp() - l.since) * 1000)::bigint AS waiting_ms
    FROM pg_stat_activity a
    CROSS JOIN LATERAL (SELECT coalesce(min(w.waitstart), a.query_start) AS since
                        FROM pg_locks w WHERE w.pid = a.pid AND NOT w.granted) l
    WHERE a.wait_event_type = 'Lock' AND a.datname = current_database()
    ORDER BY l.since
    LIMIT 20
) a
CROSS JOIN LATERAL (SELECT (pg_blocking_pids(a.pid))[1] AS pid) blocker
JOIN pg_stat_activity b ON b.pid = blocker.pid
ORDER BY a.waiting_ms DESC
