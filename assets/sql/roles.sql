-- Three roles with just the rights that each needs. Run it once, after `taskdeck migrate`, as the owner of the schema
-- (who may create roles), and again after an upgrade that brought tables:
--
--   psql -d jobs -f roles.sql                                  schema taskdeck, roles taskdeck_viewer, …
--   psql -d jobs -v schema=work -v prefix=work -f roles.sql    another schema, roles work_viewer, …
--
-- Then make logins members of them:  CREATE ROLE alice LOGIN IN ROLE taskdeck_operator;
--
-- The program works under each of them; what a role may not do is refused by the server (exit code 7).
--
-- With -v stats=yes they also see what other sessions of the whole server do (pg_read_all_stats), so that screen 3 can
-- say whose statement holds a lock. Since PostgreSQL 16 only a superuser, or who has that role with ADMIN OPTION, may
-- grant it.
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

SELECT format('CREATE ROLE %I NOLOGIN', name)
FROM unnest(ARRAY[:'viewer', :'operator', :'worker']) AS name
WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = name)
\gexec

GRANT USAGE ON SCHEMA :"schema" TO :"viewer", :"operator", :"worker";

-- Everybody sees everything (row-level security per tenant: tenants.sql).
GRANT SELECT ON ALL TABLES IN SCHEMA :"schema" TO :"viewer", :"operator", :"worker";

-- The operator submits and decides. Of a task only what a decision changes may be written: no result, no claim number.
GRANT INSERT (id, tenant, queue, status, priority, max_attempts, created_at, scheduled_at, notify)
    ON :"schema".tasks TO :"operator";
GRANT INSERT (tenant, submission, submission_key, input, submitted_by, four_eyes)
    ON :"schema".task_inputs TO :"operator";
GRANT UPDATE (status, version, cancel_requested, attempt, claimed_by, error, scheduled_at, finished_at)
    ON :"schema".tasks TO :"operator";
GRANT INSERT, UPDATE ON :"schema".queues TO :"operator";
-- To set tenants' limits; an approval counts there, too.
GRANT INSERT, UPDATE ON :"schema".limits TO :"operator";
-- To ask workers elsewhere to stop.
GRANT UPDATE (stop_version, stop_mode, stop_by, stop_at, stop_reason) ON :"schema".instances TO :"operator";

-- The worker claims, finishes and recovers, and keeps its own row. It submits nothing, pauses nothing and limits nobody. To the server a
-- claim and an approval are updates of the same columns, so a login with this role can also decide: keep it for services.
GRANT UPDATE (status, version, claim_no, attempt, claimed_by, cancel_requested, words, bytes, runes, output, error,
              scheduled_at, started_at, finished_at)
    ON :"schema".tasks TO :"worker";
GRANT INSERT, UPDATE, DELETE ON :"schema".instances TO :"worker";
-- A claim of a limited tenant's task counts; and at a shutdown it cancels what it runs, by the statement that decides.
GRANT UPDATE (claims, approved_on, approved) ON :"schema".limits TO :"worker";

-- Decisions and final states leave notifications; the worker delivers them and forgets what was delivered long ago.
GRANT INSERT (task_id, version, tenant, queue, move, status_before, status_after, actor, reason)
    ON :"schema".outbox TO :"operator", :"worker";
GRANT UPDATE (claimed_by, claim_no, due_at, error, delivered_at), DELETE ON :"schema".outbox TO :"worker";

-- History is appended to and never rewritten: nobody but the owner may change or remove a row. Its number, its time,
-- the session's role and what the session called itself (`process`) are the database's to fill in, so that no statement
-- can make them up.
GRANT INSERT (task_id, instance, queue, tenant, actor, move, status_before, status_after, version_before, version_after, reason,
              operation_id)
    ON :"schema".events TO :"operator", :"worker";

COMMIT;

\if :{?stats}
    GRANT pg_read_all_stats TO :"viewer", :"operator", :"worker";
\endif
