-- fragment: sealed_since
l.kind = 'seal' AND l.body IS NULL AND l.seq > :after AND l.seq <= :through

-- name: index_sealed
-- Puts the turns that were sealed since the mark into the search index, in one batch. (An entry with a body is of a
-- turn that was open before, and is in the index.) The texts are those of `search_texts`, each table is asked once, and
-- by rising numbers: FTS5 writes out what it has sorted whenever one is lower than the last, and merges that run later.
-- (LIMIT: without it SQLite takes the two parts of `f` one after the other, and forgets the order.)
INSERT INTO search (rowid, content, thinking, params, result)
SELECT f.n, CASE WHEN octet_length(m.content) <= 262144 THEN m.content ELSE substr(m.content, 1, 262144) END,
    substr(m.thinking, 1, 262144),
    c.tool_name || ' ' || replace(replace(replace(substr(c.params_json, 1, 262144), '\\', '/'), '\n', ' '), '\t', ' '),
    CASE WHEN c.n IS NOT NULL THEN coalesce(replace(replace(replace(
            CASE WHEN octet_length(c.result_json) <= 262144 THEN c.result_json ELSE substr(c.result_json, 1, 262144) END,
            '\\', '/'), '\n', ' '), '\t', ' '), '')
        || coalesce(' ' || substr(c.error, 1, 262144), '') END
FROM (SELECT p.n FROM log l JOIN messages p ON p.turn_id = l.ref WHERE {sealed_since}
    UNION ALL SELECT p.n FROM log l JOIN tool_calls p ON p.turn_id = l.ref WHERE {sealed_since} ORDER BY 1 LIMIT -1) f
LEFT JOIN messages m ON m.n = CASE f.n & 1 WHEN 0 THEN f.n END
LEFT JOIN tool_calls c ON c.n = CASE f.n & 1 WHEN 1 THEN f.n END;

-- name: index_text
-- Puts one row into the search index, by its number and its texts (as `search_texts` gives them).
INSERT INTO search (rowid, content, thinking, params, result) VALUES (:n, :content, :thinking, :params, :result);

-- name: search_rows
-- The numbers of the rows that match (FTS5 syntax).
SELECT rowid FROM search WHERE search MATCH :words ORDER BY rowid;

-- name: unindex_parts
-- Takes messages and tool calls (JSON arrays of ids) out of the search index, before they change.
INSERT INTO search (search, rowid, content, thinking, params, result)
SELECT 'delete', s.n, s.content, s.thinking, s.params, s.result FROM messages m JOIN search_texts s ON s.n = m.n
WHERE m.id IN_LIST(:messages)
UNION ALL
SELECT 'delete', s.n, s.content, s.thinking, s.params, s.result FROM tool_calls c JOIN search_texts s ON s.n = c.n
WHERE c.id IN_LIST(:calls);

-- name: index_parts
-- Puts messages and tool calls of turns that are not sealed yet into the search index.
INSERT INTO search (rowid, content, thinking, params, result)
SELECT s.n, s.content, s.thinking, s.params, s.result FROM messages m JOIN search_texts s ON s.n = m.n
WHERE m.id IN_LIST(:messages)
UNION ALL
SELECT s.n, s.content, s.thinking, s.params, s.result FROM tool_calls c JOIN search_texts s ON s.n = c.n
WHERE c.id IN_LIST(:calls);

-- name: set_runs
-- How runs of the search index are merged (FTS5's automerge, crisismerge).
INSERT INTO search (search, rank) VALUES (:setting, :value);

-- name: run_setting
SELECT v FROM search_config WHERE k = :setting;

-- name: merge_runs
-- Merges runs, and writes about so many pages; a number below 0 begins to merge all of them.
INSERT INTO search (search, rank) VALUES ('merge', :pages);

-- name: run_structure
-- What runs there are, in FTS5's own words: it is another text after each merging.
SELECT block FROM search_data WHERE id = 10;
