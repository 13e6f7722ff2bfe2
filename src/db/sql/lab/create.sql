-- Makes the lab's schema. In one transaction with `mark.sql`: a schema without the mark is never removed.
CREATE SCHEMA {schema}
