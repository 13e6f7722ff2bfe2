-- An approval within a limit: the row of the tenant in `limits`, which every approval must update, carries the sum.
-- $1 bigint id, $2 bigint version, $3 text tenant.
-- Zero rows: the row has moved on, or the limit is reached.
-- `cur` locks the task first, so that the limit is not spent on one that has moved on; who then waits for the limit's row
-- reads it again as its last writer left it.
WITH cur AS MATERIALIZED (
    SELECT t.id FROM {schema}.tasks t
    WHERE t.id = $1 AND t.version = $2 AND t.status = 'SUBMITTED'
    FOR NO KEY UPDATE
), spent AS (
    UPDATE {schema}.limits AS l
    SET approved = l.approved + 1
    FROM cur
    WHERE l.tenant = $3 AND l.approved < l.max_approved_per_day
    RETURNING l.tenant
)
UPDATE {schema}.tasks AS t
SET status = 'QUEUED', version = t.version + 1
FROM cur
WHERE t.id = cur.id AND EXISTS (SELECT FROM spent)
RETURNING t.id
