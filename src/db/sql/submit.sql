-- Submits texts, each under its own submission id.
-- $1 uuid[] submission ids, $2 text[] the submitters' own keys, $3 text[] texts, $4 tenant, $5 queue,
-- $6 status (QUEUED or SUBMITTED), $7 priority, $8 max_attempts, $9 delay in seconds,
-- $10 how many characters of each text to return, $11 text who submits, $12 boolean: they may not approve it
-- themselves; $13 boolean: its decisions and its final state are to be told (`outbox`).
-- Returns one row for each task made. A submission id that is missing from the answer was there before, as an id is
-- unique over all tenants: `submitted.sql` finds it, or tells by not finding it that it is another tenant's. If another
-- submit of the same id is under way, this one waits for it.
-- Index: task_inputs_submission. Both rows are written by this one statement, so neither can be there alone.
WITH texts AS (
    INSERT INTO {schema}.task_inputs (tenant, submission, submission_key, input, submitted_by, four_eyes)
    SELECT $4, n.submission, n.submission_key, n.input, $11, $12
    FROM unnest($1::uuid[], $2::text[], $3::text[]) WITH ORDINALITY
        AS n(submission, submission_key, input, line)
    ORDER BY n.line
    ON CONFLICT (submission) DO NOTHING
    RETURNING id, submission, input, submitted_by, four_eyes
), t AS (
    INSERT INTO {schema}.tasks
        (id, tenant, queue, status, priority, max_attempts, created_at, scheduled_at, notify)
    SELECT id, $4, $5, $6, $7, $8, now(), now() + make_interval(secs => $9), $13
    FROM texts
    RETURNING *
)
SELECT {columns}, texts.submission
FROM t
JOIN texts ON texts.id = t.id
CROSS JOIN LATERAL (SELECT left(texts.input, $10) AS input,
                           octet_length(texts.input)::bigint AS input_bytes,
                           texts.submitted_by, texts.four_eyes) x
CROSS JOIN (SELECT NULL::text AS worker) w
