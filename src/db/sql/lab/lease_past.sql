-- Whether the lease of the instance $1 has passed, by the database's clock.
-- $1 uuid.
SELECT i.lease_until < clock_timestamp() AS past FROM {schema}.instances i WHERE i.id = $1
