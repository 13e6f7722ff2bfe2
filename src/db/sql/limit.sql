-- The limits of the tenant $1 as they are, and whether the operation $2 has changed them: after a decision whose answer
-- was lost this tells whether it took effect.
-- $1 text, $2 uuid.
-- Always one row; the other columns are NULL where nobody ever set one.
-- Indexes: the primary key, events_operation_tenant.
SELECT n.tenant, l.max_running, l.max_approved_per_day, l.version, l.changed_by, l.changed_at, l.reason,
       EXISTS (SELECT FROM {schema}.events v WHERE v.operation_id = $2 AND v.tenant = n.tenant) AS own
FROM (SELECT $1::text AS tenant) n
LEFT JOIN {schema}.limits l ON l.tenant = n.tenant
