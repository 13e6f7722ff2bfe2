-- Writes a result into the RUNNING row $1, in a transaction that is going to fail.
-- $1 bigint.
UPDATE {schema}.tasks
SET status = 'SUCCEEDED', version = version + 1, words = 99, bytes = 99, runes = 99, finished_at = now()
WHERE id = $1 AND status = 'RUNNING'
RETURNING id
