-- What agents did, counted. A fork inside a turn is another turn, with copies of what it shares with its origin, under the
-- agent's own ids: they count once, in the first turn that has them. (Ids alone say too little, some models give the
-- same ones in every conversation: a copy has the turn's id as well, or the time.) What was superseded does not count.

-- fragment: stands
NOT EXISTS (SELECT 1 FROM superseded x WHERE x.turn_id = t.id)

-- fragment: copied_calls
SELECT k.id FROM (SELECT c.id, c.started_at, t.native_id,
        rank() OVER (PARTITION BY c.native_id, c.tool_name, t.native_id ORDER BY c.turn_id) AS by_turn,
        rank() OVER (PARTITION BY c.native_id, c.tool_name, c.started_at ORDER BY c.turn_id) AS by_time
    FROM tool_calls c JOIN turns t ON t.id = c.turn_id
    WHERE coalesce(c.native_id, c.id) IN (SELECT coalesce(native_id, id) FROM tool_calls
            GROUP BY coalesce(native_id, id) HAVING count(*) > 1)
        AND c.native_id IS NOT NULL AND {stands}) AS k
WHERE (k.by_turn > 1 AND k.native_id IS NOT NULL) OR (k.by_time > 1 AND k.started_at > 0)

-- name: copied_calls
{copied_calls};

-- name: tool_lines
SELECT c.tool_name, count(*) AS calls,
    count(CASE WHEN c.status = 'failed' THEN 1 END), count(CASE WHEN c.status IN ('rejected', 'cancelled') THEN 1 END),
    count(CASE WHEN c.status IN ('pending', 'running', 'abandoned') THEN 1 END),
    CAST(coalesce(sum(CASE WHEN c.completed_at - c.started_at BETWEEN 0 AND 1000000000000
        THEN c.completed_at - c.started_at END), 0) AS INTEGER),
    count(CASE WHEN c.completed_at - c.started_at BETWEEN 0 AND 1000000000000 THEN 1 END),
    coalesce(max(CASE WHEN c.completed_at - c.started_at BETWEEN 0 AND 1000000000000
        THEN c.completed_at - c.started_at END), 0)
FROM turns t {with_session} JOIN tool_calls c ON c.turn_id = t.id
WHERE t.id >= :f_since_id AND t.id < :f_until_id AND {filters} AND {stands} AND NOT c.id IN ({copied_calls})
GROUP BY c.tool_name ORDER BY calls DESC, c.tool_name;

-- name: tool_names
SELECT DISTINCT tool_name FROM tool_calls;

-- name: files_written
-- What messages say they have written, but for those whose own calls of some tools (a JSON array of names) say it.
SELECT f.file_path, count(*) FROM turns t {with_session} JOIN messages m ON m.turn_id = t.id
    JOIN message_files f ON f.message_id = m.id
WHERE f.kind = 'written' AND t.id >= :f_since_id AND t.id < :f_until_id AND {filters} AND {stands}
    AND NOT m.id IN (SELECT k.id FROM (SELECT m.id, m.created_at, t.native_id,
            rank() OVER (PARTITION BY m.native_id, t.native_id ORDER BY m.turn_id) AS by_turn,
            rank() OVER (PARTITION BY m.native_id, m.created_at ORDER BY m.turn_id) AS by_time
        FROM messages m JOIN turns t ON t.id = m.turn_id
        WHERE m.native_id IS NOT NULL AND {stands}
            AND m.id IN (SELECT message_id FROM message_files WHERE kind = 'written')) AS k
        WHERE (k.by_turn > 1 AND k.native_id IS NOT NULL) OR (k.by_time > 1 AND k.created_at > 0))
    AND NOT EXISTS (SELECT 1 FROM tool_calls c
        WHERE c.turn_id = m.turn_id AND c.message_id = m.id AND c.tool_name IN_LIST(:tools))
GROUP BY f.file_path;

-- name: longest_turns
SELECT {moment} FROM turns t {with_session}
WHERE t.id >= :f_since_id AND t.id < :f_until_id AND t.completed_at > t.started_at AND {filters} AND {stands}
ORDER BY t.completed_at - t.started_at DESC, t.id LIMIT :limit;

-- name: edits
-- The calls that write files, of some tools (a JSON array of names), after a place in the order of turns (which is not before the first).
SELECT c.turn_id, c.sequence, c.id, c.tool_name, c.params_json, coalesce(t.workspace_path, d.project) AS workspace
FROM turns t {with_session} JOIN tool_calls c ON c.turn_id = t.id
WHERE t.id >= :first AND (t.id > :turn_id OR c.sequence > :sequence) AND t.id < :f_until_id
    AND c.status = 'completed' AND c.tool_name IN_LIST(:tools) AND {filters} AND {stands}
ORDER BY c.turn_id, c.sequence LIMIT :limit;
