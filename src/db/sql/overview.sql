-- The database's clock, the size of `tasks`, and what live instances measured at their last heartbeat.
SELECT now() AS read_at,
       pg_relation_size('{schema}.tasks'::regclass) AS table_bytes,
       coalesce(sum(i.done_per_s) FILTER (WHERE alive), 0) AS done_per_s,
       coalesce(sum(i.failed_per_min) FILTER (WHERE alive), 0) AS failed_per_min,
       count(*) FILTER (WHERE alive) AS alive_instances,
       count(*) FILTER (WHERE i.state = 'lost' AND i.ended_at > now() - interval '1 hour') AS lost_instances
FROM (SELECT i.*, i.state NOT IN ('stopped', 'lost') AND i.lease_until > now() AS alive
      FROM {schema}.instances i) i
