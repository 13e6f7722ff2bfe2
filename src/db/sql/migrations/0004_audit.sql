-- The history can be read by who and by when.

CREATE INDEX events_actor ON {schema}.events (actor, id);
-- Events are appended in the order of time, so this stays a few pages however many there are.
CREATE INDEX events_at ON {schema}.events USING brin (at) WITH (pages_per_range = 16);
