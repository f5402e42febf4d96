-- The faces: what other systems call the same rows, as views. They hold no data. Names that are ours already have a
-- prefix here: AIX's tables are aix_…, the threads of the Events Ledger event_threads. It must run in the sqlite3
-- shell of Debian 12 (3.40).

-- How far each session's conversation goes: to its head, or to what is being written right behind it.
CREATE VIEW face_heads AS
SELECT i.id, i.session_label, i.segment_id, h.depth + EXISTS (
        SELECT 1 FROM leases l JOIN turns v ON v.id = l.turn_id
        WHERE l.session_label = s.label AND v.segment_id = i.segment_id AND v.depth = h.depth + 1) AS depth
FROM session_ids i JOIN sessions s ON s.label = i.session_label JOIN turns h
    ON h.id = coalesce(s.thread_id, (SELECT max(l.turn_id) FROM leases l WHERE l.session_label = s.label));

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

-- A message, wherever it is. Cursor's metadata stays as it is, with what the ledger keeps elsewhere put back; for other
-- agents the same words are filled from the ledger's own rows.
CREATE VIEW face_messages AS
SELECT coalesce(m.native_id, m.id) AS id, t.segment_id, t.depth, m.role, coalesce(m.content, '') AS content,
    t.messages_before + m.sequence AS sequence, m.created_at AS timestamp,
    m.metadata_json ->> '$.checkpointId' AS checkpoint_id,
    coalesce(m.metadata_json ->> '$.isAgentic',
        CASE WHEN t.tool_call_count > 0 OR coalesce(t.tools_available, '[]') <> '[]' THEN 1 ELSE 0 END) AS is_agentic,
    coalesce(m.metadata_json ->> '$.isPlanExecution', 0) AS is_plan_execution,
    m.context_json,
    coalesce(m.context_json ->> '$.cursorRules', m.metadata_json ->> '$.activeRules')
        AS cursor_rules_json,
    CASE WHEN m.metadata_json LIKE '%"bubbleId":%' THEN
        substr(m.metadata_json, 1, length(m.metadata_json) - 1)
        || CASE WHEN m.thinking IS NULL THEN '' ELSE ',"thinking":{"text":' || json_quote(m.thinking) || '}' END
        || coalesce((SELECT ',"lints":' || json_group_array(json_object('path', l.file_path, 'message', l.message,
            'source', l.lint_source, 'severity', l.severity, 'line', l.start_line, 'column',
            l.start_col))
        FROM message_lints l WHERE l.message_id = m.id HAVING count(*) > 0), '')
        || CASE WHEN m.context_json LIKE '{"%' THEN ',' || substr(m.context_json, 2) ELSE '}' END
    ELSE
        nullif('{' || substr(
            CASE WHEN m.thinking IS NULL THEN '' ELSE ',"thinking":{"text":' || json_quote(m.thinking) || '}' END
            || coalesce((SELECT ',"relevantFiles":' || json_group_array(f.file_path)
            FROM message_files f WHERE f.message_id = m.id HAVING count(*) > 0), '')
            || coalesce((SELECT ',"lints":' || json_group_array(json_object('path', l.file_path, 'message', l.message,
            'source', l.lint_source, 'severity', l.severity, 'line', l.start_line, 'column',
            l.start_col))
        FROM message_lints l WHERE l.message_id = m.id HAVING count(*) > 0), '')
            || coalesce((SELECT ',"tokenCount":{"inputTokens":' || coalesce(sum(u.input_tokens), 0)
                || ',"outputTokens":' || coalesce(sum(u.output_tokens), 0) || '}'
                FROM usages u WHERE u.message_id = m.id HAVING count(*) > 0), '')
            || CASE WHEN m.metadata_json LIKE '{"%' THEN ',' || substr(m.metadata_json, 2, length(m.metadata_json) - 2)
                WHEN m.metadata_json NOT IN ('{}', 'null') THEN ',"metadata":' || m.metadata_json ELSE '' END, 2)
            || '}', '{}')
    END AS metadata_json
FROM turns t JOIN messages m ON m.turn_id = t.id;

-- Each session has its whole conversation, from the root to its head (or to what is being written): what a fork shares
-- with its origin is in both. What no session's thread has any more has no session_id.
CREATE VIEW agent_messages AS
SELECT m.id, i.id AS session_id, m.role, m.content, m.sequence, m.timestamp, m.checkpoint_id,
    m.is_agentic, m.is_plan_execution, m.context_json, m.cursor_rules_json, m.metadata_json
FROM face_heads i JOIN segment_paths p ON p.segment_id = i.segment_id
    JOIN face_messages m ON m.segment_id = p.on_segment_id AND m.depth <= min(p.through, i.depth)
UNION ALL
SELECT m.id, CAST(NULL AS TEXT), m.role, m.content, m.sequence, m.timestamp, m.checkpoint_id,
    m.is_agentic, m.is_plan_execution, m.context_json, m.cursor_rules_json, m.metadata_json
FROM face_messages m WHERE
    NOT EXISTS (SELECT 1 FROM segment_paths p JOIN face_heads i ON i.segment_id = p.segment_id
        WHERE p.on_segment_id = m.segment_id AND p.through >= m.depth AND i.depth >= m.depth);

-- One row a turn, in the session that it was written in; what led to it is found by parent_turn_id, over all forks.
-- The id is the ledger's own: an id made of the answer's would change while the answer is being written.
CREATE VIEW agent_turns AS
SELECT t.id, i.id AS session_id, t.parent_turn_id,
    (SELECT json_group_array(coalesce(m.native_id, m.id))
        FROM json_each(t.query_message_ids) e CROSS JOIN messages m ON m.id = e.value) AS query_message_ids,
    (SELECT coalesce(m.native_id, m.id) FROM messages m WHERE m.id = t.response_message_id) AS response_message_id,
    t.model, t.total_tokens AS token_count, coalesce(t.completed_at, t.started_at) AS timestamp, t.has_children,
    t.tool_call_count
FROM session_segments w JOIN turns t ON t.segment_id = w.segment_id AND coalesce(t.session_label, '') = w.session_label
    LEFT JOIN session_ids i ON i.session_label = w.session_label;

CREATE VIEW face_tool_calls AS
SELECT coalesce(c.native_id, c.id) AS id, t.segment_id, t.depth,
    (SELECT coalesce(m.native_id, m.id) FROM messages m WHERE m.id = c.message_id) AS message_id,
    c.tool_name,
    c.sequence - 1 - coalesce((SELECT o.sequence FROM tool_calls o WHERE o.turn_id = c.turn_id
            AND o.sequence < c.sequence AND o.message_id IS NOT c.message_id
        ORDER BY o.sequence DESC LIMIT 1), -1) AS tool_number,
    c.params_json,
    CASE WHEN c.result_json IS NULL AND c.error IS NOT NULL THEN json_object('error', c.error)
        ELSE c.result_json END AS result_json,
    c.status,
    coalesce((SELECT k.id FROM sessions child JOIN session_ids k ON k.session_label = child.label
            WHERE child.spawn_tool_call_id = c.id),
        (SELECT k.id FROM session_ids k WHERE k.session_label = c.spawned_session_label)) AS child_session_id,
    c.started_at, c.completed_at
FROM turns t JOIN tool_calls c ON c.turn_id = t.id;

-- As agent_messages: each session has all calls of its conversation.
CREATE VIEW agent_tool_calls AS
SELECT c.id, c.message_id, i.id AS session_id, c.tool_name, c.tool_number, c.params_json, c.result_json, c.status,
    c.child_session_id, c.started_at, c.completed_at
FROM face_heads i JOIN segment_paths p ON p.segment_id = i.segment_id
    JOIN face_tool_calls c ON c.segment_id = p.on_segment_id AND c.depth <= min(p.through, i.depth)
UNION ALL
SELECT c.id, c.message_id, CAST(NULL AS TEXT), c.tool_name, c.tool_number, c.params_json, c.result_json, c.status,
    c.child_session_id, c.started_at, c.completed_at
FROM face_tool_calls c WHERE
    NOT EXISTS (SELECT 1 FROM segment_paths p JOIN face_heads i ON i.segment_id = p.segment_id
        WHERE p.on_segment_id = c.segment_id AND p.through >= c.depth AND i.depth >= c.depth);

-- What programs put into people's messages and models into their answers: a block from one mark to the other, or a
-- mark alone. (Messages that are injected as a whole are known by their `source` already.)
CREATE VIEW injected_marks AS
SELECT column1 AS n, column2 AS role, column3 AS opening, column4 AS closing FROM (VALUES
    (1, 'user', '<system-reminder>', '</system-reminder>'), (2, 'user', '<ide_opened_file>', '</ide_opened_file>'),
    (3, 'user', '<ide_selection>', '</ide_selection>'), (4, 'user', '<ide_diagnostics>', '</ide_diagnostics>'),
    (5, 'user', '<command-message>', '</command-message>'), (6, 'user', '<command-name>', NULL),
    (7, 'user', '</command-name>', NULL), (8, 'user', '<command-args>', NULL), (9, 'user', '</command-args>', NULL),
    (10, 'user', '<local-command-stdout>', '</local-command-stdout>'),
    (11, 'user', '<local-command-stderr>', '</local-command-stderr>'),
    (12, 'user', '<local-command-caveat>', '</local-command-caveat>'),
    (13, 'user', '<bash-stdout>', '</bash-stdout>'), (14, 'user', '<bash-stderr>', '</bash-stderr>'),
    (15, 'user', '<bash-input>', '</bash-input>'),
    (16, 'user', '<user-prompt-submit-hook>', '</user-prompt-submit-hook>'),
    (17, 'user', '<session-start-hook>', '</session-start-hook>'),
    (18, 'user', '<task-notification>', '</task-notification>'),
    (19, 'user', '<environment_context>', '</environment_context>'),
    (20, 'user', '<user_instructions>', '</user_instructions>'),
    (21, 'user', '# AGENTS.md instructions', '</INSTRUCTIONS>'),
    (22, 'user', '# Context from my IDE setup:', '## My request for Codex:'),
    (23, 'user', '<permissions instructions>', '</permissions instructions>'), (24, 'user', '<skill>', '</skill>'),
    (25, 'user', '<skills_instructions>', '</skills_instructions>'),
    (26, 'user', '<turn_aborted>', '</turn_aborted>'),
    (27, 'user', '<subagent_notification>', '</subagent_notification>'),
    (28, 'user', '<user_shell_command>', '</user_shell_command>'), (29, 'user', '<model_switch>', '</model_switch>'),
    (30, 'user', '<goal_context>', '</goal_context>'), (31, 'user', '<user_query>', NULL),
    (32, 'user', '</user_query>', NULL), (33, 'user', '<timestamp>', '</timestamp>'),
    (34, 'user', '<attached_files>', '</attached_files>'),
    (35, 'user', '<open_and_recently_viewed_files>', '</open_and_recently_viewed_files>'),
    (36, 'user', '<user_info>', '</user_info>'), (37, 'user', '<git_status>', '</git_status>'),
    (38, 'user', '<project_layout>', '</project_layout>'), (39, 'user', '<rules>', '</rules>'),
    (40, 'user', '<agent_transcripts>', '</agent_transcripts>'),
    (41, 'user', '<additional_data>', '</additional_data>'), (42, 'user', '<linter_errors>', '</linter_errors>'),
    (43, 'user', '<system_notification>', '</system_notification>'), (44, 'user', '<file name=', '</file>'),
    (45, 'user', '<image ', '</image>'), (46, 'user', '[message_id:', ']'),
    (47, 'user', 'Conversation info (untrusted metadata):' || char(10) || '```json', '```'),
    (48, 'user', 'Sender (untrusted metadata):' || char(10) || '```json', '```'),
    (49, 'assistant', '<function_calls>', '</function_calls>'),
    (50, 'assistant', '<function_results>', '</function_results>'), (51, 'assistant', '<invoke ', '</invoke>'),
    (52, 'assistant', '<tool_call>', '</tool_call>'), (53, 'assistant', '<tool_use>', '</tool_use>'),
    (54, 'assistant', '<tool_result>', '</tool_result>'), (55, 'assistant', '<tool_response>', '</tool_response>'),
    (56, 'assistant', '<thinking>', '</thinking>'), (57, 'assistant', '<think>', '</think>')
);

-- What somebody asked (not: what a program put in), and what was answered in words.
CREATE VIEW face_questions AS
SELECT id, turn_id, sequence, content FROM messages
WHERE role = 'user' AND coalesce(source, 'human') NOT IN ('context', 'event');
CREATE VIEW face_answers AS
SELECT id, turn_id, sequence, content FROM messages WHERE role = 'assistant' AND coalesce(content, '') <> '';

CREATE VIEW face_spoken AS
SELECT m.id, i.id AS thread_id, t.id AS turn_id, coalesce(s.origin, 'ledger') AS source, d.channel,
    'user' AS role, m.content AS words, m.created_at AS timestamp, CAST(NULL AS TEXT) AS model,
    EXISTS (SELECT 1 FROM face_questions x WHERE x.turn_id = t.id AND x.sequence > m.sequence) AS has_more
FROM session_ids i JOIN sessions s ON s.label = i.session_label
    LEFT JOIN session_details d ON d.session_label = s.label
    JOIN session_segments w ON w.session_label = i.session_label
    JOIN turns t ON t.segment_id = w.segment_id AND t.session_label = w.session_label
    JOIN messages m ON m.turn_id = t.id
        AND m.id = (SELECT x.id FROM face_questions x WHERE x.turn_id = t.id ORDER BY x.sequence LIMIT 1)
UNION ALL
SELECT m.id, i.id, t.id, coalesce(s.origin, 'ledger'), d.channel, 'assistant', m.content, m.created_at, t.model, 0
FROM session_ids i JOIN sessions s ON s.label = i.session_label
    LEFT JOIN session_details d ON d.session_label = s.label
    JOIN session_segments w ON w.session_label = i.session_label
    JOIN turns t ON t.segment_id = w.segment_id AND t.session_label = w.session_label
    JOIN messages m ON m.turn_id = t.id
        AND m.id = (SELECT x.id FROM face_answers x WHERE x.turn_id = t.id ORDER BY x.sequence DESC LIMIT 1);

-- Mnemonic's Events Ledger: what was asked and what was answered, one event each for a turn, in the session that it
-- was written in. A plain SQL client sees the words without what programs put around them.
CREATE VIEW events AS
SELECT e.id, e.thread_id, e.turn_id, e.source, e.channel, e.role,
    CASE WHEN NOT e.has_more AND CASE e.role
        WHEN 'user' THEN instr(e.words, '<') = 0 AND (e.source IN ('claude-code', 'cursor', 'agentuse')
            OR (instr(e.words, '[message_id:') = 0 AND instr(e.words, '(untrusted') = 0
                AND instr(e.words, '# AGENTS.md') = 0 AND instr(e.words, '# Context from') = 0))
        ELSE instr(e.words, '</') = 0 OR (instr(e.words, '</function_') = 0 AND instr(e.words, '</invoke>') = 0
            AND instr(e.words, '</tool_') = 0 AND instr(e.words, '</think') = 0) END
    THEN trim(e.words, ' ' || char(9, 10, 13)) -- as most texts are
    ELSE (WITH given(words) AS (SELECT CASE WHEN e.has_more
            THEN (SELECT group_concat(content, char(10, 10)) FROM (
                SELECT x.content FROM face_questions x WHERE x.turn_id = e.turn_id ORDER BY x.sequence))
            ELSE coalesce(e.words, '') END)
            SELECT (WITH RECURSIVE strip(mark, kept, removed) AS (
                SELECT (SELECT min(k.n) FROM injected_marks k
                    WHERE k.role = e.role AND instr(words, k.opening) > 0), words, 0
                UNION ALL
                SELECT CASE WHEN instr(kept, k.opening) > 0 AND removed < 500 AND (k.closing IS NULL
                        OR instr(substr(kept, instr(kept, k.opening) + length(k.opening)), k.closing) > 0) THEN mark
                    ELSE (SELECT min(o.n) FROM injected_marks o
                        WHERE o.role = e.role AND o.n > mark AND instr(kept, o.opening) > 0) END,
                CASE WHEN instr(kept, k.opening) = 0 OR removed >= 500 THEN kept
                    WHEN k.closing IS NULL THEN substr(kept, 1, instr(kept, k.opening) - 1)
                        || substr(kept, instr(kept, k.opening) + length(k.opening))
                    WHEN instr(substr(kept, instr(kept, k.opening) + length(k.opening)), k.closing) = 0 THEN kept
                    ELSE substr(kept, 1, instr(kept, k.opening) - 1)
                        || substr(kept, instr(kept, k.opening) + length(k.opening) + length(k.closing) - 1
                            + instr(substr(kept, instr(kept, k.opening) + length(k.opening)), k.closing)) END,
                removed + 1
                FROM strip JOIN injected_marks k ON k.n = mark)
            SELECT trim(kept, ' ' || char(9, 10, 13)) FROM strip WHERE mark IS NULL) FROM given) END AS content,
    e.timestamp, e.model
FROM face_spoken e;

CREATE VIEW event_threads AS
SELECT s.id, s.source, s.channel, s.title,
    substr(s.folder, length(rtrim(s.folder, replace(s.folder, '/', ''))) + 1) AS project,
    parent.id AS parent_thread_id, s.is_subagent, s.created_at, coalesce(s.completed_at, s.updated_at) AS updated_at,
    (SELECT coalesce(sum(CAST(EXISTS (SELECT 1 FROM face_questions x WHERE x.turn_id = t.id) AS INTEGER)
            + CAST(EXISTS (SELECT 1 FROM face_answers x WHERE x.turn_id = t.id) AS INTEGER)), 0)
        FROM session_segments w JOIN turns t ON t.segment_id = w.segment_id AND t.session_label = w.session_label
        WHERE w.session_label = s.label) AS event_count
FROM face_sessions s LEFT JOIN session_ids parent ON parent.session_label = s.parent_session_label;

-- AIX (seed 002).
CREATE VIEW aix_sessions AS
SELECT a.id, a.source, a.project, a.model, a.created_at, a.message_count,
    coalesce((SELECT d.title FROM session_details d WHERE d.session_label = i.session_label),
        (SELECT k.summary FROM sessions s JOIN turns h ON h.id = s.thread_id
            JOIN segment_paths p ON p.segment_id = i.segment_id
            JOIN turns t ON t.segment_id = p.on_segment_id AND t.depth = h.compaction_depth AND t.depth <= p.through
            JOIN compactions k ON k.turn_id = t.id WHERE s.label = i.session_label)) AS summary,
    (SELECT d.extra FROM session_details d WHERE d.session_label = i.session_label) AS raw_json,
    a.parent_session_id, a.parent_message_id, a.tool_call_id, a.task_description, a.task_status, a.is_subagent,
    a.context_token_limit, a.context_tokens_used, a.is_agentic, a.force_mode, a.workspace_path
FROM agent_sessions a JOIN session_ids i ON i.id = a.id;

CREATE VIEW aix_messages AS
SELECT id, session_id, role, content, sequence, timestamp, checkpoint_id, is_agentic, is_plan_execution, context_json,
    cursor_rules_json, metadata_json AS raw_json
FROM agent_messages;

CREATE VIEW aix_turns AS
SELECT id, session_id, parent_turn_id, query_message_ids, response_message_id, model, token_count, timestamp,
    has_children, tool_call_count
FROM agent_turns;

CREATE VIEW aix_tool_calls AS
SELECT id, message_id, session_id, tool_name, tool_number, params_json, result_json, status, child_session_id,
    started_at, completed_at
FROM agent_tool_calls;
