-- $1 rows, which the reader leaves unread after the first.
-- $1 bigint.
SELECT n, repeat('x', 1000) AS filler FROM generate_series(1, $1::bigint) AS n
