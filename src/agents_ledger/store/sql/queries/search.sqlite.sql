-- name: index_sealed
-- Puts the turns that were sealed since the mark into the search index, in one batch. (An entry with a body is of a
-- turn that was open before, and is in the index.)
INSERT INTO search (rowid, content, thinking, params, result)
SELECT s.n, s.content, s.thinking, s.params, s.result
FROM log l JOIN messages m ON m.turn_id = l.ref JOIN search_texts s ON s.n = m.n
WHERE l.kind = 'seal' AND l.body IS NULL AND l.seq > :after AND l.seq <= :through
UNION ALL
SELECT s.n, s.content, s.thinking, s.params, s.result
FROM log l JOIN tool_calls c ON c.turn_id = l.ref JOIN search_texts s ON s.n = c.n
WHERE l.kind = 'seal' AND l.body IS NULL AND l.seq > :after AND l.seq <= :through;

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
