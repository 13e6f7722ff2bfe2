-- Forgets up to $1 notifications that were delivered more than a day ago; what is not delivered stays.
-- $1 bigint.
-- Returns one row for each.
-- Index: outbox_delivered.
WITH old AS MATERIALIZED (
    SELECT o.id FROM {schema}.outbox o
    WHERE o.delivered_at < now() - interval '1 day'
    ORDER BY o.delivered_at
    LIMIT $1
    FOR UPDATE SKIP LOCKED
)
DELETE FROM {schema}.outbox o USING old WHERE o.id = old.id
RETURNING o.id
