-- What only PostgreSQL says this way: the view with its computed ancestry, the search index, the guards.

CREATE VIEW threads AS
SELECT
    t.id AS turn_id,
    (WITH RECURSIVE chain(segment_id, through) AS (
        SELECT t.segment_id, t.depth
        UNION ALL
        SELECT s.parent_segment_id, s.fork_depth
        FROM chain JOIN segments s ON s.id = chain.segment_id
        WHERE s.parent_segment_id IS NOT NULL)
     SELECT '[' || string_agg(to_json(a.id)::TEXT, ',' ORDER BY a.depth) || ']'
     FROM chain JOIN turns a ON a.segment_id = chain.segment_id AND a.depth <= chain.through) AS ancestry,
    t.thread_tokens AS total_tokens,
    t.depth,
    t.persona_id,
    t.system_prompt_hash,
    t.thread_key
FROM turns t;

-- What is searched: everything between words becomes spaces, so that the parser sees words alone (and no file names,
-- hosts or signed numbers); what belongs to one row is cut for the index (a tsvector holds less than 1 MB), never in the
-- record.
CREATE VIEW search_texts AS
SELECT n, translate(left(content, 60000), signs, blanks) AS content,
    translate(left(thinking, 40000), signs, blanks) AS thinking, NULL AS params, NULL AS result
FROM messages, (VALUES ('!"#$%&''()*+,-./:;<=>?@[\]^_`{|}~', repeat(' ', 32))) AS between_words(signs, blanks)
UNION ALL
SELECT n, NULL, NULL,
    translate(tool_name || ' ' || replace(replace(left(params_json, 40000), '\n', ' '), '\t', ' '), signs, blanks),
    translate(concat_ws(' ', replace(replace(left(result_json, 60000), '\n', ' '), '\t', ' '), left(error, 10000)),
        signs, blanks)
FROM tool_calls, (VALUES ('!"#$%&''()*+,-./:;<=>?@[\]^_`{|}~', repeat(' ', 32))) AS between_words(signs, blanks);

CREATE TABLE search (
    n BIGINT PRIMARY KEY,
    words TSVECTOR NOT NULL
);
CREATE INDEX idx_search_words ON search USING gin(words);
CREATE INDEX idx_search_notes_words ON search_notes USING gin(to_tsvector('simple'::regconfig, words));

-- Guards: what is sealed stays, also against plain SQL. (Redaction will be the one deliberate exception.)
CREATE FUNCTION ledger_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'ledger: %', TG_ARGV[0] USING ERRCODE = 'LDG01';
END $$;

-- A live turn is sealed by an update; a whole turn goes in sealed, after its parts. Both are checked.
CREATE FUNCTION ledger_check_seal(turn turns) RETURNS VOID LANGUAGE plpgsql AS $$
BEGIN
    IF turn.seal_seq IS NULL THEN
        RETURN;
    END IF;
    IF turn.seal_seq > 0
        AND EXISTS (SELECT 1 FROM tool_calls WHERE turn_id = turn.id AND status IN ('pending', 'running')) THEN
        RAISE EXCEPTION 'ledger: open tool calls' USING ERRCODE = 'LDG01';
    END IF;
    IF (turn.turn_type = 'compaction') <> EXISTS (SELECT 1 FROM compactions WHERE turn_id = turn.id) THEN
        RAISE EXCEPTION 'ledger: a compaction turn has exactly one compactions row, others have none'
            USING ERRCODE = 'LDG01';
    END IF;
END $$;

CREATE FUNCTION ledger_guard_turn() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        IF NEW.parent_turn_id IS NOT NULL
            AND NOT coalesce((SELECT seal_seq > 0 OR (seal_seq = 0 AND NEW.seal_seq = 0)
                FROM turns WHERE id = NEW.parent_turn_id), FALSE) THEN
            RAISE EXCEPTION 'ledger: the parent turn is not sealed' USING ERRCODE = 'LDG01';
        END IF;
        PERFORM ledger_check_seal(NEW);
        RETURN NEW;
    END IF;
    IF NEW.has_children < OLD.has_children
        AND (EXISTS (SELECT 1 FROM turns c WHERE c.segment_id = OLD.segment_id AND c.depth = OLD.depth + 1)
            OR EXISTS (SELECT 1 FROM segments f
                WHERE f.parent_segment_id = OLD.segment_id AND f.fork_depth = OLD.depth)) THEN
        RAISE EXCEPTION 'ledger: children are never lost' USING ERRCODE = 'LDG01';
    END IF;
    IF NEW.id <> OLD.id OR OLD.seal_seq IS DISTINCT FROM 0 AND
       (NEW.id, NEW.parent_turn_id, NEW.turn_type, NEW.started_at, NEW.root_id, NEW.segment_id, NEW.depth)
        IS DISTINCT FROM
       (OLD.id, OLD.parent_turn_id, OLD.turn_type, OLD.started_at, OLD.root_id, OLD.segment_id, OLD.depth) THEN
        RAISE EXCEPTION 'ledger: a turn never changes its place' USING ERRCODE = 'LDG01';
    END IF;
    IF OLD.seal_seq > 0 THEN
        OLD.has_children := NEW.has_children;
        IF NEW IS DISTINCT FROM OLD THEN
            RAISE EXCEPTION 'ledger: the turn is sealed' USING ERRCODE = 'LDG01';
        END IF;
    ELSE
        PERFORM ledger_check_seal(NEW);
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER turns_guard BEFORE INSERT OR UPDATE ON turns FOR EACH ROW EXECUTE FUNCTION ledger_guard_turn();

-- rows that hang on a turn by turn_id
CREATE FUNCTION ledger_guard_part() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' AND (SELECT seal_seq FROM turns WHERE id = OLD.turn_id) > 0
        OR (SELECT seal_seq FROM turns WHERE id = NEW.turn_id) > 0 THEN
        RAISE EXCEPTION 'ledger: the turn is sealed' USING ERRCODE = 'LDG01';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER messages_guard BEFORE INSERT OR UPDATE ON messages
    FOR EACH ROW EXECUTE FUNCTION ledger_guard_part();
CREATE TRIGGER tool_calls_guard BEFORE INSERT OR UPDATE ON tool_calls
    FOR EACH ROW EXECUTE FUNCTION ledger_guard_part();
CREATE TRIGGER originals_guard BEFORE INSERT OR UPDATE ON originals
    FOR EACH ROW EXECUTE FUNCTION ledger_guard_part();
CREATE TRIGGER compactions_guard BEFORE INSERT ON compactions
    FOR EACH ROW EXECUTE FUNCTION ledger_guard_part();
CREATE TRIGGER compactions_fixed BEFORE UPDATE ON compactions
    FOR EACH ROW EXECUTE FUNCTION ledger_refuse('compactions never change');

-- rows that hang on a message
CREATE FUNCTION ledger_guard_attachment() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (SELECT t.seal_seq FROM messages m JOIN turns t ON t.id = m.turn_id WHERE m.id = NEW.message_id)
        > 0 THEN
        RAISE EXCEPTION 'ledger: the turn is sealed' USING ERRCODE = 'LDG01';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER message_files_guard BEFORE INSERT ON message_files
    FOR EACH ROW EXECUTE FUNCTION ledger_guard_attachment();
CREATE TRIGGER message_files_fixed BEFORE UPDATE ON message_files
    FOR EACH ROW EXECUTE FUNCTION ledger_refuse('message files never change');
CREATE TRIGGER message_lints_guard BEFORE INSERT ON message_lints
    FOR EACH ROW EXECUTE FUNCTION ledger_guard_attachment();
CREATE TRIGGER message_lints_fixed BEFORE UPDATE ON message_lints
    FOR EACH ROW EXECUTE FUNCTION ledger_refuse('message lints never change');
CREATE TRIGGER message_codeblocks_guard BEFORE INSERT ON message_codeblocks
    FOR EACH ROW EXECUTE FUNCTION ledger_guard_attachment();
CREATE TRIGGER message_codeblocks_fixed BEFORE UPDATE ON message_codeblocks
    FOR EACH ROW EXECUTE FUNCTION ledger_refuse('message code blocks never change');

CREATE FUNCTION ledger_guard_session() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        IF NEW.thread_id IS NOT NULL THEN
            RAISE EXCEPTION 'ledger: a session begins without a head' USING ERRCODE = 'LDG01';
        END IF;
        RETURN NEW;
    END IF;
    -- what was unknown may become known, once
    IF (NEW.label, NEW.persona_id, NEW.origin, NEW.origin_session_id, NEW.created_at) IS DISTINCT FROM
       (OLD.label, OLD.persona_id, OLD.origin, OLD.origin_session_id, OLD.created_at)
        OR NEW.is_subagent < OLD.is_subagent
        OR NEW.parent_session_label IS DISTINCT FROM coalesce(OLD.parent_session_label, NEW.parent_session_label)
        OR (NEW.parent_turn_id IS DISTINCT FROM coalesce(OLD.parent_turn_id, NEW.parent_turn_id)
            OR NEW.spawn_tool_call_id IS DISTINCT FROM coalesce(OLD.spawn_tool_call_id, NEW.spawn_tool_call_id))
        AND NOT (NEW.parent_turn_id IS NULL AND NEW.spawn_tool_call_id IS NULL
            AND EXISTS (SELECT 1 FROM turns t WHERE t.id = OLD.parent_turn_id
                AND (t.seal_seq = 0 OR EXISTS (SELECT 1 FROM superseded x WHERE x.turn_id = t.id))))
        OR NEW.task_description IS DISTINCT FROM coalesce(OLD.task_description, NEW.task_description)
        OR NEW.routing_key IS DISTINCT FROM coalesce(OLD.routing_key, NEW.routing_key) THEN
        RAISE EXCEPTION 'ledger: a session never changes where it comes from' USING ERRCODE = 'LDG01';
    END IF;
    IF NEW.thread_id IS DISTINCT FROM OLD.thread_id AND NEW.thread_id IS DISTINCT FROM
        (SELECT thread_id FROM session_history
         WHERE id = (SELECT max(id) FROM session_history) AND session_label = NEW.label) THEN
        RAISE EXCEPTION 'ledger: a pointer moves only together with its history' USING ERRCODE = 'LDG01';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER sessions_guard BEFORE INSERT OR UPDATE ON sessions
    FOR EACH ROW EXECUTE FUNCTION ledger_guard_session();

CREATE FUNCTION ledger_guard_history() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (SELECT seal_seq FROM turns WHERE id = NEW.thread_id) IS NULL THEN
        RAISE EXCEPTION 'ledger: a session points at sealed turns only' USING ERRCODE = 'LDG01';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER session_history_guard BEFORE INSERT ON session_history
    FOR EACH ROW EXECUTE FUNCTION ledger_guard_history();
CREATE TRIGGER session_history_fixed BEFORE UPDATE ON session_history
    FOR EACH ROW EXECUTE FUNCTION ledger_refuse('history never changes');

CREATE FUNCTION ledger_guard_log() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.seq <> (SELECT coalesce(max(seq), 0) + 1 FROM log) THEN
        RAISE EXCEPTION 'ledger: the log has no gaps' USING ERRCODE = 'LDG01';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER log_guard BEFORE INSERT ON log FOR EACH ROW EXECUTE FUNCTION ledger_guard_log();
CREATE TRIGGER log_fixed BEFORE UPDATE ON log FOR EACH ROW EXECUTE FUNCTION ledger_refuse('the log never changes');
CREATE TRIGGER segments_fixed BEFORE UPDATE ON segments
    FOR EACH ROW EXECUTE FUNCTION ledger_refuse('segments never change');

-- nothing of the record is ever deleted
CREATE FUNCTION ledger_protect(tables TEXT[]) RETURNS VOID LANGUAGE plpgsql AS $$
DECLARE
    name TEXT;
BEGIN
    FOREACH name IN ARRAY tables LOOP
        EXECUTE format('CREATE TRIGGER %I BEFORE DELETE ON %I FOR EACH ROW EXECUTE FUNCTION ledger_refuse(%L)',
            name || '_kept', name, name || ' are never deleted');
        EXECUTE format('CREATE TRIGGER %I BEFORE TRUNCATE ON %I EXECUTE FUNCTION ledger_refuse(%L)',
            name || '_whole', name, name || ' are never deleted');
    END LOOP;
END $$;
SELECT ledger_protect(ARRAY['turns', 'segments', 'messages', 'tool_calls', 'compactions', 'originals',
    'message_files', 'message_lints', 'message_codeblocks', 'sessions', 'session_history', 'session_aliases',
    'log']);
DROP FUNCTION ledger_protect(TEXT[]);

-- parts of a turn that is not sealed yet may be read again; otherwise nothing of the record is ever deleted
CREATE FUNCTION ledger_keep_part() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (SELECT seal_seq FROM turns WHERE id = OLD.turn_id) IS DISTINCT FROM 0 THEN
        RAISE EXCEPTION 'ledger: %', TG_ARGV[0] USING ERRCODE = 'LDG01';
    END IF;
    RETURN OLD;
END $$;
CREATE FUNCTION ledger_keep_attachment() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (SELECT t.seal_seq FROM messages m JOIN turns t ON t.id = m.turn_id WHERE m.id = OLD.message_id)
        IS DISTINCT FROM 0 THEN
        RAISE EXCEPTION 'ledger: %', TG_ARGV[0] USING ERRCODE = 'LDG01';
    END IF;
    RETURN OLD;
END $$;
CREATE FUNCTION ledger_keep_segment() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM turns WHERE segment_id = OLD.id)
        OR EXISTS (SELECT 1 FROM segments WHERE parent_segment_id = OLD.id) THEN
        RAISE EXCEPTION 'ledger: segments are never deleted' USING ERRCODE = 'LDG01';
    END IF;
    RETURN OLD;
END $$;
CREATE FUNCTION ledger_guard_capture() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (NEW.id, NEW.path, NEW.format, NEW.kind, NEW.shape, NEW.generation, NEW.first_seen_at) IS DISTINCT FROM
       (OLD.id, OLD.path, OLD.format, OLD.kind, OLD.shape, OLD.generation, OLD.first_seen_at) THEN
        RAISE EXCEPTION 'ledger: a capture never changes where it comes from' USING ERRCODE = 'LDG01';
    END IF;
    IF NEW.size_bytes < OLD.size_bytes THEN
        RAISE EXCEPTION 'ledger: a capture never shrinks' USING ERRCODE = 'LDG01';
    END IF;
    RETURN NEW;
END $$;
CREATE FUNCTION ledger_keep_block() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM capture_blocks WHERE block_id = OLD.id) THEN
        RAISE EXCEPTION 'ledger: blocks are never deleted' USING ERRCODE = 'LDG01';
    END IF;
    RETURN OLD;
END $$;
DROP TRIGGER messages_kept ON messages;
CREATE TRIGGER messages_kept BEFORE DELETE ON messages
    FOR EACH ROW EXECUTE FUNCTION ledger_keep_part('messages are never deleted');
DROP TRIGGER tool_calls_kept ON tool_calls;
CREATE TRIGGER tool_calls_kept BEFORE DELETE ON tool_calls
    FOR EACH ROW EXECUTE FUNCTION ledger_keep_part('tool_calls are never deleted');
DROP TRIGGER compactions_kept ON compactions;
CREATE TRIGGER compactions_kept BEFORE DELETE ON compactions
    FOR EACH ROW EXECUTE FUNCTION ledger_keep_part('compactions are never deleted');
DROP TRIGGER originals_kept ON originals;
CREATE TRIGGER originals_kept BEFORE DELETE ON originals
    FOR EACH ROW EXECUTE FUNCTION ledger_keep_part('originals are never deleted');
DROP TRIGGER message_files_kept ON message_files;
CREATE TRIGGER message_files_kept BEFORE DELETE ON message_files
    FOR EACH ROW EXECUTE FUNCTION ledger_keep_attachment('message_files are never deleted');
DROP TRIGGER message_lints_kept ON message_lints;
CREATE TRIGGER message_lints_kept BEFORE DELETE ON message_lints
    FOR EACH ROW EXECUTE FUNCTION ledger_keep_attachment('message_lints are never deleted');
DROP TRIGGER message_codeblocks_kept ON message_codeblocks;
CREATE TRIGGER message_codeblocks_kept BEFORE DELETE ON message_codeblocks
    FOR EACH ROW EXECUTE FUNCTION ledger_keep_attachment('message_codeblocks are never deleted');
DROP TRIGGER segments_kept ON segments;
CREATE TRIGGER segments_kept BEFORE DELETE ON segments FOR EACH ROW EXECUTE FUNCTION ledger_keep_segment();
CREATE TRIGGER usages_guard BEFORE INSERT ON usages FOR EACH ROW EXECUTE FUNCTION ledger_guard_part();
CREATE TRIGGER usages_fixed BEFORE UPDATE ON usages
    FOR EACH ROW EXECUTE FUNCTION ledger_refuse('usages never change');
CREATE TRIGGER usages_kept BEFORE DELETE ON usages
    FOR EACH ROW EXECUTE FUNCTION ledger_keep_part('usages are never deleted');
CREATE TRIGGER captures_guard BEFORE UPDATE ON captures FOR EACH ROW EXECUTE FUNCTION ledger_guard_capture();
CREATE TRIGGER captures_kept BEFORE DELETE ON captures
    FOR EACH ROW EXECUTE FUNCTION ledger_refuse('captures are never deleted');
CREATE TRIGGER blocks_fixed BEFORE UPDATE ON blocks
    FOR EACH ROW EXECUTE FUNCTION ledger_refuse('blocks never change');
CREATE TRIGGER blocks_kept BEFORE DELETE ON blocks FOR EACH ROW EXECUTE FUNCTION ledger_keep_block();
CREATE TRIGGER capture_blocks_kept BEFORE DELETE ON capture_blocks
    FOR EACH ROW EXECUTE FUNCTION ledger_refuse('blocks of a capture are never deleted');

CREATE TRIGGER saves_fixed BEFORE UPDATE OF id, entity, ref, session_label, status, is_open, details, start_message_id,
    end_message_id, updated_at, extra, salt ON saves
    FOR EACH ROW EXECUTE FUNCTION ledger_refuse('a save never changes');
CREATE TRIGGER saves_followed BEFORE UPDATE OF next_id ON saves FOR EACH ROW WHEN (OLD.next_id IS NOT NULL)
    EXECUTE FUNCTION ledger_refuse('a save is followed once');
CREATE TRIGGER saves_kept BEFORE DELETE ON saves
    FOR EACH ROW EXECUTE FUNCTION ledger_refuse('saves are never deleted');

-- The words of Agent OS under their own names: SET search_path = agent_os, public
CREATE SCHEMA agent_os;
CREATE VIEW agent_os.tasks AS SELECT * FROM tasks;
CREATE VIEW agent_os.calls AS SELECT * FROM calls;
CREATE VIEW agent_os.messages AS SELECT * FROM task_messages;

-- What the faces look things up by. Nothing of it changes with an ordinary turn.
CREATE FUNCTION ledger_add_path() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO segment_paths (segment_id, on_segment_id, through)
    SELECT NEW.id, p.on_segment_id,
        CASE p.on_segment_id WHEN NEW.parent_segment_id THEN NEW.fork_depth ELSE p.through END
    FROM segment_paths p WHERE p.segment_id = NEW.parent_segment_id;
    INSERT INTO segment_paths (segment_id, on_segment_id, through) VALUES (NEW.id, NEW.id, 9223372036854775807);
    RETURN NULL;
END $$;
CREATE TRIGGER segments_path AFTER INSERT ON segments FOR EACH ROW EXECUTE FUNCTION ledger_add_path();

CREATE FUNCTION ledger_drop_path() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM segment_paths WHERE segment_id = OLD.id;
    DELETE FROM session_segments WHERE segment_id = OLD.id;
    RETURN NULL;
END $$;
CREATE TRIGGER segments_gone AFTER DELETE ON segments FOR EACH ROW EXECUTE FUNCTION ledger_drop_path();

CREATE FUNCTION ledger_note_segment() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM session_segments
        WHERE session_label = coalesce(NEW.session_label, '') AND segment_id = NEW.segment_id) THEN
        INSERT INTO session_segments (session_label, segment_id)
        VALUES (coalesce(NEW.session_label, ''), NEW.segment_id);
    END IF;
    IF TG_OP = 'INSERT' AND NEW.seal_seq IS NULL AND NEW.parent_turn_id IS NULL THEN
        -- a session without a head is where its first turn is being written
        UPDATE session_ids SET segment_id = NEW.segment_id
        WHERE session_label = NEW.session_label AND segment_id IS NULL;
    END IF;
    IF TG_OP = 'UPDATE' THEN
        UPDATE session_ids SET segment_id = NEW.segment_id WHERE segment_id = OLD.segment_id
            AND (SELECT thread_id FROM sessions WHERE label = session_ids.session_label) = NEW.id;
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER turns_written AFTER INSERT ON turns FOR EACH ROW EXECUTE FUNCTION ledger_note_segment();
-- an open turn that its source puts elsewhere
CREATE TRIGGER turns_carried AFTER UPDATE OF segment_id ON turns
    FOR EACH ROW WHEN (NEW.segment_id <> OLD.segment_id) EXECUTE FUNCTION ledger_note_segment();

CREATE FUNCTION ledger_name_session(named TEXT) RETURNS VOID LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO session_ids (session_label, id) SELECT n.session_label, n.id FROM session_names n
    WHERE n.session_label = named
        AND NOT EXISTS (SELECT 1 FROM session_ids o WHERE o.id = n.id AND o.session_label <> named)
    ORDER BY n.rank LIMIT 1
    ON CONFLICT (session_label) DO UPDATE SET id = excluded.id;
END $$;
CREATE FUNCTION ledger_note_session() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' OR NEW.spawn_tool_call_id IS DISTINCT FROM OLD.spawn_tool_call_id THEN
        PERFORM ledger_name_session(NEW.label);
    END IF;
    IF NEW.thread_id IS NOT NULL THEN
        UPDATE session_ids SET segment_id = t.segment_id FROM turns t
        WHERE session_ids.session_label = NEW.label AND t.id = NEW.thread_id
            AND session_ids.segment_id IS DISTINCT FROM t.segment_id;
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER sessions_named AFTER INSERT OR UPDATE OF spawn_tool_call_id, thread_id ON sessions
    FOR EACH ROW EXECUTE FUNCTION ledger_note_session();
CREATE FUNCTION ledger_note_details() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' AND NEW.parent_call IS NOT NULL
        OR TG_OP = 'UPDATE' AND NEW.parent_call IS DISTINCT FROM OLD.parent_call THEN
        PERFORM ledger_name_session(NEW.session_label);
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER session_details_put AFTER INSERT OR UPDATE OF parent_call ON session_details
    FOR EACH ROW EXECUTE FUNCTION ledger_note_details();
