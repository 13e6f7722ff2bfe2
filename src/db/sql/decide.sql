-- One operator's decision about one or several rows, all or none.
-- $1 text verb (cancel, approve, reject, requeue), in ascending order of id: $2 bigint[] ids, $3 bigint[] the
-- versions that were seen; $4 text tenant or NULL, $5 text operator, $6 text reason, $7 uuid operation id,
-- $8 how many characters of each text to return, $9 boolean: nobody may approve what they submitted themselves.
-- Returns each row that exists (for this tenant): `changed` tells whether this statement changed it, `may`
-- whether it could have been changed had the others allowed it; the other columns are the row as it is now.
-- `refused` tells that it was submitted by $5, who may therefore neither approve it nor, while nobody else has let it
-- run, bring it back with a requeue after it was rejected or canceled.
-- `most_a_day` is not NULL where its tenant's approvals of today, `used_today`, leave no room for the `asked_now` of this
-- decision; then nothing of any tenant is changed or counted. What counts is what lets a held task run: an approval, and a
-- requeue of what was held and that nobody ever let run. Days are those of UTC by the database's clock, and never go back.
-- Whether it was held is read by the snapshot: in the events, or where the reject or cancel that this waited for was not
-- committed yet, in the row as it was then.
-- Each row that it changed and whose task is to be told of gets its notification in the same statement.
-- A row that is missing does not exist or is another tenant's.
-- Indexes: the primary keys, and events_task for a requeue under either rule. `cur` locks the rows in ascending id, so that two decisions about the same rows
-- cannot deadlock, and reads each as its last writer left it: the loser is told the present, not its snapshot.
-- `limited` does the same with the tenants' rows, in the order of their names and after all tasks (its array is complete
-- before the first is locked); `counted` carries the condition and the tasks are changed only if it changed every one of
-- them. A sum over the events in a sub-query would not be looked at again after a wait for a row: two last approvals at
-- once would both be made.
WITH cur AS MATERIALIZED (
    SELECT t.*
    FROM {schema}.tasks t
    WHERE t.id = ANY ($2::bigint[]) AND ($4::text IS NULL OR t.tenant = $4)
    ORDER BY t.id
    FOR NO KEY UPDATE
), judged AS MATERIALIZED (
    SELECT cur.id, cur.tenant, cur.status, cur.version,
           CASE WHEN cur.version = seen.version AND NOT own.own THEN may.target END AS target,
           cur.version = seen.version AND own.own AND may.target IS NOT NULL AS refused,
           $1 = 'approve' OR ($1 = 'requeue' AND past.was_held AND NOT past.ran) AS lets_run
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
                       WHERE x.id = cur.id AND (x.four_eyes OR $9) AND x.submitted_by = $5) AS theirs
    ) submitted
    CROSS JOIN LATERAL (
        SELECT coalesce(bool_or(v.status_before = 'SUBMITTED'), false)
                 OR ($1 = 'requeue'
                     AND EXISTS (SELECT FROM {schema}.tasks s WHERE s.id = cur.id AND s.status = 'SUBMITTED')) AS was_held,
               coalesce(bool_or(v.move IN ('approve', 'requeue')), false) AS ran,
               coalesce(bool_or(v.move IN ('approve', 'requeue') AND v.actor <> $5), false) AS another_let_it
        FROM {schema}.events v
        WHERE $1 = 'requeue'
          AND (submitted.theirs OR EXISTS (SELECT FROM {schema}.limits l WHERE l.tenant = cur.tenant))
          AND v.task_id = cur.id
    ) past
    CROSS JOIN LATERAL (
        SELECT submitted.theirs AND ($1 = 'approve' OR (past.was_held AND NOT past.another_let_it)) AS own
    ) own
), asked AS MATERIALIZED (
    SELECT judged.tenant, count(*) AS rows
    FROM judged
    WHERE judged.lets_run AND (SELECT count(target) FROM judged) = cardinality($2::bigint[])
    GROUP BY judged.tenant
), limited AS MATERIALIZED (
    SELECT l.tenant, l.max_approved_per_day, d.day, CASE WHEN l.approved_on = d.day THEN l.approved ELSE 0 END AS used
    FROM {schema}.limits l
    CROSS JOIN LATERAL (SELECT greatest(l.approved_on, (now() AT TIME ZONE 'UTC')::date) AS day) d
    WHERE l.tenant = ANY (ARRAY(SELECT asked.tenant FROM asked))
    ORDER BY l.tenant
    FOR NO KEY UPDATE OF l
), exceeded AS MATERIALIZED (
    SELECT limited.tenant, limited.used, limited.max_approved_per_day AS most, asked.rows
    FROM limited
    JOIN asked ON asked.tenant = limited.tenant
    WHERE limited.used + asked.rows > limited.max_approved_per_day
), counted AS (
    UPDATE {schema}.limits AS l
    SET approved_on = limited.day,
        approved = CASE WHEN l.approved_on = limited.day THEN l.approved ELSE 0 END + asked.rows
    FROM limited
    JOIN asked ON asked.tenant = limited.tenant
    WHERE l.tenant = limited.tenant
      AND (l.max_approved_per_day IS NULL
           OR CASE WHEN l.approved_on = limited.day THEN l.approved ELSE 0 END + asked.rows <= l.max_approved_per_day)
      AND NOT EXISTS (SELECT FROM exceeded)
    RETURNING l.tenant
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
      AND (SELECT count(*) FROM counted) = (SELECT count(*) FROM limited)
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
SELECT {columns}, t.changed, judged.target IS NOT NULL AS may, judged.refused,
       exceeded.used AS used_today, exceeded.most AS most_a_day, exceeded.rows AS asked_now
FROM t
JOIN judged ON judged.id = t.id
LEFT JOIN exceeded ON exceeded.tenant = judged.tenant AND judged.lets_run
{text_and_worker $8}
ORDER BY t.id
