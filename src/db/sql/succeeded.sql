-- Which of these successes of the instance $1 are committed, by their claims and by their very results: after an answer
-- that was lost this finds them all at once.
-- The parameters are those of `finish_success.sql`.
-- A claim that is missing is told nothing of: its finish may be under way yet. One that is there stays, as no success is
-- ever left.
-- The claim's number in the condition is spare: it is returned, and who asked compares it. A claim has one owner.
-- Index: the primary key.
SELECT t.id, t.claim_no
FROM {schema}.tasks t
JOIN unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::text[])
    AS f(id, claim_no, words, bytes, runes, output) ON f.id = t.id
WHERE t.status = 'SUCCEEDED'
  AND t.claimed_by = $1
  AND t.claim_no = f.claim_no
  AND (t.words, t.bytes, t.runes) = (f.words, f.bytes, f.runes)
  AND t.output IS NOT DISTINCT FROM f.output
