-- Fails (22012), so that its transaction can only be rolled back.
-- $1 integer, 0.
SELECT 1 / $1::integer
