-- Evidence, and what was read from it.

-- name: turn_state
-- Whether a turn is there, sealed or not, where it hangs, and what it was read from.
SELECT seal_seq, parent_turn_id, segment_id, turn_hash, evidence FROM turns WHERE id = :id;

-- name: message_count
SELECT count(*) FROM messages WHERE turn_id = :turn_id;

-- name: message_at
SELECT id FROM messages WHERE turn_id = :turn_id AND sequence = :sequence;

-- name: insert_step
INSERT INTO steps (step_key, turn_id, position) VALUES (:step_key, :turn_id, :position)
ON CONFLICT (step_key, turn_id) DO UPDATE SET position = excluded.position;

-- name: steps_by_key
-- (What was superseded is told by other turns.)
SELECT s.turn_id, s.position FROM steps s WHERE s.step_key = :step_key
    AND NOT EXISTS (SELECT 1 FROM superseded x WHERE x.turn_id = s.turn_id)
ORDER BY s.turn_id;

-- name: all_steps
SELECT step_key, turn_id, position FROM steps;

-- name: drop_files
-- The parts of a turn that is not sealed yet, before they are read again; as are the following.
DELETE FROM message_files WHERE message_id IN (SELECT id FROM messages WHERE turn_id = :turn_id);

-- name: drop_lints
DELETE FROM message_lints WHERE message_id IN (SELECT id FROM messages WHERE turn_id = :turn_id);

-- name: drop_codeblocks
DELETE FROM message_codeblocks WHERE message_id IN (SELECT id FROM messages WHERE turn_id = :turn_id);

-- name: drop_originals
DELETE FROM originals WHERE turn_id = :turn_id;

-- name: drop_usages
DELETE FROM usages WHERE turn_id = :turn_id;

-- name: drop_compaction
DELETE FROM compactions WHERE turn_id = :turn_id;

-- name: drop_call
DELETE FROM tool_calls WHERE id = :id;

-- name: drop_message
DELETE FROM messages WHERE id = :id;

-- name: replace_message
UPDATE messages SET role = :role, content = :content, source = :source, sequence = :sequence,
    created_at = :created_at, thinking = :thinking, context_json = :context_json, metadata_json = :metadata_json,
    blocks_json = :blocks_json, lossy = :lossy, root_id = :root_id, native_id = :native_id, evidence = :evidence
WHERE id = :id;

-- name: replace_call
UPDATE tool_calls SET message_id = :message_id, tool_name = :tool_name, tool_number = :tool_number,
    params_json = :params_json, result_json = :result_json, error = :error, status = :status,
    spawned_session_label = :spawned_session_label, started_at = :started_at, completed_at = :completed_at,
    sequence = :sequence, lossy = :lossy, root_id = :root_id, native_id = :native_id, evidence = :evidence
WHERE id = :id;

-- name: compactions_keeping
-- Compactions that keep what comes from one of some messages (a JSON array of ids) on.
SELECT * FROM compactions WHERE first_kept_message_id IN_LIST(:messages);

-- name: next_capture
SELECT coalesce(max(id), 0) + 1 FROM captures;

-- name: current_captures
-- What is known of the sources as they are now.
SELECT id, path, format, kind, shape, bundle, generation, state, size_bytes, digest, modified_ns, first_seen_at,
    seen_at, read_bytes, resume IS NOT NULL AS can_resume, awaits IS NOT NULL AS is_awaiting
FROM captures WHERE state <> 'replaced';

-- name: capture_by_id
SELECT id, path, format, kind, shape, bundle, generation, state, size_bytes, digest, modified_ns, first_seen_at,
    seen_at, read_bytes, resume IS NOT NULL AS can_resume, awaits IS NOT NULL AS is_awaiting
FROM captures WHERE id = :id;

-- name: capture_at
-- What is known of one source as it is now.
SELECT id, path, format, kind, shape, bundle, generation, state, size_bytes, digest, modified_ns, first_seen_at,
    seen_at, read_bytes, resume IS NOT NULL AS can_resume, awaits IS NOT NULL AS is_awaiting
FROM captures WHERE path = :path AND state <> 'replaced' ORDER BY generation DESC LIMIT 1;

-- name: captures_page
-- All captures, in the order of their numbers.
SELECT id, path, format, kind, shape, bundle, generation, state, size_bytes, digest, modified_ns, first_seen_at,
    seen_at, read_bytes, resume IS NOT NULL AS can_resume, awaits IS NOT NULL AS is_awaiting
FROM captures WHERE id > :after AND (CAST(:format AS TEXT) IS NULL OR format = :format)
ORDER BY id LIMIT :limit;

-- name: captures_at
-- The captures of a path, the newest first.
SELECT id, path, format, kind, shape, bundle, generation, state, size_bytes, digest, modified_ns, first_seen_at,
    seen_at, read_bytes, resume IS NOT NULL AS can_resume, awaits IS NOT NULL AS is_awaiting
FROM captures WHERE path = :path ORDER BY generation DESC;

-- name: captures_of_session
SELECT c.id, c.path, c.format, c.kind, c.shape, c.bundle, c.generation, c.state, c.size_bytes, c.digest,
    c.modified_ns, c.first_seen_at, c.seen_at, c.read_bytes, c.resume IS NOT NULL AS can_resume,
    c.awaits IS NOT NULL AS is_awaiting
FROM session_captures s JOIN captures c ON c.id = s.capture_id WHERE s.session_label = :label ORDER BY c.id;

-- name: sessions_of_capture
SELECT session_label FROM session_captures WHERE capture_id = :capture_id ORDER BY session_label;

-- name: sessions_seen_since
-- The sessions that were read from sources which changed since a time.
SELECT DISTINCT s.session_label FROM captures c JOIN session_captures s ON s.capture_id = c.id
WHERE c.seen_at >= :since AND c.state = 'current' ORDER BY s.session_label;

-- name: captured_by_format
-- How many sources of each format there are, and their bytes; a database counts by its conversations.
SELECT format, count(*), coalesce(sum(size_bytes), 0) FROM captures
WHERE state <> 'replaced' AND (shape <> 'database' OR size_bytes > 0) GROUP BY format;

-- name: capture_size
SELECT size_bytes FROM captures WHERE id = :id;

-- name: capture_resume
SELECT resume FROM captures WHERE id = :id;

-- name: awaiting
SELECT id, awaits FROM captures WHERE awaits IS NOT NULL ORDER BY id;

-- name: put_capture
INSERT INTO captures (id, path, format, kind, shape, bundle, generation, state, size_bytes, digest, modified_ns,
    first_seen_at, seen_at, read_bytes, resume, awaits, chain_entries, chain_under_head)
VALUES (:id, :path, :format, :kind, :shape, :bundle, :generation, :state, :size_bytes, :digest, :modified_ns,
    :first_seen_at, :seen_at, :read_bytes, :resume, :awaits, :chain_entries, :chain_under_head)
ON CONFLICT (id) DO UPDATE SET bundle = excluded.bundle, state = excluded.state, size_bytes = excluded.size_bytes,
    digest = excluded.digest, modified_ns = excluded.modified_ns, seen_at = excluded.seen_at,
    read_bytes = excluded.read_bytes, resume = excluded.resume, awaits = excluded.awaits,
    chain_entries = excluded.chain_entries, chain_under_head = excluded.chain_under_head;

-- name: put_chain
UPDATE captures SET chain_entries = :chain_entries, chain_under_head = :chain_under_head WHERE id = :id;

-- name: chains
-- The counts of the active chains of all captures.
SELECT id, path, chain_entries, chain_under_head FROM captures ORDER BY id;

-- name: chains_off_the_head
-- The captures whose active chain is not wholly under the head that was imported.
SELECT c.id, c.path, c.chain_entries, c.chain_under_head FROM captures c WHERE c.chain_under_head < c.chain_entries
    AND NOT EXISTS (SELECT 1 FROM problems p WHERE p.path = c.path AND p.code = 'split-chain')
ORDER BY c.id;

-- name: grow_capture
-- As much of a source as is kept by now.
UPDATE captures SET size_bytes = :size_bytes, digest = :digest WHERE id = :id AND size_bytes <= :size_bytes;

-- name: set_capture_state
UPDATE captures SET state = :state WHERE id = :id;

-- name: touch_capture
-- Its bytes are the same, its time is another one.
UPDATE captures SET modified_ns = :modified_ns, state = 'current' WHERE id = :id;

-- name: capture_was_read
UPDATE captures SET read_bytes = size_bytes WHERE id = :id;

-- name: put_block
-- Gives the number of a block, old or new.
INSERT INTO blocks (id, digest, size_bytes, packed)
VALUES ((SELECT coalesce(max(id), 0) + 1 FROM blocks), :digest, :size_bytes, :packed)
ON CONFLICT (digest) DO UPDATE SET digest = excluded.digest
RETURNING id;

-- name: block_by_digest
SELECT id FROM blocks WHERE digest = :digest;

-- name: put_capture_block
INSERT INTO capture_blocks (capture_id, idx, block_id) VALUES (:capture_id, :idx, :block_id)
ON CONFLICT (capture_id, idx) DO UPDATE SET block_id = excluded.block_id;

-- name: drop_block
-- A block that nothing points at any more.
DELETE FROM blocks WHERE id = :id AND NOT EXISTS (SELECT 1 FROM capture_blocks WHERE block_id = :id);

-- name: blocks_of
SELECT cb.idx, b.id, b.digest, b.size_bytes FROM capture_blocks cb JOIN blocks b ON b.id = cb.block_id
WHERE cb.capture_id = :capture_id ORDER BY cb.idx;

-- name: packed_block
SELECT packed, size_bytes, digest FROM blocks WHERE id = :id;

-- name: block_number
SELECT block_id FROM capture_blocks WHERE capture_id = :capture_id AND idx = :idx;

-- name: block_at
SELECT b.id, b.packed, b.size_bytes FROM capture_blocks cb JOIN blocks b ON b.id = cb.block_id
WHERE cb.capture_id = :capture_id AND cb.idx = :idx;

-- name: put_problem
INSERT INTO problems (path, place, code, detail, capture_id, seen_at)
VALUES (:path, :place, :code, :detail, :capture_id, :seen_at)
ON CONFLICT (path, place, code, detail) DO NOTHING;

-- name: drop_problems
-- What was wrong with a source and is no longer so.
DELETE FROM problems WHERE path = :path AND code = :code;

-- name: drop_told_problems
-- What a source said when it was read before, as it is or as it was: it is read from its beginning, and says it again.
-- (The two are not about the source: they say what became of it here.)
DELETE FROM problems
WHERE path = :path AND capture_id <= :capture_id AND code NOT IN ('changed-step', 'grew-after-seal');

-- name: drop_told_problems_in
-- The same of all files that belong together.
DELETE FROM problems
WHERE path IN (SELECT path FROM captures WHERE bundle = :bundle) AND capture_id IS NOT NULL
    AND code NOT IN ('changed-step', 'grew-after-seal');

-- name: refused_paths
-- Sources that could not be captured.
SELECT path, max(code), max(seen_at) FROM problems
WHERE place = -1 AND capture_id IS NULL AND code IN ('unreadable', 'not-recognised') GROUP BY path;

-- name: drop_refusals
-- Why a source could not be captured, and is no longer so.
DELETE FROM problems
WHERE path = :path AND place = -1 AND capture_id IS NULL AND code IN ('unreadable', 'not-recognised');

-- name: problem_list
-- What was wrong, in the order of paths, after one of them.
SELECT path, place, code, detail, capture_id, seen_at FROM problems
WHERE (path, place, code, detail) > (:after_path, :after_place, :after_code, :after_detail)
    AND (CAST(:code AS TEXT) IS NULL OR code = :code)
ORDER BY path, place, code, detail LIMIT :limit;

-- name: problem_counts
SELECT code, count(*) FROM problems GROUP BY code ORDER BY count(*) DESC, code;

-- name: details_of
SELECT * FROM session_details WHERE session_label = :label;

-- name: story_details
-- What a story says about the session that it is told from.
SELECT title, project, git_branch, persona, extra FROM session_details WHERE session_label = :label;

-- name: put_details
INSERT INTO session_details (session_label, title, project, git_branch, agent_version, persona, channel, routing_key,
    parent_session, parent_call, task, task_status, forked_from, forked_path, archive_source, started_at, last_at,
    extra)
VALUES (:session_label, :title, :project, :git_branch, :agent_version, :persona, :channel, :routing_key,
    :parent_session, :parent_call, :task, :task_status, :forked_from, :forked_path, :archive_source, :started_at,
    :last_at, :extra)
ON CONFLICT (session_label) DO UPDATE SET title = excluded.title, project = excluded.project,
    git_branch = excluded.git_branch, agent_version = excluded.agent_version, persona = excluded.persona,
    channel = excluded.channel, routing_key = excluded.routing_key, parent_session = excluded.parent_session,
    parent_call = excluded.parent_call, task = excluded.task, task_status = excluded.task_status,
    forked_from = excluded.forked_from, forked_path = excluded.forked_path,
    archive_source = excluded.archive_source, started_at = excluded.started_at, last_at = excluded.last_at,
    extra = excluded.extra;

-- name: put_session_capture
INSERT INTO session_captures (session_label, capture_id) VALUES (:session_label, :capture_id)
ON CONFLICT (session_label, capture_id) DO NOTHING;

-- name: unlinked_children
-- Sessions that name their parent and are not linked with it, or not with its call.
SELECT d.session_label, s.origin, d.parent_session, d.parent_call, d.task, d.routing_key, s.parent_session_label,
    s.spawn_tool_call_id
FROM session_details d JOIN sessions s ON s.label = d.session_label
WHERE d.parent_session IS NOT NULL AND (s.parent_session_label IS NULL OR s.spawn_tool_call_id IS NULL)
ORDER BY d.session_label;

-- name: calls_by_native
-- The calls that an agent's own id stands for, in the tree that a session points into.
SELECT c.id, c.turn_id FROM tool_calls c
WHERE coalesce(c.native_id, c.id) = :native_id
    AND c.root_id = (SELECT t.root_id FROM sessions p JOIN turns t ON t.id = p.thread_id WHERE p.label = :parent)
    AND NOT EXISTS (SELECT 1 FROM sessions s WHERE s.spawn_tool_call_id = c.id)
    AND NOT EXISTS (SELECT 1 FROM superseded x WHERE x.turn_id = c.turn_id)
ORDER BY c.turn_id, c.sequence LIMIT 2;

-- name: calls_by_spawned
SELECT c.id, c.turn_id FROM tool_calls c
WHERE c.spawned_session_label = :label AND NOT EXISTS (SELECT 1 FROM sessions s WHERE s.spawn_tool_call_id = c.id)
    AND NOT EXISTS (SELECT 1 FROM superseded x WHERE x.turn_id = c.turn_id)
ORDER BY c.turn_id, c.sequence LIMIT 2;

-- name: spawned_by
-- The session that a call started.
SELECT label FROM sessions WHERE spawn_tool_call_id = :id;

-- name: unlink_session
UPDATE sessions SET parent_turn_id = NULL, spawn_tool_call_id = NULL WHERE label = :label;

-- name: link_session
-- What was unknown about a session and is known now.
UPDATE sessions SET is_subagent = 1, parent_session_label = coalesce(parent_session_label, :parent_session_label),
    parent_turn_id = coalesce(parent_turn_id, :parent_turn_id),
    spawn_tool_call_id = coalesce(spawn_tool_call_id, :spawn_tool_call_id),
    task_description = coalesce(task_description, :task_description)
WHERE label = :label;

-- name: set_routing_key
UPDATE sessions SET routing_key = :routing_key WHERE label = :label AND routing_key IS NULL;

-- name: capture_totals
SELECT count(*), coalesce(sum(size_bytes), 0) FROM captures;

-- name: kept_bytes_of
-- The bytes of all captures of a format; those that are there twice count once.
SELECT coalesce(sum(size_bytes), 0) FROM blocks WHERE id IN (
    SELECT b.block_id FROM captures c JOIN capture_blocks b ON b.capture_id = c.id WHERE c.format = :format
);

-- name: packed_bytes
SELECT coalesce(sum(length(packed)), 0), coalesce(sum(size_bytes), 0) FROM blocks;

-- name: captures_in
-- The files of a bundle, as they are now.
SELECT id, path, format, kind, shape, bundle, generation, state, size_bytes, digest, modified_ns, first_seen_at,
    seen_at, read_bytes, resume IS NOT NULL AS can_resume, awaits IS NOT NULL AS is_awaiting
FROM captures WHERE bundle = :bundle AND shape = 'bundle' AND state <> 'replaced' ORDER BY path;

-- name: groups_in
-- The groups of rows of a database, as they are now; of the database itself only that it was seen is kept.
SELECT id, path, format, kind, shape, bundle, generation, state, size_bytes, digest, modified_ns, first_seen_at,
    seen_at, read_bytes, resume IS NOT NULL AS can_resume, awaits IS NOT NULL AS is_awaiting
FROM captures WHERE bundle = :path AND shape = 'database' AND state <> 'replaced' ORDER BY path;

-- name: evidence_digests
-- (A file that no format recognised at first is the same evidence once more.)
SELECT path, digest FROM captures WHERE size_bytes > 0 AND (format <> 'unrecognised' OR state <> 'replaced');

-- name: turns_by_depth
-- Every turn, parents before children.
SELECT * FROM turns WHERE depth > :depth OR (depth = :depth AND id > :id) ORDER BY depth, id LIMIT :limit;

-- name: evidence_of
-- Where a turn (with all its parts), a message or a tool call was read.
SELECT evidence FROM turns WHERE id = :id
UNION ALL SELECT evidence FROM messages WHERE turn_id = :id OR id = :id
UNION ALL SELECT evidence FROM tool_calls WHERE turn_id = :id OR id = :id;

-- name: turns_without_evidence
-- Turns that no source tells; not those that one told once and that do not stand any more.
SELECT count(*) FROM turns t WHERE t.evidence IS NULL AND (t.error IS NULL OR t.error <> :retracted)
    AND NOT EXISTS (SELECT 1 FROM superseded x WHERE x.turn_id = t.id);

-- name: capture_counts
SELECT (SELECT count(*) FROM sessions), (SELECT count(*) FROM turns);

-- name: open_turns_of
-- The turns that are not sealed yet and were read from a capture (`7:` up to `7;`), children before their parents.
SELECT id FROM turns WHERE seal_seq = 0 AND evidence > :first AND evidence < :last ORDER BY depth DESC, id;

-- name: turns_with_error
SELECT id FROM turns WHERE status = 'failed' AND error = :error ORDER BY id;

-- name: put_written_session
INSERT INTO written_sessions (session_label, turn_id, path, head, size_bytes, digest, written_at)
VALUES (:session_label, :turn_id, :path, :head, :size_bytes, :digest, :written_at);

-- name: any_written_session
SELECT 1 FROM written_sessions LIMIT 1;

-- name: written_session
-- What was written, by its first line; only as long as the turn is here that it continues.
SELECT w.session_label, w.turn_id, w.path, w.head, w.size_bytes, w.digest, w.written_at
FROM written_sessions w JOIN turns t ON t.id = w.turn_id WHERE w.head = :head;

-- name: written_session_begun
-- The same, by its session.
SELECT w.session_label, w.turn_id, w.path, w.head, w.size_bytes, w.digest, w.written_at
FROM written_sessions w JOIN turns t ON t.id = w.turn_id WHERE w.session_label = :label;

-- name: written_session_of
SELECT session_label, turn_id, path, head, size_bytes, digest, written_at
FROM written_sessions WHERE session_label = :label;

-- name: all_written_sessions
SELECT session_label, turn_id, path, head, size_bytes, digest, written_at FROM written_sessions ORDER BY session_label;

-- name: roots_of_session
-- The trees that a session has written in or points into.
SELECT g.root_id FROM session_segments x JOIN segments g ON g.id = x.segment_id WHERE x.session_label = :label
UNION SELECT g.root_id FROM session_ids i JOIN segments g ON g.id = i.segment_id WHERE i.session_label = :label;

-- name: sessions_of_root
-- The sessions that have written in a tree or point into it.
SELECT x.session_label FROM segments g JOIN session_segments x ON x.segment_id = g.id
WHERE g.root_id = :root_id AND x.session_label <> ''
UNION SELECT i.session_label FROM segments g JOIN session_ids i ON i.segment_id = g.id WHERE g.root_id = :root_id;

-- name: turns_of_root
-- A whole tree, parents before children.
SELECT t.* FROM segments g JOIN turns t ON t.segment_id = g.id WHERE g.root_id = :root_id ORDER BY t.depth, t.id;

-- name: sealed_of_root
-- The turns of a tree that were read from sources, are sealed, and stand.
SELECT t.id, t.evidence FROM segments g JOIN turns t ON t.segment_id = g.id
WHERE g.root_id = :root_id AND t.seal_seq > 0 AND t.evidence IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM superseded x WHERE x.turn_id = t.id);

-- name: superseded_turns
SELECT turn_id, by_turn_id, at FROM superseded ORDER BY turn_id;

-- name: superseded_by
SELECT by_turn_id FROM superseded WHERE turn_id = :turn_id;

-- name: put_superseded
INSERT INTO superseded (turn_id, by_turn_id, at) VALUES (:turn_id, :by_turn_id, :at);

-- name: drop_superseded
DELETE FROM superseded WHERE turn_id = :turn_id;

-- name: capture_states
-- Where reading goes on, and what is waited for.
SELECT id, resume, awaits FROM captures WHERE shape = 'lines';

-- name: set_reading
UPDATE captures SET resume = :resume, awaits = :awaits WHERE id = :id;
