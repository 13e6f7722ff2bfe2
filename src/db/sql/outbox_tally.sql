-- How many notifications are not delivered, counted up to $2; how many of those failed before; how long the oldest has
-- waited; and what the oldest of those that failed said.
-- $1 text tenant or NULL, $2 bigint.
-- Always one row.
-- Index: outbox_undelivered.
WITH waiting AS MATERIALIZED (
    SELECT o.id, o.at, o.error IS NOT NULL AS failing
    FROM {schema}.outbox o
    WHERE o.delivered_at IS NULL AND ($1::text IS NULL OR o.tenant = $1)
    ORDER BY o.id
    LIMIT $2
)
SELECT count(*) AS waiting,
       count(*) FILTER (WHERE failing) AS failing,
       greatest(0, extract(epoch FROM now() - min(at)) * 1000)::bigint AS oldest_ms,
       (SELECT e.error FROM {schema}.outbox e
        WHERE e.id = (SELECT min(f.id) FROM waiting f WHERE f.failing)) AS error
FROM waiting
