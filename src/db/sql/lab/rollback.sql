-- Ends it without effect.
ROLLBACK
