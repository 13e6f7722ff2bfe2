-- Limits that span rows: how many of a tenant's tasks may run at once, and how many may be approved in a day.

-- What operators said of tenants. A tenant of whom nobody ever said anything has no row and no limit.
CREATE TABLE {schema}.limits (
    tenant               text        PRIMARY KEY,
    -- NULL: no limit.
    max_running          bigint,
    max_approved_per_day bigint,
    -- +1 at each change by an operator.
    version              bigint      NOT NULL,
    changed_by           text        NOT NULL,
    changed_at           timestamptz NOT NULL,
    reason               text,
    -- +1 at each claim of this tenant's tasks. A claim that counted what runs before the latest one was committed finds
    -- another number than it read, changes no row here, and so claims nothing.
    claims               bigint      NOT NULL DEFAULT 0,
    -- Approvals of the day `approved_on` (UTC).
    approved_on          date,
    approved             bigint      NOT NULL DEFAULT 0,
    CONSTRAINT limits_not_negative CHECK (max_running >= 0 AND max_approved_per_day >= 0 AND approved >= 0)
) WITH (fillfactor = 50);

-- An event is about a task, a process, a queue or a tenant.
ALTER TABLE {schema}.events
    ADD COLUMN tenant text,
    DROP CONSTRAINT events_about_something,
    -- Weaker than the one that it replaces, so that what is there need not be looked through.
    ADD CONSTRAINT events_about_something CHECK (num_nonnulls(task_id, instance, queue, tenant) > 0) NOT VALID;
CREATE UNIQUE INDEX events_operation_tenant ON {schema}.events (operation_id, tenant) WHERE tenant IS NOT NULL;
-- Today's approvals, counted when a tenant gets its first limit.
CREATE INDEX events_let_run ON {schema}.events (at) WHERE move IN ('approve', 'requeue');
