-- Who has the lock of `guard.sql`.
-- $1 text schema.
-- Zero rows: nobody has it any more.
SELECT l.pid, coalesce(a.application_name, '') AS application
FROM pg_locks l
LEFT JOIN pg_stat_activity a ON a.pid = l.pid
WHERE l.locktype = 'advisory' AND l.granted AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
  AND (l.classid::bigint << 32) | l.objid::bigint = hashtextextended('taskdeck lab ' || $1, 0)
