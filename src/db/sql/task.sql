-- One task with its whole text.
-- $1 bigint, $2 text tenant or NULL, $3 how many characters of the text to return.
-- Zero rows: no such task (for this tenant).
-- Index: the primary key.
SELECT {columns}
FROM {schema}.tasks t
{text_and_worker $3}
WHERE t.id = $1 AND ($2::text IS NULL OR t.tenant = $2)
