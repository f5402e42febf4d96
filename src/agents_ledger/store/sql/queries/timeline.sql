-- What happened, as turns: newest first, or as it comes in.

-- fragment: opening
-- The words that a turn `t` began with.
coalesce(
    (SELECT substr(m.content, 1, 200) FROM messages m
     WHERE m.turn_id = t.id AND m.role = 'user' AND coalesce(m.source, '') <> 'context'
     ORDER BY m.sequence LIMIT 1),
    (SELECT substr(m.content, 1, 200) FROM messages m
     WHERE m.turn_id = t.id AND m.content IS NOT NULL AND m.role <> 'system' ORDER BY m.sequence LIMIT 1),
    (SELECT substr(c.summary, 1, 200) FROM compactions c WHERE c.turn_id = t.id))

-- fragment: moment
t.id, t.session_label, t.started_at, t.completed_at, t.status, t.turn_type, t.model, t.total_tokens,
t.tool_call_count, t.error, s.origin, coalesce(s.is_subagent, 0) AS is_subagent,
coalesce(d.project, t.workspace_path) AS project, d.title, {opening} AS opening

-- fragment: with_session
LEFT JOIN sessions s ON s.label = t.session_label LEFT JOIN session_details d ON d.session_label = t.session_label

-- fragment: told
-- (turns that their source does not tell any more are empty; others that it tells otherwise by now are superseded)
(t.error IS NULL OR t.error <> :retracted) AND NOT EXISTS (SELECT 1 FROM superseded x WHERE x.turn_id = t.id)

-- name: timeline_page
-- Turns, newest first: ids are ordered by time, so every page is a range of one index.
SELECT {moment} FROM turns t {with_session}
WHERE t.id < :before AND t.id >= :f_since_id AND {told} AND {filters}
ORDER BY t.id DESC LIMIT :limit;

-- name: tied_count
-- How many turns have ids between two, as far as it matters.
SELECT count(*) FROM (SELECT 1 FROM turns WHERE id >= :first AND id < :last LIMIT :most) AS tied;

-- name: tied_turns
-- The turns of one moment (their ids lie between two), children before their parents; those behind one of them, or all.
SELECT {moment} FROM turns t {with_session}
WHERE t.id >= :first AND t.id < :last AND t.id >= :f_since_id AND t.id < :f_until_id AND {told} AND {filters}
    AND (t.depth, t.id) < (coalesce((SELECT b.depth FROM turns b WHERE b.id = :behind), 9223372036854775807), :behind)
ORDER BY t.depth DESC, t.id DESC;

-- name: depths_of
SELECT id, depth FROM turns WHERE id IN_LIST(:ids);

-- name: turns_of_log
-- The turns that entries of the log are about, in the order of commits; null for entries about something else.
-- (A seal with a body is of a turn that was here before, as one that was open.)
SELECT l.seq, CASE WHEN l.kind = 'seal' AND l.body IS NULL THEN l.ref
    WHEN l.kind = 'move' THEN (SELECT h.thread_id FROM session_history h WHERE h.id = l.seq) END AS turn_id
FROM log l WHERE l.seq > :after ORDER BY l.seq LIMIT :limit;

-- name: moments
-- Some turns (a JSON array of ids), in the order of time (which is how ids begin), parents before their children.
SELECT {moment} FROM turns t {with_session}
WHERE t.id IN_LIST(:ids) AND t.id >= :f_since_id AND t.id < :f_until_id AND {told} AND {filters}
ORDER BY substr(t.id, 1, 10), t.depth, t.id;
