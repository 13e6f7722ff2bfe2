-- Takes the lock that makes the schema $1 one lab's own, for as long as the transaction lasts.
-- $1 text schema.
-- `owned` is false where another lab has it.
-- A lock of the transaction and not of the session: a pooler in transaction mode gives a session to somebody else, and a
-- transaction that only waits holds back no vacuum. The first value keeps the server from ending it for being idle.
SELECT set_config('idle_in_transaction_session_timeout', '0', true),
       pg_try_advisory_xact_lock(hashtextextended('taskdeck lab ' || $1, 0)) AS owned
