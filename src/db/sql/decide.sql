-- One operator's decision about one or several rows, all or none.
-- $1 text verb (cancel, approve, reject, requeue), in ascending order of id: $2 bigint[] ids, $3 bigint[] the
-- versions that were seen; $4 text tenant or NULL, $5 text operator, $6 text reason, $7 uuid operation id,
-- $8 how many characters of each text to return, $9 boolean: nobody may approve what they submitted themselves.
-- Returns each row that exists (for this tenant): `changed` tells whether this statement changed it, `may`
-- whether it could have been changed had the others allowed it; the other columns are the row as it is now.
-- `refused` tells that it was submitted by $5, who may therefore neither approve it nor, while nobody else has let it
-- run, bring it back with a requeue after it was rejected or canceled.
-- Each row that it changed and whose task is to be told of gets its notification in the same statement.
-- A row that is missing does not exist or is another tenant's.
-- Indexes: the primary keys, and events_task for a requeue under that rule. `cur` locks the rows in ascending id, so that two decisions about the same rows
-- cannot deadlock, and reads each as its last writer left it: the loser is told the present, not its snapshot.
WITH cur AS MATERIALIZED (
    SELECT t.*
    FROM {schema}.tasks t
    WHERE t.id = ANY ($2::bigint[]) AND ($4::text IS NULL OR t.tenant = $4)
    ORDER BY t.id
    FOR NO KEY UPDATE
), judged AS MATERIALIZED (
    SELECT cur.id, cur.status, cur.version,
           CASE WHEN cur.version = seen.version AND NOT own.own THEN may.target END AS target,
           cur.version = seen.version AND own.own AND may.target IS NOT NULL AS refused
    FROM cur
    JOIN unnest($2::bigint[], $3::bigint[]) AS seen(id, version) ON seen.id = cur.id
    CROSS JOIN LATERAL (
        SELECT CASE WHEN $1 = 'cancel' AND cur.status IN ('SUBMITTED', 'QUEUED') THEN 'CANCELED'
                    WHEN $1 = 'cancel' AND cur.status = 'RUNNING' AND NOT cur.cancel_requested THEN 'RUNNING'
                    WHEN $1 = 'approve' AND cur.status = 'SUBMITTED' THEN 'QUEUED'
                    WHEN $1 = 'reject' AND cur.status = 'SUBMITTED' THEN 'REJECTED'
                    WHEN $1 = 'requeue' AND cur.status IN ('FAILED', 'CANCELED', 'REJECTED') THEN 'QUEUED'
               END AS target
    ) may
    CROSS JOIN LATERAL (
        SELECT $1 IN ('approve', 'requeue')
           AND EXISTS (SELECT FROM {schema}.task_inputs x
                       WHERE x.id = cur.id AND (x.four_eyes OR $9) AND x.submitted_by = $5)
           AND ($1 = 'approve'
                OR (EXISTS (SELECT FROM {schema}.events v
                            WHERE v.task_id = cur.id AND v.status_before = 'SUBMITTED')
                    AND NOT EXISTS (SELECT FROM {schema}.events v
                                    WHERE v.task_id = cur.id AND v.move IN ('approve', 'requeue')
                                      AND v.actor <> $5))) AS own
    ) own
), upd AS (
    UPDATE {schema}.tasks AS t
    SET status = judged.target,
        version = t.version + 1,
        cancel_requested = (judged.target = 'RUNNING'),
        attempt = CASE WHEN $1 = 'requeue' THEN 0 ELSE t.attempt END,
        claimed_by = CASE WHEN $1 = 'requeue' THEN NULL ELSE t.claimed_by END,
        error = CASE WHEN $1 = 'requeue' THEN NULL ELSE t.error END,
        scheduled_at = CASE WHEN $1 = 'requeue' THEN now() ELSE t.scheduled_at END,
        finished_at = CASE WHEN judged.target IN ('CANCELED', 'REJECTED') THEN now() END
    FROM judged
    WHERE t.id = judged.id
      AND t.version = judged.version
      AND t.status = judged.status
      AND judged.target IS NOT NULL
      AND (SELECT count(target) FROM judged) = cardinality($2::bigint[])
    RETURNING t.*
), recorded AS (
    INSERT INTO {schema}.events
        (task_id, actor, move, status_before, status_after, version_before, version_after, reason,
         operation_id)
    SELECT upd.id, $5, CASE WHEN upd.status = 'RUNNING' THEN 'request-cancel' ELSE $1 END,
           judged.status, upd.status, judged.version, upd.version, $6, $7
    FROM upd JOIN judged ON judged.id = upd.id
), told AS (
    INSERT INTO {schema}.outbox
        (task_id, version, tenant, queue, move, status_before, status_after, actor, reason)
    SELECT upd.id, upd.version, upd.tenant, upd.queue,
           CASE WHEN upd.status = 'RUNNING' THEN 'request-cancel' ELSE $1 END, judged.status, upd.status, $5, $6
    FROM upd JOIN judged ON judged.id = upd.id
    WHERE upd.notify
), t AS (
    SELECT upd.*, true AS changed FROM upd
    UNION ALL
    SELECT cur.*, false FROM cur WHERE NOT EXISTS (SELECT FROM upd)
)
SELECT {columns}, t.changed, judged.target IS NOT NULL AS may, judged.refused
FROM t
JOIN judged ON judged.id = t.id
{text_and_worker $8}
ORDER BY t.id
