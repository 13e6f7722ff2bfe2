-- Commits successes of the instance $1: counts and final state in one statement.
-- $1 uuid, then one array a column, in ascending order of id: $2 bigint[] ids, $3 bigint[] claim numbers,
-- $4 bigint[] words, $5 bigint[] bytes, $6 bigint[] runes, $7 text[] outputs.
-- Returns the claims that it ended, each by id and claim number. One that is missing is to be told of
-- (`finish_told.sql`), was canceled meanwhile, or is no longer current: `finish.sql` tells which.
-- Those that are to be told of have a statement of their own: as one, with the rows handed on to the INSERT, this one
-- cost the server 8 % more for tasks that nobody is told of.
-- Index: the primary key.
-- `t.status || ''` keeps the planner off the partial index tasks_running: on a table without statistics it takes that
-- as the outer side and compares each of the instance's rows with each of the array (888,000 comparisons for a batch
-- of 500: 168 ms instead of 7).
UPDATE {schema}.tasks AS t
SET status = 'SUCCEEDED',
    version = t.version + 1,
    words = f.words,
    bytes = f.bytes,
    runes = f.runes,
    output = f.output,
    error = NULL,
    finished_at = now()
FROM unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::text[])
    AS f(id, claim_no, words, bytes, runes, output)
WHERE t.id = f.id
  AND t.status || '' = 'RUNNING'
  AND t.claimed_by = $1
  AND t.claim_no = f.claim_no
  AND NOT t.cancel_requested
  AND NOT t.notify
RETURNING t.id, t.claim_no
