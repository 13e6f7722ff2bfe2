-- The server as this session sees it. What the role may not see of other sessions is NULL and counts as nothing.
-- $1 text: the beginning of this program's application_name.
SELECT now() AS read_at,
       current_setting('server_version') AS server_version,
       current_database()::text AS database,
       current_user::text AS role,
       pg_is_in_recovery() AS is_replica,
       current_setting('transaction_read_only')::boolean AS is_read_only,
       current_setting('default_transaction_isolation') AS isolation,
       (SELECT count(*) FROM pg_stat_activity a WHERE a.backend_type = 'client backend') AS connections,
       current_setting('max_connections')::bigint AS max_connections,
       (SELECT count(*) FROM pg_stat_activity a WHERE starts_with(a.application_name, $1)) AS ours,
       coalesce((SELECT s.n_dead_tup FROM pg_stat_all_tables s
                 WHERE s.relid = to_regclass('{schema}.tasks')), 0) AS dead_rows,
       old.pid AS old_pid, old.open_ms, old.role AS old_role, old.application AS old_application,
       old.state AS old_state
FROM (SELECT) one
LEFT JOIN LATERAL (
    SELECT a.pid, (extract(epoch FROM clock_timestamp() - a.xact_start) * 1000)::bigint AS open_ms,
           coalesce(a.usename::text, '') AS role, coalesce(a.application_name, '') AS application,
           coalesce(a.state, '') AS state
    FROM pg_stat_activity a
    WHERE a.xact_start IS NOT NULL AND a.pid <> pg_backend_pid() AND a.backend_type = 'client backend'
    ORDER BY a.xact_start
    LIMIT 1
) old ON true
