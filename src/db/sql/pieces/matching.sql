-- The tables `far` (up to which id it was looked) and `matched` (what matches there) of `matches.sql` and `preview.sql`:
-- written once, so that a decision is about what the look beforehand has counted.
-- Each branch is bounded before anything else narrows it. The tenant's rows and the texts are fetched one by one (OFFSET 0
-- keeps the one a sub-query, the other is one): as joins all tasks were read where the table is not very large.
looked AS MATERIALIZED (
    SELECT c.* FROM (
        {reach 'SUBMITTED' = ANY ($1::text[]) AND t.status = 'SUBMITTED'}
        UNION ALL
        {reach 'QUEUED' = ANY ($1::text[]) AND t.status = 'QUEUED' AND t.scheduled_at <= t.created_at}
        UNION ALL
        {reach 'QUEUED' = ANY ($1::text[]) AND t.status = 'QUEUED' AND t.scheduled_at > t.created_at}
        UNION ALL
        {reach 'RUNNING' = ANY ($1::text[]) AND t.status = 'RUNNING' AND coalesce(t.cancel_requested = $9, true)}
        UNION ALL
        {reach 'FAILED' = ANY ($1::text[]) AND t.status = 'FAILED'}
        UNION ALL
        {reach 'CANCELED' = ANY ($1::text[]) AND t.status = 'CANCELED'}
        UNION ALL
        {reach 'REJECTED' = ANY ($1::text[]) AND t.status = 'REJECTED'}
        UNION ALL
        {reach 'SUCCEEDED' = ANY ($1::text[])}
    ) c
    ORDER BY c.id
    LIMIT $8
), of_tenant AS MATERIALIZED (
    SELECT x.id FROM {schema}.task_inputs x
    WHERE x.tenant = $2 AND x.id > $6 AND x.id <= $7
    ORDER BY x.id
    LIMIT $8
), far AS MATERIALIZED (
    SELECT s.reaches AS by_state, o.reaches AS by_tenant, greatest(s.reaches, o.reaches) AS reaches,
           CASE WHEN o.reaches > s.reaches THEN o.looked ELSE s.looked END AS looked
    FROM (SELECT count(*) AS looked, CASE WHEN count(*) < $8 THEN $7 ELSE max(id) END AS reaches FROM looked) s
    CROSS JOIN (SELECT count(*) AS looked,
                       CASE WHEN $2::text IS NULL THEN $6 WHEN count(*) < $8 THEN $7 ELSE max(id) END AS reaches
                FROM of_tenant) o
), matched AS (
    SELECT c.id, c.version, c.status
    FROM (
        SELECT l.* FROM far JOIN looked l ON far.by_state >= far.by_tenant
        UNION ALL
        SELECT r.* FROM far JOIN of_tenant o ON far.by_tenant > far.by_state
        CROSS JOIN LATERAL (SELECT {of_each} FROM {schema}.tasks t WHERE t.id = o.id OFFSET 0) r
    ) c
    WHERE c.status = ANY ($1::text[])
      AND (c.status <> 'RUNNING' OR coalesce(c.cancel_requested = $9, true))
      AND ($2::text IS NULL OR c.tenant = $2)
      AND ($3::text IS NULL OR c.queue = $3)
      AND ($5::timestamptz IS NULL OR c.created_at < $5)
      AND ($4::text IS NULL
           OR position(lower($4) IN lower(c.error)) > 0
           OR position(lower($4) IN lower((SELECT x.input FROM {schema}.task_inputs x WHERE x.id = c.id))) > 0)
)
