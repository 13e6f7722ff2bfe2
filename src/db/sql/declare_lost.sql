-- Declares every instance lost whose lease has passed by the database's clock.
-- Returns those that this statement declared. A heartbeat that renews one at the same moment wins or loses by
-- the row's lock: the condition is read again after it.
UPDATE {schema}.instances
SET state = 'lost', ended_at = clock_timestamp(), done_per_s = 0, failed_per_min = 0, claims_per_s = 0
WHERE state NOT IN ('stopped', 'lost') AND lease_until < clock_timestamp()
RETURNING id, host, pid
