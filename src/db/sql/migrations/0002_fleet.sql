-- Processes can be asked to stop, and events tell which process they are about.

ALTER TABLE {schema}.instances
    -- +1 at each request that somebody else makes; heartbeats do not count.
    ADD COLUMN stop_version bigint NOT NULL DEFAULT 0,
    ADD COLUMN stop_mode    text,
    ADD COLUMN stop_by      text,
    ADD COLUMN stop_at      timestamptz,
    ADD COLUMN stop_reason  text,
    ADD CONSTRAINT instances_stop_mode CHECK (stop_mode IN ('drain', 'cancel')),
    ADD CONSTRAINT instances_stop_whole CHECK
        ((stop_mode IS NULL) = (stop_by IS NULL) AND (stop_mode IS NULL) = (stop_at IS NULL));

-- An event is about a task, or about a process that was asked to stop. Of a task's event `instance` tells whose claim
-- it ended.
ALTER TABLE {schema}.events
    ALTER COLUMN task_id DROP NOT NULL,
    ADD COLUMN instance uuid,
    ADD CONSTRAINT events_about_something CHECK (task_id IS NOT NULL OR instance IS NOT NULL);
CREATE UNIQUE INDEX events_operation_instance ON {schema}.events (operation_id, instance) WHERE task_id IS NULL;
-- What was taken back from a process. Failures and releases have no entry.
CREATE INDEX events_recovered ON {schema}.events (instance, id) WHERE move = 'recover';
