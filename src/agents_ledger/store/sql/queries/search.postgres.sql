-- name: index_sealed
-- Puts the turns that were sealed since the mark into the search index, in one batch. (An entry with a body is of a
-- turn that was open before, and is in the index.)
INSERT INTO search (n, words)
SELECT s.n, {weighted}
FROM search_texts s WHERE s.n IN (
    SELECT m.n FROM log l JOIN messages m ON m.turn_id = l.ref
    WHERE l.kind = 'seal' AND l.body IS NULL AND l.seq > :after AND l.seq <= :through
    UNION ALL
    SELECT c.n FROM log l JOIN tool_calls c ON c.turn_id = l.ref
    WHERE l.kind = 'seal' AND l.body IS NULL AND l.seq > :after AND l.seq <= :through);

-- name: index_text
-- Puts one row into the search index, by its number and its texts, which are cut and spaced as `search_texts` does it.
INSERT INTO search (n, words)
SELECT CAST(:n AS INTEGER), {weighted} FROM (
    SELECT translate(left(CAST(:content AS TEXT), 60000), signs, blanks) AS content,
        translate(left(CAST(:thinking AS TEXT), 40000), signs, blanks) AS thinking,
        translate(left(CAST(:params AS TEXT), 40000), signs, blanks) AS params,
        translate(left(CAST(:result AS TEXT), 70000), signs, blanks) AS result
    FROM (VALUES ('!"#$%&''()*+,-./:;<=>?@[\]^_`{|}~', repeat(' ', 32))) AS between_words(signs, blanks)) s;

-- name: search_rows
-- The numbers of the rows that match.
SELECT n FROM search WHERE words @@ websearch_to_tsquery('simple', :words) ORDER BY n;

-- name: unindex_parts
-- Takes messages and tool calls (JSON arrays of ids) out of the search index, before they change.
DELETE FROM search WHERE n IN (SELECT n FROM messages WHERE id IN_LIST(:messages)
    UNION ALL SELECT n FROM tool_calls WHERE id IN_LIST(:calls));

-- name: index_parts
-- Puts messages and tool calls of turns that are not sealed yet into the search index.
INSERT INTO search (n, words)
SELECT s.n, {weighted} FROM search_texts s WHERE s.n IN (
    SELECT n FROM messages WHERE id IN_LIST(:messages) UNION ALL SELECT n FROM tool_calls WHERE id IN_LIST(:calls));

-- name: set_runs
-- (PostgreSQL's index has no runs: there is nothing to set, and nothing to merge.)
SELECT CAST(:setting AS TEXT), CAST(:value AS INTEGER);

-- name: run_setting
SELECT NULL WHERE CAST(:setting AS TEXT) IS NULL;

-- name: merge_runs
SELECT CAST(:pages AS INTEGER);

-- name: run_structure
SELECT NULL;
