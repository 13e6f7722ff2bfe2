-- Begins an instance with a lease of $10 seconds.
-- $1 uuid, $2 text host, $3 integer pid, $4 text version, $5 text kind, $6 text operator, $7 text[] queues,
-- $8 integer slots, $9 text state, $10 float8.
-- Sending it again does nothing: the id is new at each start, so a row that is there is this one's.
INSERT INTO {schema}.instances
    (id, host, pid, version, kind, operator, queues, slots, state, lease_until)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, clock_timestamp() + make_interval(secs => $10))
ON CONFLICT (id) DO NOTHING
