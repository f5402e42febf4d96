-- name: index_sealed
-- Puts the turns that were sealed since the mark into the search index, in one batch.
INSERT INTO search (rowid, content, thinking, params, result)
SELECT s.n, s.content, s.thinking, s.params, s.result
FROM log l JOIN messages m ON m.turn_id = l.ref JOIN search_texts s ON s.n = m.n
WHERE l.kind = 'seal' AND l.seq > :after AND l.seq <= :through
UNION ALL
SELECT s.n, s.content, s.thinking, s.params, s.result
FROM log l JOIN tool_calls c ON c.turn_id = l.ref JOIN search_texts s ON s.n = c.n
WHERE l.kind = 'seal' AND l.seq > :after AND l.seq <= :through;

-- name: search_rows
-- The numbers of the rows that match (FTS5 syntax).
SELECT rowid FROM search WHERE search MATCH :words ORDER BY rowid;
