-- What agents did, counted.

-- name: tool_lines
SELECT c.tool_name, count(*) AS calls,
    count(CASE WHEN c.status = 'failed' THEN 1 END), count(CASE WHEN c.status IN ('rejected', 'cancelled') THEN 1 END),
    count(CASE WHEN c.status IN ('pending', 'running', 'abandoned') THEN 1 END),
    CAST(coalesce(sum(CASE WHEN c.completed_at - c.started_at BETWEEN 0 AND 1000000000000
        THEN c.completed_at - c.started_at END), 0) AS INTEGER),
    count(CASE WHEN c.completed_at - c.started_at BETWEEN 0 AND 1000000000000 THEN 1 END),
    coalesce(max(CASE WHEN c.completed_at - c.started_at BETWEEN 0 AND 1000000000000
        THEN c.completed_at - c.started_at END), 0)
FROM turns t {with_session} JOIN tool_calls c ON c.turn_id = t.id
WHERE t.id >= :f_since_id AND t.id < :f_until_id AND {filters}
GROUP BY c.tool_name ORDER BY calls DESC, c.tool_name;

-- name: tool_names
SELECT DISTINCT tool_name FROM tool_calls;

-- name: files_written
SELECT f.file_path, count(*) FROM turns t {with_session} JOIN messages m ON m.turn_id = t.id
    JOIN message_files f ON f.message_id = m.id
WHERE f.kind = 'written' AND t.id >= :f_since_id AND t.id < :f_until_id AND {filters} GROUP BY f.file_path;

-- name: longest_turns
SELECT {moment} FROM turns t {with_session}
WHERE t.id >= :f_since_id AND t.id < :f_until_id AND t.completed_at > t.started_at AND {filters}
ORDER BY t.completed_at - t.started_at DESC, t.id LIMIT :limit;

-- name: edits
-- The calls that write files, of some tools (a JSON array of names), after a place in the order of turns (which is not before the first).
SELECT c.turn_id, c.sequence, c.tool_name, c.params_json, coalesce(t.workspace_path, d.project) AS workspace
FROM turns t {with_session} JOIN tool_calls c ON c.turn_id = t.id
WHERE t.id >= :first AND (t.id > :turn_id OR c.sequence > :sequence) AND t.id < :f_until_id
    AND c.status = 'completed' AND c.tool_name IN_LIST(:tools) AND {filters}
ORDER BY c.turn_id, c.sequence LIMIT :limit;
