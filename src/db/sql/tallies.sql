-- Rows per state, exactly, of the whole table or of the tenant $1. Only for a small table (`table_bytes` of `overview.sql`).
-- $1 text tenant or NULL.
SELECT t.status, count(*) AS rows
FROM {schema}.tasks t
WHERE $1::text IS NULL OR t.tenant = $1
GROUP BY t.status
