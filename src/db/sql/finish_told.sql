-- Commits successes of the instance $1 that are to be told of: counts, final state and notification in one statement.
-- $1 uuid, then one array a column, in ascending order of id: $2 bigint[] ids, $3 bigint[] claim numbers,
-- $4 bigint[] words, $5 bigint[] bytes, $6 bigint[] runes, $7 text[] outputs; $8 text actor.
-- Returns the claims that it ended, each by id and claim number. One that is missing was canceled meanwhile, or is no
-- longer current: `finish.sql` tells which.
-- Index: the primary key; `t.status || ''` as in `finish_success.sql`.
-- It may be sent again and again: what `finish_success.sql` has ended is not RUNNING any more.
WITH upd AS (
    UPDATE {schema}.tasks AS t
    SET status = 'SUCCEEDED',
        version = t.version + 1,
        words = s.words,
        bytes = s.bytes,
        runes = s.runes,
        output = s.output,
        error = NULL,
        finished_at = now()
    FROM unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::text[])
        AS s(id, claim_no, words, bytes, runes, output)
    WHERE t.id = s.id
      AND t.status || '' = 'RUNNING'
      AND t.claimed_by = $1
      AND t.claim_no = s.claim_no
      AND NOT t.cancel_requested
      AND t.notify
    RETURNING t.id, t.claim_no, t.version, t.tenant, t.queue
), told AS (
    INSERT INTO {schema}.outbox (task_id, version, tenant, queue, move, status_before, status_after, actor)
    SELECT id, version, tenant, queue, 'finish', 'RUNNING', 'SUCCEEDED', $8 FROM upd
)
SELECT id, claim_no FROM upd
