-- Declares every instance lost whose lease has passed by the database's clock.
-- Returns those that this statement declared. A heartbeat that renews one at the same moment wins or loses by
-- the row's lock: the condition is read again after it.
-- `cur` locks the rows in ascending id, as `stop.sql` does: in any other order the two could wait in a circle.
WITH cur AS MATERIALIZED (
    SELECT i.id FROM {schema}.instances i
    WHERE i.state NOT IN ('stopped', 'lost') AND i.lease_until < clock_timestamp()
    ORDER BY i.id
    FOR NO KEY UPDATE
)
UPDATE {schema}.instances AS i
SET state = 'lost', ended_at = clock_timestamp(), done_per_s = 0, failed_per_min = 0, claims_per_s = 0
FROM cur
WHERE i.id = cur.id AND i.state NOT IN ('stopped', 'lost') AND i.lease_until < clock_timestamp()
RETURNING i.id, i.host, i.pid
