-- The history tells from which process each act came.

-- What the session called itself: purpose, operator, host and process id. NULL in what was written before this, and of a
-- session without a name. The default is set apart from the column, so that it is not taken for what is there already.
ALTER TABLE {schema}.events ADD COLUMN process text;
ALTER TABLE {schema}.events ALTER COLUMN process SET DEFAULT nullif(current_setting('application_name'), '');
