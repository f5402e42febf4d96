-- Tokens, summed up. Every call to a model counts once: of its copies the one that `usages_once` has.

-- fragment: uncounted
-- Turns that are not in `usage_slots`: sealed since the mark; and, if all are asked for, those that are not sealed yet.
-- (What was superseded does not count, here and below.)
(SELECT l.ref AS id FROM log l WHERE l.kind = 'seal' AND l.seq > :after AND l.seq <= :through
    AND NOT EXISTS (SELECT 1 FROM superseded x WHERE x.turn_id = l.ref)
 UNION ALL SELECT o.id FROM turns o WHERE o.seal_seq = 0 AND :through = 4611686018427387904
    AND NOT EXISTS (SELECT 1 FROM superseded x WHERE x.turn_id = o.id)
 UNION ALL SELECT e.turn_id FROM leases e WHERE :through = 4611686018427387904)

-- fragment: usage_tokens
u.at, u.model, u.provider, u.input_tokens, u.output_tokens, u.cached_input_tokens, u.cache_write_tokens,
u.reasoning_tokens, u.total_tokens, 1 AS is_call

-- fragment: turn_facts
t.session_label, t.status, t.workspace_path, t.persona_id

-- fragment: is_better
-- Whether a call `o` counts rather than its copy `u`; as in `usages_once`. (The first line spares a look into
-- the table where a call has no copy.)
(o.turn_id <> u.turn_id OR o.sequence <> u.sequence)
AND (CASE WHEN o.total_tokens BETWEEN 0 AND 1000000000000 THEN -o.total_tokens ELSE 1 END, o.at, o.turn_id, o.sequence)
    < (CASE WHEN u.total_tokens BETWEEN 0 AND 1000000000000 THEN -u.total_tokens ELSE 1 END, u.at, u.turn_id, u.sequence)

-- fragment: better_copy
-- A copy `o` of a call `u` that counts rather than it, in a turn that is counted up to :through.
SELECT 1 FROM usages o JOIN turns ot ON ot.id = o.turn_id
WHERE o.usage_key = u.usage_key AND {is_better}
    AND NOT EXISTS (SELECT 1 FROM superseded x WHERE x.turn_id = o.turn_id)
    AND CASE WHEN ot.seal_seq > 0 THEN ot.seal_seq ELSE 4611686018427387904 END

-- fragment: own_tokens
t.started_at, coalesce(t.model, c.model), coalesce(t.provider, c.provider),
coalesce(t.input_tokens, c.summarization_input_tokens), coalesce(t.output_tokens, c.summarization_output_tokens),
t.cached_input_tokens, t.cache_write_tokens, t.reasoning_tokens,
coalesce(t.total_tokens, c.summarization_input_tokens + c.summarization_output_tokens), 0 AS is_call

-- fragment: own_summary
LEFT JOIN compactions c ON c.turn_id = t.id AND t.turn_type = 'compaction' AND t.total_tokens IS NULL

-- fragment: has_own
NOT EXISTS (SELECT 1 FROM usages u WHERE u.turn_id = t.id)
AND coalesce(t.total_tokens, t.input_tokens, t.output_tokens, c.summarization_output_tokens) IS NOT NULL

-- fragment: other_usages
-- One turn that is counted and is about to be superseded (:sign is -1), or stands again (1); of its calls those that
-- count for all copies; and, the other way round, the copies that count in their place.
SELECT CAST(:sign AS INTEGER) AS sign, {turn_facts}, {usage_tokens} FROM turns t CROSS JOIN usages u
WHERE t.id = CAST(:turn_id AS TEXT) AND u.turn_id = t.id AND (u.usage_key IS NULL OR NOT EXISTS ({better_copy} <= :after))
UNION ALL
SELECT CAST(:sign AS INTEGER) AS sign, {turn_facts}, {own_tokens} FROM turns t {own_summary}
WHERE t.id = CAST(:turn_id AS TEXT) AND {has_own}
UNION ALL
SELECT -CAST(:sign AS INTEGER) AS sign, {turn_facts}, {usage_tokens} FROM usages u CROSS JOIN turns t
WHERE u.usage_key IN (SELECT m.usage_key FROM usages m WHERE m.turn_id = CAST(:turn_id AS TEXT))
    AND t.id = u.turn_id AND t.seal_seq > 0 AND t.seal_seq <= :after
    AND NOT EXISTS (SELECT 1 FROM superseded x WHERE x.turn_id = t.id)
    AND EXISTS (SELECT 1 FROM usages o
        WHERE o.turn_id = CAST(:turn_id AS TEXT) AND o.usage_key = u.usage_key AND {is_better})
    AND u.turn_id <> CAST(:turn_id AS TEXT) AND NOT EXISTS ({better_copy} <= :after AND o.turn_id <> CAST(:turn_id AS TEXT))

-- fragment: new_usages
-- (CROSS JOIN: SQLite keeps the order, from the few turns to what hangs on them.) Calls that count from now on; turns that have no such rows, by their own counters; and, with a minus, calls that
-- were counted and make way for a better copy which has come since.
SELECT 1 AS sign, {turn_facts}, {usage_tokens}
FROM {uncounted} n CROSS JOIN turns t CROSS JOIN usages u
WHERE t.id = n.id AND u.turn_id = t.id AND (u.usage_key IS NULL OR NOT EXISTS ({better_copy} <= :through))
UNION ALL
SELECT 1 AS sign, {turn_facts}, {own_tokens}
FROM {uncounted} n CROSS JOIN turns t {own_summary} WHERE t.id = n.id AND {has_own}
UNION ALL
SELECT -1 AS sign, {turn_facts}, {usage_tokens}
FROM (SELECT DISTINCT u.turn_id, u.sequence
        FROM {uncounted} n CROSS JOIN usages o CROSS JOIN usages u
        WHERE o.turn_id = n.id AND u.usage_key = o.usage_key AND {is_better}) way
    CROSS JOIN usages u CROSS JOIN turns t
WHERE u.turn_id = way.turn_id AND u.sequence = way.sequence AND t.id = u.turn_id AND t.seal_seq > 0 AND t.seal_seq <= :after AND NOT EXISTS ({better_copy} <= :after)
    AND NOT EXISTS (SELECT 1 FROM superseded x WHERE x.turn_id = t.id)
UNION ALL
{other_usages}

-- fragment: believable
-- The same without nulls; a number that no model can have used is taken for unknown, so that no sum overflows.
SELECT sign, session_label, status, workspace_path, persona_id, at, model, provider, is_call,
    CASE WHEN input_tokens BETWEEN 0 AND 1000000000000 THEN input_tokens ELSE 0 END AS input_tokens,
    CASE WHEN output_tokens BETWEEN 0 AND 1000000000000 THEN output_tokens ELSE 0 END AS output_tokens,
    CASE WHEN cached_input_tokens BETWEEN 0 AND 1000000000000 THEN cached_input_tokens ELSE 0 END AS cached_input_tokens,
    CASE WHEN cache_write_tokens BETWEEN 0 AND 1000000000000 THEN cache_write_tokens ELSE 0 END AS cache_write_tokens,
    CASE WHEN reasoning_tokens BETWEEN 0 AND 1000000000000 THEN reasoning_tokens ELSE 0 END AS reasoning_tokens,
    CASE WHEN total_tokens BETWEEN 0 AND 1000000000000 THEN total_tokens ELSE 0 END AS total_tokens
FROM ({new_usages}) AS new_usages

-- fragment: prompted
SELECT *, is_call * (input_tokens + cached_input_tokens + cache_write_tokens) AS prompt
FROM ({believable}) AS believable

-- fragment: slotted
-- The same, as rows of `usage_slots`. (The sizes are those of `model/prices.py`.)
SELECT at / 900000 AS slot, coalesce(session_label, '') AS session_label, coalesce(model, '') AS model,
    coalesce(provider, '') AS provider,
    CASE WHEN prompt > 524288 THEN 524288 WHEN prompt > 512000 THEN 512000 WHEN prompt > 272000 THEN 272000
        WHEN prompt > 256000 THEN 256000 WHEN prompt > 200000 THEN 200000 WHEN prompt > 199999 THEN 199999
        WHEN prompt > 128000 THEN 128000 WHEN prompt > 100000 THEN 100000 WHEN prompt > 32000 THEN 32000
        ELSE 0 END AS prompt_over,
    status, coalesce(workspace_path, '') AS workspace_path, coalesce(persona_id, '') AS persona_id,
    sum(sign) AS calls, CAST(sum(sign * input_tokens) AS INTEGER) AS input_tokens,
    CAST(sum(sign * output_tokens) AS INTEGER) AS output_tokens,
    CAST(sum(sign * cached_input_tokens) AS INTEGER) AS cached_input_tokens,
    CAST(sum(sign * cache_write_tokens) AS INTEGER) AS cache_write_tokens,
    CAST(sum(sign * reasoning_tokens) AS INTEGER) AS reasoning_tokens,
    CAST(sum(sign * total_tokens) AS INTEGER) AS total_tokens,
    max(prompt) AS prompt_max
FROM ({prompted}) AS prompted
GROUP BY 1, 2, 3, 4, 5, 6, 7, 8

-- name: count_usages
-- Brings `usage_slots` from one log entry to another.
INSERT INTO usage_slots (slot, session_label, model, provider, prompt_over, status, workspace_path, persona_id, calls,
    input_tokens, output_tokens, cached_input_tokens, cache_write_tokens, reasoning_tokens, total_tokens, prompt_max)
SELECT * FROM ({slotted}) AS slotted WHERE 1 = 1
ON CONFLICT (slot, session_label, model, provider, prompt_over, status, workspace_path, persona_id) DO UPDATE SET
    calls = usage_slots.calls + excluded.calls,
    input_tokens = usage_slots.input_tokens + excluded.input_tokens,
    output_tokens = usage_slots.output_tokens + excluded.output_tokens,
    cached_input_tokens = usage_slots.cached_input_tokens + excluded.cached_input_tokens,
    cache_write_tokens = usage_slots.cache_write_tokens + excluded.cache_write_tokens,
    reasoning_tokens = usage_slots.reasoning_tokens + excluded.reasoning_tokens,
    total_tokens = usage_slots.total_tokens + excluded.total_tokens,
    prompt_max = CASE WHEN excluded.prompt_max > usage_slots.prompt_max THEN excluded.prompt_max
        ELSE usage_slots.prompt_max END;

-- fragment: known_slots
-- What is counted and what is not yet, null for what is not known.
(SELECT slot, nullif(session_label, '') AS session_label, nullif(model, '') AS model, provider, prompt_over, status,
    nullif(workspace_path, '') AS workspace_path, nullif(persona_id, '') AS persona_id, calls, input_tokens,
    output_tokens, cached_input_tokens, cache_write_tokens, reasoning_tokens, total_tokens, prompt_max
FROM usage_slots WHERE slot >= :first_slot AND slot < :last_slot
UNION ALL
SELECT slot, nullif(session_label, '') AS session_label, nullif(model, '') AS model, provider, prompt_over, status,
    nullif(workspace_path, '') AS workspace_path, nullif(persona_id, '') AS persona_id, calls, input_tokens,
    output_tokens, cached_input_tokens, cache_write_tokens, reasoning_tokens, total_tokens, prompt_max
FROM ({slotted}) AS slotted WHERE slot >= :first_slot AND slot < :last_slot)

-- fragment: slot_sums
t.calls, t.input_tokens, t.output_tokens, t.cached_input_tokens, t.cache_write_tokens, t.reasoning_tokens,
t.total_tokens, t.prompt_max

-- name: usage_lines
-- All of it, with the session's own words; the sums are made by the reader, in its time zone.
SELECT t.slot, t.model, t.provider, t.prompt_over, t.session_label, s.origin, coalesce(d.project, t.workspace_path),
    d.channel, coalesce(t.persona_id, d.persona, s.persona_id), {slot_sums}
FROM {known_slots} AS t {with_session}
WHERE {session_filters} AND (CAST(:f_model AS TEXT) IS NULL OR lower(t.model) LIKE :f_model ESCAPE '!');

-- name: usage_lines_alone
-- The same, where nothing is asked about sessions: half the time.
SELECT t.slot, t.model, t.provider, t.prompt_over, t.session_label, NULL, NULL, NULL, NULL, {slot_sums}
FROM {known_slots} AS t
WHERE (CAST(:f_turn_status AS TEXT) IS NULL OR t.status = :f_turn_status)
    AND (CAST(:f_model AS TEXT) IS NULL OR lower(t.model) LIKE :f_model ESCAPE '!');

-- name: miscounted
-- Rows of `usage_slots` that do not follow from the turns up to a log entry (:after is 0). A turn that was taken out of the
-- sums again may have left zeros, and the largest prompt that there was.
SELECT * FROM (
    SELECT slot, session_label, model, max(kept_max) AS kept_max, coalesce(max(prompt_max), 0) AS prompt_max,
        sum(calls) AS calls, sum(input_tokens) AS input_tokens, sum(output_tokens) AS output_tokens,
        sum(cached_input_tokens) AS cached_input_tokens, sum(cache_write_tokens) AS cache_write_tokens,
        sum(reasoning_tokens) AS reasoning_tokens, sum(total_tokens) AS total_tokens
    FROM (
        SELECT slot, session_label, model, provider, prompt_over, status, workspace_path, persona_id, calls, input_tokens,
            output_tokens, cached_input_tokens, cache_write_tokens, reasoning_tokens, total_tokens,
            prompt_max AS kept_max, CAST(NULL AS INTEGER) AS prompt_max
        FROM usage_slots
        UNION ALL
        SELECT slot, session_label, model, provider, prompt_over, status, workspace_path, persona_id, -calls, -input_tokens,
            -output_tokens, -cached_input_tokens, -cache_write_tokens, -reasoning_tokens, -total_tokens, NULL,
            prompt_max
        FROM ({slotted}) AS slotted) AS both_ways
    GROUP BY slot, session_label, model, provider, prompt_over, status, workspace_path, persona_id) AS compared
WHERE calls <> 0 OR input_tokens <> 0 OR output_tokens <> 0 OR cached_input_tokens <> 0 OR cache_write_tokens <> 0
    OR reasoning_tokens <> 0 OR total_tokens <> 0 OR kept_max < prompt_max
    OR (kept_max > prompt_max AND NOT EXISTS (SELECT 1 FROM usages u
        WHERE coalesce(u.input_tokens, 0) + coalesce(u.cached_input_tokens, 0) + coalesce(u.cache_write_tokens, 0) = kept_max))
ORDER BY slot, session_label, model LIMIT :limit;
