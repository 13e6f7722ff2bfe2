-- Locks the rows $1 in ascending id until the transaction ends.
-- $1 bigint[].
-- Returns the ids of those that are there. Index: the primary key.
SELECT t.id
FROM {schema}.tasks t
WHERE t.id = ANY ($1::bigint[])
ORDER BY t.id
FOR UPDATE
