-- Who submitted a task, and whether they may approve it themselves.
ALTER TABLE {schema}.task_inputs
    -- NULL in what was submitted before this.
    ADD COLUMN submitted_by text,
    -- Whoever submitted it may not approve it.
    ADD COLUMN four_eyes boolean NOT NULL DEFAULT false;
