-- Ends the instance $1 in good order, if nothing of it is RUNNING any more.
-- $1 uuid, $2 bigint done, $3 bigint failed.
-- Zero rows: it still holds tasks (they stay RUNNING until its lease passes) or was declared lost.
UPDATE {schema}.instances
SET state = 'stopped', ended_at = clock_timestamp(), heartbeat_at = clock_timestamp(), lease_until = clock_timestamp(),
    done_total = $2, failed_total = $3, done_per_s = 0, failed_per_min = 0, claims_per_s = 0
WHERE id = $1 AND state NOT IN ('stopped', 'lost')
  AND NOT EXISTS (SELECT FROM {schema}.tasks t WHERE t.status = 'RUNNING' AND t.claimed_by = $1)
RETURNING id
