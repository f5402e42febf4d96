-- Search: what is found without the index, and what is said about hits. What matches words stands in
-- finding.sqlite.sql and finding.postgres.sql: each engine has an index of its own.

-- name: found_newest
-- The newest messages and calls under conditions, without looking for words: (number, turn, nothing, session).
SELECT p.n, t.id, CAST(0 AS DOUBLE PRECISION), coalesce(t.session_label, t.root_id)
FROM (SELECT n FROM messages WHERE n > (SELECT coalesce(max(n), 0) FROM messages) - :most
    UNION ALL SELECT n FROM tool_calls WHERE n > (SELECT coalesce(max(n), 0) FROM tool_calls) - :most) p
LEFT JOIN messages m ON m.n = p.n LEFT JOIN tool_calls c ON c.n = p.n
JOIN turns t ON t.id = coalesce(m.turn_id, c.turn_id)
WHERE {part_conditions};

-- name: found_turns
-- The newest turns under conditions, before one of them, with their sessions.
SELECT t.id, coalesce(t.session_label, t.root_id) FROM turns t
WHERE t.id < :before AND {turn_conditions} ORDER BY t.id DESC LIMIT :most;

-- name: found_among
-- Which of some turns fulfil the conditions.
SELECT t.id FROM turns t
WHERE t.id IN_LIST(:ids) AND {turn_conditions};

-- name: found_facts
-- What there is to say about turns, and about the sessions in which they were written.
SELECT t.id, t.started_at, t.model, t.status, t.session_label, t.root_id, s.origin, d.title, d.project,
    coalesce(s.is_subagent, 0)
FROM MEMBERS(:ids) JOIN turns t ON t.id = wanted.value
LEFT JOIN sessions s ON s.label = t.session_label LEFT JOIN session_details d ON d.session_label = t.session_label;

-- name: found_messages
-- (Whoever cuts a text counts its characters one by one: few are so long.)
SELECT n, role, CASE WHEN octet_length(content) <= 262144 THEN content ELSE substr(content, 1, 262144) END,
    CASE WHEN octet_length(thinking) <= 262144 THEN thinking ELSE substr(thinking, 1, 262144) END
FROM MEMBERS(:numbers) JOIN messages ON n = CAST(wanted.value AS INTEGER);

-- name: found_calls
SELECT n, tool_name,
    CASE WHEN octet_length(params_json) <= 262144 THEN params_json ELSE substr(params_json, 1, 262144) END,
    CASE WHEN octet_length(result_json) <= 262144 THEN result_json ELSE substr(result_json, 1, 262144) END,
    substr(error, 1, 262144)
FROM MEMBERS(:numbers) JOIN tool_calls ON n = CAST(wanted.value AS INTEGER);

-- name: found_opening
-- How a turn begins: its first message that somebody typed.
SELECT n FROM messages WHERE turn_id = :turn_id ORDER BY CASE role WHEN 'user' THEN 0 WHEN 'assistant' THEN 1 ELSE 2 END,
    sequence LIMIT 1;

-- name: summaries_of
SELECT c.turn_id, substr(c.summary, 1, 262144) FROM MEMBERS(:ids) JOIN compactions c ON c.turn_id = wanted.value;

-- name: turns_of_paths
-- The newest turns that had to do with files, and the file.
SELECT m.turn_id, max(f.file_path) FROM message_files f JOIN messages m ON m.id = f.message_id
WHERE f.file_path IN_LIST(:paths) GROUP BY m.turn_id ORDER BY m.turn_id DESC LIMIT :most;

-- name: heads_of
-- Where sessions point.
SELECT label, thread_id FROM sessions WHERE label IN_LIST(:labels) AND thread_id IS NOT NULL;

-- name: labels_like
SELECT label FROM sessions WHERE lower(label) LIKE :pattern ESCAPE '!' ORDER BY updated_at DESC LIMIT :most;

-- name: turns_in_session
-- Every turn that a session has had in its thread.
WITH RECURSIVE ends(segment_id, depth) AS (
    SELECT t.segment_id, max(t.depth) FROM session_history h JOIN turns t ON t.id = h.thread_id
    WHERE h.session_label = :label GROUP BY t.segment_id),
chain(segment_id, through) AS (
    SELECT segment_id, depth FROM ends
    UNION
    SELECT g.parent_segment_id, g.fork_depth FROM chain JOIN segments g ON g.id = chain.segment_id
    WHERE g.parent_segment_id IS NOT NULL)
SELECT DISTINCT t.id FROM chain JOIN turns t ON t.segment_id = chain.segment_id AND t.depth <= chain.through LIMIT :most;

-- name: part_count
-- About how many messages and calls there are.
SELECT ((SELECT coalesce(max(n), 0) FROM messages) + (SELECT coalesce(max(n), 0) FROM tool_calls)) / 2;

-- name: is_unindexed
SELECT 1 FROM log WHERE kind = 'seal' AND body IS NULL
    AND seq > (SELECT CAST(value AS INTEGER) FROM ledger_facts WHERE name = 'searchable_through') LIMIT 1;
