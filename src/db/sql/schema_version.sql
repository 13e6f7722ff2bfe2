-- The newest migration that was applied; NULL before the first.
-- Zero-row and undefined-table answers both mean that the schema is not there (`migrate.rs`).
SELECT max(version) AS version FROM {schema}.migrations
