-- Turns that grow by messages and calls, the states of tasks and calls, and the face of Agent OS.

-- name: extend_turn
-- What another message or call changes about a turn that is open.
UPDATE turns SET completed_at = :completed_at, query_message_ids = :query_message_ids,
    response_message_id = :response_message_id, tool_call_count = :tool_call_count, system_depth = :system_depth
WHERE id = :id AND seal_seq = 0;

-- name: fail_open_turn
UPDATE turns SET status = 'failed', error = :error WHERE id = :id AND seal_seq = 0;

-- name: has_open_calls
SELECT 1 FROM tool_calls WHERE turn_id = :turn_id AND status IN ('pending', 'running') LIMIT 1;

-- name: drop_originals_of
-- The bytes behind a row that is about to change.
DELETE FROM originals WHERE row_id = :row_id;

-- name: insert_save
INSERT INTO saves (id, entity, ref, session_label, status, is_open, details, start_message_id, end_message_id,
    updated_at, extra, salt, next_id)
VALUES (:id, :entity, :ref, :session_label, :status, :is_open, :details, :start_message_id, :end_message_id,
    :updated_at, :extra, :salt, :next_id);

-- name: follow_save
UPDATE saves SET next_id = :next_id WHERE id = :id;

-- name: newest_save
SELECT id, entity, ref, session_label, status, is_open, details, start_message_id, end_message_id, updated_at, extra,
    salt, next_id
FROM saves WHERE ref = :ref AND entity = :entity AND next_id IS NULL;

-- name: saves_of
SELECT id, entity, ref, session_label, status, is_open, details, start_message_id, end_message_id, updated_at, extra,
    salt, next_id
FROM saves WHERE ref = :ref AND entity = :entity ORDER BY id LIMIT :limit OFFSET :offset;

-- name: save_by_id
SELECT id, entity, ref, session_label, status, is_open, details, start_message_id, end_message_id, updated_at, extra,
    salt, next_id
FROM saves WHERE id = :id;

-- name: stray_saves
-- Saves that are not in the log, and those that are not followed by the next one.
SELECT v.id FROM saves v
    LEFT JOIN log l ON l.seq = v.id AND l.kind = 'task' AND l.ref = v.session_label AND l.body LIKE '%"save"%'
WHERE l.seq IS NULL OR coalesce(v.next_id, 0) <> coalesce(
    (SELECT min(n.id) FROM saves n WHERE n.ref = v.ref AND n.entity = v.entity AND n.id > v.id), 0)
ORDER BY v.id LIMIT 1;

-- name: task_by_id
SELECT k.id, k.parent_task_id, k.completion_status, k.system_prompt, k.created_at, k.updated_at, v.extra
FROM tasks k LEFT JOIN saves v ON v.ref = k.id AND v.entity = 'task' AND v.next_id IS NULL
WHERE k.id = :id;

-- name: tasks_by_ids
SELECT k.id, k.parent_task_id, k.completion_status, k.system_prompt, k.created_at, k.updated_at, v.extra
FROM tasks k LEFT JOIN saves v ON v.ref = k.id AND v.entity = 'task' AND v.next_id IS NULL
WHERE k.id IN_LIST(:ids) ORDER BY k.created_at DESC, k.id DESC;

-- name: task_ids
-- A page of tasks, the newest first. `status` is a status, or the word null for those at work.
SELECT k.id FROM tasks k
WHERE (CAST(:status AS TEXT) IS NULL OR coalesce(k.completion_status, 'null') = :status)
    AND k.created_at >= :from_time AND k.created_at <= :to_time
ORDER BY k.created_at DESC, k.id DESC LIMIT :limit OFFSET :offset;

-- name: task_count
SELECT count(*) FROM tasks k
WHERE (CAST(:status AS TEXT) IS NULL OR coalesce(k.completion_status, 'null') = :status)
    AND k.created_at >= :from_time AND k.created_at <= :to_time;

-- name: subtask_ids
-- The same for the tasks that another one started.
SELECT k.id FROM tasks k
WHERE k.parent_task_id = :parent
    AND (CAST(:status AS TEXT) IS NULL OR coalesce(k.completion_status, 'null') = :status)
    AND k.created_at >= :from_time AND k.created_at <= :to_time
ORDER BY k.created_at DESC, k.id DESC LIMIT :limit OFFSET :offset;

-- name: subtask_count
SELECT count(*) FROM tasks k
WHERE k.parent_task_id = :parent
    AND (CAST(:status AS TEXT) IS NULL OR coalesce(k.completion_status, 'null') = :status)
    AND k.created_at >= :from_time AND k.created_at <= :to_time;

-- name: thread_messages
-- The messages up to a turn, by their times; a task's own system prompt is none of them.
WITH RECURSIVE chain(segment_id, through) AS (
    SELECT segment_id, depth FROM turns WHERE id = :head
    UNION ALL
    SELECT s.parent_segment_id, s.fork_depth FROM chain JOIN segments s ON s.id = chain.segment_id
    WHERE s.parent_segment_id IS NOT NULL)
-- CROSS JOIN: SQLite would scan all turns otherwise
SELECT m.id, t.session_label, m.role, coalesce(m.content, ''), m.created_at, m.metadata_json, m.lossy
FROM chain CROSS JOIN turns t JOIN messages m ON m.turn_id = t.id
WHERE t.segment_id = chain.segment_id AND t.depth <= chain.through
    AND m.role <> 'tool' AND coalesce(m.source, '') <> 'task'
ORDER BY m.created_at, t.depth, m.sequence LIMIT :limit OFFSET :offset;

-- name: thread_message_count
WITH RECURSIVE chain(segment_id, through) AS (
    SELECT segment_id, depth FROM turns WHERE id = :head
    UNION ALL
    SELECT s.parent_segment_id, s.fork_depth FROM chain JOIN segments s ON s.id = chain.segment_id
    WHERE s.parent_segment_id IS NOT NULL)
SELECT count(*) FROM chain CROSS JOIN turns t JOIN messages m ON m.turn_id = t.id
WHERE t.segment_id = chain.segment_id AND t.depth <= chain.through
    AND m.role <> 'tool' AND coalesce(m.source, '') <> 'task';

-- name: original_of
SELECT bytes FROM originals WHERE row_id = :row_id AND field = :field;

-- name: thread_calls
-- The tool calls up to a turn, in the order in which they were made.
WITH RECURSIVE chain(segment_id, through) AS (
    SELECT segment_id, depth FROM turns WHERE id = :head
    UNION ALL
    SELECT s.parent_segment_id, s.fork_depth FROM chain JOIN segments s ON s.id = chain.segment_id
    WHERE s.parent_segment_id IS NOT NULL)
SELECT c.id, t.session_label, c.tool_name, c.params_json, c.status,
    coalesce(v.details, c.result_json, c.error, ''), c.started_at,
    coalesce(v.updated_at, c.completed_at, c.started_at), coalesce(v.start_message_id, c.message_id, ''),
    v.end_message_id, v.extra
FROM chain CROSS JOIN turns t JOIN tool_calls c ON c.turn_id = t.id
    LEFT JOIN saves v ON v.ref = c.id AND v.entity = 'call' AND v.next_id IS NULL
WHERE t.segment_id = chain.segment_id AND t.depth <= chain.through
ORDER BY c.started_at, t.depth, c.sequence LIMIT :limit OFFSET :offset;

-- name: open_tasks
-- The tasks that have not ended, the oldest save first.
SELECT v.ref FROM saves v WHERE v.is_open = 1 AND v.next_id IS NULL AND v.entity = 'task'
ORDER BY v.id LIMIT :limit OFFSET :offset;

-- name: open_calls
-- The calls that have not ended, the oldest save first.
SELECT c.id, v.session_label, c.tool_name, c.params_json, c.status, coalesce(v.details, ''), c.started_at, v.updated_at,
    v.start_message_id, v.end_message_id, v.extra
FROM saves v JOIN tool_calls c ON c.id = v.ref
WHERE v.is_open = 1 AND v.next_id IS NULL AND v.entity = 'call'
ORDER BY v.id LIMIT :limit OFFSET :offset;
