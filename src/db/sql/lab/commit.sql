-- Ends it. In a transaction that has failed the server answers ROLLBACK, and the driver does not tell.
COMMIT
