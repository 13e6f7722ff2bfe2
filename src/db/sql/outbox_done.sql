-- The notification $2 was delivered under the claim $3 by the instance $1.
-- $1 uuid, $2 bigint, $3 bigint.
-- One row: it is delivered, by this statement or by the same one sent before. Zero rows: somebody else has claimed it
-- since, or it is gone.
-- Index: the primary key.
UPDATE {schema}.outbox
SET delivered_at = coalesce(delivered_at, clock_timestamp()),
    error = NULL
WHERE id = $2 AND claimed_by = $1 AND claim_no = $3
RETURNING id
