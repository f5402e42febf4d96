-- A session's moves are known by the session and their number; an index less.
DROP INDEX idx_session_history_label;
ALTER TABLE session_history DROP CONSTRAINT session_history_pkey;
ALTER TABLE session_history ADD PRIMARY KEY (session_label, id);

CREATE OR REPLACE FUNCTION ledger_guard_session() RETURNS trigger LANGUAGE plpgsql AS $$
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
        (SELECT thread_id FROM session_history WHERE session_label = NEW.label ORDER BY id DESC LIMIT 1) THEN
        RAISE EXCEPTION 'ledger: a pointer moves only together with its history' USING ERRCODE = 'LDG01';
    END IF;
    RETURN NEW;
END $$;
