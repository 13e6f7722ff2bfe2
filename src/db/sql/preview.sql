-- How many of the next tasks match, by state: counts what `matches.sql` would return.
-- $1 to $9 as there.
-- Always at least one row. `reaches` tells up to which id everything was looked at, `looked` how many rows that were;
-- `status` is NULL where nothing matches.
-- Indexes: as there.
WITH {matching}
SELECT far.reaches, far.looked, m.status, count(m.status) AS rows
FROM far
LEFT JOIN matched m ON true
GROUP BY far.reaches, far.looked, m.status
