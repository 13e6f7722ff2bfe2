-- Notifications: written by the statement that makes the change, delivered afterwards.

-- Whether decisions about a task and its final state are to be told to somebody outside.
ALTER TABLE {schema}.tasks ADD COLUMN notify boolean NOT NULL DEFAULT false;

-- One row for each change that is to be told; the version that it made is its place in the task's order.
CREATE TABLE {schema}.outbox (
    -- In the order of writing; of one task's rows it is the order of their versions too, as each is written under the
    -- task's row lock.
    id             bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    task_id        bigint      NOT NULL,
    version        bigint      NOT NULL,
    tenant         text        NOT NULL,
    queue          text        NOT NULL,
    move           text        NOT NULL,
    status_before  text        NOT NULL,
    status_after   text        NOT NULL,
    actor          text        NOT NULL,
    reason         text,
    at             timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- The delivery's own protocol: who delivers it, under which claim; how many deliveries were begun.
    claimed_by     uuid,
    claim_no       bigint      NOT NULL DEFAULT 0,
    due_at         timestamptz NOT NULL DEFAULT clock_timestamp(),
    error          text,
    delivered_at   timestamptz,
    CONSTRAINT outbox_change UNIQUE (task_id, version),
    -- What is not one of these could not be told, and who claimed it would begin nothing else.
    CONSTRAINT outbox_states CHECK (
        status_before IN ('SUBMITTED', 'QUEUED', 'RUNNING', 'SUCCEEDED', 'FAILED', 'CANCELED', 'REJECTED')
        AND status_after IN ('SUBMITTED', 'QUEUED', 'RUNNING', 'SUCCEEDED', 'FAILED', 'CANCELED', 'REJECTED'))
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX outbox_due ON {schema}.outbox (due_at, id) WHERE delivered_at IS NULL;
CREATE INDEX outbox_undelivered ON {schema}.outbox (id) WHERE delivered_at IS NULL;
CREATE INDEX outbox_claimed ON {schema}.outbox (claimed_by) WHERE delivered_at IS NULL AND claimed_by IS NOT NULL;
CREATE INDEX outbox_delivered ON {schema}.outbox (delivered_at) WHERE delivered_at IS NOT NULL;
