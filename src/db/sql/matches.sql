-- The next tasks that match, in ascending id, each with the version that a decision about it must carry.
-- $1 text[] states, not empty; $2 text tenant or NULL, $3 text queue or NULL, $4 text searched for in text and error or
-- NULL, $5 timestamptz: only what was created before it, or NULL, $6 bigint: only ids above it, $7 bigint: none above it,
-- $8 bigint: how many rows are looked at, $9 boolean: of those that run only the ones that were asked to stop already, or
-- only the others; NULL: both; $10 bigint page size.
-- Always at least one row. `reaches` tells up to which id everything was looked at, `looked` how many rows that were; `id`
-- is NULL where nothing matches. SUCCEEDED must be asked for alone: it has no index, so rows of every state are looked at.
-- Indexes: tasks_held, tasks_oldest_due, tasks_put_off, tasks_running, tasks_ended_otherwise, the primary key; for a
-- tenant task_inputs_tenant too: its own rows and those of the states are both looked at, as many of each, and whichever
-- gets further counts. So a small tenant among many failed rows and a few failed rows of a large tenant both take few
-- calls, and no call reads more than $8 rows of each state (a few times as many where the planner rather sorts what is
-- left of it) and $8 of the tenant.
WITH {matching}, page AS (
    SELECT m.id, m.version FROM matched m ORDER BY m.id LIMIT $10
)
SELECT far.reaches, far.looked, page.id, page.version
FROM far
LEFT JOIN page ON true
ORDER BY page.id
