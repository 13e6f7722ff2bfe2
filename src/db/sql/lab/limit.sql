-- Gives the tenant $1 a limit of $2 approvals a day, none of them spent.
-- $1 text, $2 bigint.
INSERT INTO {schema}.limits (tenant, max_approved_per_day, version, changed_by, changed_at, approved_on, approved)
VALUES ($1, $2, 1, 'lab', clock_timestamp(), (clock_timestamp() AT TIME ZONE 'UTC')::date, 0)
ON CONFLICT (tenant) DO UPDATE SET max_approved_per_day = excluded.max_approved_per_day, approved = 0
