-- What only SQLite says this way: the view with its computed ancestry, the search index, the guards.
-- It must run in the sqlite3 shell of Debian 12 (3.40).

CREATE VIEW threads AS
SELECT
    t.id AS turn_id,
    (WITH RECURSIVE chain(segment_id, through) AS (
        VALUES (t.segment_id, t.depth)
        UNION ALL
        SELECT s.parent_segment_id, s.fork_depth
        FROM chain JOIN segments s ON s.id = chain.segment_id
        WHERE s.parent_segment_id IS NOT NULL)
     -- each segment in the order of its index, then the segments: nothing is sorted but those
     SELECT '[' || group_concat(run, ',') || ']' FROM (
        SELECT (SELECT group_concat(json_quote(id)) FROM (
            SELECT a.id FROM turns a WHERE a.segment_id = chain.segment_id AND a.depth <= chain.through
            ORDER BY a.depth)) AS run
        FROM chain ORDER BY through)) AS ancestry,
    t.thread_tokens AS total_tokens,
    t.depth,
    t.persona_id,
    t.system_prompt_hash,
    t.thread_key
FROM turns t;

-- What is searched: escapes of JSON become spaces, so that words are found; long texts are cut for the index
-- (never in the record).
CREATE VIEW search_texts AS
SELECT n, substr(content, 1, 262144) AS content, substr(thinking, 1, 262144) AS thinking,
    NULL AS params, NULL AS result
FROM messages
UNION ALL
SELECT n, NULL, NULL,
    tool_name || ' ' || replace(replace(replace(substr(params_json, 1, 262144), '\\', '/'), '\n', ' '), '\t', ' '),
    coalesce(replace(replace(replace(substr(result_json, 1, 262144), '\\', '/'), '\n', ' '), '\t', ' '), '')
        || coalesce(' ' || substr(error, 1, 262144), '')
FROM tool_calls;

CREATE VIRTUAL TABLE search USING fts5(
    content, thinking, params, result, content='search_texts', content_rowid='n', tokenize='unicode61');
-- What is fed in one transaction is sorted in memory first: fewer runs to merge (a fifth of the time).
INSERT INTO search (search, rank) VALUES ('hashsize', 33554432);
-- Runs are merged eight at a time: half of the merging of four, for a few more runs to look into.
INSERT INTO search (search, rank) VALUES ('automerge', 8);

CREATE VIRTUAL TABLE search_noted USING fts5(words, content='search_notes', content_rowid='id', tokenize='unicode61');

-- Guards: what is sealed stays, also against plain SQL. (Redaction will be the one deliberate exception.)
CREATE TRIGGER turns_keep_place BEFORE UPDATE OF id, parent_turn_id, turn_type, started_at, root_id, segment_id,
    depth ON turns WHEN NEW.id <> OLD.id OR OLD.seal_seq IS NOT 0
BEGIN SELECT RAISE(ABORT, 'ledger: a turn never changes its place'); END;
CREATE TRIGGER turns_sealed BEFORE UPDATE OF status, completed_at, model, provider, role, toolset_name,
    tools_available, permissions_granted, permissions_used, input_tokens, output_tokens, cached_input_tokens,
    cache_write_tokens, reasoning_tokens, total_tokens, query_message_ids, response_message_id, tool_call_count,
    source_event_id, workspace_path, thread_tokens, system_depth, compaction_depth, persona_id,
    system_prompt_hash, thread_key, error, native_id, turn_hash, seal_salt, seal_seq, evidence ON turns
WHEN OLD.seal_seq > 0
BEGIN SELECT RAISE(ABORT, 'ledger: the turn is sealed'); END;
CREATE TRIGGER turns_home BEFORE UPDATE OF session_label ON turns WHEN OLD.seal_seq > 0
BEGIN SELECT RAISE(ABORT, 'ledger: the turn is sealed'); END;
CREATE TRIGGER turns_counted BEFORE UPDATE OF messages_before ON turns WHEN OLD.seal_seq > 0
BEGIN SELECT RAISE(ABORT, 'ledger: the turn is sealed'); END;
CREATE TRIGGER turns_children BEFORE UPDATE OF has_children ON turns WHEN NEW.has_children < OLD.has_children
    AND (EXISTS (SELECT 1 FROM turns c WHERE c.segment_id = OLD.segment_id AND c.depth = OLD.depth + 1)
        OR EXISTS (SELECT 1 FROM segments f WHERE f.parent_segment_id = OLD.segment_id AND f.fork_depth = OLD.depth))
BEGIN SELECT RAISE(ABORT, 'ledger: children are never lost'); END;
CREATE TRIGGER turns_parent BEFORE INSERT ON turns WHEN NEW.parent_turn_id IS NOT NULL
    AND NOT coalesce((SELECT seal_seq > 0 OR (seal_seq = 0 AND NEW.seal_seq = 0)
        FROM turns WHERE id = NEW.parent_turn_id), 0)
BEGIN SELECT RAISE(ABORT, 'ledger: the parent turn is not sealed'); END;
-- A live turn is sealed by an update; a whole turn goes in sealed, after its parts. Both are checked.
CREATE TRIGGER turns_resolved BEFORE UPDATE OF seal_seq ON turns
WHEN EXISTS (SELECT 1 FROM tool_calls WHERE turn_id = NEW.id AND status IN ('pending', 'running'))
BEGIN SELECT RAISE(ABORT, 'ledger: open tool calls'); END;
CREATE TRIGGER turns_resolved_whole BEFORE INSERT ON turns WHEN NEW.seal_seq IS NOT NULL
    AND EXISTS (SELECT 1 FROM tool_calls WHERE turn_id = NEW.id AND status IN ('pending', 'running'))
BEGIN SELECT RAISE(ABORT, 'ledger: open tool calls'); END;
CREATE TRIGGER turns_compacted BEFORE UPDATE OF seal_seq ON turns
WHEN (NEW.turn_type = 'compaction') <> EXISTS (SELECT 1 FROM compactions WHERE turn_id = NEW.id)
BEGIN SELECT RAISE(ABORT, 'ledger: a compaction turn has exactly one compactions row, others have none'); END;
CREATE TRIGGER turns_compacted_whole BEFORE INSERT ON turns WHEN NEW.seal_seq IS NOT NULL
    AND (NEW.turn_type = 'compaction') <> EXISTS (SELECT 1 FROM compactions WHERE turn_id = NEW.id)
BEGIN SELECT RAISE(ABORT, 'ledger: a compaction turn has exactly one compactions row, others have none'); END;
CREATE TRIGGER turns_kept BEFORE DELETE ON turns BEGIN SELECT RAISE(ABORT, 'ledger: turns are never deleted'); END;

CREATE TRIGGER segments_fixed BEFORE UPDATE ON segments
BEGIN SELECT RAISE(ABORT, 'ledger: segments never change'); END;
CREATE TRIGGER segments_kept BEFORE DELETE ON segments
WHEN EXISTS (SELECT 1 FROM turns WHERE segment_id = OLD.id)
    OR EXISTS (SELECT 1 FROM segments WHERE parent_segment_id = OLD.id)
BEGIN SELECT RAISE(ABORT, 'ledger: segments are never deleted'); END;

CREATE TRIGGER messages_added BEFORE INSERT ON messages
WHEN (SELECT seal_seq FROM turns WHERE id = NEW.turn_id) > 0
BEGIN SELECT RAISE(ABORT, 'ledger: the turn is sealed'); END;
CREATE TRIGGER messages_sealed BEFORE UPDATE ON messages
WHEN (SELECT seal_seq FROM turns WHERE id = OLD.turn_id) > 0
BEGIN SELECT RAISE(ABORT, 'ledger: the turn is sealed'); END;
CREATE TRIGGER messages_kept BEFORE DELETE ON messages
WHEN (SELECT seal_seq FROM turns WHERE id = OLD.turn_id) IS NOT 0
BEGIN SELECT RAISE(ABORT, 'ledger: messages are never deleted'); END;

CREATE TRIGGER tool_calls_added BEFORE INSERT ON tool_calls
WHEN (SELECT seal_seq FROM turns WHERE id = NEW.turn_id) > 0
BEGIN SELECT RAISE(ABORT, 'ledger: the turn is sealed'); END;
CREATE TRIGGER tool_calls_sealed BEFORE UPDATE ON tool_calls
WHEN (SELECT seal_seq FROM turns WHERE id = OLD.turn_id) > 0
BEGIN SELECT RAISE(ABORT, 'ledger: the turn is sealed'); END;
CREATE TRIGGER tool_calls_kept BEFORE DELETE ON tool_calls
WHEN (SELECT seal_seq FROM turns WHERE id = OLD.turn_id) IS NOT 0
BEGIN SELECT RAISE(ABORT, 'ledger: tool calls are never deleted'); END;

CREATE TRIGGER compactions_added BEFORE INSERT ON compactions
WHEN (SELECT seal_seq FROM turns WHERE id = NEW.turn_id) > 0
BEGIN SELECT RAISE(ABORT, 'ledger: the turn is sealed'); END;
CREATE TRIGGER compactions_fixed BEFORE UPDATE ON compactions
BEGIN SELECT RAISE(ABORT, 'ledger: compactions never change'); END;
CREATE TRIGGER compactions_kept BEFORE DELETE ON compactions
WHEN (SELECT seal_seq FROM turns WHERE id = OLD.turn_id) IS NOT 0
BEGIN SELECT RAISE(ABORT, 'ledger: compactions are never deleted'); END;

CREATE TRIGGER originals_added BEFORE INSERT ON originals
WHEN (SELECT seal_seq FROM turns WHERE id = NEW.turn_id) > 0
BEGIN SELECT RAISE(ABORT, 'ledger: the turn is sealed'); END;
CREATE TRIGGER originals_sealed BEFORE UPDATE ON originals
WHEN (SELECT seal_seq FROM turns WHERE id = OLD.turn_id) > 0
BEGIN SELECT RAISE(ABORT, 'ledger: the turn is sealed'); END;
CREATE TRIGGER originals_kept BEFORE DELETE ON originals
WHEN (SELECT seal_seq FROM turns WHERE id = OLD.turn_id) IS NOT 0
BEGIN SELECT RAISE(ABORT, 'ledger: originals are never deleted'); END;

CREATE TRIGGER message_files_added BEFORE INSERT ON message_files
WHEN (SELECT t.seal_seq FROM messages m JOIN turns t ON t.id = m.turn_id WHERE m.id = NEW.message_id) > 0
BEGIN SELECT RAISE(ABORT, 'ledger: the turn is sealed'); END;
CREATE TRIGGER message_files_fixed BEFORE UPDATE ON message_files
BEGIN SELECT RAISE(ABORT, 'ledger: message files never change'); END;
CREATE TRIGGER message_files_kept BEFORE DELETE ON message_files
WHEN (SELECT t.seal_seq FROM messages m JOIN turns t ON t.id = m.turn_id WHERE m.id = OLD.message_id) IS NOT 0
BEGIN SELECT RAISE(ABORT, 'ledger: message files are never deleted'); END;
CREATE TRIGGER message_lints_added BEFORE INSERT ON message_lints
WHEN (SELECT t.seal_seq FROM messages m JOIN turns t ON t.id = m.turn_id WHERE m.id = NEW.message_id) > 0
BEGIN SELECT RAISE(ABORT, 'ledger: the turn is sealed'); END;
CREATE TRIGGER message_lints_fixed BEFORE UPDATE ON message_lints
BEGIN SELECT RAISE(ABORT, 'ledger: message lints never change'); END;
CREATE TRIGGER message_lints_kept BEFORE DELETE ON message_lints
WHEN (SELECT t.seal_seq FROM messages m JOIN turns t ON t.id = m.turn_id WHERE m.id = OLD.message_id) IS NOT 0
BEGIN SELECT RAISE(ABORT, 'ledger: message lints are never deleted'); END;
CREATE TRIGGER message_codeblocks_added BEFORE INSERT ON message_codeblocks
WHEN (SELECT t.seal_seq FROM messages m JOIN turns t ON t.id = m.turn_id WHERE m.id = NEW.message_id) > 0
BEGIN SELECT RAISE(ABORT, 'ledger: the turn is sealed'); END;
CREATE TRIGGER message_codeblocks_fixed BEFORE UPDATE ON message_codeblocks
BEGIN SELECT RAISE(ABORT, 'ledger: message code blocks never change'); END;
CREATE TRIGGER message_codeblocks_kept BEFORE DELETE ON message_codeblocks
WHEN (SELECT t.seal_seq FROM messages m JOIN turns t ON t.id = m.turn_id WHERE m.id = OLD.message_id) IS NOT 0
BEGIN SELECT RAISE(ABORT, 'ledger: message code blocks are never deleted'); END;

CREATE TRIGGER sessions_pointer BEFORE UPDATE OF thread_id ON sessions
WHEN (SELECT thread_id FROM session_history
      WHERE id = (SELECT max(id) FROM session_history) AND session_label = NEW.label) IS NOT NEW.thread_id
BEGIN SELECT RAISE(ABORT, 'ledger: a pointer moves only together with its history'); END;
CREATE TRIGGER sessions_start BEFORE INSERT ON sessions WHEN NEW.thread_id IS NOT NULL
BEGIN SELECT RAISE(ABORT, 'ledger: a session begins without a head'); END;
CREATE TRIGGER sessions_fixed BEFORE UPDATE OF label, persona_id, is_subagent, parent_session_label,
    parent_turn_id, spawn_tool_call_id, task_description, routing_key, origin, origin_session_id, created_at
    ON sessions
WHEN NOT (NEW.label = OLD.label AND NEW.persona_id = OLD.persona_id AND NEW.is_subagent >= OLD.is_subagent
    AND (NEW.parent_session_label IS OLD.parent_session_label OR OLD.parent_session_label IS NULL)
    AND ((NEW.parent_turn_id IS OLD.parent_turn_id OR OLD.parent_turn_id IS NULL)
        AND (NEW.spawn_tool_call_id IS OLD.spawn_tool_call_id OR OLD.spawn_tool_call_id IS NULL)
        OR NEW.parent_turn_id IS NULL AND NEW.spawn_tool_call_id IS NULL
        AND EXISTS (SELECT 1 FROM turns t WHERE t.id = OLD.parent_turn_id
            AND (t.seal_seq = 0 OR EXISTS (SELECT 1 FROM superseded x WHERE x.turn_id = t.id))))
    AND (NEW.task_description IS OLD.task_description OR OLD.task_description IS NULL)
    AND (NEW.routing_key IS OLD.routing_key OR OLD.routing_key IS NULL)
    AND NEW.origin IS OLD.origin AND NEW.origin_session_id IS OLD.origin_session_id
    AND NEW.created_at = OLD.created_at)
BEGIN SELECT RAISE(ABORT, 'ledger: a session never changes where it comes from'); END;
CREATE TRIGGER sessions_kept BEFORE DELETE ON sessions
BEGIN SELECT RAISE(ABORT, 'ledger: sessions are never deleted'); END;

CREATE TRIGGER session_history_sealed BEFORE INSERT ON session_history
WHEN (SELECT seal_seq FROM turns WHERE id = NEW.thread_id) IS NULL
BEGIN SELECT RAISE(ABORT, 'ledger: a session points at sealed turns only'); END;
CREATE TRIGGER session_history_fixed BEFORE UPDATE ON session_history
BEGIN SELECT RAISE(ABORT, 'ledger: history never changes'); END;
CREATE TRIGGER session_history_kept BEFORE DELETE ON session_history
BEGIN SELECT RAISE(ABORT, 'ledger: history is never deleted'); END;

CREATE TRIGGER session_aliases_kept BEFORE DELETE ON session_aliases
BEGIN SELECT RAISE(ABORT, 'ledger: aliases are never deleted'); END;

CREATE TRIGGER log_next BEFORE INSERT ON log
WHEN NEW.seq IS NOT (SELECT coalesce(max(seq), 0) + 1 FROM log)
BEGIN SELECT RAISE(ABORT, 'ledger: the log has no gaps'); END;
CREATE TRIGGER log_fixed BEFORE UPDATE ON log BEGIN SELECT RAISE(ABORT, 'ledger: the log never changes'); END;
CREATE TRIGGER log_kept BEFORE DELETE ON log BEGIN SELECT RAISE(ABORT, 'ledger: the log is never deleted'); END;

CREATE TRIGGER usages_added BEFORE INSERT ON usages
WHEN (SELECT seal_seq FROM turns WHERE id = NEW.turn_id) > 0
BEGIN SELECT RAISE(ABORT, 'ledger: the turn is sealed'); END;
CREATE TRIGGER usages_fixed BEFORE UPDATE ON usages
BEGIN SELECT RAISE(ABORT, 'ledger: usages never change'); END;
CREATE TRIGGER usages_kept BEFORE DELETE ON usages
WHEN (SELECT seal_seq FROM turns WHERE id = OLD.turn_id) IS NOT 0
BEGIN SELECT RAISE(ABORT, 'ledger: usages are never deleted'); END;

-- Evidence: captures stay; a block goes only when nothing points at it (a source's last block, replaced by a longer one).
CREATE TRIGGER captures_kept BEFORE DELETE ON captures
BEGIN SELECT RAISE(ABORT, 'ledger: captures are never deleted'); END;
CREATE TRIGGER captures_fixed BEFORE UPDATE OF id, path, format, kind, shape, generation, first_seen_at ON captures
BEGIN SELECT RAISE(ABORT, 'ledger: a capture never changes where it comes from'); END;
CREATE TRIGGER captures_grow BEFORE UPDATE OF size_bytes ON captures WHEN NEW.size_bytes < OLD.size_bytes
BEGIN SELECT RAISE(ABORT, 'ledger: a capture never shrinks'); END;
CREATE TRIGGER blocks_fixed BEFORE UPDATE ON blocks
BEGIN SELECT RAISE(ABORT, 'ledger: blocks never change'); END;
CREATE TRIGGER blocks_kept BEFORE DELETE ON blocks
WHEN EXISTS (SELECT 1 FROM capture_blocks WHERE block_id = OLD.id)
BEGIN SELECT RAISE(ABORT, 'ledger: blocks are never deleted'); END;
CREATE TRIGGER capture_blocks_kept BEFORE DELETE ON capture_blocks
BEGIN SELECT RAISE(ABORT, 'ledger: blocks of a capture are never deleted'); END;

CREATE TRIGGER saves_fixed BEFORE UPDATE OF id, entity, ref, session_label, status, is_open, details, start_message_id,
    end_message_id, updated_at, extra, salt ON saves
BEGIN SELECT RAISE(ABORT, 'ledger: a save never changes'); END;
CREATE TRIGGER saves_followed BEFORE UPDATE OF next_id ON saves WHEN OLD.next_id IS NOT NULL
BEGIN SELECT RAISE(ABORT, 'ledger: a save is followed once'); END;
CREATE TRIGGER saves_kept BEFORE DELETE ON saves BEGIN SELECT RAISE(ABORT, 'ledger: saves are never deleted'); END;

-- What the faces look things up by. Nothing of it changes with an ordinary turn.
CREATE TRIGGER segments_path AFTER INSERT ON segments
BEGIN
    INSERT INTO segment_paths (segment_id, on_segment_id, through)
    SELECT NEW.id, p.on_segment_id,
        CASE p.on_segment_id WHEN NEW.parent_segment_id THEN NEW.fork_depth ELSE p.through END
    FROM segment_paths p WHERE p.segment_id = NEW.parent_segment_id;
    INSERT INTO segment_paths (segment_id, on_segment_id, through) VALUES (NEW.id, NEW.id, 9223372036854775807);
END;
CREATE TRIGGER segments_gone AFTER DELETE ON segments
BEGIN
    DELETE FROM segment_paths WHERE segment_id = OLD.id;
    DELETE FROM session_segments WHERE segment_id = OLD.id;
END;
CREATE TRIGGER turns_written AFTER INSERT ON turns WHEN NOT EXISTS (SELECT 1 FROM session_segments
    WHERE session_label = coalesce(NEW.session_label, '') AND segment_id = NEW.segment_id)
BEGIN
    INSERT INTO session_segments (session_label, segment_id) VALUES (coalesce(NEW.session_label, ''), NEW.segment_id);
END;
-- a session without a head is where its first turn is being written
CREATE TRIGGER turns_begun AFTER INSERT ON turns WHEN NEW.seal_seq IS NULL AND NEW.parent_turn_id IS NULL
BEGIN
    UPDATE session_ids SET segment_id = NEW.segment_id
    WHERE session_label = NEW.session_label AND segment_id IS NULL;
END;
-- an open turn that its source puts elsewhere
CREATE TRIGGER turns_carried AFTER UPDATE OF segment_id ON turns WHEN NEW.segment_id <> OLD.segment_id
BEGIN
    INSERT INTO session_segments (session_label, segment_id) VALUES (coalesce(NEW.session_label, ''), NEW.segment_id)
    ON CONFLICT (session_label, segment_id) DO NOTHING;
    UPDATE session_ids SET segment_id = NEW.segment_id WHERE segment_id = OLD.segment_id
        AND (SELECT thread_id FROM sessions WHERE label = session_ids.session_label) = NEW.id;
END;
CREATE TRIGGER sessions_named AFTER INSERT ON sessions
BEGIN
    INSERT INTO session_ids (session_label, id) SELECT n.session_label, n.id FROM session_names n
    WHERE n.session_label = NEW.label AND NOT EXISTS (SELECT 1 FROM session_ids o WHERE o.id = n.id)
    ORDER BY n.rank LIMIT 1;
END;
CREATE TRIGGER sessions_linked AFTER UPDATE OF spawn_tool_call_id ON sessions
WHEN NEW.spawn_tool_call_id IS NOT OLD.spawn_tool_call_id
BEGIN
    UPDATE session_ids SET id = (SELECT n.id FROM session_names n WHERE n.session_label = NEW.label
        AND NOT EXISTS (SELECT 1 FROM session_ids o WHERE o.id = n.id AND o.session_label <> NEW.label)
        ORDER BY n.rank LIMIT 1)
    WHERE session_label = NEW.label;
END;
CREATE TRIGGER sessions_pointed AFTER UPDATE OF thread_id ON sessions
WHEN (SELECT segment_id FROM turns WHERE id = NEW.thread_id)
    IS NOT (SELECT segment_id FROM session_ids WHERE session_label = NEW.label)
BEGIN
    UPDATE session_ids SET segment_id = (SELECT segment_id FROM turns WHERE id = NEW.thread_id)
    WHERE session_label = NEW.label;
END;
CREATE TRIGGER session_details_put AFTER INSERT ON session_details WHEN NEW.parent_call IS NOT NULL
BEGIN
    UPDATE session_ids SET id = (SELECT n.id FROM session_names n WHERE n.session_label = NEW.session_label
        AND NOT EXISTS (SELECT 1 FROM session_ids o WHERE o.id = n.id AND o.session_label <> NEW.session_label)
        ORDER BY n.rank LIMIT 1)
    WHERE session_label = NEW.session_label;
END;
CREATE TRIGGER session_details_changed AFTER UPDATE OF parent_call ON session_details
WHEN NEW.parent_call IS NOT OLD.parent_call
BEGIN
    UPDATE session_ids SET id = (SELECT n.id FROM session_names n WHERE n.session_label = NEW.session_label
        AND NOT EXISTS (SELECT 1 FROM session_ids o WHERE o.id = n.id AND o.session_label <> NEW.session_label)
        ORDER BY n.rank LIMIT 1)
    WHERE session_label = NEW.session_label;
END;
