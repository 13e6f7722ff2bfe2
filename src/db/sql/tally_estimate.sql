-- The planner's estimate of the rows in the state $1 (of the tenant $2): nothing is read but statistics.
-- $1 text, $2 text or NULL.
EXPLAIN (FORMAT JSON)
SELECT FROM {schema}.tasks t WHERE t.status = $1 AND ($2::text IS NULL OR t.tenant = $2)
