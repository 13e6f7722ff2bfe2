-- The database's clock: the only one that ages are counted by.
SELECT clock_timestamp() AS read_at
