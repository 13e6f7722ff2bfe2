-- Queues can be paused.

-- What operators said of queues. A queue that nobody ever paused has no row and is open.
CREATE TABLE {schema}.queues (
    name       text        PRIMARY KEY,
    paused     boolean     NOT NULL,
    -- +1 at each change; 0 is a queue without a row.
    version    bigint      NOT NULL,
    changed_by text        NOT NULL,
    changed_at timestamptz NOT NULL,
    reason     text
);

-- An event is about a task, a process or a queue.
ALTER TABLE {schema}.events
    ADD COLUMN queue text,
    DROP CONSTRAINT events_about_something,
    ADD CONSTRAINT events_about_something CHECK (num_nonnulls(task_id, instance, queue) > 0);
CREATE UNIQUE INDEX events_operation_queue ON {schema}.events (operation_id, queue) WHERE queue IS NOT NULL;
