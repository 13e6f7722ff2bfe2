-- The sessions of this run that wait for a lock, and for whom.
-- $1 text: the beginning of their application_name, $2 integer[] processes that are the run's too.
-- Always at least one row, with the database's clock; `pid` is NULL where nobody waits.
-- Each look asks the lock manager who blocks whom, for the few sessions of the lab alone.
SELECT c.at, w.pid, w.application, w.lock, w.since, w.blocked_by
FROM (SELECT clock_timestamp() AS at) c
LEFT JOIN LATERAL (
    SELECT a.pid, coalesce(a.application_name, '') AS application, coalesce(a.wait_event, '') AS lock,
           (SELECT min(l.waitstart) FROM pg_locks l WHERE l.pid = a.pid AND NOT l.granted) AS since,
           pg_blocking_pids(a.pid) AS blocked_by
    FROM pg_stat_activity a
    WHERE a.wait_event_type = 'Lock' AND a.datname = current_database()
      AND (starts_with(a.application_name, $1) OR a.pid = ANY ($2::integer[]))
) w ON true
