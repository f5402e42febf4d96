-- name: vector_blocks
SELECT turn_ids, vectors FROM search_vectors WHERE model = :model ORDER BY id;

-- name: vector_turns
-- The turns that have vectors.
SELECT is_open, turn_ids FROM search_vectors WHERE model = :model ORDER BY id;

-- name: has_vectors
SELECT 1 FROM search_vectors WHERE model = :model LIMIT 1;

-- name: last_vectors
-- The block that is being filled.
SELECT id, turn_ids, vectors FROM search_vectors WHERE model = :model AND is_open = :is_open ORDER BY id DESC LIMIT 1;

-- name: insert_vectors
INSERT INTO search_vectors (id, model, is_open, turn_ids, vectors)
VALUES ((SELECT coalesce(max(id), 0) + 1 FROM search_vectors), :model, :is_open, :turn_ids, :vectors);

-- name: replace_vectors
UPDATE search_vectors SET turn_ids = :turn_ids, vectors = :vectors WHERE id = :id;

-- name: drop_vectors
DELETE FROM search_vectors;

-- name: turns_after
-- Finished turns in the order of their ids, and whether they are sealed.
SELECT id, seal_seq > 0 FROM turns WHERE id > :after AND seal_seq IS NOT NULL ORDER BY id LIMIT :most;

-- name: dialogue_of
-- What was said in turns, cut short: (turn, role, text), in order.
SELECT turn_id, role, substr(content, 1, 4000) FROM messages
WHERE turn_id IN_LIST(:ids) AND role IN ('user', 'assistant') AND content IS NOT NULL AND content <> ''
ORDER BY turn_id, sequence;
