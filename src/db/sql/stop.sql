-- Asks instances to shut down. Each is asked by itself: that one has ended meanwhile spares none of the others.
-- $1 text mode (drain, cancel), in ascending order of id: $2 uuid[] ids, $3 bigint[] the versions that were seen;
-- $4 text operator, $5 text reason, $6 uuid operation id.
-- Returns each instance that exists as it is now; `changed` tells whether this statement asked it. It does not ask
-- one whose version has moved on (somebody else asked), one that has ended or only watches, or one that was asked for
-- the same or more already.
-- Index: the primary key. `cur` locks the rows in ascending id and reads each as its last writer left it.
WITH cur AS MATERIALIZED (
    SELECT i.* FROM {schema}.instances i
    WHERE i.id = ANY ($2::uuid[])
    ORDER BY i.id
    FOR NO KEY UPDATE
), upd AS (
    UPDATE {schema}.instances AS i
    SET stop_version = i.stop_version + 1,
        stop_mode = $1,
        stop_by = $4,
        stop_at = clock_timestamp(),
        stop_reason = $5
    FROM cur
    JOIN unnest($2::uuid[], $3::bigint[]) AS seen(id, version) ON seen.id = cur.id
    WHERE i.id = cur.id
      AND i.stop_version = seen.version
      AND i.state IN ('working', 'draining', 'canceling')
      AND (i.stop_mode IS NULL OR (i.stop_mode = 'drain' AND $1 = 'cancel'))
    RETURNING i.*
), recorded AS (
    INSERT INTO {schema}.events
        (instance, actor, move, status_before, status_after, version_before, version_after, reason, operation_id)
    SELECT id, $4, 'ask-' || $1, state, state, stop_version - 1, stop_version, $5, $6 FROM upd
), now AS (
    SELECT upd.*, true AS changed FROM upd
    UNION ALL
    SELECT cur.*, false FROM cur WHERE cur.id NOT IN (SELECT id FROM upd)
)
SELECT id, host, pid, state, stop_version, stop_mode, stop_by, stop_at, stop_reason, changed,
       lease_until < clock_timestamp() AS lease_past
FROM now
ORDER BY id
