-- name: found_parts
-- The newest messages and calls that match (FTS5), with a rank: dialogue before thinking, tools, their results.
-- Even numbers are messages, odd ones calls: whoever asks both tables looks in vain as often as not. bm25 reads all
-- matches of each word to know how rare it is: for a single word with few of them it is quicker than our own rank.
SELECT f.n, CASE f.n & 1 WHEN 0 THEN (SELECT turn_id FROM messages m WHERE m.n = f.n)
    ELSE (SELECT turn_id FROM tool_calls c WHERE c.n = f.n) END, f.score
FROM (SELECT rowid AS n, CASE WHEN :is_word AND (SELECT count(*) FROM
        (SELECT 1 FROM search WHERE search MATCH :words LIMIT :most)) < :most
        THEN -bm25(search, 3.0, 1.5, 0.4, 0.2) ELSE ledger_rank(search) END AS score
    FROM search WHERE search MATCH :words AND rowid <= :top ORDER BY rowid DESC LIMIT :most) f;

-- name: found_parts_where
-- The same under conditions.
SELECT search.rowid, t.id, ledger_rank(search)
FROM search LEFT JOIN messages m ON m.n = search.rowid LEFT JOIN tool_calls c ON c.n = search.rowid
CROSS JOIN turns t ON t.id = coalesce(m.turn_id, c.turn_id)
WHERE search MATCH :words AND search.rowid <= :top AND {part_conditions}
ORDER BY search.rowid DESC LIMIT :most;

-- name: best_parts_where
-- The best matches of one term under conditions. (bm25 is the better the smaller; here it must know how rare a word is.)
SELECT search.rowid, t.id, -bm25(search, 3.0, 1.5, 0.4, 0.2), m.role
FROM search LEFT JOIN messages m ON m.n = search.rowid LEFT JOIN tool_calls c ON c.n = search.rowid
CROSS JOIN turns t ON t.id = coalesce(m.turn_id, c.turn_id)
WHERE search MATCH :words AND {part_conditions} ORDER BY 3 DESC LIMIT :most;

-- name: best_parts
SELECT f.n, coalesce(m.turn_id, c.turn_id), f.score, m.role
FROM (SELECT rowid AS n, -bm25(search, 3.0, 1.5, 0.4, 0.2) AS score FROM search
    WHERE search MATCH :words ORDER BY 2 DESC LIMIT :most) f
LEFT JOIN messages m ON m.n = f.n LEFT JOIN tool_calls c ON c.n = f.n;

-- name: match_count
-- How many messages and calls match, counted up to a limit.
SELECT count(*) FROM (SELECT 1 FROM search WHERE search MATCH :words LIMIT :most);

-- name: found_special_where
-- Messages and calls with texts that have words of their own in `search_notes`, and the notes' numbers.
SELECT coalesce(m.n, c.n), t.id, ledger_rank(search_noted), k.id
FROM search_noted JOIN search_notes k ON k.id = search_noted.rowid
LEFT JOIN messages m ON k.kind = 'message' AND m.id = k.ref LEFT JOIN tool_calls c ON k.kind = 'call' AND c.id = k.ref
CROSS JOIN turns t ON t.id = coalesce(m.turn_id, c.turn_id)
WHERE search_noted MATCH :words AND search_noted.rowid <= :top AND {part_conditions}
ORDER BY search_noted.rowid DESC LIMIT :most;

-- name: turns_with
-- Turns of which a message or a call matches.
SELECT DISTINCT CASE f.n & 1 WHEN 0 THEN (SELECT turn_id FROM messages m WHERE m.n = f.n)
    ELSE (SELECT turn_id FROM tool_calls c WHERE c.n = f.n) END
FROM (SELECT rowid AS n FROM search WHERE search MATCH :words) f;

-- name: turns_noted_with
-- The same by the words of special texts.
SELECT DISTINCT coalesce(m.turn_id, c.turn_id) FROM search_noted JOIN search_notes k ON k.id = search_noted.rowid
LEFT JOIN messages m ON k.kind = 'message' AND m.id = k.ref LEFT JOIN tool_calls c ON k.kind = 'call' AND c.id = k.ref
WHERE search_noted MATCH :words AND k.kind IN ('message', 'call');

-- name: parts_with
-- Which of some messages and calls match.
SELECT search.rowid FROM MEMBERS(:numbers) CROSS JOIN search ON search.rowid = wanted.value WHERE search MATCH :words;

-- name: parts_noted_with
-- The same by the words of special texts.
SELECT coalesce(m.n, c.n) FROM search_noted JOIN search_notes k ON k.id = search_noted.rowid
LEFT JOIN messages m ON k.kind = 'message' AND m.id = k.ref LEFT JOIN tool_calls c ON k.kind = 'call' AND c.id = k.ref
WHERE search_noted MATCH :words AND coalesce(m.n, c.n) IN (SELECT wanted.value FROM MEMBERS(:numbers));

-- name: found_notes
-- Titles, summaries and paths that match.
SELECT k.kind, k.ref FROM search_noted JOIN search_notes k ON k.id = search_noted.rowid
WHERE search_noted MATCH :words AND k.kind IN ('title', 'summary', 'path') ORDER BY bm25(search_noted) LIMIT :most;

-- name: found_paths
-- Paths that match.
SELECT k.ref FROM search_noted JOIN search_notes k ON k.id = search_noted.rowid
WHERE search_noted MATCH :words AND k.kind = 'path' LIMIT :most;

-- name: found_summaries
-- Compaction turns whose summaries match, the best first.
SELECT k.ref FROM search_noted JOIN search_notes k ON k.id = search_noted.rowid
WHERE search_noted MATCH :words AND k.kind = 'summary' ORDER BY bm25(search_noted) LIMIT :most;
