-- Claims up to $2 notifications for the instance $1 to deliver, of tenant $3 only if it is given.
-- $1 uuid, $2 bigint, $3 text or NULL.
-- Returns their numbers; `outbox_held.sql` reads what they say. Zero rows: nothing is due, everything due is being
-- claimed or delivered by others, or this instance's lease has passed.
-- A notification is due once it is the first of its task that is not delivered, and nobody who lives delivers it: nobody
-- has claimed it, or its owner is lost or ended with its lease past by the database's clock, or unknown.
-- That it is the first is read by the statement's snapshot, and still sound: changes of one task are committed in the
-- order of their versions, as each waits for the row lock of the one before, so whoever sees a notification sees all
-- earlier ones of its task. What is found delivered stays so; that one has been delivered meanwhile only puts its next
-- one off until the next claim.
-- The owner is read by the snapshot too, and there that is not enough: where the notification was claimed in between by
-- an instance that began meanwhile, the locked row has an owner whom the snapshot does not know. `o` is the row as it
-- was first read: that its claim number differs keeps this off it, as in `recover.sql`.
-- Indexes: outbox_due, outbox_change for the earlier ones, outbox_undelivered where the planner finds fewer there. `due`
-- is locked and read once (as `IN (SELECT … LIMIT n)` a nested loop could run it again and claim more than n). The
-- scalar sub-query is looked up for each row that is due; as NOT EXISTS it became a join that read all.
WITH due AS MATERIALIZED (
    SELECT o.id, o.claim_no
    FROM {schema}.outbox o
    WHERE o.delivered_at IS NULL
      AND o.due_at <= now()
      AND ($3::text IS NULL OR o.tenant = $3)
      AND o.version = (SELECT min(e.version) FROM {schema}.outbox e
                       WHERE e.task_id = o.task_id AND e.delivered_at IS NULL)
      AND NOT EXISTS (SELECT FROM {schema}.instances i
                      WHERE i.id = o.claimed_by
                        AND NOT (i.state IN ('lost', 'stopped') AND i.lease_until < clock_timestamp()))
    ORDER BY o.due_at, o.id
    LIMIT $2
    FOR NO KEY UPDATE OF o SKIP LOCKED
)
UPDATE {schema}.outbox AS o
SET claimed_by = $1, claim_no = o.claim_no + 1
FROM due
WHERE o.id = due.id
  AND o.claim_no = due.claim_no
  AND EXISTS (SELECT FROM {schema}.instances i
              WHERE i.id = $1 AND i.state IN ('working', 'watching') AND i.lease_until > now())
RETURNING o.id
