-- Gives the row $1 a value that the server takes and this program cannot read.
-- $1 bigint.
UPDATE {schema}.tasks SET scheduled_at = 'infinity' WHERE id = $1 RETURNING id
