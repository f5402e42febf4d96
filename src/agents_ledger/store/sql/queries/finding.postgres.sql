-- name: found_parts
-- The newest messages and calls that match, with a rank: dialogue before thinking, tools, their results.
-- (Whether they are looked for by one word does not matter here.)
SELECT f.n, coalesce(m.turn_id, c.turn_id), f.score
FROM (SELECT n, ts_rank('{0.15, 0.3, 0.5, 1}', words, q.q, 1) AS score
    FROM search, to_tsquery('simple', :words) AS q(q)
    WHERE words @@ q.q AND n <= :top AND :is_word IN (0, 1) ORDER BY n DESC LIMIT :most) f
LEFT JOIN messages m ON m.n = f.n LEFT JOIN tool_calls c ON c.n = f.n ORDER BY f.n DESC;

-- name: found_parts_where
-- The same under conditions.
SELECT f.n, t.id, ts_rank('{0.15, 0.3, 0.5, 1}', f.words, q.q, 1)
FROM to_tsquery('simple', :words) AS q(q) JOIN search f ON f.words @@ q.q
LEFT JOIN messages m ON m.n = f.n LEFT JOIN tool_calls c ON c.n = f.n
JOIN turns t ON t.id = coalesce(m.turn_id, c.turn_id)
WHERE f.n <= :top AND {part_conditions} ORDER BY f.n DESC LIMIT :most;

-- name: best_parts_where
-- The best matches of one term under conditions.
SELECT f.n, t.id, ts_rank('{0.15, 0.3, 0.5, 1}', f.words, q.q, 1), m.role
FROM to_tsquery('simple', :words) AS q(q) JOIN search f ON f.words @@ q.q
LEFT JOIN messages m ON m.n = f.n LEFT JOIN tool_calls c ON c.n = f.n
JOIN turns t ON t.id = coalesce(m.turn_id, c.turn_id)
WHERE {part_conditions} ORDER BY 3 DESC, 1 DESC LIMIT :most;

-- name: best_parts
SELECT f.n, coalesce(m.turn_id, c.turn_id), f.score, m.role
FROM (SELECT n, ts_rank('{0.15, 0.3, 0.5, 1}', words, q.q, 1) AS score
    FROM search, to_tsquery('simple', :words) AS q(q) WHERE words @@ q.q ORDER BY 2 DESC, 1 DESC LIMIT :most) f
LEFT JOIN messages m ON m.n = f.n LEFT JOIN tool_calls c ON c.n = f.n;

-- name: match_count
-- How many messages and calls match, counted up to a limit.
SELECT count(*) FROM (SELECT 1 FROM search WHERE words @@ to_tsquery('simple', :words) LIMIT :most) AS found;

-- name: found_special_where
-- Messages and calls with texts that have words of their own in `search_notes`, and the notes' numbers.
SELECT coalesce(m.n, c.n), t.id, ts_rank(to_tsvector('simple', k.words), q.q, 1), k.id
FROM to_tsquery('simple', :words) AS q(q) JOIN search_notes k ON to_tsvector('simple', k.words) @@ q.q
LEFT JOIN messages m ON k.kind = 'message' AND m.id = k.ref LEFT JOIN tool_calls c ON k.kind = 'call' AND c.id = k.ref
JOIN turns t ON t.id = coalesce(m.turn_id, c.turn_id)
WHERE k.id <= :top AND {part_conditions} ORDER BY k.id DESC LIMIT :most;

-- name: turns_with
-- Turns of which a message or a call matches.
SELECT DISTINCT coalesce(m.turn_id, c.turn_id) FROM search f
LEFT JOIN messages m ON m.n = f.n LEFT JOIN tool_calls c ON c.n = f.n
WHERE f.words @@ to_tsquery('simple', :words);

-- name: turns_noted_with
-- The same by the words of special texts.
SELECT DISTINCT coalesce(m.turn_id, c.turn_id) FROM search_notes k
LEFT JOIN messages m ON k.kind = 'message' AND m.id = k.ref LEFT JOIN tool_calls c ON k.kind = 'call' AND c.id = k.ref
WHERE to_tsvector('simple', k.words) @@ to_tsquery('simple', :words) AND k.kind IN ('message', 'call');

-- name: parts_with
-- Which of some messages and calls match.
SELECT f.n FROM MEMBERS(:numbers) JOIN search f ON f.n = CAST(wanted.value AS INTEGER)
WHERE f.words @@ to_tsquery('simple', :words);

-- name: parts_noted_with
-- The same by the words of special texts.
SELECT coalesce(m.n, c.n) FROM search_notes k
LEFT JOIN messages m ON k.kind = 'message' AND m.id = k.ref LEFT JOIN tool_calls c ON k.kind = 'call' AND c.id = k.ref
WHERE to_tsvector('simple', k.words) @@ to_tsquery('simple', :words)
    AND coalesce(m.n, c.n) IN (SELECT CAST(wanted.value AS INTEGER) FROM MEMBERS(:numbers));

-- name: found_notes
-- Titles, summaries and paths that match.
SELECT k.kind, k.ref FROM search_notes k
WHERE to_tsvector('simple', k.words) @@ to_tsquery('simple', :words) AND k.kind IN ('title', 'summary', 'path')
ORDER BY ts_rank(to_tsvector('simple', k.words), to_tsquery('simple', :words), 1) DESC, k.id DESC LIMIT :most;

-- name: found_paths
-- Paths that match.
SELECT k.ref FROM search_notes k
WHERE to_tsvector('simple', k.words) @@ to_tsquery('simple', :words) AND k.kind = 'path' LIMIT :most;

-- name: found_summaries
-- Compaction turns whose summaries match, the best first.
SELECT k.ref FROM search_notes k
WHERE to_tsvector('simple', k.words) @@ to_tsquery('simple', :words) AND k.kind = 'summary'
ORDER BY ts_rank(to_tsvector('simple', k.words), to_tsquery('simple', :words), 1) DESC, k.id DESC LIMIT :most;
