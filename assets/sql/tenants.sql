-- Row-level security per tenant: which login sees and decides about whose tasks. Optional; run it after roles.sql, with
-- the same variables, as the owner of the schema. Then say who belongs to whom:
--
--   INSERT INTO taskdeck.tenant_members (role, tenant) VALUES ('alice', 'acme');
--
-- A login that belongs to no tenant sees no task. Workers (and the owner) see all: give them the worker role. The role
-- in the table may be a login or a group that the login is a member of.
--
-- Queues and processes are shared by all tenants, so the operator role loses the right to pause the ones and to stop the
-- others; and nobody sets the limits of their own tenant, whose use they see. Who shall have it, gets it by name (limits:
-- of the tenants that they belong to):
--
--   GRANT INSERT, UPDATE ON taskdeck.queues TO alice;
--   GRANT INSERT, UPDATE ON taskdeck.limits TO alice;
--   GRANT UPDATE (stop_version, stop_mode, stop_by, stop_at, stop_reason) ON taskdeck.instances TO alice;
\set ON_ERROR_STOP on
\if :{?schema}
\else
    \set schema taskdeck
\endif
\if :{?prefix}
\else
    \set prefix taskdeck
\endif
SELECT :'prefix' || '_viewer' AS viewer, :'prefix' || '_operator' AS operator, :'prefix' || '_worker' AS worker \gset

BEGIN;

CREATE TABLE IF NOT EXISTS :"schema".tenant_members (
    role   name NOT NULL,
    tenant text NOT NULL,
    PRIMARY KEY (role, tenant)
);
REVOKE ALL ON :"schema".tenant_members FROM PUBLIC, :"viewer", :"operator", :"worker";
-- Needed by the policies below, which read it with the rights of whoever asks. So that nobody learns from it who else
-- there is, a login sees its own lines only: those of its name and of the groups that it is a member of. Only the owner
-- writes here; whoever else shall, needs a policy besides the right.
GRANT SELECT ON :"schema".tenant_members TO :"viewer", :"operator";
ALTER TABLE :"schema".tenant_members ENABLE ROW LEVEL SECURITY;
DROP POLICY IF EXISTS own ON :"schema".tenant_members;
CREATE POLICY own ON :"schema".tenant_members FOR SELECT TO :"viewer", :"operator"
    USING (EXISTS (SELECT FROM pg_roles r
                   WHERE r.rolname = role AND pg_has_role(current_user, r.oid, 'MEMBER')));

REVOKE INSERT, UPDATE ON :"schema".queues FROM :"operator";
REVOKE INSERT, UPDATE ON :"schema".limits FROM :"operator";
-- An approval counts.
GRANT UPDATE (approved_on, approved) ON :"schema".limits TO :"operator";
REVOKE UPDATE (stop_version, stop_mode, stop_by, stop_at, stop_reason) ON :"schema".instances FROM :"operator";

ALTER TABLE :"schema".tasks ENABLE ROW LEVEL SECURITY;
ALTER TABLE :"schema".task_inputs ENABLE ROW LEVEL SECURITY;
ALTER TABLE :"schema".events ENABLE ROW LEVEL SECURITY;
ALTER TABLE :"schema".limits ENABLE ROW LEVEL SECURITY;
ALTER TABLE :"schema".outbox ENABLE ROW LEVEL SECURITY;

DROP POLICY IF EXISTS workers ON :"schema".tasks;
DROP POLICY IF EXISTS workers ON :"schema".task_inputs;
DROP POLICY IF EXISTS workers ON :"schema".events;
DROP POLICY IF EXISTS workers ON :"schema".limits;
DROP POLICY IF EXISTS workers ON :"schema".outbox;
DROP POLICY IF EXISTS undelivered_stay ON :"schema".outbox;
CREATE POLICY workers ON :"schema".tasks TO :"worker" USING (true) WITH CHECK (true);
CREATE POLICY workers ON :"schema".task_inputs TO :"worker" USING (true) WITH CHECK (true);
CREATE POLICY workers ON :"schema".events TO :"worker" USING (true) WITH CHECK (true);
CREATE POLICY workers ON :"schema".limits TO :"worker" USING (true) WITH CHECK (true);
CREATE POLICY workers ON :"schema".outbox TO :"worker" USING (true) WITH CHECK (true);
CREATE POLICY undelivered_stay ON :"schema".outbox AS RESTRICTIVE FOR DELETE TO :"worker"
    USING (delivered_at IS NOT NULL);

-- The sub-query does not depend on the row, so that it is run once a statement.
DROP POLICY IF EXISTS members ON :"schema".tasks;
CREATE POLICY members ON :"schema".tasks TO :"viewer", :"operator"
    USING (tenant = ANY (ARRAY(SELECT m.tenant FROM :"schema".tenant_members m
                               JOIN pg_roles r ON r.rolname = m.role
                               WHERE pg_has_role(current_user, r.oid, 'MEMBER'))));
DROP POLICY IF EXISTS members ON :"schema".task_inputs;
CREATE POLICY members ON :"schema".task_inputs TO :"viewer", :"operator"
    USING (tenant = ANY (ARRAY(SELECT m.tenant FROM :"schema".tenant_members m
                               JOIN pg_roles r ON r.rolname = m.role
                               WHERE pg_has_role(current_user, r.oid, 'MEMBER'))));
DROP POLICY IF EXISTS members ON :"schema".outbox;
CREATE POLICY members ON :"schema".outbox TO :"viewer", :"operator"
    USING (tenant = ANY (ARRAY(SELECT m.tenant FROM :"schema".tenant_members m
                               JOIN pg_roles r ON r.rolname = m.role
                               WHERE pg_has_role(current_user, r.oid, 'MEMBER'))));
-- Who sees a tenant's tasks must see its limits, too: an approval heeds what it sees.
DROP POLICY IF EXISTS members ON :"schema".limits;
CREATE POLICY members ON :"schema".limits TO :"viewer", :"operator"
    USING (tenant = ANY (ARRAY(SELECT m.tenant FROM :"schema".tenant_members m
                               JOIN pg_roles r ON r.rolname = m.role
                               WHERE pg_has_role(current_user, r.oid, 'MEMBER'))));
-- The history of a task belongs to whoever sees the task, that of a tenant's limits to whoever sees the tenant; that of
-- queues and processes to everybody.
DROP POLICY IF EXISTS members ON :"schema".events;
CREATE POLICY members ON :"schema".events TO :"viewer", :"operator"
    USING ((task_id IS NULL OR EXISTS (SELECT FROM :"schema".tasks t WHERE t.id = task_id))
           AND (tenant IS NULL
                OR tenant = ANY (ARRAY(SELECT m.tenant FROM :"schema".tenant_members m
                                       JOIN pg_roles r ON r.rolname = m.role
                                       WHERE pg_has_role(current_user, r.oid, 'MEMBER')))));

COMMIT;
