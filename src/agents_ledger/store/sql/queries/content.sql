-- What hangs on turns: messages, tool calls, attachments, compactions.

-- name: insert_message
INSERT INTO messages (n, id, turn_id, role, content, source, sequence, created_at, thinking, context_json,
    metadata_json, blocks_json, lossy, root_id, native_id, evidence)
VALUES ((SELECT coalesce(max(n), 0) + 2 FROM messages), :id, :turn_id, :role, :content, :source, :sequence,
    :created_at, :thinking, :context_json, :metadata_json, :blocks_json, :lossy, :root_id, :native_id, :evidence);

-- name: last_numbers
-- The last numbers of messages and of tool calls: the next ones follow in steps of two.
SELECT (SELECT coalesce(max(n), 0) FROM messages), (SELECT coalesce(max(n), -1) FROM tool_calls);

-- name: next_message
SELECT coalesce(max(sequence), -1) + 1 FROM messages WHERE turn_id = :turn_id;

-- name: next_call
SELECT coalesce(max(sequence), -1) + 1 FROM tool_calls WHERE turn_id = :turn_id;

-- name: update_message
-- What a streaming message has become.
UPDATE messages SET content = :content, thinking = :thinking, lossy = :lossy WHERE id = :id;

-- name: insert_call
INSERT INTO tool_calls (n, id, turn_id, message_id, tool_name, tool_number, params_json, result_json, error,
    status, spawned_session_label, started_at, completed_at, sequence, lossy, root_id, native_id,
    evidence)
VALUES ((SELECT coalesce(max(n), -1) + 2 FROM tool_calls), :id, :turn_id, :message_id, :tool_name,
    :tool_number, :params_json, :result_json, :error, :status, :spawned_session_label, :started_at,
    :completed_at, :sequence, :lossy, :root_id, :native_id, :evidence);

-- name: finish_call
-- The outcome of a tool call that is still open.
UPDATE tool_calls SET status = :status, result_json = :result_json, error = :error,
    completed_at = :completed_at, lossy = CASE WHEN :lossy = 1 THEN 1 ELSE lossy END
WHERE id = :id AND status IN ('pending', 'running')
RETURNING spawned_session_label;

-- name: link_spawned
UPDATE tool_calls SET spawned_session_label = :label
WHERE id = :id AND turn_id = :turn_id AND spawned_session_label IS NULL AND status IN ('pending', 'running')
RETURNING id;

-- name: abandon_calls
-- The calls of a turn that ended before them.
UPDATE tool_calls SET status = 'abandoned', completed_at = :completed_at
WHERE turn_id = :turn_id AND status IN ('pending', 'running')
RETURNING spawned_session_label;

-- name: insert_file
INSERT INTO message_files (id, message_id, kind, file_path, line_start, line_end, root_id)
VALUES ((SELECT coalesce(max(id), 0) + 1 FROM message_files), :message_id, :kind, :file_path, :line_start,
    :line_end, :root_id);

-- name: insert_lint
INSERT INTO message_lints (id, message_id, file_path, message, lint_source, start_line, start_col, end_line,
    end_col, severity, root_id)
VALUES ((SELECT coalesce(max(id), 0) + 1 FROM message_lints), :message_id, :file_path, :message, :lint_source,
    :start_line, :start_col, :end_line, :end_col, :severity, :root_id);

-- name: insert_codeblock
INSERT INTO message_codeblocks (id, message_id, idx, language, content, file_path, line_start, line_end,
    root_id)
VALUES ((SELECT coalesce(max(id), 0) + 1 FROM message_codeblocks), :message_id, :idx, :language, :content,
    :file_path, :line_start, :line_end, :root_id);

-- name: insert_original
INSERT INTO originals (row_id, field, bytes, turn_id, root_id)
VALUES (:row_id, :field, :bytes, :turn_id, :root_id)
ON CONFLICT (row_id, field) DO UPDATE SET bytes = excluded.bytes;

-- name: insert_usage
INSERT INTO usages (turn_id, sequence, message_id, model, provider, input_tokens, output_tokens,
    cached_input_tokens, cache_write_tokens, reasoning_tokens, total_tokens, at, usage_key, root_id)
VALUES (:turn_id, :sequence, :message_id, :model, :provider, :input_tokens, :output_tokens,
    :cached_input_tokens, :cache_write_tokens, :reasoning_tokens, :total_tokens, :at, :usage_key, :root_id);

-- name: usages_of
SELECT * FROM usages WHERE turn_id IN_LIST(:ids) ORDER BY turn_id, sequence;

-- name: newest_usage
-- The last call to a model on a thread behind a depth: its turn, and the tokens that it had before it and gave. A turn
-- without tool calls was one call, so its own counters will do.
WITH RECURSIVE chain(segment_id, through) AS (
    SELECT segment_id, depth FROM turns WHERE id = :id
    UNION ALL
    SELECT s.parent_segment_id, s.fork_depth
    FROM chain JOIN segments s ON s.id = chain.segment_id
    WHERE s.parent_segment_id IS NOT NULL AND s.fork_depth > :after)
SELECT a.id, a.depth, u.message_id,
    coalesce(u.input_tokens, CASE WHEN u.turn_id IS NULL THEN a.input_tokens END, 0)
    + coalesce(u.cached_input_tokens, CASE WHEN u.turn_id IS NULL THEN a.cached_input_tokens END, 0)
    + coalesce(u.cache_write_tokens, CASE WHEN u.turn_id IS NULL THEN a.cache_write_tokens END, 0)
    + coalesce(u.output_tokens, CASE WHEN u.turn_id IS NULL THEN a.output_tokens END, 0) AS tokens
FROM chain CROSS JOIN turns a LEFT JOIN usages u ON u.turn_id = a.id
WHERE a.segment_id = chain.segment_id AND a.depth <= chain.through AND a.depth > :after
    AND (u.input_tokens > 0 OR u.cached_input_tokens > 0
        OR (u.turn_id IS NULL AND a.input_tokens > 0 AND a.tool_call_count = 0))
ORDER BY a.depth DESC, u.sequence DESC LIMIT 1;

-- name: insert_compaction
INSERT INTO compactions (turn_id, summary, summarized_through_turn_id, first_kept_turn_id, turns_summarized,
    compaction_type, model, provider, tokens_before, tokens_after, summary_tokens,
    summarization_input_tokens, summarization_output_tokens, duration_ms, trigger, metadata_json,
    first_kept_message_id, kept_json, replacement_json, root_id)
VALUES (:turn_id, :summary, :summarized_through_turn_id, :first_kept_turn_id, :turns_summarized,
    :compaction_type, :model, :provider, :tokens_before, :tokens_after, :summary_tokens,
    :summarization_input_tokens, :summarization_output_tokens, :duration_ms, :trigger, :metadata_json,
    :first_kept_message_id, :kept_json, :replacement_json, :root_id);

-- name: messages_of
-- Of the turns whose ids are given as a JSON array, as are the following.
SELECT id, turn_id, role, content, source, sequence, created_at, thinking, context_json, metadata_json,
    blocks_json, lossy, root_id, native_id, evidence
FROM messages WHERE turn_id IN_LIST(:ids) ORDER BY turn_id, sequence;

-- name: calls_of
SELECT id, turn_id, message_id, tool_name, tool_number, params_json, result_json, error, status,
    spawned_session_label, started_at, completed_at, sequence, lossy, root_id, native_id, evidence
FROM tool_calls WHERE turn_id IN_LIST(:ids) ORDER BY turn_id, sequence;

-- name: compactions_of
SELECT * FROM compactions WHERE turn_id IN_LIST(:ids);

-- name: attached
-- Whether files, lints, code blocks, originals and usages hang on a turn: most have none of them.
SELECT EXISTS (SELECT 1 FROM messages m JOIN message_files f ON f.message_id = m.id WHERE m.turn_id = :turn_id) AS files,
    EXISTS (SELECT 1 FROM messages m JOIN message_lints l ON l.message_id = m.id WHERE m.turn_id = :turn_id) AS lints,
    EXISTS (SELECT 1 FROM messages m JOIN message_codeblocks b ON b.message_id = m.id WHERE m.turn_id = :turn_id) AS blocks,
    EXISTS (SELECT 1 FROM originals WHERE turn_id = :turn_id) AS originals,
    EXISTS (SELECT 1 FROM usages WHERE turn_id = :turn_id) AS usages;

-- name: files_of
SELECT m.turn_id, f.message_id, f.kind, f.file_path, f.line_start, f.line_end, f.root_id
FROM messages m JOIN message_files f ON f.message_id = m.id
WHERE m.turn_id IN_LIST(:ids) ORDER BY m.turn_id, m.sequence, f.id;

-- name: lints_of
SELECT m.turn_id, l.message_id, l.file_path, l.message, l.lint_source, l.start_line, l.start_col, l.end_line,
    l.end_col, l.severity, l.root_id
FROM messages m JOIN message_lints l ON l.message_id = m.id
WHERE m.turn_id IN_LIST(:ids) ORDER BY m.turn_id, m.sequence, l.id;

-- name: codeblocks_of
SELECT m.turn_id, b.message_id, b.idx, b.language, b.content, b.file_path, b.line_start, b.line_end, b.root_id
FROM messages m JOIN message_codeblocks b ON b.message_id = m.id
WHERE m.turn_id IN_LIST(:ids) ORDER BY m.turn_id, m.sequence, b.idx;

-- name: originals_of
SELECT row_id, field, bytes, turn_id, root_id FROM originals WHERE turn_id IN_LIST(:ids)
ORDER BY turn_id, row_id, field;

-- name: message_by_id
SELECT id, turn_id, role, content, source, sequence, created_at, thinking, context_json, metadata_json,
    blocks_json, lossy, root_id, native_id, evidence
FROM messages WHERE id = :id;

-- name: call_by_id
SELECT id, turn_id, message_id, tool_name, tool_number, params_json, result_json, error, status,
    spawned_session_label, started_at, completed_at, sequence, lossy, root_id, native_id, evidence
FROM tool_calls WHERE id = :id;

-- name: compaction_of
SELECT * FROM compactions WHERE turn_id = :turn_id;

-- name: tools_outside
-- Tool calls whose tool was not in the turn's toolset: "did the agent use a tool that it should not have had?"
-- Turns whose toolset is unknown (null) say nothing either way. The toolset is text; the caller reads it.
SELECT c.id, c.turn_id, c.tool_name, c.status, t.toolset_name, t.tools_available
FROM tool_calls c JOIN turns t ON t.id = c.turn_id
WHERE t.tools_available IS NOT NULL AND (CAST(:turn_id AS TEXT) IS NULL OR t.id = :turn_id)
ORDER BY c.turn_id, c.sequence;
