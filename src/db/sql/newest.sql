-- The newest task's id, NULL where there is none, and the database's clock.
-- Index: the primary key.
SELECT now() AS read_at, (SELECT max(t.id) FROM {schema}.tasks t) AS newest
