-- Sessions: pointers, their history, their other names; the log; leases.

-- name: session_by_label
SELECT * FROM sessions WHERE label = :label;

-- name: session_with_head
-- A session, and what a turn after its head inherits: a statement less for every turn that is written.
SELECT s.*, {inherited} FROM sessions s LEFT JOIN turns p ON p.id = s.thread_id WHERE s.label = :label;

-- name: session_by_origin
SELECT * FROM sessions WHERE origin = :origin AND origin_session_id = :origin_session_id
ORDER BY updated_at DESC LIMIT 1;

-- name: sessions_by_native
-- The sessions that agents know by an id. (Asked where nothing else is found: the index has the agent first.)
SELECT * FROM sessions WHERE origin IS NOT NULL AND origin_session_id = :native_id ORDER BY label LIMIT 5;

-- name: alias_by_name
SELECT * FROM session_aliases WHERE alias = :alias;

-- name: insert_session
INSERT INTO sessions (label, persona_id, is_subagent, parent_session_label, parent_turn_id, spawn_tool_call_id,
    task_description, task_status, routing_key, origin, origin_session_id, created_at, updated_at, status)
VALUES (:label, :persona_id, :is_subagent, :parent_session_label, :parent_turn_id, :spawn_tool_call_id,
    :task_description, :task_status, :routing_key, :origin, :origin_session_id, :created_at, :updated_at,
    :status);

-- name: insert_move
INSERT INTO session_history (id, session_label, thread_id, changed_at, from_thread_id, reason)
VALUES (:id, :session_label, :thread_id, :changed_at, :from_thread_id, :reason);

-- name: point_session
-- Moves the pointer, if it still is where the mover thinks it is.
UPDATE sessions SET thread_id = :thread_id, updated_at = :at
WHERE label = :label AND (thread_id = :expected OR (thread_id IS NULL AND CAST(:expected AS TEXT) IS NULL))
RETURNING label;

-- name: set_status
UPDATE sessions SET status = :status, updated_at = :at WHERE label = :label;

-- name: set_task_status
UPDATE sessions SET task_status = :task_status, updated_at = :at WHERE label = :label;

-- name: put_alias
INSERT INTO session_aliases (alias, session_label, created_at, reason)
VALUES (:alias, :session_label, :created_at, :reason)
ON CONFLICT (alias) DO UPDATE SET session_label = excluded.session_label, reason = excluded.reason;

-- name: aliases_of
SELECT * FROM session_aliases WHERE session_label = :label ORDER BY alias;

-- name: all_aliases
SELECT * FROM session_aliases ORDER BY alias;

-- name: last_seq
SELECT coalesce(max(seq), 0) FROM log;

-- name: insert_log
INSERT INTO log (seq, kind, ref, at, body, leaf) VALUES (:seq, :kind, :ref, :at, :body, :leaf);

-- name: moves_of
-- A session's history, oldest first. A page: the moves after one.
SELECT id, session_label, thread_id, changed_at, from_thread_id, reason
FROM session_history WHERE session_label = :label AND id > :after ORDER BY id LIMIT :limit;

-- name: rewound_from
-- How far a session had come when it was last rewound, be it in several steps.
SELECT thread_id FROM session_history WHERE session_label = :label AND reason NOT IN ('rewind', 'replay')
    AND id < (SELECT max(id) FROM session_history WHERE session_label = :label AND reason = 'rewind')
ORDER BY id DESC LIMIT 1;

-- name: last_move_reason
SELECT reason FROM session_history WHERE session_label = :label ORDER BY id DESC LIMIT 1;

-- name: head_at_time
-- Where a session pointed at a time, as claimed by the clock: the latest (time, number) up to it.
SELECT id, session_label, thread_id, changed_at, from_thread_id, reason
FROM session_history WHERE session_label = :label AND changed_at <= :at
ORDER BY changed_at DESC, id DESC LIMIT 1;

-- name: head_at_seq
-- Where a session pointed after a commit: exact.
SELECT id, session_label, thread_id, changed_at, from_thread_id, reason
FROM session_history
WHERE id = (SELECT max(id) FROM session_history WHERE session_label = :label AND id <= :seq);

-- name: session_list
-- Sessions, the last used first, after a cursor (updated_at, label), with what there is to say about them.
SELECT s.*, t.depth, t.thread_tokens, t.model, t.completed_at AS last_turn_at, d.title, d.project,
    coalesce(d.last_at, d.started_at) AS told_at, a.session_label AS leads_to
FROM sessions s LEFT JOIN turns t ON t.id = s.thread_id LEFT JOIN session_details d ON d.session_label = s.label
    LEFT JOIN session_aliases a ON a.alias = s.label AND s.status <> 'active'
WHERE {about_session} AND {status_in_session} AND {session_used_model} AND s.updated_at >= :f_since
    AND s.updated_at <= :before_at AND (s.updated_at < :before_at OR s.label > :after_label)
ORDER BY s.updated_at DESC, s.label LIMIT :limit;

-- name: labels_from
-- Labels between two, with the titles of their sessions.
SELECT s.label, d.title FROM sessions s LEFT JOIN session_details d ON d.session_label = s.label
WHERE s.label >= :first AND s.label < :last ORDER BY s.label LIMIT :limit;

-- name: newest_labels
SELECT label FROM sessions ORDER BY updated_at DESC, label LIMIT :limit;

-- name: session_origins
-- How many sessions came from each agent.
SELECT origin, count(*) FROM sessions WHERE origin IS NOT NULL GROUP BY origin ORDER BY count(*) DESC, origin;

-- name: sessions_at
-- The sessions whose head lies in a tree.
SELECT s.label, s.thread_id, s.status FROM sessions s JOIN turns t ON t.id = s.thread_id
WHERE t.root_id = :root_id ORDER BY s.label;

-- name: subagents_of
SELECT * FROM sessions WHERE parent_session_label = :label ORDER BY created_at, label;

-- name: held_turn
-- Where a turn goes on whose lease is still the writer's own: the numbers of its next message and its next call.
SELECT (SELECT coalesce(max(sequence), -1) + 1 FROM messages WHERE turn_id = l.turn_id) AS next_message,
    (SELECT coalesce(max(sequence), -1) + 1 FROM tool_calls WHERE turn_id = l.turn_id) AS next_call
FROM leases l WHERE l.turn_id = :turn_id AND l.token = :token;

-- name: held_lease
-- Whether the lease is still the writer's own.
SELECT 1 FROM leases WHERE turn_id = :turn_id AND token = :token;

-- name: drop_lease
DELETE FROM leases WHERE turn_id = :turn_id;

-- name: all_leases
SELECT * FROM leases ORDER BY turn_id;

-- name: lease_of
SELECT * FROM leases WHERE turn_id = :turn_id;

-- name: live_of
-- The live turns of a session.
SELECT * FROM leases WHERE session_label = :label ORDER BY turn_id;

-- name: live_after
-- The live turns that will move a session from its head when they end.
SELECT l.turn_id FROM leases l JOIN turns t ON t.id = l.turn_id
WHERE l.session_label = :label AND t.parent_turn_id = :head ORDER BY l.turn_id;

-- name: fact
SELECT value FROM ledger_facts WHERE name = :name;

-- name: put_fact
INSERT INTO ledger_facts (name, value) VALUES (:name, :value)
ON CONFLICT (name) DO UPDATE SET value = excluded.value;

-- name: applied_steps
-- The migrations that a ledger has.
SELECT name, checksum FROM ledger_migrations;

-- name: counts
SELECT
    (SELECT count(*) FROM sessions) AS sessions,
    (SELECT count(*) FROM turns) AS turns,
    (SELECT count(*) FROM messages) AS messages,
    (SELECT count(*) FROM tool_calls) AS tool_calls,
    (SELECT count(*) FROM leases) AS live,
    (SELECT coalesce(max(seq), 0) FROM log) AS seq;
