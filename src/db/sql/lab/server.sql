-- The server as the experiments find it.
-- $1 text schema.
-- `isolation_set` is what is set for this role or database, which a session's own start overrides.
SELECT current_setting('server_version') AS server_version,
       current_setting('transaction_isolation') AS isolation,
       (SELECT substring(s.setting FROM '=(.*)$')
        FROM pg_db_role_setting d
        CROSS JOIN LATERAL unnest(d.setconfig) AS s(setting)
        WHERE s.setting LIKE 'default_transaction_isolation=%'
          AND d.setdatabase IN (0, (SELECT oid FROM pg_database WHERE datname = current_database()))
          AND d.setrole IN (0, (SELECT oid FROM pg_roles WHERE rolname = session_user))
        ORDER BY d.setdatabase <> 0 AND d.setrole <> 0 DESC, d.setrole <> 0 DESC, d.setdatabase <> 0 DESC
        LIMIT 1) AS isolation_set,
       current_user::text AS role,
       pg_is_in_recovery() AS recovery,
       current_setting('transaction_read_only')::boolean AS read_only,
       has_database_privilege(current_database(), 'CREATE') AS may_create,
       (SELECT s.setting::bigint FROM pg_settings s WHERE s.name = 'deadlock_timeout') AS deadlock_timeout_ms
