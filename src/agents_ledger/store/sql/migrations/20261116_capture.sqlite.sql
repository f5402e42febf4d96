-- What only SQLite says this way: guards that know turns which are not sealed yet, and those of the new tables.

DROP TRIGGER turns_keep_place;
CREATE TRIGGER turns_keep_place BEFORE UPDATE OF id, parent_turn_id, turn_type, started_at, root_id, segment_id,
    depth ON turns WHEN NEW.id <> OLD.id OR OLD.seal_seq IS NOT 0
BEGIN SELECT RAISE(ABORT, 'ledger: a turn never changes its place'); END;
DROP TRIGGER turns_sealed;
CREATE TRIGGER turns_sealed BEFORE UPDATE OF status, completed_at, model, provider, role, toolset_name,
    tools_available, permissions_granted, permissions_used, input_tokens, output_tokens, cached_input_tokens,
    cache_write_tokens, reasoning_tokens, total_tokens, query_message_ids, response_message_id, tool_call_count,
    source_event_id, workspace_path, thread_tokens, system_depth, compaction_depth, persona_id,
    system_prompt_hash, thread_key, error, native_id, turn_hash, seal_salt, seal_seq, evidence ON turns
WHEN OLD.seal_seq > 0
BEGIN SELECT RAISE(ABORT, 'ledger: the turn is sealed'); END;
DROP TRIGGER turns_children;
CREATE TRIGGER turns_children BEFORE UPDATE OF has_children ON turns WHEN NEW.has_children < OLD.has_children
    AND (EXISTS (SELECT 1 FROM turns c WHERE c.segment_id = OLD.segment_id AND c.depth = OLD.depth + 1)
        OR EXISTS (SELECT 1 FROM segments f WHERE f.parent_segment_id = OLD.segment_id AND f.fork_depth = OLD.depth))
BEGIN SELECT RAISE(ABORT, 'ledger: children are never lost'); END;
DROP TRIGGER turns_parent;
CREATE TRIGGER turns_parent BEFORE INSERT ON turns WHEN NEW.parent_turn_id IS NOT NULL
    AND NOT coalesce((SELECT seal_seq > 0 OR (seal_seq = 0 AND NEW.seal_seq = 0)
        FROM turns WHERE id = NEW.parent_turn_id), 0)
BEGIN SELECT RAISE(ABORT, 'ledger: the parent turn is not sealed'); END;
DROP TRIGGER segments_kept;
CREATE TRIGGER segments_kept BEFORE DELETE ON segments
WHEN EXISTS (SELECT 1 FROM turns WHERE segment_id = OLD.id)
    OR EXISTS (SELECT 1 FROM segments WHERE parent_segment_id = OLD.id)
BEGIN SELECT RAISE(ABORT, 'ledger: segments are never deleted'); END;
DROP TRIGGER messages_added;
CREATE TRIGGER messages_added BEFORE INSERT ON messages
WHEN (SELECT seal_seq FROM turns WHERE id = NEW.turn_id) > 0
BEGIN SELECT RAISE(ABORT, 'ledger: the turn is sealed'); END;
DROP TRIGGER messages_sealed;
CREATE TRIGGER messages_sealed BEFORE UPDATE ON messages
WHEN (SELECT seal_seq FROM turns WHERE id = OLD.turn_id) > 0
BEGIN SELECT RAISE(ABORT, 'ledger: the turn is sealed'); END;
DROP TRIGGER messages_kept;
CREATE TRIGGER messages_kept BEFORE DELETE ON messages
WHEN (SELECT seal_seq FROM turns WHERE id = OLD.turn_id) IS NOT 0
BEGIN SELECT RAISE(ABORT, 'ledger: messages are never deleted'); END;
DROP TRIGGER tool_calls_added;
CREATE TRIGGER tool_calls_added BEFORE INSERT ON tool_calls
WHEN (SELECT seal_seq FROM turns WHERE id = NEW.turn_id) > 0
BEGIN SELECT RAISE(ABORT, 'ledger: the turn is sealed'); END;
DROP TRIGGER tool_calls_sealed;
CREATE TRIGGER tool_calls_sealed BEFORE UPDATE ON tool_calls
WHEN (SELECT seal_seq FROM turns WHERE id = OLD.turn_id) > 0
BEGIN SELECT RAISE(ABORT, 'ledger: the turn is sealed'); END;
DROP TRIGGER tool_calls_kept;
CREATE TRIGGER tool_calls_kept BEFORE DELETE ON tool_calls
WHEN (SELECT seal_seq FROM turns WHERE id = OLD.turn_id) IS NOT 0
BEGIN SELECT RAISE(ABORT, 'ledger: tool calls are never deleted'); END;
DROP TRIGGER originals_added;
CREATE TRIGGER originals_added BEFORE INSERT ON originals
WHEN (SELECT seal_seq FROM turns WHERE id = NEW.turn_id) > 0
BEGIN SELECT RAISE(ABORT, 'ledger: the turn is sealed'); END;
DROP TRIGGER originals_sealed;
CREATE TRIGGER originals_sealed BEFORE UPDATE ON originals
WHEN (SELECT seal_seq FROM turns WHERE id = OLD.turn_id) > 0
BEGIN SELECT RAISE(ABORT, 'ledger: the turn is sealed'); END;
DROP TRIGGER originals_kept;
CREATE TRIGGER originals_kept BEFORE DELETE ON originals
WHEN (SELECT seal_seq FROM turns WHERE id = OLD.turn_id) IS NOT 0
BEGIN SELECT RAISE(ABORT, 'ledger: originals are never deleted'); END;
DROP TRIGGER compactions_added;
CREATE TRIGGER compactions_added BEFORE INSERT ON compactions
WHEN (SELECT seal_seq FROM turns WHERE id = NEW.turn_id) > 0
BEGIN SELECT RAISE(ABORT, 'ledger: the turn is sealed'); END;
DROP TRIGGER compactions_kept;
CREATE TRIGGER compactions_kept BEFORE DELETE ON compactions
WHEN (SELECT seal_seq FROM turns WHERE id = OLD.turn_id) IS NOT 0
BEGIN SELECT RAISE(ABORT, 'ledger: compactions are never deleted'); END;
DROP TRIGGER message_files_added;
CREATE TRIGGER message_files_added BEFORE INSERT ON message_files
WHEN (SELECT t.seal_seq FROM messages m JOIN turns t ON t.id = m.turn_id WHERE m.id = NEW.message_id) > 0
BEGIN SELECT RAISE(ABORT, 'ledger: the turn is sealed'); END;
DROP TRIGGER message_files_kept;
CREATE TRIGGER message_files_kept BEFORE DELETE ON message_files
WHEN (SELECT t.seal_seq FROM messages m JOIN turns t ON t.id = m.turn_id WHERE m.id = OLD.message_id) IS NOT 0
BEGIN SELECT RAISE(ABORT, 'ledger: message files are never deleted'); END;
DROP TRIGGER message_lints_added;
CREATE TRIGGER message_lints_added BEFORE INSERT ON message_lints
WHEN (SELECT t.seal_seq FROM messages m JOIN turns t ON t.id = m.turn_id WHERE m.id = NEW.message_id) > 0
BEGIN SELECT RAISE(ABORT, 'ledger: the turn is sealed'); END;
DROP TRIGGER message_lints_kept;
CREATE TRIGGER message_lints_kept BEFORE DELETE ON message_lints
WHEN (SELECT t.seal_seq FROM messages m JOIN turns t ON t.id = m.turn_id WHERE m.id = OLD.message_id) IS NOT 0
BEGIN SELECT RAISE(ABORT, 'ledger: message lints are never deleted'); END;
DROP TRIGGER message_codeblocks_added;
CREATE TRIGGER message_codeblocks_added BEFORE INSERT ON message_codeblocks
WHEN (SELECT t.seal_seq FROM messages m JOIN turns t ON t.id = m.turn_id WHERE m.id = NEW.message_id) > 0
BEGIN SELECT RAISE(ABORT, 'ledger: the turn is sealed'); END;
DROP TRIGGER message_codeblocks_kept;
CREATE TRIGGER message_codeblocks_kept BEFORE DELETE ON message_codeblocks
WHEN (SELECT t.seal_seq FROM messages m JOIN turns t ON t.id = m.turn_id WHERE m.id = OLD.message_id) IS NOT 0
BEGIN SELECT RAISE(ABORT, 'ledger: message code blocks are never deleted'); END;
DROP TRIGGER sessions_fixed;
CREATE TRIGGER sessions_fixed BEFORE UPDATE OF label, persona_id, is_subagent, parent_session_label,
    parent_turn_id, spawn_tool_call_id, task_description, routing_key, origin, origin_session_id, created_at
    ON sessions
WHEN NOT (NEW.label = OLD.label AND NEW.persona_id = OLD.persona_id AND NEW.is_subagent >= OLD.is_subagent
    AND (NEW.parent_session_label IS OLD.parent_session_label OR OLD.parent_session_label IS NULL)
    AND (NEW.parent_turn_id IS OLD.parent_turn_id OR OLD.parent_turn_id IS NULL)
    AND (NEW.spawn_tool_call_id IS OLD.spawn_tool_call_id OR OLD.spawn_tool_call_id IS NULL)
    AND (NEW.task_description IS OLD.task_description OR OLD.task_description IS NULL)
    AND (NEW.routing_key IS OLD.routing_key OR OLD.routing_key IS NULL)
    AND NEW.origin IS OLD.origin AND NEW.origin_session_id IS OLD.origin_session_id
    AND NEW.created_at = OLD.created_at)
BEGIN SELECT RAISE(ABORT, 'ledger: a session never changes where it comes from'); END;

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

-- What is fed in one transaction is sorted in memory first: fewer runs to merge (a fifth of the time).
INSERT INTO search (search, rank) VALUES ('hashsize', 33554432);
