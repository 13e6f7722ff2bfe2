-- Marks the schema as the lab's; `LAB_MARK` in `db/lab/stage.rs` is the same text.
COMMENT ON SCHEMA {schema} IS 'taskdeck lab: removed at the end of a run, and at the beginning of the next'
