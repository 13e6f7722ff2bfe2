-- Changes the row $1 as somebody else would: one version more.
-- $1 bigint.
UPDATE {schema}.tasks SET version = version + 1, priority = priority + 1 WHERE id = $1 RETURNING id
