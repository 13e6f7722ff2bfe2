-- The sessions of this run, by what they call themselves.
-- $1 text: the beginning of their application_name.
SELECT a.pid, coalesce(a.application_name, '') AS application
FROM pg_stat_activity a
WHERE a.datname = current_database() AND starts_with(a.application_name, $1)
