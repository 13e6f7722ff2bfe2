-- The deadline of statements that this session has, in milliseconds. Where it is not the one that was asked for at
-- the session's start, something in between swallowed it: a pooler in transaction mode.
SELECT s.setting::bigint AS statement_timeout_ms
FROM pg_settings s
WHERE s.name = 'statement_timeout'
