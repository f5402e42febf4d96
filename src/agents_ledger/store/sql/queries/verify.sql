-- What `verify` reads: everything, in pages.

-- name: sealed_page
-- Sealed turns in the order of their seals, after a number, with what their parents say.
SELECT t.*, p.turn_hash AS parent_hash, p.depth AS parent_depth,
    p.segment_id AS parent_segment, p.root_id AS parent_root, p.thread_tokens AS parent_tokens,
    p.system_depth AS parent_system, p.compaction_depth AS parent_compaction, p.seal_seq AS parent_seal,
    p.messages_before + coalesce((SELECT max(m.sequence) + 1 FROM messages m WHERE m.turn_id = p.id), 0)
        AS parent_messages,
    g.parent_segment_id, g.fork_depth, g.root_id AS segment_root,
    EXISTS (SELECT 1 FROM turns c WHERE c.segment_id = t.segment_id AND c.depth = t.depth + 1)
        OR EXISTS (SELECT 1 FROM segments f WHERE f.parent_segment_id = t.segment_id AND f.fork_depth = t.depth)
        AS really_has_children,
    e.seq AS log_seq
FROM log e JOIN turns t ON t.id = e.ref
    LEFT JOIN turns p ON p.id = t.parent_turn_id
    LEFT JOIN segments g ON g.id = t.segment_id
WHERE e.kind = 'seal' AND e.seq > :after ORDER BY e.seq LIMIT :limit;

-- name: unsealed_turns
-- Turns without a seal, with their lease (a live turn has one).
SELECT t.id, t.status, l.turn_id FROM turns t LEFT JOIN leases l ON l.turn_id = t.id WHERE t.seal_seq IS NULL
ORDER BY t.id;

-- name: sealed_outside_log
-- Turns that call themselves sealed by a log entry that is not theirs.
SELECT t.id FROM turns t LEFT JOIN log l ON l.seq = t.seal_seq AND l.kind = 'seal' AND l.ref = t.id
WHERE t.seal_seq > 0 AND l.seq IS NULL ORDER BY t.id LIMIT 1;

-- name: log_page
SELECT seq, kind, ref, at, body, leaf FROM log WHERE seq > :after ORDER BY seq LIMIT :limit;

-- name: move_by_id
SELECT id, session_label, thread_id, changed_at, from_thread_id, reason FROM session_history WHERE id = :id;

-- name: moves_outside_log
SELECT h.id FROM session_history h LEFT JOIN log l ON l.seq = h.id AND l.kind = 'move' AND l.ref = h.session_label
WHERE l.seq IS NULL ORDER BY h.id LIMIT 1;

-- name: all_sessions
SELECT * FROM sessions ORDER BY label;

-- name: heads_ever
-- The turns that a session has ever pointed at.
SELECT DISTINCT thread_id FROM session_history WHERE session_label = :label;

-- name: last_move
SELECT id, session_label, thread_id, changed_at, from_thread_id, reason
FROM session_history
WHERE id = (SELECT max(id) FROM session_history WHERE session_label = :label);

-- name: broken_chain
-- Moves that do not start where the one before them ended.
SELECT id, session_label FROM (
    SELECT id, session_label, from_thread_id,
        lag(thread_id) OVER (PARTITION BY session_label ORDER BY id) AS before
    FROM session_history) AS steps
WHERE (from_thread_id IS NULL) <> (before IS NULL) OR from_thread_id <> before
ORDER BY id LIMIT 1;

-- name: alias_chains
-- Aliases that hide a live session or lead to another alias.
SELECT a.alias FROM session_aliases a
WHERE EXISTS (SELECT 1 FROM sessions s WHERE s.label = a.alias AND s.status = 'active')
    OR EXISTS (SELECT 1 FROM session_aliases b WHERE b.alias = a.session_label
        AND NOT EXISTS (SELECT 1 FROM sessions s WHERE s.label = a.session_label AND s.status = 'active'))
ORDER BY a.alias LIMIT 1;

-- name: unlinked_subagents
-- Subagents whose call does not point back, and calls whose subagent does not. (A source may tell one side only.)
SELECT s.label FROM sessions s LEFT JOIN tool_calls c ON c.id = s.spawn_tool_call_id
WHERE s.spawn_tool_call_id IS NOT NULL
    AND (c.id IS NULL OR c.turn_id <> s.parent_turn_id
        OR (c.evidence IS NULL AND (c.spawned_session_label IS NULL OR c.spawned_session_label <> s.label)))
UNION ALL
SELECT c.spawned_session_label FROM tool_calls c LEFT JOIN sessions s ON s.label = c.spawned_session_label
WHERE c.spawned_session_label IS NOT NULL AND c.evidence IS NULL AND (s.label IS NULL OR s.spawn_tool_call_id <> c.id
    OR s.spawn_tool_call_id IS NULL)
ORDER BY 1 LIMIT 1;

-- name: stray_roots
-- Rows that carry another root than their turn.
SELECT 'messages' AS place, m.id FROM messages m JOIN turns t ON t.id = m.turn_id WHERE m.root_id <> t.root_id
UNION ALL
SELECT 'tool_calls', c.id FROM tool_calls c JOIN turns t ON t.id = c.turn_id WHERE c.root_id <> t.root_id
UNION ALL
SELECT 'compactions', k.turn_id FROM compactions k JOIN turns t ON t.id = k.turn_id WHERE k.root_id <> t.root_id
UNION ALL
SELECT 'usages', u.turn_id FROM usages u JOIN turns t ON t.id = u.turn_id WHERE u.root_id <> t.root_id
UNION ALL
SELECT 'originals', o.row_id FROM originals o JOIN turns t ON t.id = o.turn_id WHERE o.root_id <> t.root_id
UNION ALL
SELECT 'message_files', f.message_id FROM message_files f JOIN messages m ON m.id = f.message_id
WHERE f.root_id <> m.root_id
UNION ALL
SELECT 'message_lints', l.message_id FROM message_lints l JOIN messages m ON m.id = l.message_id
WHERE l.root_id <> m.root_id
UNION ALL
SELECT 'message_codeblocks', b.message_id FROM message_codeblocks b JOIN messages m ON m.id = b.message_id
WHERE b.root_id <> m.root_id
LIMIT 1;

-- name: empty_segments
SELECT s.id FROM segments s WHERE NOT EXISTS (SELECT 1 FROM turns t WHERE t.segment_id = s.id)
ORDER BY s.id LIMIT 1;

-- name: stray_compactions
SELECT k.turn_id FROM compactions k JOIN turns t ON t.id = k.turn_id WHERE t.turn_type <> 'compaction'
ORDER BY 1 LIMIT 1;

-- name: loose_block
SELECT b.id FROM blocks b WHERE NOT EXISTS (SELECT 1 FROM capture_blocks c WHERE c.block_id = b.id)
ORDER BY b.id LIMIT 1;

-- name: lost_blocks
SELECT cb.capture_id FROM capture_blocks cb LEFT JOIN captures c ON c.id = cb.capture_id
    LEFT JOIN blocks b ON b.id = cb.block_id
WHERE c.id IS NULL OR b.id IS NULL ORDER BY 1 LIMIT 1;

-- name: open_turn_count
-- Turns that are not sealed.
SELECT count(*) FROM turns WHERE seal_seq IS NULL OR seal_seq = 0;
