-- A page of tasks, newest first, by key.
-- $1 text[] states or NULL, $2 text tenant or NULL, $3 text queue or NULL, $4 text searched for or NULL,
-- $5 bigint: only ids below it, or NULL, $6 bigint page size, $7 bigint: how many rows a search looks at,
-- $8 how many characters of each text to return.
-- Always at least one row. `scanned_rows` and `scanned_to` say how far it looked, so that a search that found
-- little can go on from there; `id` is NULL where the page is empty.
-- Indexes: the primary key, task_inputs_tenant, tasks_held, tasks_ended_otherwise, tasks_running: the planner
-- sees the values, because the statement is not a named one.
WITH scanned AS MATERIALIZED (
    SELECT t.id
    FROM {schema}.tasks t
    LEFT JOIN {schema}.task_inputs x ON x.id = t.id
    WHERE ($1::text[] IS NULL OR t.status = ANY ($1))
      AND ($2::text IS NULL OR x.tenant = $2)
      AND ($3::text IS NULL OR t.queue = $3)
      AND ($5::bigint IS NULL OR t.id < $5)
    ORDER BY t.id DESC
    LIMIT CASE WHEN $4::text IS NULL THEN $6::bigint ELSE $7::bigint END
), page AS (
    SELECT s.id
    FROM scanned s
    LEFT JOIN {schema}.task_inputs x ON x.id = s.id
    WHERE $4::text IS NULL OR position(lower($4) IN lower(x.input)) > 0
    ORDER BY s.id DESC
    LIMIT $6
)
SELECT now() AS read_at, looked.scanned_rows, looked.scanned_to, {columns}
FROM (SELECT count(*) AS scanned_rows, min(id) AS scanned_to FROM scanned) looked
LEFT JOIN (SELECT t.* FROM page JOIN {schema}.tasks t ON t.id = page.id) t ON true
{text_and_worker $8}
ORDER BY t.id DESC
