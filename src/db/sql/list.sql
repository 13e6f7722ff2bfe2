-- A page of tasks, newest first, by key.
-- $1 text[] states or NULL, $2 text tenant or NULL, $3 text queue or NULL, $4 text searched for in text and error or
-- NULL, $5 bigint: only ids below it, or NULL, $6 bigint page size, $7 bigint: how many rows a search or a queue's list
-- looks at, $8 how many characters of each text to return.
-- Always at least one row. `scanned_rows` and `scanned_to` say how far it looked, so that a list that found
-- little can go on from there; `id` is NULL where the page is empty.
-- Indexes: each state is walked on its own, by the key or by the index whose predicate stands in its branch; a
-- branch whose state is not asked for costs nothing, because the planner sees the values. One branch for several
-- states (`status = ANY`) was a sequential scan.
WITH scanned AS MATERIALIZED (
    SELECT c.id, c.queue, c.error FROM (
        {walk $1::text[] IS NULL}
        UNION ALL
        {walk 'SUBMITTED' = ANY ($1) AND t.status = 'SUBMITTED'}
        UNION ALL
        {walk 'QUEUED' = ANY ($1) AND t.status = 'QUEUED' AND t.scheduled_at <= t.created_at}
        UNION ALL
        {walk 'QUEUED' = ANY ($1) AND t.status = 'QUEUED' AND t.scheduled_at > t.created_at}
        UNION ALL
        {walk 'RUNNING' = ANY ($1) AND t.status = 'RUNNING'}
        UNION ALL
        {walk 'SUCCEEDED' = ANY ($1) AND t.status = 'SUCCEEDED'}
        UNION ALL
        {walk 'FAILED' = ANY ($1) AND t.status = 'FAILED'}
        UNION ALL
        {walk 'CANCELED' = ANY ($1) AND t.status = 'CANCELED'}
        UNION ALL
        {walk 'REJECTED' = ANY ($1) AND t.status = 'REJECTED'}
    ) c
    ORDER BY c.id DESC
    LIMIT CASE WHEN $4::text IS NULL AND $3::text IS NULL THEN $6::bigint ELSE $7::bigint END
), page AS (
    SELECT s.id
    FROM scanned s
    LEFT JOIN {schema}.task_inputs x ON x.id = s.id
    WHERE ($3::text IS NULL OR s.queue = $3)
      AND ($4::text IS NULL OR position(lower($4) IN lower(x.input)) > 0
           OR position(lower($4) IN lower(s.error)) > 0)
    ORDER BY s.id DESC
    LIMIT $6
)
SELECT now() AS read_at, looked.scanned_rows, looked.scanned_to, {columns}
FROM (SELECT count(*) AS scanned_rows, min(id) AS scanned_to FROM scanned) looked
LEFT JOIN (SELECT t.* FROM page JOIN {schema}.tasks t ON t.id = page.id) t ON true
{text_and_worker $8}
ORDER BY t.id DESC
