-- Starting points for a question: where turns lie, what stands in them, how large what leads to them is. Everything for
-- many turns at once.

-- name: turn_count
SELECT count(*) FROM turns;

-- name: fork_places
-- Where turns lie; not those that are still being written, nobody can fork them.
SELECT t.id, t.segment_id, t.depth, t.compaction_depth FROM turns t
WHERE t.id IN_LIST(:ids) AND t.seal_seq IS NOT NULL;

-- name: fork_ways
-- Of some segments, those that lie on the way to others of them, and the last depth there that does. (The plus keeps
-- SQLite from looking for every pair of them.)
SELECT p.segment_id, p.on_segment_id, p.through FROM segment_paths p
WHERE p.segment_id IN (SELECT CAST(wanted.value AS INTEGER) FROM MEMBERS(:segments))
    AND +p.on_segment_id IN (SELECT CAST(wanted.value AS INTEGER) FROM MEMBERS(:segments));

-- name: fork_cuts
-- The newest compaction on the way to each turn: what it summarised through, and the turns that it kept one by one.
SELECT c.id, k.turn_id, coalesce(h.depth, 0), k.kept_json
FROM turns c JOIN segment_paths p ON p.segment_id = c.segment_id AND p.through >= c.compaction_depth
JOIN turns a ON a.segment_id = p.on_segment_id AND a.depth = c.compaction_depth
JOIN compactions k ON k.turn_id = a.id LEFT JOIN turns h ON h.id = k.summarized_through_turn_id
WHERE c.id IN_LIST(:ids) AND c.compaction_depth > 0;

-- name: fork_messages
-- Messages by their numbers: what was said in dialogue, and whether the turn ended with it.
SELECT m.n, m.turn_id, CASE WHEN m.id = t.response_message_id THEN 1 ELSE 0 END,
    CASE WHEN m.role IN ('user', 'assistant') AND coalesce(m.source, '') <> 'context'
        THEN substr(m.content, 1, :most) ELSE '' END
FROM messages m JOIN turns t ON t.id = m.turn_id
WHERE m.n IN (SELECT CAST(wanted.value AS INTEGER) FROM MEMBERS(:numbers));

-- name: fork_calls
-- Tool calls by their numbers: what they were given.
SELECT c.n, c.turn_id, c.tool_name || ' ' || substr(c.params_json, 1, :most) FROM tool_calls c
WHERE c.n IN (SELECT CAST(wanted.value AS INTEGER) FROM MEMBERS(:numbers));

-- name: fork_summaries
SELECT turn_id, substr(summary, 1, :most) FROM compactions WHERE turn_id IN_LIST(:ids);

-- name: fork_sizes
-- How many bytes were said in turns, and how many their tools were given.
SELECT t.id,
    (SELECT coalesce(sum(octet_length(m.content)), 0) FROM messages m WHERE m.turn_id = t.id
        AND m.role IN ('user', 'assistant') AND coalesce(m.source, '') <> 'context'),
    (SELECT coalesce(sum(octet_length(c.params_json)), 0) FROM tool_calls c WHERE c.turn_id = t.id)
FROM turns t WHERE t.id IN_LIST(:ids);

-- name: fork_contexts
-- The last turns on the way to each of some turns, from its newest compaction on, each once: the tokens that the last call
-- to a model in it had before it and gave (a turn without tool calls was one call, so its own counters will do), what a
-- compaction left, and the bytes of everything in it.
WITH near(id) AS (
    SELECT DISTINCT a.id
    FROM turns c JOIN segment_paths p ON p.segment_id = c.segment_id AND p.through > c.depth - :most
        AND p.through >= c.compaction_depth
    JOIN turns a ON a.segment_id = p.on_segment_id AND a.depth <= p.through
        AND a.depth <= c.depth AND a.depth > c.depth - :most AND a.depth >= c.compaction_depth
    WHERE c.id IN_LIST(:ids))
SELECT t.id, t.segment_id, t.depth, t.compaction_depth,
    CASE WHEN t.turn_type = 'compaction' THEN NULL
        WHEN u.input_tokens > 0 OR u.cached_input_tokens > 0 THEN coalesce(u.input_tokens, 0)
            + coalesce(u.cached_input_tokens, 0) + coalesce(u.cache_write_tokens, 0) + coalesce(u.output_tokens, 0)
        WHEN u.turn_id IS NULL AND t.input_tokens > 0 AND t.tool_call_count = 0 THEN t.input_tokens
            + coalesce(t.cached_input_tokens, 0) + coalesce(t.cache_write_tokens, 0) + coalesce(t.output_tokens, 0)
        END,
    k.tokens_after,
    coalesce(octet_length(k.summary), 0) + coalesce(octet_length(k.replacement_json), 0)
        + (SELECT coalesce(sum(octet_length(m.content)), 0) FROM messages m WHERE m.turn_id = t.id)
        + (SELECT coalesce(sum(octet_length(c.params_json) + coalesce(octet_length(c.result_json), 0)), 0)
            FROM tool_calls c WHERE c.turn_id = t.id)
FROM near JOIN turns t ON t.id = near.id LEFT JOIN compactions k ON k.turn_id = t.id
LEFT JOIN usages u ON u.turn_id = t.id AND u.sequence = (SELECT max(l.sequence) FROM usages l WHERE l.turn_id = t.id);
