-- The tree: turns, segments, threads.

-- name: turn_by_id
-- The row of one turn.
SELECT * FROM turns WHERE id = :id;

-- fragment: inherited
-- What a child inherits from its parent, and whether the parent is the last turn of its segment.
p.root_id, p.segment_id, p.depth, p.thread_tokens, p.system_depth, p.compaction_depth, p.turn_hash, p.has_children,
EXISTS (SELECT 1 FROM turns c WHERE c.segment_id = p.segment_id AND c.depth = p.depth + 1) AS is_inner,
p.messages_before + coalesce((SELECT max(m.sequence) + 1 FROM messages m WHERE m.turn_id = p.id), 0) AS messages_after

-- name: parent_facts
SELECT {inherited} FROM turns p WHERE p.id = :id;

-- name: new_segment
-- A new run of turns, leaving another one after fork_depth; gives its id.
INSERT INTO segments (id, root_id, parent_segment_id, fork_depth)
VALUES ((SELECT coalesce(max(id), 0) + 1 FROM segments), :root_id, :parent_segment_id, :fork_depth)
RETURNING id;

-- name: insert_turn
INSERT INTO turns (id, parent_turn_id, turn_type, status, started_at, completed_at, model, provider, role,
    toolset_name, tools_available, permissions_granted, permissions_used, input_tokens, output_tokens,
    cached_input_tokens, cache_write_tokens, reasoning_tokens, total_tokens, query_message_ids,
    response_message_id, has_children, tool_call_count, source_event_id, workspace_path, root_id, segment_id,
    depth, thread_tokens, system_depth, compaction_depth, persona_id, system_prompt_hash, thread_key, error,
    native_id, turn_hash, seal_salt, seal_seq, evidence, session_label, messages_before)
VALUES (:id, :parent_turn_id, :turn_type, :status, :started_at, :completed_at, :model, :provider, :role,
    :toolset_name, :tools_available, :permissions_granted, :permissions_used, :input_tokens, :output_tokens,
    :cached_input_tokens, :cache_write_tokens, :reasoning_tokens, :total_tokens, :query_message_ids,
    :response_message_id, :has_children, :tool_call_count, :source_event_id, :workspace_path, :root_id,
    :segment_id, :depth, :thread_tokens, :system_depth, :compaction_depth, :persona_id, :system_prompt_hash,
    :thread_key, :error, :native_id, :turn_hash, :seal_salt, :seal_seq, :evidence, :session_label,
    :messages_before);

-- name: mark_parent
-- A turn that has got a child says so.
UPDATE turns SET has_children = 1 WHERE id = :id AND has_children = 0;

-- name: unmark_parent
-- A turn whose only child has gone elsewhere, while that was not sealed.
UPDATE turns SET has_children = 0 WHERE id = :id AND has_children = 1
    AND NOT EXISTS (SELECT 1 FROM turns c WHERE c.segment_id = turns.segment_id AND c.depth = turns.depth + 1)
    AND NOT EXISTS (SELECT 1 FROM segments f
        WHERE f.parent_segment_id = turns.segment_id AND f.fork_depth = turns.depth);

-- name: seal_turn
-- The last change of a turn: its outcome and its seal.
UPDATE turns SET status = :status, completed_at = :completed_at, permissions_used = :permissions_used,
    input_tokens = :input_tokens, output_tokens = :output_tokens, cached_input_tokens = :cached_input_tokens,
    cache_write_tokens = :cache_write_tokens, reasoning_tokens = :reasoning_tokens,
    total_tokens = :total_tokens, query_message_ids = :query_message_ids,
    response_message_id = :response_message_id, tool_call_count = :tool_call_count,
    thread_tokens = :thread_tokens, system_depth = :system_depth, error = :error, turn_hash = :turn_hash,
    seal_salt = :seal_salt, seal_seq = :seal_seq
WHERE id = :id AND seal_seq IS NULL;

-- name: replace_turn
-- A turn that is not sealed yet, as its source tells it now: its place, its facts, perhaps its seal.
UPDATE turns SET parent_turn_id = :parent_turn_id, turn_type = :turn_type, status = :status,
    started_at = :started_at, completed_at = :completed_at, model = :model, provider = :provider, role = :role,
    toolset_name = :toolset_name, tools_available = :tools_available, permissions_granted = :permissions_granted,
    permissions_used = :permissions_used, input_tokens = :input_tokens, output_tokens = :output_tokens,
    cached_input_tokens = :cached_input_tokens, cache_write_tokens = :cache_write_tokens,
    reasoning_tokens = :reasoning_tokens, total_tokens = :total_tokens, query_message_ids = :query_message_ids,
    response_message_id = :response_message_id, tool_call_count = :tool_call_count,
    source_event_id = :source_event_id, workspace_path = :workspace_path, root_id = :root_id,
    segment_id = :segment_id, depth = :depth, thread_tokens = :thread_tokens, system_depth = :system_depth,
    compaction_depth = :compaction_depth, persona_id = :persona_id, system_prompt_hash = :system_prompt_hash,
    thread_key = :thread_key, error = :error, native_id = :native_id, turn_hash = :turn_hash,
    seal_salt = :seal_salt, seal_seq = :seal_seq, evidence = :evidence, messages_before = :messages_before
WHERE id = :id AND seal_seq = 0;

-- name: drop_empty_segment
DELETE FROM segments WHERE id = :id AND NOT EXISTS (SELECT 1 FROM turns WHERE segment_id = :id)
    AND NOT EXISTS (SELECT 1 FROM segments WHERE parent_segment_id = :id);

-- name: start_streaming
UPDATE turns SET status = 'streaming' WHERE id = :id AND status = 'pending';

-- name: ancestry
-- The ids from the root to a turn, as a JSON array (a tenth of the time of as many rows).
SELECT ancestry FROM threads WHERE turn_id = :id;

-- name: path
-- The turns of a thread between two depths (both included), from the root downwards.
WITH RECURSIVE chain(segment_id, through) AS (
    SELECT segment_id, depth FROM turns WHERE id = :id
    UNION ALL
    SELECT s.parent_segment_id, s.fork_depth
    FROM chain JOIN segments s ON s.id = chain.segment_id
    WHERE s.parent_segment_id IS NOT NULL AND s.fork_depth >= :from_depth)
SELECT a.* FROM chain JOIN turns a
    ON a.segment_id = chain.segment_id AND a.depth <= chain.through
        AND a.depth >= :from_depth AND a.depth <= :to_depth
ORDER BY a.depth;

-- name: ancestor_at
-- The turn of a thread at one depth.
WITH RECURSIVE chain(segment_id, through) AS (
    SELECT segment_id, depth FROM turns WHERE id = :id
    UNION ALL
    SELECT s.parent_segment_id, s.fork_depth
    FROM chain JOIN segments s ON s.id = chain.segment_id
    WHERE s.parent_segment_id IS NOT NULL AND s.fork_depth >= :depth)
-- CROSS JOIN: SQLite would scan all turns otherwise
SELECT a.id FROM chain CROSS JOIN turns a
WHERE a.segment_id = chain.segment_id AND a.depth <= chain.through AND a.depth = :depth;

-- name: sessions_including
-- Every session that has ever had a turn in its thread: those whose head lies behind it, and those that left it
-- by a move (the few rewinds, by their own index: so they are collected first). Walks segments, not turns. A page: the
-- labels after one.
WITH RECURSIVE reach(segment_id, from_depth) AS (
    SELECT segment_id, depth FROM turns WHERE id = :id
    UNION ALL
    SELECT s.id, 0 FROM reach JOIN segments s
        ON s.parent_segment_id = reach.segment_id AND s.fork_depth >= reach.from_depth),
left_behind(session_label, turn_id) AS MATERIALIZED (
    SELECT session_label, from_thread_id FROM session_history WHERE reason IN ('rewind', 'merge', 'import'))
SELECT s.label FROM sessions s JOIN turns t ON t.id = s.thread_id
    JOIN reach ON reach.segment_id = t.segment_id AND reach.from_depth <= t.depth
WHERE s.label > :after
UNION
SELECT h.session_label FROM left_behind h JOIN turns t ON t.id = h.turn_id
    JOIN reach ON reach.segment_id = t.segment_id AND reach.from_depth <= t.depth
WHERE h.session_label > :after
ORDER BY 1 LIMIT :limit;

-- name: left_last
-- Of the turns that a session pointed at and that lie ahead of a turn: the one that it had last.
WITH RECURSIVE reach(segment_id, from_depth) AS (
    SELECT segment_id, depth FROM turns WHERE id = :id
    UNION ALL
    SELECT s.id, 0 FROM reach JOIN segments s
        ON s.parent_segment_id = reach.segment_id AND s.fork_depth >= reach.from_depth)
SELECT h.thread_id FROM session_history h JOIN turns t ON t.id = h.thread_id
    JOIN reach ON reach.segment_id = t.segment_id AND reach.from_depth <= t.depth
WHERE h.session_label = :label AND h.thread_id <> :id ORDER BY h.id DESC LIMIT 1;

-- name: children
-- The turns that follow a turn directly: the next one of its segment, and the first ones of those that leave here.
SELECT c.* FROM turns p JOIN turns c ON c.segment_id = p.segment_id AND c.depth = p.depth + 1 WHERE p.id = :id
UNION ALL
SELECT c.* FROM turns p JOIN segments s ON s.parent_segment_id = p.segment_id AND s.fork_depth = p.depth
    JOIN turns c ON c.segment_id = s.id AND c.depth = p.depth + 1
WHERE p.id = :id
ORDER BY 1;

-- name: tree_turns
-- The turns of a tree from a depth on, parents before children, with the words that each began with.
SELECT t.id, t.parent_turn_id, t.turn_type,
    CASE WHEN EXISTS (SELECT 1 FROM superseded x WHERE x.turn_id = t.id) THEN 'superseded' ELSE t.status END,
    t.model, t.started_at, t.tool_call_count, t.depth, t.segment_id,
    {opening} AS opening
FROM (SELECT t.id AS turn_id FROM segments s JOIN turns t ON t.segment_id = s.id
      WHERE s.root_id = :root_id AND t.depth >= :first ORDER BY t.depth, t.id LIMIT :limit) AS page
JOIN turns t ON t.id = page.turn_id ORDER BY t.depth, t.id;

-- name: openings
-- The words that turns began with.
SELECT t.id, coalesce(
        (SELECT substr(m.content, 1, 200) FROM messages m
         WHERE m.turn_id = t.id AND m.role = 'user' AND coalesce(m.source, '') <> 'context'
         ORDER BY m.sequence LIMIT 1),
        (SELECT substr(c.summary, 1, 200) FROM compactions c WHERE c.turn_id = t.id)) AS opening
FROM turns t WHERE t.id IN_LIST(:ids);

-- name: roots
-- The trees, newest first, before one. By segments: there are fewer of them than turns.
SELECT DISTINCT root_id FROM segments WHERE root_id < :before ORDER BY root_id DESC LIMIT :limit;

-- name: turns_from
-- Turns whose ids lie between two, the newest first, with the words that they began with.
SELECT t.id, (SELECT substr(m.content, 1, 80) FROM messages m WHERE m.turn_id = t.id AND m.role = 'user'
    ORDER BY m.sequence DESC LIMIT 1)
FROM turns t WHERE t.id >= :first AND t.id < :last ORDER BY t.id DESC LIMIT :limit;

-- name: turns_ending
-- Of the newest turns, those whose last eight characters begin like this.
SELECT t.id, (SELECT substr(m.content, 1, 80) FROM messages m WHERE m.turn_id = t.id AND m.role = 'user'
    ORDER BY m.sequence DESC LIMIT 1)
FROM (SELECT id FROM turns ORDER BY id DESC LIMIT 5000) AS t
WHERE substr(t.id, 19, 8) LIKE :pattern ORDER BY t.id DESC LIMIT :limit;

-- name: turns_by_native
-- The turns that agents know by an id: their own, or that of a message or a call in them. (Ours of these as well.)
SELECT t.id, t.session_label FROM turns t
WHERE t.id IN (SELECT n.id FROM turns n WHERE n.native_id = :native_id
    UNION SELECT m.turn_id FROM messages m WHERE coalesce(m.native_id, m.id) = :native_id
    UNION SELECT m.turn_id FROM messages m WHERE m.id = :native_id
    UNION SELECT c.turn_id FROM tool_calls c WHERE coalesce(c.native_id, c.id) = :native_id
    UNION SELECT c.turn_id FROM tool_calls c WHERE c.id = :native_id)
AND NOT EXISTS (SELECT 1 FROM superseded x WHERE x.turn_id = t.id) ORDER BY t.id LIMIT 5;

-- name: turns_like
-- Ids by their beginning or their end (people copy either).
SELECT id FROM turns WHERE id LIKE :pattern ORDER BY id LIMIT 3;
