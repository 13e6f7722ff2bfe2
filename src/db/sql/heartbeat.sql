-- Renews the lease of the instance $1 by $2 seconds and publishes what it measured.
-- $1 uuid, $2 float8, $3 text state, $4 bigint done, $5 bigint failed, $6 float8 done/s,
-- $7 float8 failures/min, $8 float8 claims/s.
-- Returns whether it was asked to stop: that is how it learns it.
-- Zero rows: it was declared lost; it must stop its analysers and start over under a new id. The lock of this
-- one row decides between a late heartbeat and `declare_lost.sql`.
UPDATE {schema}.instances
SET heartbeat_at = clock_timestamp(),
    lease_until = clock_timestamp() + make_interval(secs => $2),
    state = $3,
    done_total = $4,
    failed_total = $5,
    done_per_s = $6,
    failed_per_min = $7,
    claims_per_s = $8
WHERE id = $1 AND state NOT IN ('stopped', 'lost')
RETURNING stop_mode, stop_by, stop_at, stop_reason
