-- What an audit looks at, some turns at a time.

-- name: audited_turns
SELECT t.id, t.session_label, t.started_at, t.tools_available, t.permissions_granted, t.permissions_used,
    coalesce(t.workspace_path, d.project) AS workspace, d.project
FROM turns t {with_session}
WHERE t.id >= :first AND t.id < :f_until_id AND {filters} ORDER BY t.id LIMIT :limit;

-- name: audited_calls
-- (The range is for PostgreSQL, which would read the whole table for a list.)
SELECT turn_id, id, tool_name, status, started_at, params_json, result_json, error
FROM tool_calls WHERE turn_id >= :first_turn AND turn_id <= :last_turn AND turn_id IN_LIST(:turns) ORDER BY turn_id, sequence;

-- name: audited_messages
SELECT turn_id, id, role, content, thinking FROM messages
WHERE turn_id >= :first_turn AND turn_id <= :last_turn AND turn_id IN_LIST(:turns) ORDER BY turn_id, sequence;

-- name: audited_files
-- What messages say they have written.
SELECT m.turn_id, m.id, m.role, f.file_path FROM messages m JOIN message_files f ON f.message_id = m.id
WHERE m.turn_id >= :first_turn AND m.turn_id <= :last_turn AND m.turn_id IN_LIST(:turns) AND f.kind = 'written'
ORDER BY m.turn_id, m.sequence, f.id;
