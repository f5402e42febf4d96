-- name: index_sealed
-- Puts the turns that were sealed since the mark into the search index, in one batch.
INSERT INTO search (n, words)
SELECT s.n, to_tsvector('simple', s.words)
FROM search_texts s WHERE s.n IN (
    SELECT m.n FROM log l JOIN messages m ON m.turn_id = l.ref
    WHERE l.kind = 'seal' AND l.seq > :after AND l.seq <= :through
    UNION ALL
    SELECT c.n FROM log l JOIN tool_calls c ON c.turn_id = l.ref
    WHERE l.kind = 'seal' AND l.seq > :after AND l.seq <= :through);

-- name: search_rows
-- The numbers of the rows that match.
SELECT n FROM search WHERE words @@ websearch_to_tsquery('simple', :words) ORDER BY n;
