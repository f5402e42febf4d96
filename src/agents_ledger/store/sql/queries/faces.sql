-- What the faces are asked by programs: by key, or page by page.

-- name: mnemonic_sessions
SELECT * FROM FACE(mnemonic.agent_sessions) WHERE id > :after ORDER BY id LIMIT :limit;

-- name: mnemonic_session
SELECT * FROM FACE(mnemonic.agent_sessions) WHERE id = :id;

-- name: mnemonic_subagents
SELECT * FROM FACE(mnemonic.agent_sessions) WHERE parent_session_id = :id ORDER BY created_at, id;

-- name: mnemonic_messages
-- Sequences have no gaps: a page is a range of them.
SELECT * FROM FACE(mnemonic.agent_messages) WHERE session_id = :session_id AND sequence > :after
    AND sequence <= CAST(:after AS INTEGER) + :limit ORDER BY sequence;

-- name: mnemonic_message
-- One row for each session that has it.
SELECT * FROM FACE(mnemonic.agent_messages) WHERE id = :id ORDER BY session_id;

-- name: mnemonic_turns
SELECT * FROM FACE(mnemonic.agent_turns) WHERE session_id = :session_id AND id > :after ORDER BY id LIMIT :limit;

-- name: mnemonic_turn
SELECT * FROM FACE(mnemonic.agent_turns) WHERE id = :id;

-- name: mnemonic_tree
-- A turn with all that led to it, as Mnemonic asks for it.
WITH RECURSIVE turn_tree AS (
    SELECT * FROM FACE(mnemonic.agent_turns) WHERE id = :id
    UNION ALL
    SELECT t.* FROM FACE(mnemonic.agent_turns) t JOIN turn_tree tt ON t.id = tt.parent_turn_id)
SELECT * FROM turn_tree ORDER BY timestamp, id;

-- name: mnemonic_calls
SELECT * FROM FACE(mnemonic.agent_tool_calls) WHERE session_id = :session_id
    AND (started_at > :after_at OR (started_at = :after_at AND id > :after_id))
ORDER BY started_at, id LIMIT :limit;

-- name: mnemonic_call
SELECT * FROM FACE(mnemonic.agent_tool_calls) WHERE id = :id ORDER BY session_id;

-- name: event_threads_page
SELECT * FROM FACE(events.threads) WHERE id > :after ORDER BY id LIMIT :limit;

-- name: event_thread
SELECT * FROM FACE(events.threads) WHERE id = :id;

-- name: events_of_thread
SELECT * FROM FACE(events.events) WHERE thread_id = :thread_id
    AND (timestamp > :after_at OR (timestamp = :after_at AND id > :after_id))
ORDER BY timestamp, id LIMIT :limit;

-- name: event_by_id
SELECT * FROM FACE(events.events) WHERE id = :id;

-- name: aix_sessions_page
SELECT * FROM FACE(aix.sessions) WHERE id > :after ORDER BY id LIMIT :limit;

-- name: aix_session
SELECT * FROM FACE(aix.sessions) WHERE id = :id;

-- name: aix_messages_of
SELECT * FROM FACE(aix.messages) WHERE session_id = :session_id AND sequence > :after
    AND sequence <= CAST(:after AS INTEGER) + :limit ORDER BY sequence;

-- name: aix_turns_of
SELECT * FROM FACE(aix.turns) WHERE session_id = :session_id AND id > :after ORDER BY id LIMIT :limit;

-- name: aix_calls_of
SELECT * FROM FACE(aix.tool_calls) WHERE session_id = :session_id
    AND (started_at > :after_at OR (started_at = :after_at AND id > :after_id))
ORDER BY started_at, id LIMIT :limit;
