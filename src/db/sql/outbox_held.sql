-- The notifications that the instance $1 has claimed and not delivered, with what they say and their tasks as they are
-- now. It is read after each claim, and after one whose answer was lost: what was won is what the rows say.
-- $1 uuid, $2 bigint[] numbers to leave out: what is known need not be read again, $3 how many characters of each text
-- to return.
-- `id` is NULL where the task is gone.
-- Index: outbox_claimed.
SELECT o.id AS number, o.task_id, o.version AS told_version, o.tenant AS told_tenant, o.queue AS told_queue, o.move,
       o.status_before, o.status_after, o.actor, o.reason, o.at, o.claim_no AS delivery, {columns}
FROM {schema}.outbox o
LEFT JOIN {schema}.tasks t ON t.id = o.task_id
{text_and_worker $3}
WHERE o.claimed_by = $1 AND o.delivered_at IS NULL AND o.id <> ALL ($2::bigint[])
ORDER BY o.due_at, o.id
