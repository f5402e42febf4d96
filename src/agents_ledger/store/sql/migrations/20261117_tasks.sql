-- Added: the states of tasks and calls, as agents save them through the Agent OS face. None is ever overwritten.
CREATE TABLE saves (
    id INTEGER PRIMARY KEY,                     -- its log entry, which has a commitment to the row
    entity TEXT NOT NULL CHECK (entity IN ('task', 'call')),
    ref TEXT NOT NULL,                          -- the session's label, or the id of the tool call
    session_label TEXT NOT NULL REFERENCES sessions(label),
    status TEXT,                                -- in the agent's words; null: a task that is at work
    is_open INTEGER NOT NULL,                   -- 1: a task or call that has not ended yet
    details TEXT,                               -- of a call: how to go on with it, or what came of it
    start_message_id TEXT REFERENCES messages(id),
    end_message_id TEXT REFERENCES messages(id),
    updated_at INTEGER NOT NULL,                -- as the agent says
    extra TEXT,                                 -- JSON object: what no column holds
    salt BLOB NOT NULL,
    next_id INTEGER REFERENCES saves(id)        -- the save that followed; null: it is so now
);

CREATE INDEX idx_saves_ref ON saves(ref, id);
CREATE INDEX idx_saves_open ON saves(id) WHERE is_open = 1 AND next_id IS NULL;
CREATE INDEX idx_sessions_created ON sessions(created_at, label);

-- Added: sessions, tool calls and messages in the words of Agent OS (seed 004), column by column.
-- A task that nobody saved is a session of another agent: done, unless somebody is writing it.
CREATE VIEW tasks AS
SELECT s.label AS id,
    s.parent_session_label AS parent_task_id,
    CASE WHEN v.id IS NOT NULL THEN v.status
        WHEN s.thread_id IS NULL OR s.task_status IN ('pending', 'running')
            OR EXISTS (SELECT 1 FROM leases l WHERE l.session_label = s.label) THEN NULL
        WHEN t.status = 'failed' OR s.task_status = 'failed' THEN 'failed'
        ELSE 'success' END AS completion_status,
    coalesce((SELECT m.content FROM messages m WHERE m.turn_id = t.root_id AND m.sequence = 0 AND m.role = 'system'
        AND (s.origin IS NULL OR s.origin <> 'agent-os' OR m.source = 'task')), '') AS system_prompt,
    s.created_at,
    coalesce(v.updated_at, s.updated_at) AS updated_at
FROM sessions s LEFT JOIN turns t ON t.id = s.thread_id
    LEFT JOIN saves v ON v.ref = s.label AND v.entity = 'task' AND v.next_id IS NULL;

-- (A session's own turns are looked for in the trees that it has been in: an index on turns.session_label would cost
-- every commit.)
CREATE VIEW calls AS
SELECT c.id,
    t.session_label AS task_id,
    c.tool_name AS ability_name,
    c.params_json AS parameters,
    CASE WHEN c.status = 'running' THEN 'in_progress' WHEN c.status IN ('pending', 'completed') THEN c.status
        ELSE 'failed' END AS status,
    coalesce(v.details, c.result_json, c.error, '') AS details,
    c.started_at AS created_at,
    coalesce(v.updated_at, c.completed_at, c.started_at) AS updated_at,
    coalesce(v.start_message_id, c.message_id, '') AS start_message_id,
    v.end_message_id
FROM (SELECT DISTINCT h.session_label, f.root_id FROM session_history h JOIN turns f ON f.id = h.thread_id
        WHERE h.reason <> 'advance' OR h.from_thread_id IS NULL) r
    JOIN segments g ON g.root_id = r.root_id
    JOIN turns t ON t.segment_id = g.id AND t.session_label = r.session_label
    JOIN tool_calls c ON c.turn_id = t.id
    LEFT JOIN saves v ON v.ref = c.id AND v.entity = 'call' AND v.next_id IS NULL;

-- Agent OS calls it `messages`, which is a table here. (A task's own system prompt is no message of it.)
CREATE VIEW task_messages AS
SELECT m.id,
    t.session_label AS task_id,
    m.role,
    coalesce(m.content, '') AS content,
    m.created_at AS timestamp
FROM (SELECT DISTINCT h.session_label, f.root_id FROM session_history h JOIN turns f ON f.id = h.thread_id
        WHERE h.reason <> 'advance' OR h.from_thread_id IS NULL) r
    JOIN segments g ON g.root_id = r.root_id
    JOIN turns t ON t.segment_id = g.id AND t.session_label = r.session_label
    JOIN messages m ON m.turn_id = t.id
WHERE m.role <> 'tool' AND coalesce(m.source, '') <> 'task';
