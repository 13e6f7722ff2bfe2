-- Every tenant for whom somebody has set a limit, with its use.
-- $1 text: only this tenant, or NULL.
-- Zero rows: nobody ever set one.
-- Index: tasks_running, which is not read where nobody ever set one.
SELECT l.tenant, l.max_running, l.max_approved_per_day, l.version, l.changed_by, l.changed_at, l.reason,
       coalesce(r.rows, 0) AS running,
       CASE WHEN l.approved_on >= (now() AT TIME ZONE 'UTC')::date THEN l.approved ELSE 0 END AS approved_today
FROM {schema}.limits l
LEFT JOIN (
    SELECT t.tenant, count(*) AS rows
    FROM {schema}.tasks t
    WHERE t.status = 'RUNNING' AND EXISTS (SELECT FROM {schema}.limits)
    GROUP BY t.tenant
) r ON r.tenant = l.tenant
WHERE $1::text IS NULL OR l.tenant = $1
ORDER BY l.tenant
