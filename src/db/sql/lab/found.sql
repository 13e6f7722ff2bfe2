-- What is said of the schema $1.
-- $1 text.
-- Zero rows: there is no such schema.
SELECT coalesce(obj_description(n.oid, 'pg_namespace'), '') AS mark
FROM pg_namespace n
WHERE n.nspname = $1
