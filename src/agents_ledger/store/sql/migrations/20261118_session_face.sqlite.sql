-- A session is told faster: its messages are counted at its head, unless something is being written there, and a
-- folder is made plain only where it is not.

DROP VIEW agent_sessions;
DROP VIEW face_sessions;

-- A session with its head and what its source says of it.
CREATE VIEW face_sessions AS
SELECT i.id, s.label, i.segment_id, coalesce(s.origin, 'ledger') AS source, s.created_at, s.updated_at, s.is_subagent,
    s.parent_session_label, s.spawn_tool_call_id, s.task_description, s.task_status, d.parent_call, d.task,
    d.task_status AS told_status, d.title, d.channel, d.extra, h.id AS head_id, h.parent_turn_id, h.model,
    h.depth, h.messages_before, h.completed_at,
    h.tool_call_count > 0 OR coalesce(h.tools_available, '[]') <> '[]' AS has_tools,
    coalesce(d.project, h.workspace_path) AS workspace_path,
    rtrim(replace(coalesce(d.project, h.workspace_path), '\', '/'), '/') AS folder
FROM session_ids i JOIN sessions s ON s.label = i.session_label
    LEFT JOIN turns h ON h.id = s.thread_id
    LEFT JOIN session_details d ON d.session_label = s.label;

-- Mnemonic's Agents Ledger (seed 000).
CREATE VIEW agent_sessions AS
SELECT s.id, s.source,
    coalesce(s.model, (SELECT t.model FROM turns t WHERE t.id = s.parent_turn_id),
        s.extra ->> '$.entry.model', s.extra ->> '$.modelConfig.modelName') AS model,
    CASE WHEN substr(s.workspace_path, -1) = '/' OR instr(s.workspace_path, '\')
        THEN substr(s.folder, length(rtrim(s.folder, replace(s.folder, '/', ''))) + 1)
        ELSE substr(s.workspace_path, length(rtrim(s.workspace_path, replace(s.workspace_path, '/', ''))) + 1) END
        AS project,
    s.created_at,
    CASE WHEN EXISTS (SELECT 1 FROM leases l WHERE l.session_label = s.label)
        THEN coalesce((SELECT t.messages_before
            + coalesce((SELECT max(m.sequence) + 1 FROM messages m WHERE m.turn_id = t.id), 0)
        FROM turns t WHERE t.segment_id = s.segment_id AND t.depth = coalesce(s.depth, 0) + EXISTS (
            SELECT 1 FROM leases l JOIN turns v ON v.id = l.turn_id
            WHERE l.session_label = s.label AND v.segment_id = s.segment_id AND v.depth = coalesce(s.depth, 0) + 1)), 0)
        ELSE coalesce(s.messages_before
            + coalesce((SELECT max(m.sequence) + 1 FROM messages m WHERE m.turn_id = s.head_id), 0), 0) END
        AS message_count,
    parent.id AS parent_session_id,
    coalesce((SELECT coalesce(m.native_id, m.id) FROM messages m WHERE m.id = c.message_id),
        s.extra ->> '$.parentMessageId', s.extra ->> '$.entry.parentMessageId') AS parent_message_id,
    coalesce(c.native_id, s.parent_call, s.spawn_tool_call_id) AS tool_call_id,
    coalesce(s.task_description, s.task) AS task_description,
    coalesce(s.task_status, s.told_status, c.status) AS task_status,
    s.is_subagent,
    coalesce(s.extra ->> '$.contextTokenLimit', s.extra ->> '$.entry.contextTokenLimit')
        AS context_token_limit,
    coalesce(s.extra ->> '$.contextTokensUsed', s.extra ->> '$.entry.contextTokensUsed',
        (SELECT coalesce(u.input_tokens, 0) + coalesce(u.cached_input_tokens, 0) + coalesce(u.cache_write_tokens, 0)
            + coalesce(u.output_tokens, 0) FROM usages u WHERE u.turn_id = s.head_id ORDER BY u.sequence DESC LIMIT 1))
        AS context_tokens_used,
    coalesce(s.extra ->> '$.isAgentic', s.extra ->> '$.entry.isAgentic',
        CASE WHEN s.source NOT IN ('cursor', 'ledger') OR s.has_tools THEN 1 ELSE 0 END) AS is_agentic,
    coalesce(s.extra ->> '$.forceMode', s.extra ->> '$.entry.forceMode') AS force_mode,
    s.workspace_path
FROM face_sessions s LEFT JOIN session_ids parent ON parent.session_label = s.parent_session_label
    LEFT JOIN tool_calls c ON c.id = s.spawn_tool_call_id;
