-- What `verify` compares with what it follows from: tables that are made of others, and columns that no hash covers.

-- name: strange_homes
-- Turns whose home is no session.
SELECT t.id, t.session_label FROM turns t LEFT JOIN sessions s ON s.label = t.session_label
WHERE t.session_label IS NOT NULL AND s.label IS NULL ORDER BY t.id LIMIT :limit;

-- name: wrong_homes
-- Turns whose home is not the session that moved to them when they were sealed; or, of sources (where a turn may be in
-- the record before it is sealed), turns that a session grew by, and that their home has never been at.
SELECT t.id, h.session_label FROM session_history h JOIN turns t ON t.id = h.thread_id
WHERE h.reason IN ('advance', 'recover') AND t.session_label IS DISTINCT FROM h.session_label
    AND CASE WHEN t.evidence IS NULL THEN t.seal_seq = h.id - 1 ELSE NOT EXISTS (SELECT 1 FROM session_history o
        WHERE o.session_label = t.session_label AND o.thread_id = t.id) END
ORDER BY h.id LIMIT :limit;

-- name: unlisted_segments
-- Segments that a session has written in, and that are not noted as such.
SELECT t.session_label, t.segment_id FROM turns t LEFT JOIN session_segments x
    ON x.session_label = coalesce(t.session_label, '') AND x.segment_id = t.segment_id
WHERE x.segment_id IS NULL ORDER BY t.id LIMIT :limit;

-- name: strange_segments
-- Notes of segments that are not there, or of sessions that are not.
SELECT x.session_label, x.segment_id FROM session_segments x
    LEFT JOIN sessions s ON s.label = x.session_label LEFT JOIN segments g ON g.id = x.segment_id
WHERE g.id IS NULL OR (s.label IS NULL AND x.session_label <> '') ORDER BY 1, 2 LIMIT :limit;

-- name: wrong_paths
-- Segments whose way from the root is not their parent's, up to where they left it, and themselves.
SELECT g.id FROM segments g LEFT JOIN segment_paths m ON m.segment_id = g.id AND m.on_segment_id = g.id
WHERE m.through IS NULL OR m.through <> 9223372036854775807
UNION
SELECT g.id FROM segments g JOIN segment_paths p ON p.segment_id = g.parent_segment_id
    LEFT JOIN segment_paths m ON m.segment_id = g.id AND m.on_segment_id = p.on_segment_id
WHERE m.through IS NULL
    OR m.through <> CASE p.on_segment_id WHEN g.parent_segment_id THEN g.fork_depth ELSE p.through END
UNION
SELECT m.segment_id FROM segment_paths m LEFT JOIN segments g ON g.id = m.segment_id
    LEFT JOIN segment_paths p ON p.segment_id = g.parent_segment_id AND p.on_segment_id = m.on_segment_id
WHERE g.id IS NULL OR (m.on_segment_id <> g.id AND p.segment_id IS NULL)
ORDER BY 1 LIMIT :limit;

-- name: wrong_ids
-- Sessions that are not known elsewhere by an id that is theirs, or not with the segment that their head lies in. (One
-- without a head is where its first turn is being written.)
SELECT s.label FROM sessions s LEFT JOIN session_ids i ON i.session_label = s.label
    LEFT JOIN turns t ON t.id = s.thread_id
WHERE i.id IS NULL OR NOT EXISTS (SELECT 1 FROM session_names n WHERE n.session_label = s.label AND n.id = i.id)
    OR (s.thread_id IS NOT NULL AND i.segment_id IS DISTINCT FROM t.segment_id)
    OR (s.thread_id IS NULL AND i.segment_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM session_segments x
        WHERE x.session_label = s.label AND x.segment_id = i.segment_id))
UNION
SELECT i.session_label FROM session_ids i LEFT JOIN sessions s ON s.label = i.session_label WHERE s.label IS NULL
ORDER BY 1 LIMIT :limit;

-- name: retracted_heads
-- Sessions whose head is a retracted turn although they have written a turn that counts: their source tells something,
-- and nobody sees it. (Whoever moves a session there by hand may leave it there.)
SELECT s.label, s.thread_id FROM turns h JOIN sessions s ON s.thread_id = h.id
WHERE h.status = 'failed' AND h.error = :retracted
    AND (SELECT m.reason FROM session_history m WHERE m.session_label = s.label ORDER BY m.id DESC LIMIT 1)
        IN ('advance', 'import', 'rewind')
    AND EXISTS (SELECT 1 FROM session_segments x JOIN turns t ON t.segment_id = x.segment_id
        WHERE x.session_label = s.label AND t.session_label = s.label
            AND (t.error IS NULL OR t.error <> :retracted)
            AND NOT EXISTS (SELECT 1 FROM superseded u WHERE u.turn_id = t.id))
ORDER BY s.label LIMIT :limit;

-- name: all_facts
SELECT name, value FROM ledger_facts ORDER BY name;

-- name: capture_sizes
SELECT id, size_bytes FROM captures;

-- name: open_page
-- Turns that are not sealed, after one.
SELECT * FROM turns WHERE seal_seq = 0 AND id > :after ORDER BY id LIMIT :limit;

-- name: told_of_sessions
SELECT * FROM session_details;

-- name: any_slot
-- Whether there are sums of tokens at all.
SELECT 1 FROM usage_slots LIMIT 1;
