-- A subagent lets go of a call that does not stand any more.
DROP TRIGGER sessions_fixed;
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
